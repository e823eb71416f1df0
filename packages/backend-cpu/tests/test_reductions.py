"""The compiled reductions against NumPy in float64."""

import math

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries

pytestmark = pytest.mark.skipif(
    not any(library.__name__.endswith("compiled") for library in libraries.available()), reason="needs Numba"
)

REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "amax": np.max,
    "amin": np.min,
    "var": lambda x, **options: np.var(x, ddof=1, **options),
    "std": lambda x, **options: np.std(x, ddof=1, **options),
    "norm": lambda x, **options: np.sqrt(np.sum(x * x, **options)),
    "logsumexp": lambda x, **options: np.log(np.sum(np.exp(x), **options)),
}
CASES = [
    ((70, 300), (1,)),
    ((70, 300), (0,)),
    ((20_000,), (0,)),
    ((3, 9000), (1,)),
    ((5, 40, 100), (1, 2)),
    ((65,), (0,)),
    ((6, 5, 8, 70), (0, 2, 3)),
]


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(("shape", "dims"), CASES)
def test_it_is_numpys(shape, dims, name, element):
    values = np.random.default_rng(0).uniform(0.9, 1.1, shape).astype(element)
    expected = REDUCTIONS[name](values.astype("float64"), axis=dims, keepdims=True)
    found = weft.from_numpy(values)
    if name == "prod":  # it takes one dimension at a time
        for dim in reversed(dims):
            found = found.prod(dim=dim, keepdim=True)
    else:
        found = getattr(found, name)(dim=dims, keepdim=True)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5 if element == "float32" else 1e-11)
    assert found.numpy().dtype == element


@pytest.mark.parametrize("name", ["amax", "amin", "sum", "norm", "var", "logsumexp", "prod"])
@pytest.mark.parametrize("place", [0, 63, 64, 9000, 19_999])
def test_nan_is_passed_on(name, place):
    x = weft.ones(20_000)
    x[place] = math.nan
    assert math.isnan(getattr(x, name)(dim=0).item())


def test_what_is_not_zero_is_counted():
    x = weft.ones(3, 9000)
    x[1, 4000:], x[2, 7] = 0, -0.0
    assert x.count_nonzero().item() == 9000 + 4000 + 8999
    assert x.count_nonzero(dim=1).tolist() == [9000, 4000, 8999]


def test_infinities_stay_what_they_are():
    x = weft.full((2, 10_000), -math.inf)
    assert x.logsumexp(1).tolist() == [-math.inf] * 2
    assert x.amax(1).tolist() == [-math.inf] * 2
    x[0, 500] = math.inf
    assert x.logsumexp(1).tolist() == [math.inf, -math.inf]
    assert x.amax(1).tolist() == [math.inf, -math.inf]
    assert x.norm(dim=1).tolist() == [math.inf] * 2


@pytest.mark.parametrize("number", [0.1, 0.7, 1.1])
def test_ten_million_numbers_are_added_without_losing_any(number):
    x = weft.full((10_000_000,), number)
    assert x.sum().item() == pytest.approx(1e7 * x[0].item(), rel=1e-6)


@pytest.mark.parametrize("dims", [(0,), (1,), (3,), (0, 2), (1, 3), (0, 2, 3), (1, 2)])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1), (3, 2, 1, 0)])
def test_dimensions_are_reduced_however_they_lie_in_memory(order, dims):
    values = np.random.default_rng(0).normal(size=(9, 10, 16, 20)).transpose(np.argsort(order))
    values = np.ascontiguousarray(values).transpose(order)
    x = weft.from_numpy(values)
    np.testing.assert_allclose(x.sum(dims).numpy(), values.sum(dims), atol=1e-10)
    np.testing.assert_allclose(x.var(dims, keepdim=True).numpy(), values.var(dims, ddof=1, keepdims=True), atol=1e-10)
    np.testing.assert_array_equal(x.amin(dims).numpy(), values.min(dims))
    np.testing.assert_array_equal((x > 0).sum(dims).numpy(), (values > 0).sum(dims))
    np.testing.assert_array_equal((x > 2).any(dims).numpy(), (values > 2).any(dims))


@pytest.mark.parametrize("element", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_integers_are_added_and_multiplied_without_overflow(element):
    x = weft.ones(3, 9000).to(getattr(weft, element))
    assert x.sum().item() == 27_000
    assert x.sum(0).tolist() == [3] * 9000
    assert x.prod(1).tolist() == [1, 1, 1]
    assert x.sum().dtype is weft.int64


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_the_first_extreme_is_found_and_nan_is_one(dim):
    values = np.random.default_rng(0).integers(0, 4, (30, 40, 50)).astype("float32")
    x = weft.from_numpy(values)
    for found, places in ((x.max(dim), values.argmax(dim)), (x.min(dim), values.argmin(dim))):
        np.testing.assert_array_equal(found.indices.numpy(), places)
        chosen = np.take_along_axis(values, np.expand_dims(places, dim), dim)
        np.testing.assert_array_equal(found.values.numpy(), chosen.squeeze(dim))
    x[2, 3, 4], x[5, 6, 7] = math.nan, math.nan
    assert x.max(0).indices[3, 4].item() == 2
    assert x.argmin(1)[5, 7].item() == 6
    assert math.isnan(x.min(2).values[2, 3].item())


@pytest.mark.parametrize("shape", [(9000, 3), (300, 128), (257, 65), (70, 4, 80)])
def test_sums_over_the_first_dimension(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    expected = x.astype("float64").sum(0)
    np.testing.assert_allclose(weft.from_numpy(x).sum(0).numpy(), expected, rtol=1e-5, atol=1e-4)
