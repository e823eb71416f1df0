"""Tensors as the flat arrays that communicators carry, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import weft

__all__ = ["About", "Buffer", "about", "check_tensor", "check_tensors", "joined", "separate"]


class Buffer:
    """A tensor's elements as a flat, contiguous array: its own memory where that is contiguous, otherwise a copy.

    Attributes
    ----------
    array : array
        Of the device's backend.
    """

    def __init__(self, tensor: Any, fill: bool = True) -> None:
        self.tensor = tensor
        plain = tensor.detach().resolve_conj().resolve_neg()
        self._is_own = plain.is_contiguous() and plain._array.size == plain.numel() and not tensor.is_conj()
        if not self._is_own:
            plain = plain.contiguous() if fill else weft.empty(plain.shape, dtype=plain.dtype, device=plain.device)
        self._plain = plain
        self.array = plain._array.reshape(-1)

    def write_back(self) -> None:
        """Let the tensor have what was written into the array."""
        if self._is_own:
            weft.autograd.graph.increment_version(self.tensor)
        else:
            with weft.no_grad():
                self.tensor.detach().copy_(self._plain)


def joined(tensors: Sequence[Any], fill: bool) -> Any:
    """A flat tensor with room for the elements of several, one after the other, and with ``fill`` their values."""
    if fill:
        return weft.cat([each.detach().reshape(-1) for each in tensors])
    first = tensors[0]
    return weft.empty(sum(each.numel() for each in tensors), dtype=first.dtype, device=first.device)


def separate(flat: Any, tensors: Sequence[Any]) -> None:
    """Copy the parts of a flat tensor to several."""
    with weft.no_grad():
        start = 0
        for each in tensors:
            each.detach().copy_(flat[start : start + each.numel()].reshape(each.shape))
            start += each.numel()


class About(NamedTuple):
    """What messages tell of a collective: dtype and shape of its tensor, the reduction, the root."""

    dtype: Any
    shape: Any
    details: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return ", ".join([f"{str(self.dtype).rpartition('.')[2]} {list(self.shape)}", *map(str, self.details)])


def about(tensor: Any, *details: Any) -> About:
    """What messages tell of a collective with a tensor."""
    return About(tensor.dtype, tensor.shape, details)


def check_tensor(name: str, argument: str, value: Any) -> None:
    """Raise TypeError for what is no tensor, ValueError for one that has no elements of its own in memory."""
    if not isinstance(value, weft.Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{argument}` of {name} to be of type torch.Tensor, "
            f"got {type(value).__name__}"
        )
    if value.layout != weft.strided:
        raise ValueError(f"{name}: {argument} must be a dense tensor, got one of layout {value.layout}")


def check_tensors(name: str, argument: str, values: Any, count: int | None = None) -> None:
    """Raise for what is no list of tensors of one dtype, or has another length than ``count``."""
    if not isinstance(values, (list, tuple)) or not all(isinstance(each, weft.Tensor) for each in values):
        kind = type(values).__name__
        if isinstance(values, (list, tuple)):
            kind = f"{kind} of {sorted({type(each).__name__ for each in values})}"
        raise TypeError(
            f"Invalid function argument. Expected parameter `{argument}` of {name} to be of type List[torch.Tensor], "
            f"got {kind}"
        )
    if count is not None and len(values) != count:
        raise ValueError(f"{name}: {argument} has {len(values)} tensors; the group has {count} processes")
    if len({each.dtype for each in values}) > 1:
        raise ValueError(f"{name}: the tensors of {argument} must be of one dtype, got {[e.dtype for e in values]}")
