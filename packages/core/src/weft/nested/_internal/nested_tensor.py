"""Jagged tensors made of their parts, and the parts of jagged tensors."""

from __future__ import annotations

from typing import Any

from weft.nested._construction import jagged_of, nested_tensor_from_jagged
from weft.nested._jagged import NestedTensor

__all__ = [
    "NestedTensor",
    "ViewNestedFromBuffer",
    "buffer_from_jagged",
    "jagged_from_list",
    "nested_view_from_values_offsets",
    "nested_view_from_values_offsets_lengths",
]


def buffer_from_jagged(jagged: Any) -> Any:
    """Return the values of all components, one behind the other: `Tensor.values`."""
    return jagged.values()


def jagged_from_list(tensors: list[Any], offsets: Any, dtype: Any = None, device: Any = None) -> tuple[Any, Any]:
    """Return a jagged tensor of these components and its offsets.

    Parameters
    ----------
    tensors : list of Tensor
    offsets : Tensor of int64 or None
        Where each component begins: tensors made with the same one have the same ragged size.
    dtype, device : optional
        Of the result.

    Raises
    ------
    RuntimeError
        If components have other dtypes, devices or numbers of dimensions, or differ in several sizes.
    """
    name = "jagged_from_list"
    if not tensors:
        raise RuntimeError(f"{name}: Cannot construct a nested tensor from an empty tensor list")
    for what in ("dtype", "device", "ndim"):
        if len({getattr(each, what) for each in tensors}) > 1:
            words = "dim" if what == "ndim" else what
            raise RuntimeError(
                f"{name}: When constructing a nested tensor, all tensors in list must "
                f"{'be on' if what == 'device' else 'have'} the same {words}"
            )
    made = jagged_of(name, [each.to(dtype=dtype, device=device) for each in tensors])
    if offsets is None:
        return made, made.offsets()
    return nested_view_from_values_offsets(made.values(), offsets, made._ragged_idx), offsets


def nested_view_from_values_offsets(
    values: Any, offsets: Any, ragged_idx: int = 1, min_seqlen: int | None = None, max_seqlen: int | None = None
) -> Any:
    """Return the jagged tensor of these values, which are not copied."""
    return nested_tensor_from_jagged(values, offsets, None, ragged_idx, min_seqlen, max_seqlen)


def nested_view_from_values_offsets_lengths(
    values: Any,
    offsets: Any,
    lengths: Any,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Any:
    """Return the jagged tensor of these values, of which each component uses so many places."""
    return nested_tensor_from_jagged(values, offsets, lengths, ragged_idx, min_seqlen, max_seqlen)


class ViewNestedFromBuffer:
    """`nested_view_from_values_offsets` in the form of a function of autograd."""

    @staticmethod
    def apply(values: Any, offsets: Any, metadata_cache: dict[str, Any] | None = None) -> Any:
        """Return the jagged tensor of these values, whose least and largest lengths may be known."""
        known = {name: int(value.shape[0]) for name, value in (metadata_cache or {}).items()}
        limits = known.get("min_seqlen"), known.get("max_seqlen")
        return nested_view_from_values_offsets(values, offsets, 1, *limits)
