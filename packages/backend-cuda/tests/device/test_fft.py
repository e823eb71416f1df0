"""Fourier transforms on the device: of what cuFFT has no plan for, and of halves that are no real signal's."""

import pytest

import weft
from weft.testing import assert_close

TRANSFORMS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "rfft2", "irfft2", "fftn", "irfftn", "hfftn"]


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_agree(name, norm):
    weft.manual_seed(0)
    real = name in ("rfft", "ihfft", "rfft2")
    x = weft.randn(2, 4, 5, dtype=weft.float64 if real else weft.complex128)  # no half of a Hermitian signal
    function = getattr(weft.fft, name)
    assert_close(function(x.cuda(), norm=norm).cpu(), function(x, norm=norm), rtol=1e-10, atol=1e-10)
    single = x.to(x.dtype.to_real() if real else weft.complex64)
    assert function(single.cuda(), norm=norm).dtype == function(single, norm=norm).dtype


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_batch_of_none_is_transformed_to_none(name):
    x = weft.zeros(0, 4, 6)
    dims = {} if name.endswith("2") else {"dim": (1, 2)} if name.endswith("n") else {"dim": -1}
    function = getattr(weft.fft, name)
    here, there = function(x, **dims), function(x.cuda(), **dims)
    assert there.shape == here.shape and there.dtype == here.dtype
