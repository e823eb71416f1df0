"""The few largest elements, compiled, against a stable sort."""

import math

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries

pytestmark = pytest.mark.skipif(
    not any(library.__name__.endswith("compiled") for library in libraries.available()), reason="needs Numba"
)


@pytest.mark.parametrize("k", [1, 2, 7, 30])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("element", ["float32", "float64"])
def test_they_come_in_order_and_of_equal_ones_the_first_first(k, largest, element):
    values = np.random.default_rng(0).integers(-40, 40, (40, 260)).astype(element)
    found = weft.from_numpy(values).topk(k, 1, largest=largest)
    order = np.argsort(-values if largest else values, axis=1, kind="stable")[:, :k]
    assert (found.indices.numpy() == order).all()
    assert (found.values.numpy() == np.take_along_axis(values, order, 1)).all()


def test_nan_is_the_largest():
    x = weft.arange(9000.0)
    x[3], x[8000] = math.nan, math.nan
    assert x.topk(4).indices.tolist() == [3, 8000, 8999, 8998]
    assert x.topk(4, largest=False).indices.tolist() == [0, 1, 2, 4]
    x[:] = math.nan
    x[7000] = 1
    assert x.topk(2, largest=False).indices.tolist() == [7000, 0]
    assert x.topk(2).indices.tolist() == [0, 1]


def test_infinities_are_ordered():
    x = weft.zeros(9000)
    x[5], x[6] = math.inf, -math.inf
    assert x.topk(2).values.tolist() == [math.inf, 0]
    assert x.topk(2, largest=False).values.tolist() == [-math.inf, 0]


def test_the_largest_along_the_first_dimension_are_those_of_columns():
    values = np.random.default_rng(0).integers(0, 1000, (200, 30))
    for x in (weft.from_numpy(values), weft.from_numpy(values.astype("float32"))):
        found = x.topk(5, 0)
        np.testing.assert_array_equal(found.values.numpy(), np.sort(values, 0)[::-1][:5])
        np.testing.assert_array_equal(np.take_along_axis(values, found.indices.numpy(), 0), found.values.numpy())


def test_elements_are_counted():
    values = np.random.default_rng(0).integers(0, 40, 5001)
    x = weft.from_numpy(values)
    np.testing.assert_array_equal(x.bincount(minlength=60).numpy(), np.bincount(values, minlength=60))
    np.testing.assert_allclose(x.bincount(x.double()).numpy(), np.bincount(values, values))
    np.testing.assert_array_equal(x.float().histc(8, 0, 40).numpy(), np.histogram(values, 8, (0, 40))[0])
    with pytest.raises(RuntimeError, match="non-negative"):
        (x - 1).bincount()
