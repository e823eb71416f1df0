"""Discrete Fourier transforms by PyTorch's names.

Every transform takes sizes to cut or fill up its dimensions to (``n`` or ``s``), dimensions (``dim``), and ``norm``:
"backward" (the default) divides in the inverse direction by the number of elements, "forward" in the other, "ortho" in
both by its square root. Integers are converted to the default dtype; results keep the precision of the input.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

from weft._docstrings import documented
from weft._dtypes.dtypes import get_default_dtype
from weft._interception.torch_function import offer
from weft._tensor.base import Tensor
from weft.ops._declare import composite
from weft.ops._geometry import integers, require_tensors, wrap_dim, wrap_dims
from weft.ops.creation import arange
from weft.ops.fourier import c2c, c2r, r2c, resized, scale_of
from weft.types import Device, DType

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

# What many transforms say of their parameters.
SIZE = """n : int, optional
    The size that the dimension is cut or filled up to.
dim : int"""
SIZES = """s : sequence of int, optional
    The sizes that the dimensions are cut or filled up to; -1 leaves one as it is."""
NORM = """norm : "backward", "ortho" or "forward", optional
    "backward", the default, divides by the number of elements in the inverse direction, "forward" in the other,
    "ortho" by its square root in both.

Raises
------
RuntimeError
    If a size is less than 1, or the dtype is not transformed."""
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
        if dim and not input.ndim:
            raise IndexError(f"{name}: Dimension specified as {dim[0]} but tensor has no dimensions")
        dims = tuple(wrap_dim(name, each, input.ndim) for each in dim)
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"{name}: FFT dims must be unique, got {tuple(dim)}")
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
@documented(n=SIZE, norm=NORM)
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform along one dimension: ``sum_j input[j] exp(-2 pi i j k / n)``.

    Parameters
    ----------
    input : Tensor, real or complex
    {n}
    {norm}

    Examples
    --------
    >>> weft.fft.fft(weft.tensor([1.0, 0.0, 0.0])).real
    tensor([1., 1., 1.])
    """
    return complex_transform("fft", input, one_dim("fft", input, n, dim), norm, True)


@composite(out="exact", autocast="float32")
@documented(n=SIZE, norm=NORM)
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`.

    Parameters
    ----------
    input : Tensor, real or complex
    {n}
    {norm}

    Examples
    --------
    >>> weft.fft.ifft(weft.fft.fft(weft.tensor([1.0, 2.0, 4.0]))).real
    tensor([1., 2., 4.])
    """
    (along,), sizes = one_dim("ifft", input, n, dim)
    if input.is_complex():
        return complex_transform("ifft", input, ((along,), sizes), norm, False)
    # In memory the dim is the last, as PyTorch has it for real numbers: it decides the strides of an empty out=.
    lines = input.movedim(along, -1).contiguous()
    return complex_transform("ifft", lines, ((lines.ndim - 1,), sizes), norm, False).movedim(-1, along)


@composite(out="exact", autocast="float32")
@documented(n=SIZE, norm=NORM)
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first ``n // 2 + 1`` elements of the transform of real numbers; the others are their conjugates.

    Parameters
    ----------
    input : Tensor, real
    {n}
    {norm}

    Examples
    --------
    >>> weft.fft.rfft(weft.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return real_transform("rfft", input, one_dim("rfft", input, n, dim), norm, True)


@composite(out="exact", autocast="float32")
@documented(norm=NORM)
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: real numbers.

    Parameters
    ----------
    input : Tensor
    n : int, optional
        The size of the result, by default ``2 * (size - 1)``.
    dim : int
    {norm}

    Examples
    --------
    >>> half = weft.fft.rfft(weft.tensor([1.0, 2.0, 4.0]))
    >>> weft.fft.irfft(half, n=3).round(decimals=4)  # the size was odd
    tensor([1., 2., 4.])
    """
    return hermitian_transform("irfft", input, one_dim("irfft", input, halved_size(input, n, dim), dim), norm, False)


@composite(out="exact", autocast="float32")
@documented(norm=NORM)
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real transform of a Hermitian signal, of which the first half is given.

    Parameters
    ----------
    input : Tensor
    n : int, optional
        The size of the result, by default ``2 * (size - 1)``.
    dim : int
    {norm}

    Examples
    --------
    >>> weft.fft.hfft(weft.tensor([1.0, 0.0, 0.0]))
    tensor([1., 1., 1., 1.])
    """
    return hermitian_transform("hfft", input, one_dim("hfft", input, halved_size(input, n, dim), dim), norm, True)


@composite(out="exact", autocast="float32")
@documented(n=SIZE, norm=NORM)
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`.

    Parameters
    ----------
    input : Tensor, real
    {n}
    {norm}

    Examples
    --------
    >>> weft.fft.ihfft(weft.tensor([1.0, 1.0, 1.0, 1.0])).real
    tensor([1., 0., 0.])
    """
    return real_transform("ihfft", input, one_dim("ihfft", input, n, dim), norm, False)


@composite(out="exact", autocast="float32")
@documented(s=SIZES, norm=NORM)
def fftn(
    input: Tensor, s: Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """`fft` over several dimensions.

    Parameters
    ----------
    input : Tensor, real or complex
    {s}
    dim : int or tuple of int, optional
        By default all, or with ``s`` the last ones.
    {norm}

    Examples
    --------
    >>> weft.fft.fftn(weft.tensor([[1.0, 2.0], [3.0, 4.0]])).real
    tensor([[10., -2.],
            [-4.,  0.]])
    """
    return complex_transform("fftn", input, several_dims("fftn", input, s, dim), norm, True)


@composite(out="exact", autocast="float32")
@documented(s=SIZES, norm=NORM)
def ifftn(
    input: Tensor, s: Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The inverse of `fftn`.

    Parameters
    ----------
    input : Tensor, real or complex
    {s}
    dim : int or tuple of int, optional
        By default all, or with ``s`` the last ones.
    {norm}

    Examples
    --------
    >>> weft.fft.ifftn(weft.fft.fftn(weft.tensor([[1.0, 2.0], [3.0, 4.0]]))).real
    tensor([[1., 2.],
            [3., 4.]])
    """
    return complex_transform("ifftn", input, several_dims("ifftn", input, s, dim), norm, False)


@composite(out="exact", autocast="float32")
@documented(s=SIZES, norm=NORM)
def rfftn(
    input: Tensor, s: Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """`rfft` over several dimensions; the last of them is halved.

    Parameters
    ----------
    input : Tensor, real
    {s}
    dim : int or tuple of int, optional
        By default all, or with ``s`` the last ones.
    {norm}

    Examples
    --------
    >>> weft.fft.rfftn(weft.zeros(4, 6)).shape
    weft.Size([4, 4])
    """
    return real_transform("rfftn", input, several_dims("rfftn", input, s, dim), norm, True)


@composite(out="exact", autocast="float32")
@documented(norm=NORM)
def irfftn(
    input: Tensor, s: Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The inverse of `rfftn`.

    Parameters
    ----------
    input : Tensor
    s : sequence of int, optional
        The sizes of the result; that of the last dimension is by default ``2 * (size - 1)``.
    dim : int or tuple of int, optional
        By default all, or with ``s`` the last ones.
    {norm}

    Examples
    --------
    >>> x = weft.rand(4, 5)
    >>> weft.allclose(weft.fft.irfftn(weft.fft.rfftn(x), s=x.shape), x, atol=1e-6)
    True
    """
    return hermitian_transform("irfftn", input, several_dims("irfftn", input, s, dim, True), norm, False)


@composite(out="exact", autocast="float32")
@documented(norm=NORM)
def hfftn(
    input: Tensor, s: Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """`hfft` over several dimensions; of the last of them the first half is given.

    Parameters
    ----------
    input : Tensor
    s : sequence of int, optional
        The sizes of the result; that of the last dimension is by default ``2 * (size - 1)``.
    dim : int or tuple of int, optional
        By default all, or with ``s`` the last ones.
    {norm}

    Examples
    --------
    >>> weft.fft.hfftn(weft.zeros(4, 4)).shape
    weft.Size([4, 6])
    """
    return hermitian_transform("hfftn", input, several_dims("hfftn", input, s, dim, True), norm, True)


@composite(out="exact", autocast="float32")
@documented(s=SIZES, norm=NORM)
def ihfftn(
    input: Tensor, s: Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The inverse of `hfftn`.

    Parameters
    ----------
    input : Tensor, real
    {s}
    dim : int or tuple of int, optional
        By default all, or with ``s`` the last ones.
    {norm}

    Examples
    --------
    >>> weft.fft.ihfftn(weft.zeros(4, 6)).shape
    weft.Size([4, 4])
    """
    return real_transform("ihfftn", input, several_dims("ihfftn", input, s, dim), norm, False)


@composite(out="exact", autocast="float32")
@documented(s=SIZES, norm=NORM)
def fft2(
    input: Tensor, s: Sequence[int] | None = None, dim: int | Sequence[int] | None = PAIR, norm: str | None = None
) -> Tensor:
    """`fft` over two dimensions.

    Parameters
    ----------
    input : Tensor, real or complex
    {s}
    dim : int or tuple of int, optional
        By default the last two.
    {norm}

    Examples
    --------
    >>> weft.fft.fft2(weft.tensor([[1.0, 2.0], [3.0, 4.0]])).real
    tensor([[10., -2.],
            [-4.,  0.]])
    """
    return complex_transform("fft2", input, several_dims("fft2", input, s, dim), norm, True)


@composite(out="exact", autocast="float32")
@documented(s=SIZES, norm=NORM)
def ifft2(
    input: Tensor, s: Sequence[int] | None = None, dim: int | Sequence[int] | None = PAIR, norm: str | None = None
) -> Tensor:
    """The inverse of `fft2`.

    Parameters
    ----------
    input : Tensor, real or complex
    {s}
    dim : int or tuple of int, optional
        By default the last two.
    {norm}

    Examples
    --------
    >>> weft.fft.ifft2(weft.fft.fft2(weft.tensor([[1.0, 2.0], [3.0, 4.0]]))).real
    tensor([[1., 2.],
            [3., 4.]])
    """
    return complex_transform("ifft2", input, several_dims("ifft2", input, s, dim), norm, False)


@composite(out="exact", autocast="float32")
@documented(s=SIZES, norm=NORM)
def rfft2(
    input: Tensor, s: Sequence[int] | None = None, dim: int | Sequence[int] | None = PAIR, norm: str | None = None
) -> Tensor:
    """`rfft` over two dimensions; the last of them is halved.

    Parameters
    ----------
    input : Tensor, real
    {s}
    dim : int or tuple of int, optional
        By default the last two.
    {norm}

    Examples
    --------
    >>> weft.fft.rfft2(weft.zeros(4, 6)).shape
    weft.Size([4, 4])
    """
    return real_transform("rfft2", input, several_dims("rfft2", input, s, dim), norm, True)


@composite(out="exact", autocast="float32")
@documented(norm=NORM)
def irfft2(
    input: Tensor, s: Sequence[int] | None = None, dim: int | Sequence[int] | None = PAIR, norm: str | None = None
) -> Tensor:
    """The inverse of `rfft2`.

    Parameters
    ----------
    input : Tensor
    s : sequence of int, optional
        The sizes of the result; that of the last dimension is by default ``2 * (size - 1)``.
    dim : int or tuple of int, optional
        By default the last two.
    {norm}

    Examples
    --------
    >>> x = weft.rand(4, 5)
    >>> weft.allclose(weft.fft.irfft2(weft.fft.rfft2(x), s=x.shape), x, atol=1e-6)
    True
    """
    return hermitian_transform("irfft2", input, several_dims("irfft2", input, s, dim, True), norm, False)


@composite(out="exact", autocast="float32")
@documented(norm=NORM)
def hfft2(
    input: Tensor, s: Sequence[int] | None = None, dim: int | Sequence[int] | None = PAIR, norm: str | None = None
) -> Tensor:
    """`hfft` over two dimensions; of the last of them the first half is given.

    Parameters
    ----------
    input : Tensor
    s : sequence of int, optional
        The sizes of the result; that of the last dimension is by default ``2 * (size - 1)``.
    dim : int or tuple of int, optional
        By default the last two.
    {norm}

    Examples
    --------
    >>> weft.fft.hfft2(weft.zeros(4, 4)).shape
    weft.Size([4, 6])
    """
    return hermitian_transform("hfft2", input, several_dims("hfft2", input, s, dim, True), norm, True)


@composite(out="exact", autocast="float32")
@documented(s=SIZES, norm=NORM)
def ihfft2(
    input: Tensor, s: Sequence[int] | None = None, dim: int | Sequence[int] | None = PAIR, norm: str | None = None
) -> Tensor:
    """The inverse of `hfft2`.

    Parameters
    ----------
    input : Tensor, real
    {s}
    dim : int or tuple of int, optional
        By default the last two.
    {norm}

    Examples
    --------
    >>> weft.fft.ihfft2(weft.zeros(4, 6)).shape
    weft.Size([4, 4])
    """
    return real_transform("ihfft2", input, several_dims("ihfft2", input, s, dim), norm, False)


@composite(out=True)
def fftfreq(
    n: int, d: float = 1.0, *, dtype: DType | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """The frequencies of `fft`'s elements, in cycles per unit of the sampling distance ``d``.

    Parameters
    ----------
    n : int
        The size of the transform.
    d : float
        The sampling distance.
    dtype : dtype, default `get_default_dtype`
    device : device or str, optional
    requires_grad : bool

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
def rfftfreq(
    n: int, d: float = 1.0, *, dtype: DType | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """The frequencies of `rfft`'s elements, in cycles per unit of the sampling distance ``d``.

    Parameters
    ----------
    n : int
        The size of the transform.
    d : float
        The sampling distance.
    dtype : dtype, default `get_default_dtype`
    device : device or str, optional
    requires_grad : bool

    Examples
    --------
    >>> weft.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    (n,) = integers("rfftfreq", (n,), "n")
    element = get_default_dtype() if dtype is None else dtype
    steps = arange(n // 2 + 1, device=device).to(element)
    return (steps * resolution(n, d)).requires_grad_(requires_grad)


def shifted(name: str, input: Any, dim: Any, sign: int) -> Any:
    """A tensor rolled by half its size along some dims."""
    require_tensors(name, input=input)
    dims = wrap_dims(name, dim, input.ndim)
    return input.roll([(input.shape[d] + (sign < 0)) // 2 for d in dims], list(dims)) if dims else input.clone()


def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The frequency 0 moved to the middle.

    Parameters
    ----------
    input : Tensor
    dim : int or tuple of int, optional
        By default all.

    Examples
    --------
    >>> weft.fft.fftshift(weft.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return shifted("fftshift", input, dim, 1)


def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`.

    Parameters
    ----------
    input : Tensor
    dim : int or tuple of int, optional
        By default all.

    Examples
    --------
    >>> weft.fft.ifftshift(weft.fft.fftshift(weft.fft.fftfreq(5)))
    tensor([ 0.0000,  0.2000,  0.4000, -0.4000, -0.2000])
    """
    return shifted("ifftshift", input, dim, -1)


offer(sys.modules[__name__], __all__)  # to overrides by __torch_function__
