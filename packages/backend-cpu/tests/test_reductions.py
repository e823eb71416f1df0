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


def test_ten_million_numbers_are_added_without_losing_any():
    assert weft.full((10_000_000,), 0.1).sum().item() == pytest.approx(1e6, rel=1e-6)
