"""Products with vectors are those of NumPy, however the operands lie in memory, and on any number of threads."""

import numpy as np
import pytest

import weft
from weft.backend_cpu import blas, libraries, registry
from weft.backend_cpu.compiled import has_numba

compiled = pytest.mark.skipif(not libraries.import_loops(), reason="there are no compiled loops")

FORMS = [
    ((7, 5), (5,)),
    ((5,), (5, 7)),
    ((600, 1030), (1030,)),
    ((600,), (600, 1030)),
    ((3, 9), (9, 1)),
    ((1, 9), (9, 3)),
    ((2, 3, 7, 5), (5,)),
    ((5,), (2, 3, 5, 7)),
    ((2, 3, 7, 5), (2, 3, 5, 1)),
    ((2, 3, 1, 5), (2, 3, 5, 7)),
    ((2, 1, 7, 5), (3, 5, 1)),
    ((3, 1, 5), (2, 3, 5, 7)),
    ((1, 5), (3, 5, 7)),
    ((4, 300, 5), (5, 1)),
]
LAYOUTS = {
    "in order": lambda x: x,
    "transposed": lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2) if x.ndim > 1 else x,
    "in pieces": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "a part": lambda x: np.concatenate([x] * 2, -1)[..., : x.shape[-1]],
    "not aligned": lambda x: moved(x),
}


def moved(x):
    memory = np.zeros(x.nbytes + 1, np.uint8)
    made = np.ndarray(x.shape, x.dtype, memory, 1)
    made[...] = x
    return made


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = weft.get_num_threads()
    weft.set_num_threads(request.param)
    yield request.param
    weft.set_num_threads(before)


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(blas, "MIN_SIZE_BY_VECTOR", 1)
    monkeypatch.setattr(blas, "MIN_SIZE", 1)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_vectors_are_those_of_numpy(always, dtype, form, layout):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in form)
    result = blas.matmul(LAYOUTS[layout](a), LAYOUTS[layout](b))
    expected = np.matmul(a.astype(float), b.astype(float))
    assert result.dtype == dtype
    assert result.shape == expected.shape
    assert result.flags.c_contiguous
    np.testing.assert_allclose(result, expected, rtol=0, atol=40 * np.finfo(dtype).eps * np.sqrt(a.shape[-1]))


@compiled
@pytest.mark.parametrize("shape", [(1500, 900), (1501, 900), (3, 50_001), (5, 7, 1003), (1000, 3, 33)], ids=str)
@pytest.mark.parametrize("flipped", [False, True])
def test_compiled_products_do_not_depend_on_the_number_of_threads(always, flipped, shape, threads):
    rng = np.random.default_rng(0)
    matrix, vector = rng.standard_normal(shape, np.float32), rng.standard_normal(shape[-1], np.float32)
    matrix = np.ascontiguousarray(matrix.swapaxes(-1, -2)).swapaxes(-1, -2) if flipped else matrix
    result = blas.by_vector(matrix, vector)
    weft.set_num_threads(1)
    assert np.array_equal(result, blas.by_vector(matrix, vector))


@pytest.mark.parametrize("form", [((0, 5), (5,)), ((5, 0), (0,)), ((0, 3, 5), (0, 5, 1)), ((1, 5), (5, 0))], ids=str)
def test_products_with_nothing_in_them(always, form):
    a, b = (np.ones(shape, np.float32) for shape in form)
    assert np.array_equal(blas.matmul(a, b), np.matmul(a, b))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("flipped", [False, True])
def test_numbers_that_are_not_finite_stay_in_their_sums(always, value, flipped):
    matrix = np.ones((9, 9), np.float32)
    matrix[3, 4] = value
    matrix = np.asfortranarray(matrix) if flipped else matrix
    expected = np.full(9, 9, np.float32)
    expected[3] = value
    np.testing.assert_array_equal(blas.matmul(matrix, np.ones(9, np.float32)), expected)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(1, 700), (700,), (1, 1, 700), (2, 700)], ids=str)
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
def test_one_row_through_a_linear_map(dtype, shape, bias):
    weft.manual_seed(0)
    x, weight = weft.randn(shape, dtype=dtype), weft.randn(400, 700, dtype=dtype)
    assert weight.numel() > blas.MIN_SIZE_BY_VECTOR
    bias = weft.randn(400, dtype=dtype) if bias else None
    expected = x.numpy().astype(float) @ weight.numpy().T.astype(float) + (0 if bias is None else bias.numpy())
    result = weft.nn.functional.linear(x, weight, bias).numpy()
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-4 if dtype is weft.float32 else 1e-11)


@compiled
@pytest.mark.parametrize("shape", [(1500, 900), (1501, 899), (6, 1), (1, 9)], ids=str)
@pytest.mark.parametrize("with_bias", [False, True])
def test_one_row_of_bfloat16_is_rounded_once(always, shape, with_bias, threads):
    weft.manual_seed(0)
    row, weight = weft.randn(1, 1, shape[1]).bfloat16(), weft.randn(shape).bfloat16()
    bias = weft.randn(shape[0]).bfloat16() if with_bias else None
    found = weft.nn.functional.linear(row, weight, bias)
    exact = row.double() @ weight.double().T + (0 if bias is None else bias.double())
    assert found.shape == (1, 1, shape[0])
    assert found.dtype is weft.bfloat16
    step = 2.0**-8 * exact.abs() + 1e-5  # half of the last place, and what the sums in float32 lose
    assert ((found.double() - exact).abs() <= step).all()
    weft.set_num_threads(1)
    assert weft.equal(found, weft.nn.functional.linear(row, weight, bias))


@compiled
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16])
def test_one_row_however_the_weight_lies(always, dtype, layout):
    rng = np.random.default_rng(0)
    row, weight = (LAYOUTS[layout](rng.standard_normal(shape).astype(dtype.numpy)) for shape in ((1, 50), (30, 50)))
    expected = row.astype(float) @ weight.astype(float).T
    found = blas.one_row(row, weight, None)
    if found is not None:
        np.testing.assert_allclose(found.astype(float), expected, rtol=2**-7, atol=1e-2)
    if not has_numba():
        pytest.skip("some layouts are not prebuilt")
    assert (found is None) == (layout in ("transposed", "in pieces", "not aligned"))


@compiled
@pytest.mark.skipif(not registry.MIN_SIZE, reason="every product takes the compiled kernel")
def test_small_products_stay_with_numpy(monkeypatch):
    monkeypatch.setattr(blas, "by_vector", None)  # it would raise
    assert blas.matmul(np.ones((9, 9), np.float32), np.ones(9, np.float32)).tolist() == [9] * 9
