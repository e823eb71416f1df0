"""Padding at the ends of dimensions."""

from __future__ import annotations

from typing import Any

from weft import Tensor
from weft.ops._declare import op
from weft.ops._geometry import elements

__all__ = ["pad"]


@op(tensors="input", namespace="nn")
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
    amounts = [int(each) for each in pad]
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
    return pad_constant.op(input, before, after, 0 if value is None else value)
