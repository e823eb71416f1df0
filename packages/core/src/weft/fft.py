"""Discrete Fourier transforms by PyTorch's names.

Every transform takes sizes to cut or fill up its dimensions to (``n`` or ``s``), dimensions (``dim``), and ``norm``:
"backward" (the default) divides in the inverse direction by the number of elements, "forward" in the other, "ortho" in
both by its square root. Integers are converted to the default dtype; results keep the precision of the input.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from weft._dtypes.dtypes import get_default_dtype
from weft._interception.torch_function import offer
from weft.ops._declare import composite
from weft.ops._geometry import integers, require_tensors, wrap_dim, wrap_dims
from weft.ops.creation import arange
from weft.ops.fourier import c2c, c2r, r2c, resized, scale_of

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

PAIR = (-2, -1)


def prepared(name: str, input: Any, complex_input: bool) -> Any:
    """The input as a transform takes it: complex, or real."""
    require_tensors(name, input=input)
    element = input._key.dtype
    if element.is_half:
        raise RuntimeError(f"{name}: Unsupported dtype {element.scalar_type_name}; convert it with .to(weft.float32)")
    if not input._key.is_differentiable:
        input = input.to(get_default_dtype())
    if complex_input:
        return input.to(input.dtype.to_complex())
    if input._key.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {element.scalar_type_name}; take .real of it")
    return input


def one_dim(name: str, input: Any, n: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dim of a one-dimensional transform and its size."""
    if not input.ndim:
        raise IndexError(f"{name}: Dimension specified as {dim} but tensor has no dimensions")
    wrapped = wrap_dim(name, dim, input.ndim)
    return (wrapped,), (size_of(name, input.shape[wrapped] if n is None else n),)


def several_dims(name: str, input: Any, s: Any, dim: Any, halved: bool = False) -> tuple[Any, Any]:
    """The dims of a transform and their sizes; ``halved``: of the last one the input has the first half."""
    if isinstance(dim, int):
        dim = (dim,)
    if s is not None:
        s = integers(name, s if isinstance(s, (tuple, list)) else (s,), "s")
    if dim is not None:
        dims = wrap_dims(name, tuple(dim), input.ndim)
        if s is not None and len(s) != len(dims):
            raise RuntimeError(f"{name}: When given, dim and shape arguments must have the same length; got {dim}, {s}")
    elif s is not None:
        if len(s) > input.ndim:
            raise RuntimeError(f"{name}: Got shape with {len(s)} values but input tensor only has {input.ndim} dims")
        dims = tuple(range(input.ndim - len(s), input.ndim))
    else:
        dims = tuple(range(input.ndim))
    sizes = [input.shape[d] for d in dims]
    if halved and dims:
        sizes[-1] = 2 * (sizes[-1] - 1)
    if s is not None:
        sizes = [have if size == -1 else size for size, have in zip(s, sizes)]
    return dims, tuple(size_of(name, size) for size in sizes)


def size_of(name: str, size: int) -> int:
    """A number of data points.

    Raises
    ------
    RuntimeError
        If there is none.
    """
    if size < 1:
        raise RuntimeError(f"{name}: Invalid number of data points ({size}) specified; it is at least 1")
    return size


def some_dims(name: str, dims: tuple[int, ...]) -> None:
    """Transforms between real and complex numbers need a dim to halve."""
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


def complex_transform(name: str, input: Any, place: Any, norm: Any, forward: bool) -> Any:
    """A transform of complex numbers over dims and sizes."""
    dims, sizes = place
    input = resized(prepared(name, input, True), dims, sizes)
    if not dims:
        return input.clone()
    return c2c.op(input, dims, forward, scale_of(name, norm, sizes, forward))


def real_transform(name: str, input: Any, place: Any, norm: Any, forward: bool) -> Any:
    """Half of the transform of real numbers; backward it is the conjugate of the forward one."""
    dims, sizes = place
    some_dims(name, dims)
    input = resized(prepared(name, input, False), dims, sizes)
    scale = scale_of(name, norm, sizes, forward)
    if forward:
        return r2c.op(input, dims, scale)
    if dims[:-1]:
        return c2c.op(r2c.op(input, dims[-1:], scale).conj(), dims[:-1], False, 1.0)
    # In memory the dim is the last, as PyTorch has it: it decides the strides of an empty out=.
    lines = input.movedim(dims[0], -1).contiguous()
    return r2c.op(lines, (lines.ndim - 1,), scale).conj().resolve_conj().movedim(-1, dims[0])


def hermitian_transform(name: str, input: Any, place: Any, norm: Any, forward: bool) -> Any:
    """The real transform of half a Hermitian signal."""
    dims, sizes = place
    some_dims(name, dims)
    input = resized(prepared(name, input, True), dims, (*sizes[:-1], sizes[-1] // 2 + 1))
    scale = scale_of(name, norm, sizes, forward)
    return c2r.op(input.conj() if forward else input, dims, sizes[-1], scale)


def halved_size(input: Any, n: Any, dim: Any) -> Any:
    """The default size of a real signal of which half the transform is given."""
    if n is not None or not input.ndim:
        return n
    return 2 * (input.shape[wrap_dim("fft", dim, input.ndim)] - 1)


@composite(out="exact", autocast="float32")
def fft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The transform along one dimension: ``sum_j input[j] exp(-2 pi i j k / n)``.

    Parameters
    ----------
    input : Tensor, real or complex
    n : int, optional
        The size that the dimension is cut or filled up to.
    dim : int
    norm : {"backward", "ortho", "forward"}, optional

    Examples
    --------
    >>> weft.fft.fft(weft.tensor([1.0, 0.0, 0.0])).real
    tensor([1., 1., 1.])
    """
    return complex_transform("fft", input, one_dim("fft", input, n, dim), norm, True)


@composite(out="exact", autocast="float32")
def ifft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The inverse of `fft`."""
    (along,), sizes = one_dim("ifft", input, n, dim)
    if input.is_complex():
        return complex_transform("ifft", input, ((along,), sizes), norm, False)
    # In memory the dim is the last, as PyTorch has it for real numbers: it decides the strides of an empty out=.
    lines = input.movedim(along, -1).contiguous()
    return complex_transform("ifft", lines, ((lines.ndim - 1,), sizes), norm, False).movedim(-1, along)


@composite(out="exact", autocast="float32")
def rfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The first ``n // 2 + 1`` elements of the transform of real numbers; the others are their conjugates."""
    return real_transform("rfft", input, one_dim("rfft", input, n, dim), norm, True)


@composite(out="exact", autocast="float32")
def irfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The inverse of `rfft`: n real numbers, by default ``2 * (size - 1)``."""
    return hermitian_transform("irfft", input, one_dim("irfft", input, halved_size(input, n, dim), dim), norm, False)


@composite(out="exact", autocast="float32")
def hfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The real transform of a Hermitian signal, of which the first half is given."""
    return hermitian_transform("hfft", input, one_dim("hfft", input, halved_size(input, n, dim), dim), norm, True)


@composite(out="exact", autocast="float32")
def ihfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The inverse of `hfft`."""
    return real_transform("ihfft", input, one_dim("ihfft", input, n, dim), norm, False)


@composite(out="exact", autocast="float32")
def fftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    """`fft` over several dimensions, by default all; with ``s`` alone over the last ones."""
    return complex_transform("fftn", input, several_dims("fftn", input, s, dim), norm, True)


@composite(out="exact", autocast="float32")
def ifftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    """The inverse of `fftn`."""
    return complex_transform("ifftn", input, several_dims("ifftn", input, s, dim), norm, False)


@composite(out="exact", autocast="float32")
def rfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    """`rfft` over several dimensions; the last of them is halved."""
    return real_transform("rfftn", input, several_dims("rfftn", input, s, dim), norm, True)


@composite(out="exact", autocast="float32")
def irfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    """The inverse of `rfftn`."""
    return hermitian_transform("irfftn", input, several_dims("irfftn", input, s, dim, True), norm, False)


@composite(out="exact", autocast="float32")
def hfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    """`hfft` over several dimensions; of the last of them the first half is given."""
    return hermitian_transform("hfftn", input, several_dims("hfftn", input, s, dim, True), norm, True)


@composite(out="exact", autocast="float32")
def ihfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    """The inverse of `hfftn`."""
    return real_transform("ihfftn", input, several_dims("ihfftn", input, s, dim), norm, False)


@composite(out="exact", autocast="float32")
def fft2(input: Any, s: Any = None, dim: Any = PAIR, norm: str | None = None) -> Any:
    """`fftn` over the last two dimensions."""
    return complex_transform("fft2", input, several_dims("fft2", input, s, dim), norm, True)


@composite(out="exact", autocast="float32")
def ifft2(input: Any, s: Any = None, dim: Any = PAIR, norm: str | None = None) -> Any:
    """`ifftn` over the last two dimensions."""
    return complex_transform("ifft2", input, several_dims("ifft2", input, s, dim), norm, False)


@composite(out="exact", autocast="float32")
def rfft2(input: Any, s: Any = None, dim: Any = PAIR, norm: str | None = None) -> Any:
    """`rfftn` over the last two dimensions."""
    return real_transform("rfft2", input, several_dims("rfft2", input, s, dim), norm, True)


@composite(out="exact", autocast="float32")
def irfft2(input: Any, s: Any = None, dim: Any = PAIR, norm: str | None = None) -> Any:
    """`irfftn` over the last two dimensions."""
    return hermitian_transform("irfft2", input, several_dims("irfft2", input, s, dim, True), norm, False)


@composite(out="exact", autocast="float32")
def hfft2(input: Any, s: Any = None, dim: Any = PAIR, norm: str | None = None) -> Any:
    """`hfftn` over the last two dimensions."""
    return hermitian_transform("hfft2", input, several_dims("hfft2", input, s, dim, True), norm, True)


@composite(out="exact", autocast="float32")
def ihfft2(input: Any, s: Any = None, dim: Any = PAIR, norm: str | None = None) -> Any:
    """`ihfftn` over the last two dimensions."""
    return real_transform("ihfft2", input, several_dims("ihfft2", input, s, dim), norm, False)


@composite(out=True)
def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """The frequencies of `fft`'s elements, in cycles per unit of the sampling distance ``d``.

    Examples
    --------
    >>> weft.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    (n,) = integers("fftfreq", (n,), "n")
    element = get_default_dtype() if dtype is None else dtype
    steps = (arange(n, device=device) + n // 2) % n - n // 2 if n else arange(0, device=device)
    return (steps.to(element) * resolution(n, d)).requires_grad_(requires_grad)


def resolution(n: int, d: float) -> float:
    """The distance of neighbouring frequencies."""
    return 1.0 / (n * d) if n and d else math.inf


@composite(out=True)
def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """The frequencies of `rfft`'s elements, in cycles per unit of the sampling distance ``d``."""
    (n,) = integers("rfftfreq", (n,), "n")
    element = get_default_dtype() if dtype is None else dtype
    steps = arange(n // 2 + 1, device=device).to(element)
    return (steps * resolution(n, d)).requires_grad_(requires_grad)


def shifted(name: str, input: Any, dim: Any, sign: int) -> Any:
    """A tensor rolled by half its size along some dims."""
    require_tensors(name, input=input)
    dims = wrap_dims(name, dim, input.ndim)
    return input.roll([(input.shape[d] + (sign < 0)) // 2 for d in dims], list(dims)) if dims else input.clone()


def fftshift(input: Any, dim: Any = None) -> Any:
    """The frequency 0 moved to the middle."""
    return shifted("fftshift", input, dim, 1)


def ifftshift(input: Any, dim: Any = None) -> Any:
    """The inverse of `fftshift`."""
    return shifted("ifftshift", input, dim, -1)


offer(sys.modules[__name__], __all__)  # to overrides by __torch_function__
