"""Padding at the ends of dimensions."""

from __future__ import annotations

from typing import Any

import numpy

from weft import Tensor
from weft.nn.functional._common import in_layout_of
from weft.ops._declare import ALL_DTYPES, op
from weft.ops._geometry import elements, integers
from weft.ops.creation import fitting, from_host

__all__ = ["pad"]


@op(tensors="input", accepts=ALL_DTYPES, namespace="nn")
def pad_constant(input, before, after, value):
    """Values before and after each dimension; negative numbers crop."""
    return pad_constant.op(input, before, after, value)


@pad_constant.kernel
def _(xp, input, before, after, value):
    shape = [n + b + a for n, b, a in zip(input.shape, before, after)]
    result = xp.full(shape, xp.asarray(value).astype(input.dtype), input.dtype)
    inner = tuple(slice(max(b, 0), n - max(a, 0)) for n, b, a in zip(shape, before, after))
    result[inner] = input[tuple(slice(max(-b, 0), n - max(-a, 0)) for n, b, a in zip(input.shape, before, after))]
    return result


@pad_constant.gradient("input")
def _(grad, before, after):
    return pad_constant.op(grad, [-b for b in before], [-a for a in after], 0)


@pad_constant.batch
def _(batch):
    input, before, after, value = batch.args
    return pad_constant.op(input, (0, *before), (0, *after), value)


MODES = ("constant", "reflect", "replicate", "circular")


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Add values before and after the last dimensions.

    Parameters
    ----------
    input : Tensor
    pad : sequence of int
        Before and after the last dimension, then before and after the one before it, and so on. Negative numbers
        crop.
    mode : "constant", "reflect", "replicate" or "circular"
        Where the values come from. All but the first pad the last 1, 2 or 3 dimensions of an input with channels.
    value : float, optional
        For "constant"; 0 unless given.
    """
    amounts = list(integers("pad", (tuple(pad),), "pad"))
    if mode not in MODES:
        raise NotImplementedError(f"pad: Unrecognised padding mode {mode!r}; expected one of {', '.join(MODES)}")
    if len(amounts) % 2 or len(amounts) // 2 > input.ndim:
        raise RuntimeError(
            f"pad: Padding length should be even and at most twice the number of dimensions of the input; got "
            f"pad={amounts} and input {list(input.shape)}"
        )
    rest = [0] * (input.ndim - len(amounts) // 2)
    before, after = [*rest, *amounts[-2::-2]], [*rest, *amounts[-1::-2]]
    shape = [n + b + a for n, b, a in zip(input.shape, before, after)]
    if min(shape, default=0) < 0:
        raise RuntimeError(f"pad: pad={amounts} would make a negative size: input {list(input.shape)}, result {shape}")
    elements("pad", shape)
    if mode != "constant":
        return in_layout_of(pad_from_inside(input, amounts, before, after, mode), input)
    filling = 0 if value is None else fitting("pad", value, input.dtype)
    return in_layout_of(pad_constant.op(input, before, after, filling), input)


def pad_from_inside(input: Tensor, amounts: list[int], before: list[int], after: list[int], mode: str) -> Tensor:
    """Padding with the input's own elements: rows chosen along one dimension after the other."""
    count = len(amounts) // 2
    if count == 0 or count > 3 or input.ndim not in (count + 1, count + 2):
        raise NotImplementedError(
            f"pad: Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: mode {mode!r} pads the "
            "last "
            f"1, 2 or 3 dimensions of an input with channels; got pad={amounts} and input {list(input.shape)}"
        )
    for dim in range(input.ndim - count, input.ndim):
        first, last, size = before[dim], after[dim], input._array.shape[dim]
        if not first and not last:
            continue
        check_amounts(mode, dim, first, last, size, amounts, input)
        rows = numpy.arange(-first, size + last)
        if mode == "replicate":
            rows = rows.clip(0, size - 1)
        elif mode == "circular":
            kept = numpy.arange(size)[max(-first, 0) : size - max(-last, 0)]  # what is cropped is not wrapped around
            rows = kept[numpy.arange(-max(first, 0), len(kept) + max(last, 0)) % max(len(kept), 1)]
        elif size > 1:
            rows = numpy.abs((rows + size - 1) % (2 * size - 2) - (size - 1))
        else:
            rows[:] = 0
        input = input.index_select(dim, from_host(rows, input.device))
    return input


def check_amounts(mode: str, dim: int, first: int, last: int, size: int, amounts: list[int], input: Tensor) -> None:
    if size == 0:
        raise RuntimeError(
            f"pad: Expected input to have non-zero size along the padded dimensions for mode {mode!r}, but got "
            f"{list(input.shape)}"
        )
    if mode == "reflect" and max(first, last) >= size:
        raise RuntimeError(
            f"pad: Padding size should be less than the corresponding input dimension, but got: padding ({first}, "
            f"{last}) at "
            f"dimension {dim} of input {list(input.shape)}"
        )
    if mode == "circular" and max(first, last) > size:
        raise RuntimeError(
            f"pad: Padding value causes wrapping around more than once: got pad={amounts} for input {list(input.shape)}"
        )
