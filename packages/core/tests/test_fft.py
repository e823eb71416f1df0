"""`weft.fft`: transforms by their sums, inverses, sizes, and gradients."""

import numpy as np
import pytest

import weft
from weft import fft
from weft.autograd import gradcheck, gradgradcheck

NORMS = [None, "backward", "ortho", "forward"]
PAIRS = [(fft.fft, fft.ifft), (fft.fft2, fft.ifft2), (fft.fftn, fft.ifftn)]


def signal(*shape, dtype=weft.float64, requires_grad=False):
    rng = np.random.default_rng(0)
    values = rng.standard_normal(shape)
    if dtype.is_complex:
        values = values + 1j * rng.standard_normal(shape)
    return weft.tensor(values, dtype=dtype, requires_grad=requires_grad)


def assert_close(actual, expected):
    assert actual.dtype is expected.dtype
    eps = np.finfo(actual.dtype.numpy).eps
    np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), rtol=100 * eps, atol=100 * eps)


def test_transform_is_the_sum_that_defines_it():
    x = signal(5, dtype=weft.complex128)
    k = np.arange(5)
    expected = np.exp(-2j * np.pi * k[:, None] * k / 5) @ x.numpy()
    assert_close(fft.fft(x), weft.tensor(expected))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
@pytest.mark.parametrize("dtype", [weft.complex64, weft.complex128], ids=str)
def test_inverse_returns_the_signal(pair, norm, dtype):
    x = signal(3, 4, 5, dtype=dtype)
    assert_close(pair[1](pair[0](x, norm=norm), norm=norm), x)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("names", [("rfft", "irfft"), ("rfft2", "irfft2"), ("rfftn", "irfftn"), ("ihfft2", "hfft2")])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64], ids=str)
def test_inverse_returns_the_real_signal(names, norm, dtype):
    forward, backward = (getattr(fft, name) for name in names)
    x = signal(4, 5, dtype=dtype)
    size = 5 if names[0] == "rfft" else (4, 5)
    assert_close(backward(forward(x, norm=norm), size, norm=norm), x)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("n", [None, 3, 8])
def test_sizes_and_norms_are_those_of_numpy(name, norm, n):
    x = signal(6, 2)
    expected = getattr(np.fft, name)(x.numpy(), n, 0, norm)
    assert_close(getattr(fft, name)(x, n, 0, norm), weft.tensor(expected))


def test_half_of_the_transform_of_real_numbers_says_all():
    x = signal(6)
    assert_close(fft.rfft(x), fft.fft(x)[:4])


def test_integers_become_the_default_dtype():
    assert fft.fft(weft.arange(4)).dtype is weft.complex64
    assert fft.ihfft(weft.arange(4)).dtype is weft.complex64


@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "hfft", "fft2", "irfft2", "hfftn"])
def test_gradients_of_complex_signals_agree_with_differences(name):
    x = signal(3, 4, dtype=weft.complex128, requires_grad=True)
    assert gradcheck(getattr(fft, name), (x,))
    assert gradgradcheck(getattr(fft, name), (x,))


@pytest.mark.parametrize("name", ["fft", "rfft", "ihfft", "rfft2", "ihfftn", "irfft"])
@pytest.mark.parametrize("n", [3, 4, 7])
def test_gradients_of_real_signals_agree_with_differences(name, n):
    x = signal(4, 5, requires_grad=True)
    size = n if name in ("fft", "rfft", "ihfft", "irfft") else (2, n)
    assert gradcheck(lambda x: getattr(fft, name)(x, size, norm="ortho"), (x,))
    assert gradgradcheck(lambda x: getattr(fft, name)(x, size, norm="ortho"), (x,))


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies_are_those_of_numpy(n):
    assert_close(fft.fftfreq(n, 0.5, dtype=weft.float64), weft.tensor(np.fft.fftfreq(n, 0.5)))
    assert_close(fft.rfftfreq(n, 0.5, dtype=weft.float64), weft.tensor(np.fft.rfftfreq(n, 0.5)))
    shifted = fft.fftshift(fft.fftfreq(n))
    assert (shifted.diff() > 0).all()
    assert_close(fft.ifftshift(shifted), fft.fftfreq(n))


def test_wrong_arguments_are_refused():
    with pytest.raises(RuntimeError, match=r"fft: Invalid number of data points \(0\)"):
        fft.fft(weft.ones(4), n=0)
    with pytest.raises(RuntimeError, match="Invalid normalization mode: 'other'"):
        fft.fft(weft.ones(4), norm="other")
    with pytest.raises(RuntimeError, match="rfft expects a real input tensor"):
        fft.rfft(weft.ones(4, dtype=weft.complex64))
    with pytest.raises(RuntimeError, match="Unsupported dtype Half"):
        fft.fft(weft.ones(4, dtype=weft.float16))
    with pytest.raises(IndexError, match="Dimension out of range"):
        fft.fft(weft.ones(4), dim=1)
    with pytest.raises(RuntimeError, match="must have the same length"):
        fft.fftn(weft.ones(4, 4), s=(2,), dim=(0, 1))


def test_subclasses_see_the_public_function():
    seen = []

    class Watching(weft.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    result = weft.fft.rfft(weft.ones(4).as_subclass(Watching), n=2)
    assert seen == [weft.fft.rfft]
    assert type(result) is Watching


@pytest.mark.parametrize("name", ["ifft", "ihfft"])
def test_an_empty_out_takes_the_order_in_memory_of_an_inverse_of_real_numbers(name):
    x = signal(3, 4, 5)
    out = weft.empty(0, dtype=weft.complex128)
    getattr(fft, name)(x, dim=1, out=out)
    assert out.stride(1) == 1
    assert_close(out, getattr(fft, name)(x, dim=1))


def test_transforms_of_several_dims_round_once():
    x = signal(8, 9, 10)
    assert weft.equal(fft.fftn(x.float()), fft.fftn(x.float().double()).to(weft.complex64))
