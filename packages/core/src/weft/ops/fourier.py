"""Discrete Fourier transforms: the ops behind `weft.fft`.

There are three, as in every FFT library: of complex numbers, of real numbers (half of the result says all), and the
inverse of the latter. They do not normalize but multiply by a given scale; the namespace computes it from ``norm``.
"""

from __future__ import annotations

import math
from typing import Any

from weft.ops._declare import op
from weft.ops.joining import cat


@op(name="fft_c2c", result="same", accepts="complex")
def c2c(input, dims, forward, scale):
    """``scale * sum(input * exp(-+ 2 pi i j k / n))`` over each of some dims; minus is forward."""
    return c2c.op(input, dims, forward, scale)


@c2c.kernel
def _(xp, input, dims, forward, scale):
    # Of NumPy's two norms that which leaves this direction unscaled.
    transform, norm = (xp.fft.fftn, "backward") if forward else (xp.fft.ifftn, "forward")
    return scaled(transform(input, axes=dims, norm=norm), scale, input.dtype)


def scaled(result: Any, scale: float, element: Any) -> Any:
    """A transform in its dtype, times a number."""
    result = result.astype(element, copy=False)
    return result if scale == 1 else result * element.type(scale)


@c2c.gradient("input")
def _(grad, dims, forward, scale):
    return c2c.op(grad, dims, not forward, scale)


@op(name="fft_r2c", accepts="float")
def r2c(input, dims, scale):
    """The forward transform of real numbers; of the last dim only the first half, the other is its conjugate."""
    return r2c.op(input, dims, scale)


@r2c.kernel
def _(xp, input, dims, scale):
    result = xp.fft.rfftn(input, axes=dims)
    return scaled(result, scale, xp.result_type(input.dtype, xp.complex64))


@r2c.gradient("input")
def _(grad, input_shape, dims, scale):
    whole = resized(grad, dims[-1:], (input_shape[dims[-1]],))
    return c2c.op(whole, dims, False, scale).real


@op(name="fft_c2r", accepts="complex")
def c2r(input, dims, size, scale):
    """The inverse transform of the first half of a Hermitian signal, ``size`` real numbers along the last dim."""
    return c2r.op(input, dims, size, scale)


@c2r.kernel
def _(xp, input, dims, size, scale):
    sizes = [input.shape[d] for d in dims[:-1]] + [size]
    result = xp.fft.irfftn(input, s=sizes, axes=dims, norm="forward")
    return scaled(result, scale, input.real.dtype)


@c2r.gradient("input")
def _(grad, input_shape, dims, size, scale):
    # Numbers that have a conjugate in the other half count twice.
    half = r2c.op(grad, dims, scale)
    last, doubled = dims[-1], size - half.shape[dims[-1]]
    one, rest = half.narrow(last, 0, 1), half.shape[last] - 1 - doubled
    pieces = [one, half.narrow(last, 1, doubled) * 2, half.narrow(last, 1 + doubled, rest)]
    return resized(cat(pieces, last), (last,), (input_shape[last],))


def resized(input: Any, dims: Any, sizes: Any) -> Any:
    """A tensor cut, or filled up with zeros, at the end of some dims."""
    for dim, size in zip(dims, sizes):
        have = input.shape[dim]
        if size < have:
            input = input.narrow(dim, 0, size)
        elif size > have:
            shape = list(input.shape)
            shape[dim] = size - have
            input = cat([input, input.new_zeros(shape)], dim)
    return input


def scale_of(name: str, norm: str | None, sizes: Any, forward: bool) -> float:
    """The factor that a norm asks for in a direction.

    Raises
    ------
    RuntimeError
        If the norm is none of backward, ortho and forward.
    """
    if norm not in (None, "backward", "ortho", "forward"):
        raise RuntimeError(f"{name}: Invalid normalization mode: {norm!r}; it is 'backward', 'ortho' or 'forward'")
    if norm == "ortho":
        return 1 / math.sqrt(math.prod(sizes))
    return 1 / math.prod(sizes) if (norm == "forward") == forward else 1.0
