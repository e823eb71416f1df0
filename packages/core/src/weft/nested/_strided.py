"""Nested tensors of the strided layout: components of any sizes, in one flat tensor of values.

It is PyTorch's default, for components that differ in several dimensions. What is not elementwise is computed
component by component.
"""

from __future__ import annotations

import math
from typing import Any

import weft
from weft._tensor.base import Tensor
from weft._tensor.layout import strided
from weft._tensor.values_wrapper import Functions, ValuesWrapper, implements_in, wrapper_of
from weft.nested._pointwise import IN_PLACE, NAMES, called
from weft.ops._geometry import wrap_dim
from weft.sparse._functions import refused

__all__ = ["StridedNestedTensor", "of_components"]

FUNCTIONS: Functions = {}
implements = implements_in(FUNCTIONS)


class StridedNestedTensor(ValuesWrapper):
    """A batch of tensors of any sizes.

    Examples
    --------
    >>> x = weft.nested.nested_tensor([weft.ones(1, 2), weft.ones(3, 4)])
    >>> x.to_padded_tensor(0.0).shape
    weft.Size([2, 3, 4])
    """

    _functions = FUNCTIONS
    _described = "nested tensors of the strided layout; use layout=weft.jagged, or take unbind() or to_padded_tensor()"
    _precedence = 2
    _nested_sizes: tuple[tuple[int, ...], ...]

    @property
    def is_nested(self) -> bool:
        """True."""
        return True

    @property
    def layout(self) -> Any:
        """``weft.strided``."""
        return strided

    @property
    def shape(self) -> Any:
        """There is none.

        Raises
        ------
        RuntimeError
            Always.
        """
        raise RuntimeError("shape: a nested tensor of the strided layout has none; take size(dim), or unbind()")

    def values(self) -> Any:
        """The elements of all components, in one vector."""
        return self._inner_values

    def size(self, dim: int | None = None) -> Any:  # type: ignore[override]
        """One size, if all components have it."""
        return size(self, dim)

    def view(self, *shape: Any) -> Any:  # type: ignore[override]
        """Another size of each component; -1 stands for the old size of a dimension, as in PyTorch."""
        return reshape(self, *shape)

    def reshape(self, *shape: Any) -> Any:  # type: ignore[override]
        """The same as `view`, of a copy where that is needed."""
        return reshape(self, *shape)

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:  # type: ignore[override]
        """The components in a dense tensor, with padding behind each; see `weft.nested.to_padded_tensor`."""
        return to_padded_tensor(self, padding, output_size)

    def _nested_tensor_size(self) -> Any:
        """The size of each component, one in a row."""
        return weft.tensor(self._nested_sizes, dtype=weft.int64).reshape(len(self), self.ndim - 1)

    def with_values(self, values: Any) -> Any:
        """Other elements for components of the same sizes."""
        return made(values, self._nested_sizes)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return remade, (self._inner_values.detach(), self._nested_sizes, self.requires_grad)

    def __setitem__(self, index: Any, value: Any) -> None:  # type: ignore[override]
        raise TypeError("__setitem__: Cannot assign to a nested tensor; write to its values()")

    def __len__(self) -> int:
        return len(self._nested_sizes)

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __repr__(self) -> str:  # type: ignore[override]
        parts = ",\n".join("  " + repr(each.detach()).replace("\n", "\n  ") for each in self.unbind())
        history = ", requires_grad=True" if self.requires_grad and self.is_leaf else ""
        if self.grad_fn is not None:
            history = f", grad_fn=<{self.grad_fn.label()}>"
        return f"nested_tensor([\n{parts}\n]{history})" if parts else f"nested_tensor([]{history})"

    __str__ = __repr__


def made(values: Any, sizes: Any) -> Any:
    """A nested tensor of the elements of all components, and the size of each."""
    dims = len(sizes[0]) if sizes else 0
    result = wrapper_of(StridedNestedTensor, values, (len(sizes), *(max(each) for each in zip(*sizes)))[: dims + 1])
    result._nested_sizes = tuple(tuple(int(length) for length in each) for each in sizes)
    return result


def remade(values: Any, sizes: Any, requires_grad: bool) -> Any:
    """What pickle makes again."""
    return made(values.requires_grad_(requires_grad), sizes)


def of_components(tensors: Any, dtype: Any = None, device: Any = None) -> Any:
    """A nested tensor of components, which their gradients reach."""
    if not tensors:
        return made(weft.zeros(0, dtype=dtype, device=device), ())
    return made(weft.cat([each.reshape(-1) for each in tensors]), [each.shape for each in tensors])


def is_strided_nested(input: Any) -> bool:
    return isinstance(input, StridedNestedTensor)


# Elementwise


def values_for(name: str, first: Any, argument: Any) -> Any:
    if is_strided_nested(argument):
        if argument._nested_sizes != first._nested_sizes:
            raise RuntimeError(f"{name}: expected nested tensors whose components have the same sizes")
        return argument._inner_values
    if isinstance(argument, Tensor) and argument.numel() != 1:
        raise RuntimeError(
            f"{name}: Expected both self and other to be nested, but got a nested self and non-nested other; use "
            "layout=weft.jagged"
        )
    return argument


def pointwise(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        first = next(each for each in (*args, *kwargs.values()) if is_strided_nested(each))
        found = called(
            name,
            *(values_for(name, first, each) for each in args),
            **{key: values_for(name, first, each) for key, each in kwargs.items()},
        )
        return first.with_values(found)

    return function


def in_place(name: str) -> Any:
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        getattr(input._inner_values, name)(*(values_for(name, input, each) for each in args), **kwargs)
        return input

    return function


def of_functional(name: str) -> Any:
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        return input.with_values(getattr(weft.nn.functional, name)(input._inner_values, *args, **kwargs))

    return function


FUNCTIONS.update({name: pointwise(name) for name in NAMES})
FUNCTIONS.update({name: in_place(name) for name in IN_PLACE})
FUNCTIONS.update(
    {name: of_functional(name) for name in ("dropout", "alpha_dropout", "relu6", "threshold", "logsigmoid")}
)
FUNCTIONS.update(dict.fromkeys(("is_conj", "is_neg", "is_inference"), lambda input: False))
FUNCTIONS.update(dict.fromkeys(("resolve_conj", "resolve_neg", "contiguous"), lambda input, *args, **kwargs: input))
FUNCTIONS["is_contiguous"] = lambda input, memory_format=None: True


# Components


@implements("unbind")
def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """The components."""
    if wrap_dim("unbind", dim, input.ndim) != 0:
        raise RuntimeError("unbind: can only be taken along dimension 0 of nested tensors")
    lengths = [math.prod(size) for size in input._nested_sizes]
    if not lengths:
        return ()
    return tuple(part.reshape(size) for part, size in zip(input._inner_values.split(lengths), input._nested_sizes))


@implements("select __getitem__ getitem")
def select(input: Any, dim: Any, index: int | None = None) -> Any:
    """A component; by a tuple, a part of one."""
    if index is None:
        first, *others = dim if isinstance(dim, tuple) else (dim,)
        if not isinstance(first, int):
            raise RuntimeError("getitem: nested tensors of the strided layout take the number of a component first")
        component = unbind(input)[first]
        return component[tuple(others)] if others else component
    if wrap_dim("select", dim, input.ndim) == 0:
        return unbind(input)[index]
    return of_components([each.select(inner_dim("select", input, dim), index) for each in unbind(input)])


def inner_dim(name: str, input: Any, dim: int) -> int:
    """The dimension of a component that is meant by one of the batch of them."""
    dim = wrap_dim(name, dim, input.ndim)
    if dim == 0:
        raise RuntimeError(f"{name}: can not be taken across the nested dimension 0")
    return dim - 1


def size(input: Any, dim: int | None = None) -> Any:
    """One size, if all components have it."""
    if dim is None:
        raise RuntimeError("size: a nested tensor of the strided layout has none; take size(dim), or unbind()")
    dim = wrap_dim("size", dim, input.ndim)
    if dim == 0:
        return len(input)
    found = {each[dim - 1] for each in input._nested_sizes}
    if len(found) != 1:
        raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
    return found.pop()


@implements("numel nelement")
def numel(input: Any) -> int:
    return int(input._inner_values.numel())


@implements("to_padded_tensor")
def to_padded_tensor(input: Any, padding: float, output_size: Any = None) -> Any:
    """The components in a dense tensor, with padding behind each along all dimensions."""
    if not len(input):
        raise RuntimeError("to_padded_tensor: at least one component is needed")
    largest = [max(each) for each in zip(*input._nested_sizes)]
    wanted = (len(input), *largest) if output_size is None else tuple(output_size)
    if len(wanted) != input.ndim or any(have < need for have, need in zip(wanted, (len(input), *largest))):
        raise RuntimeError(
            f"to_padded_tensor: Value in output_size is less than NestedTensor padded size, or their number is not "
            f"{input.ndim}: got {wanted}, and the padded size is {(len(input), *largest)}"
        )
    rows = []
    for each in (*unbind(input), *[None] * (wanted[0] - len(input))):
        row = input._inner_values.new_full(wanted[1:], padding)
        if each is not None:
            margins = [margin for have, need in zip(each.shape, wanted[1:]) for margin in (0, need - have)]
            there = weft.ones(each.shape, dtype=weft.bool, device=each.device)
            for dim in range(each.ndim):
                each, there = (
                    weft.cat([part, part.new_zeros(margin_size(part, dim, margins[2 * dim + 1]))], dim)
                    for part in (each, there)
                )
            row = weft.where(there, each, row)
        rows.append(row)
    return weft.stack(rows)


def margin_size(part: Any, dim: int, length: int) -> list[int]:
    return [*part.shape[:dim], length, *part.shape[dim + 1 :]]


# Component by component


def each_of(function: Any, *nested: Any) -> Any:
    """A function of the components of one or more nested tensors."""
    return of_components([function(*parts) for parts in zip(*(unbind(each) for each in nested), strict=True)])


@implements("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    return each_of(lambda part: weft.nn.functional.linear(part, weight, bias), input)


@implements("layer_norm")
def layer_norm(input: Any, *args: Any, **kwargs: Any) -> Any:
    return each_of(lambda part: weft.nn.functional.layer_norm(part, *args, **kwargs), input)


@implements("embedding")
def embedding(input: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
    return each_of(lambda part: weft.nn.functional.embedding(part, weight, *args, **kwargs), input)


def along(name: str) -> Any:
    """A function along one dimension of each component."""

    def function(input: Any, dim: int, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("_stacklevel", None)
        if name in ("softmax", "log_softmax"):
            args = tuple(each for each in args if not isinstance(each, int))
        place = inner_dim(name, input, dim)
        return each_of(lambda part: getattr(part, name)(place, *args, **kwargs), input)

    return function


FUNCTIONS.update({name: along(name) for name in ("softmax", "log_softmax", "squeeze", "cumsum", "narrow")})


@implements("unsqueeze")
def unsqueeze(input: Any, dim: int) -> Any:
    dim = wrap_dim("unsqueeze", dim, input.ndim + 1)
    if dim == 0:
        raise RuntimeError("unsqueeze: can not be taken across the nested dimension 0")
    return each_of(lambda part: part.unsqueeze(dim - 1), input)


@implements("transpose swapaxes swapdims")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    first, second = inner_dim("transpose", input, dim0), inner_dim("transpose", input, dim1)
    return each_of(lambda part: part.transpose(first, second), input)


@implements("reshape view")
def reshape(input: Any, *sizes: Any, shape: Any = ()) -> Any:
    """Another size of each component; -1 stands for the old size of a dimension, as in PyTorch."""
    sizes = sizes or tuple(shape)
    sizes = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    if sizes[0] not in (len(input), -1):
        raise RuntimeError(f"reshape: the first dimension ({len(input)}) has to stay, got {sizes}")

    def wanted(part: Any) -> list[int]:
        olds = [*part.shape, *[-1] * len(sizes)]
        return [old if each == -1 else each for each, old in zip(sizes[1:], olds)]

    return each_of(lambda part: part.reshape(wanted(part)), input)


@implements("matmul bmm __matmul__ __rmatmul__")
def matmul(input: Any, other: Any) -> Any:
    """Products of the components with those of another nested tensor, or with a dense batch or matrix."""
    parts = []
    for each in (input, other):
        if is_strided_nested(each):
            parts.append(unbind(each))
        else:
            parts.append(tuple(each) if each.ndim > 2 else (each,) * len(input if each is other else other))
    return of_components([a @ b for a, b in zip(*parts, strict=True)])


@implements("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **kwargs: Any
) -> Any:
    if attn_mask is not None:
        raise ValueError(
            "scaled_dot_product_attention: attn_mask is not supported for nested tensors; pad them for that"
        )
    attend = weft.nn.functional.scaled_dot_product_attention
    return each_of(lambda q, k, v: attend(q[None], k[None], v[None], None, *args, **kwargs)[0], query, key, value)


@implements("chunk")
def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    place = inner_dim("chunk", input, dim)
    parts = [each.chunk(chunks, place) for each in unbind(input)]
    return tuple(of_components(list(each)) for each in zip(*parts, strict=True))


@implements("cat")
def cat(tensors: Any, dim: int = 0) -> Any:
    """The components of all, one after the other."""
    if dim != 0:
        raise RuntimeError("cat: of nested tensors of the strided layout is along dimension 0")
    return of_components([part for each in tensors for part in unbind(each)])


@implements("sum")
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of all elements, or of each component along its last dimension."""
    if dim is None:
        return input._inner_values.sum(dtype=dtype)
    (place,) = (dim,) if isinstance(dim, int) else dim
    if wrap_dim("sum", place, input.ndim) != input.ndim - 1 or not keepdim:
        raise RuntimeError("sum: of nested tensors of the strided layout is over the last dimension, with keepdim=True")
    return each_of(lambda part: part.sum(-1, keepdim=True, dtype=dtype), input)


for names, error, message in (
    ("numpy __array__", RuntimeError, "numpy: is not there for nested tensors; take to_padded_tensor() or unbind()"),
    ("tolist", RuntimeError, "tolist: is not there for nested tensors; take unbind()"),
    ("is_nonzero __bool__", RuntimeError, "Boolean value of a nested tensor is ambiguous; take values()"),
    ("data_ptr", RuntimeError, "data_ptr: is not there for nested tensors; its values() have one"),
):
    FUNCTIONS.update(dict.fromkeys(names.split(), refused(error, message)))
