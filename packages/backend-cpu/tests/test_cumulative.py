"""The compiled running sums, products and extremes against NumPy."""

import math

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries

pytestmark = pytest.mark.skipif(
    not any(library.__name__.endswith("compiled") for library in libraries.available()), reason="needs Numba"
)

CASES = [((9000,), 0), ((3, 4000), 1), ((21, 500), 1), ((300, 40), 0), ((4, 60, 50), 1), ((1, 9000), 0)]


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "dim"), CASES)
def test_it_is_numpys(shape, dim, element):
    values = np.random.default_rng(0).uniform(0.99, 1.01, shape).astype(element)
    x = weft.from_numpy(values)
    for name in ("cumsum", "cumprod"):
        expected = getattr(np, name)(values.astype("float64"), axis=dim).astype(element)
        assert (getattr(x, name)(dim).numpy() == expected).all()
    for name, running in (("cummax", np.maximum), ("cummin", np.minimum)):
        found = getattr(x, name)(dim)
        assert (found.values.numpy() == running.accumulate(values, axis=dim)).all()
        assert (np.take_along_axis(values, found.indices.numpy(), dim) == found.values.numpy()).all()


@pytest.mark.parametrize(("shape", "dim"), CASES)
def test_logarithms_of_running_sums_of_exponentials(shape, dim):
    values = np.random.default_rng(0).uniform(-20, 20, shape)
    found = weft.from_numpy(values).logcumsumexp(dim).numpy()
    np.testing.assert_allclose(found, np.logaddexp.accumulate(values, axis=dim), rtol=1e-12, atol=1e-12)


def test_infinities_in_running_sums_of_exponentials():
    x = weft.zeros(9000)
    x[:2], x[5:7] = -math.inf, math.inf
    found = x.logcumsumexp(0)
    assert found[:8].tolist() == [
        -math.inf,
        -math.inf,
        0,
        pytest.approx(math.log(2)),
        pytest.approx(math.log(3)),
        *[math.inf] * 3,
    ]


def test_of_equal_extremes_the_last_counts_and_nan_is_the_largest_and_the_smallest():
    x = weft.zeros(9000)
    x[5], x[7] = -1, 1
    assert x.cummax(0).indices[:10].tolist() == [0, 1, 2, 3, 4, 4, 6, 7, 7, 7]
    assert x.cummin(0).indices[:10].tolist() == [0, 1, 2, 3, 4, 5, 5, 5, 5, 5]
    x[8], x[8999] = math.nan, math.nan
    for found in (x.cummax(0), x.cummin(0)):
        assert math.isnan(found.values[100].item())
        assert found.indices[100].item() == 8
        assert found.indices[8999].item() == 8999


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("element", ["int64", "int32", "float32"])
def test_integers_and_permuted_arrays_are_gone_through(element, dim):
    values = np.random.default_rng(0).integers(-5, 5, (12, 20, 30)).astype(element).transpose(2, 0, 1)
    x = weft.from_numpy(values)
    np.testing.assert_array_equal(x.cumsum(dim).numpy(), values.cumsum(dim))
    np.testing.assert_array_equal(x.cummax(dim).values.numpy(), np.maximum.accumulate(values, dim))
    found = x.cummin(dim)
    np.testing.assert_array_equal(found.values.numpy(), np.minimum.accumulate(values, dim))
    np.testing.assert_array_equal(np.take_along_axis(values, found.indices.numpy(), dim), found.values.numpy())
