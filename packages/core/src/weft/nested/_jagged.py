"""Nested tensors of the jagged layout: components of several lengths along one dimension, in one tensor of values."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import weft
from weft._tensor.layout import jagged
from weft._tensor.size import size_of
from weft._tensor.values_wrapper import Functions, ValuesWrapper, implements_in, wrapper_of
from weft.nested._nested_int import nested_int_of
from weft.ops._geometry import wrap_dim

__all__ = ["NestedTensor", "implements", "is_jagged", "made"]

FUNCTIONS: Functions = {}  # what they have in place of Tensor's functions, by name
implements = implements_in(FUNCTIONS)


class NestedTensor(ValuesWrapper):
    """A batch of tensors that differ in the size of one dimension, the ragged one.

    Their elements stand one after the other in one tensor, ``values()``; ``offsets()`` says where each begins, and
    the ragged dimension's size is a symbol.

    Examples
    --------
    >>> x = weft.nested.nested_tensor([weft.ones(1, 2), weft.ones(3, 2)], layout=weft.jagged)
    >>> x.offsets()
    tensor([0, 1, 4])
    >>> x.sum(1)
    tensor([[1., 1.],
            [3., 3.]])
    """

    _functions = FUNCTIONS
    _described = "nested tensors (layout weft.jagged); take unbind(), to_padded_tensor() or values()"
    _precedence = 2
    _nested_offsets: Any
    _nested_lengths: Any
    _nested_limits: tuple[int, int] | None
    _ragged_idx: int

    @property
    def is_nested(self) -> bool:
        """True."""
        return True

    @property
    def layout(self) -> Any:
        """``weft.jagged``."""
        return jagged

    @property
    def shape(self) -> Any:
        """The size, with a symbol for the ragged dimension."""
        sizes = [len(self._nested_offsets) - 1, *self._inner_values.shape]
        sizes[self._ragged_idx] = nested_int_of(self._nested_offsets)
        return size_of(tuple(sizes))

    def values(self) -> Any:
        """The elements of all components: the ragged dimension and those after it, or what surrounds it."""
        return self._inner_values

    def offsets(self) -> Any:
        """Where each component begins along the ragged dimension, and at last where the last one ends."""
        return self._nested_offsets

    def lengths(self) -> Any:
        """The length of each component where not all elements belong to one, else None."""
        return self._nested_lengths

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:  # type: ignore[override]
        """The components in a dense tensor, with padding behind shorter ones; see `weft.nested.to_padded_tensor`."""
        return FUNCTIONS["to_padded_tensor"](self, padding, output_size)

    def size(self, dim: int | None = None) -> Any:  # type: ignore[override]
        """The size, or that of one dimension, with a symbol for the ragged one."""
        return self.shape if dim is None else self.shape[wrap_dim("size", dim, self.ndim)]

    def view(self, *size: Any) -> Any:  # type: ignore[override]
        """Another size, in which the batch and the ragged dimension stay: the latter is given as -1 or its symbol."""
        return FUNCTIONS["view"](self, *size)

    def reshape(self, *shape: Any) -> Any:  # type: ignore[override]
        """The same as `view`, of a copy where that is needed."""
        return FUNCTIONS["view"](self, *shape)

    def expand(self, *size: Any) -> Any:  # type: ignore[override]
        """A larger size of the dimensions beside the batch and the ragged one."""
        return FUNCTIONS["expand"](self, *size)

    def squeeze(self, dim: Any = None) -> Any:  # type: ignore[override]
        """Without a dimension of size 1, neither the batch nor the ragged one."""
        return FUNCTIONS["squeeze"](self, dim)

    @property
    def _values(self) -> Any:
        return self._inner_values

    @property
    def _offsets(self) -> Any:
        return self._nested_offsets

    @property
    def _lengths(self) -> Any:
        return self._nested_lengths

    def _limits(self) -> tuple[int, int]:
        if self._nested_limits is None:
            lengths = component_lengths(self)
            self._nested_limits = (int(lengths.min()), int(lengths.max())) if len(lengths) else (0, 0)
        return self._nested_limits

    @property
    def _min_seqlen(self) -> int:
        return self._limits()[0]

    @property
    def _max_seqlen(self) -> int:
        return self._limits()[1]

    def _get_min_seqlen(self) -> int:
        return self._min_seqlen

    def _get_max_seqlen(self) -> int:
        return self._max_seqlen

    def with_values(self, values: Any) -> Any:
        """Other values for the same offsets; the dimensions beside the ragged one may be others."""
        return self.with_parts(values, self._ragged_idx)

    def with_parts(self, values: Any, ragged_idx: int) -> Any:
        """Other values for the same offsets, with the ragged dimension at another place."""
        offsets, lengths = self._nested_offsets, self._nested_lengths
        if values.device != offsets.device:
            offsets = offsets.to(values.device)
            lengths = None if lengths is None else lengths.to(values.device)
        return made(values, offsets, lengths, ragged_idx, self._nested_limits)

    def __reduce_ex__(self, protocol: Any) -> Any:
        parts = (self._inner_values.detach(), self._nested_offsets, self._nested_lengths, self._ragged_idx)
        return remade, (*parts, self.requires_grad)

    def __setitem__(self, index: Any, value: Any) -> None:  # type: ignore[override]
        raise TypeError("__setitem__: Cannot assign to a nested tensor; write to its values()")

    def __len__(self) -> int:
        return len(self._nested_offsets) - 1

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __repr__(self) -> str:  # type: ignore[override]
        sizes = ", ".join(map(str, self.shape))
        history = ""
        if self.grad_fn is not None:
            history = f", grad_fn=<{self.grad_fn.label()}>"
        elif self.requires_grad:
            history = ", requires_grad=True"
        return (
            f"NestedTensor(size=({sizes}), offsets={self._nested_offsets}{history}, contiguous={self.is_contiguous()})"
        )

    __str__ = __repr__


def made(values: Any, offsets: Any, lengths: Any, ragged_idx: int = 1, limits: tuple[int, int] | None = None) -> Any:
    """A nested tensor of checked parts."""
    load_functions()
    result = wrapper_of(NestedTensor, values, (len(offsets) - 1, *values.shape))
    result._nested_offsets, result._nested_lengths = offsets, lengths
    result._ragged_idx, result._nested_limits = ragged_idx, limits
    return result


def remade(values: Any, offsets: Any, lengths: Any, ragged_idx: int, requires_grad: bool) -> Any:
    """What pickle makes again."""
    return made(values.requires_grad_(requires_grad), offsets, lengths, ragged_idx)


def is_jagged(input: Any) -> bool:
    return isinstance(input, NestedTensor)


def component_lengths(input: Any) -> Any:
    """How long each component is."""
    return input._nested_offsets.diff() if input._nested_lengths is None else input._nested_lengths


def component_numbers(input: Any) -> Any:
    """Which component each place of the ragged dimension belongs to; all places have to."""
    lengths = component_lengths(input)
    return weft.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)


def places_within(input: Any) -> Any:
    """Which place of its component each place of the ragged dimension is."""
    lengths = component_lengths(input)
    total = weft.arange(int(lengths.sum()), device=lengths.device)
    return total - (lengths.cumsum(0) - lengths).repeat_interleave(lengths)


def packed(input: Any) -> Any:
    """The same tensor without elements that belong to no component."""
    if input._nested_lengths is None:
        return input
    lengths = input._nested_lengths
    begins = input._nested_offsets[:-1].repeat_interleave(lengths)
    values = input._inner_values.index_select(input._ragged_idx - 1, begins + places_within(input))
    offsets = weft.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return made(values, offsets, None, input._ragged_idx, input._nested_limits)


@cache
def load_functions() -> None:
    """Import the modules that fill `FUNCTIONS`, which stand on this one."""
    for name in ("_pointwise", "_shapes", "_reductions", "_products"):
        import_module(f"weft.nested.{name}")
