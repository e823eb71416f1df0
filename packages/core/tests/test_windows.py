"""Window functions: by their closed forms, and against NumPy's."""

import math

import numpy as np
import pytest

import weft
from weft.signal import windows

SYMMETRIC = {"hann": np.hanning, "hamming": np.hamming, "blackman": np.blackman, "bartlett": np.bartlett}
AT_THE_TOP = {
    "hann": weft.hann_window,
    "hamming": weft.hamming_window,
    "blackman": weft.blackman_window,
    "bartlett": weft.bartlett_window,
}


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("size", [0, 1, 2, 7, 8])
def test_windows_are_those_of_numpy(name, size):
    expected = SYMMETRIC[name](size)
    for made in (
        getattr(windows, name)(size, dtype=weft.float64),
        AT_THE_TOP[name](size, periodic=False, dtype=weft.float64),
    ):
        np.testing.assert_allclose(made.numpy(), expected, atol=1e-15)


@pytest.mark.parametrize("beta", [0.0, 5.0, 12.0])
def test_kaiser_is_that_of_numpy(beta):
    expected = np.kaiser(9, beta)
    np.testing.assert_allclose(windows.kaiser(9, beta=beta, dtype=weft.float64).numpy(), expected, rtol=1e-14)
    np.testing.assert_allclose(weft.kaiser_window(9, False, beta, dtype=weft.float64).numpy(), expected, rtol=1e-14)


@pytest.mark.parametrize("name", windows.__all__)
def test_a_periodic_window_is_a_symmetric_one_of_one_point_more_without_its_last(name):
    options = {"a": [0.4, 0.5, 0.1]} if name == "general_cosine" else {}
    make = getattr(windows, name)
    assert weft.equal(make(6, sym=False, **options), make(7, **options)[:6])


@pytest.mark.parametrize("name", windows.__all__)
def test_a_window_of_one_point_is_1_and_of_none_is_empty(name):
    options = {"a": [0.4, 0.5, 0.1]} if name == "general_cosine" else {}
    make = getattr(windows, name)
    assert make(1, **options).tolist() == [1.0]
    assert make(0, **options).shape == (0,)


def test_exponential_gaussian_and_cosine_have_their_closed_forms():
    n = np.arange(5)
    exponential = windows.exponential(5, tau=2.0, dtype=weft.float64)
    np.testing.assert_allclose(exponential.numpy(), np.exp(-abs(n - 2) / 2))
    gaussian = windows.gaussian(5, std=0.5, dtype=weft.float64)
    np.testing.assert_allclose(gaussian.numpy(), np.exp(-2.0 * (n - 2) ** 2))
    np.testing.assert_allclose(windows.cosine(5, dtype=weft.float64).numpy(), np.sin(math.pi / 5 * (n + 0.5)))
    shifted = windows.exponential(5, center=0, sym=False, dtype=weft.float64)
    np.testing.assert_allclose(shifted.numpy(), np.exp(-n))


def test_hann_windows_half_overlapped_add_up_to_one():
    window = weft.hann_window(8, dtype=weft.float64)
    np.testing.assert_allclose((window[:4] + window[4:]).numpy(), np.ones(4))


@pytest.mark.parametrize("element", [weft.float16, weft.bfloat16, weft.float32, weft.float64], ids=str)
def test_windows_have_the_dtype_asked_for(element):
    assert weft.hann_window(4, dtype=element).dtype is element


def test_a_window_can_be_a_leaf():
    assert weft.hann_window(4, requires_grad=True).requires_grad
    assert windows.hann(4, requires_grad=True).requires_grad


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda: windows.hann(-1)),
        (ValueError, lambda: windows.hann(3, dtype=weft.float16)),
        (ValueError, lambda: windows.hann(3, layout=weft.sparse_coo)),
        (ValueError, lambda: windows.exponential(3, tau=0.0)),
        (ValueError, lambda: windows.exponential(3, center=1.0)),
        (ValueError, lambda: windows.gaussian(3, std=0.0)),
        (ValueError, lambda: windows.kaiser(3, beta=-1.0)),
        (ValueError, lambda: windows.general_cosine(3, a=[])),
        (TypeError, lambda: windows.general_cosine(3, a=None)),
        (RuntimeError, lambda: weft.hann_window(-1)),
        (RuntimeError, lambda: weft.hann_window(3, dtype=weft.int64)),
        (RuntimeError, lambda: weft.hann_window(3, layout=weft.sparse_coo)),
        (TypeError, lambda: weft.hann_window(3.5)),
    ],
)
def test_a_wrong_call_is_refused(error, call):
    with pytest.raises(error):
        call()


def test_a_window_beyond_memory_is_refused():
    with pytest.raises(RuntimeError, match="hann_window"):
        weft.hann_window(2**62)
