"""A batch as microbatches, and the outputs of microbatches as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft.utils import _pytree as pytree

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]


class TensorChunkSpec:
    """The dim along which a tensor is divided.

    Parameters
    ----------
    split_dim : int
    """

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}({self.split_dim})"

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> tuple[TensorChunkSpec, ...]:
        """Return a spec for each dim of nested tuples."""
        specs: tuple[TensorChunkSpec, ...] = pytree.tree_map(TensorChunkSpec, chunk_dims)
        return specs

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> dict[str, TensorChunkSpec]:
        """Return a spec for each dim of a dict."""
        specs: dict[str, TensorChunkSpec] = pytree.tree_map(TensorChunkSpec, chunk_dims)
        return specs


class _Replicate:
    """Says that every microbatch gets the whole value."""


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: tuple[Any, ...] | None = None,
    kwargs_chunk_spec: dict[str, Any] | None = None,
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """Divide arguments into those of each microbatch.

    Parameters
    ----------
    args : tuple
    kwargs : dict, optional
    chunks : int
        How many microbatches. A tensor with fewer rows gives as many as it has rows.
    args_chunk_spec, kwargs_chunk_spec : nested like args and kwargs, optional
        `TensorChunkSpec` where a tensor is divided, along dim 0 unless given, ``_Replicate`` where each microbatch gets
        it whole, as each gets what is no tensor.

    Returns
    -------
    list of tuple, list of dict
    """
    kwargs = kwargs or {}
    leaves, structure = pytree.tree_flatten((tuple(args), kwargs))
    specs = _specs_of(tuple(args), args_chunk_spec) + _specs_of(kwargs, kwargs_chunk_spec)
    divided = [value for value, spec in zip(leaves, specs) if is_divided(value, spec)]
    dims = [spec.split_dim if isinstance(spec, TensorChunkSpec) else 0 for spec in specs]
    if divided:
        chunks = min(
            chunks,
            *(max(1, value.shape[dim]) for value, spec, dim in zip(leaves, specs, dims) if is_divided(value, spec)),
        )
    parts = [
        value.tensor_split(chunks, dim) if is_divided(value, spec) else [value] * chunks
        for value, spec, dim in zip(leaves, specs, dims)
    ]
    split = [pytree.tree_unflatten([part[index] for part in parts], structure) for index in range(chunks)]
    return [args for args, _ in split], [kwargs for _, kwargs in split]


def is_divided(value: Any, spec: Any) -> bool:
    """Whether each microbatch gets a part of a value."""
    replicated = spec is _Replicate or isinstance(spec, _Replicate)
    return isinstance(value, weft.Tensor) and value.dim() > 0 and not replicated


def _specs_of(values: Any, specs: Any) -> list[Any]:
    """A spec for each leaf of values; one spec may stand for all leaves below it.

    Raises
    ------
    ValueError
        If there are not as many specs as values.
    """
    if isinstance(specs, TensorChunkSpec | _Replicate) or specs in (None, _Replicate):
        return [specs] * len(pytree.tree_leaves(values))
    keys: Sequence[Any] = list(values) if isinstance(values, dict) else range(len(values))
    if len(keys) != len(specs) or (isinstance(values, dict) and set(values) != set(specs)):
        raise ValueError(
            f"split_args_kwargs_into_chunks: {len(keys)} arguments and {len(specs)} chunk specs: give one for each"
        )
    return [each for key in keys for each in _specs_of(values[key], specs[key])]


def merge_chunks(chunks: list[Any], chunk_spec: Any) -> Any:
    """Join the outputs of microbatches.

    Parameters
    ----------
    chunks : list
        Outputs, all of one structure.
    chunk_spec : nested like an output, optional
        `TensorChunkSpec` where tensors are joined, along dim 0 unless given; for other values the first is taken, and
        all must be equal.

    Raises
    ------
    ValueError
        If values that are not joined differ.
    """
    flat = [pytree.tree_flatten(chunk) for chunk in chunks]
    structure = flat[0][1]
    specs = [None] * len(flat[0][0]) if chunk_spec is None else _specs_of_output(chunks[0], chunk_spec)
    merged = [
        _merged([leaves[index] for leaves, _ in flat], spec, chunk_spec is None) for index, spec in enumerate(specs)
    ]
    return pytree.tree_unflatten(merged, structure)


def _specs_of_output(output: Any, spec: Any) -> list[Any]:
    if isinstance(output, dict | list | tuple):
        return _specs_of(output, spec)
    return [spec[0] if isinstance(spec, list | tuple) and len(spec) == 1 else spec]


def _merged(values: list[Any], spec: Any, by_default: bool) -> Any:
    if isinstance(spec, TensorChunkSpec) or (by_default and isinstance(values[0], weft.Tensor)):
        return weft.cat(values, spec.split_dim if spec is not None else 0)
    first = values[0]
    for value in values[1:]:
        same = weft.equal(value, first) if isinstance(value, weft.Tensor) else value == first
        if not same:
            raise ValueError(f"merge_chunks: Expected {first}, got {value}: the microbatches' values differ")
    return first
