"""Products of integers are exact, and those of batches with one matrix are one product."""

import numpy as np
import pytest

import weft
from weft.backend_cpu import blas

SHAPES = [((9, 30), (30, 11)), ((4, 9, 30), (30, 11)), ((4, 9, 30), (4, 30, 11)), ((9, 0), (0, 11)), ((9, 30), (30,))]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "uint64"])
@pytest.mark.parametrize("most", [5, 1000, None], ids=["small", "middle", "all"])
def test_products_of_integers_are_exact_and_go_around_beyond_their_range(dtype, most):
    of = np.iinfo(dtype)
    most = of.max if most is None else min(most, of.max)
    rng = np.random.default_rng(0)
    for first, second in SHAPES:
        a, b = (rng.integers(max(of.min, -most), most, s, dtype=dtype, endpoint=True) for s in (first, second))
        result = blas.matmul(a, b)
        assert result.dtype == a.dtype
        assert np.array_equal(result, np.matmul(a, b))


def test_the_largest_integers_are_not_rounded():
    a = np.full((40, 40), 2**53 + 1)
    assert np.array_equal(blas.matmul(a, np.eye(40, dtype=np.int64)), a)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("shape", [(3, 5, 7), (17, 300, 20), (64, 64, 64), (1, 4, 5), (5, 70_000, 3), (2, 0, 3)])
def test_int_mm_is_exact_in_int32(dtype, shape):
    rows, inner, columns = shape
    of, rng = np.iinfo(dtype), np.random.default_rng(0)
    a = rng.integers(of.min, of.max, (rows, inner), dtype=dtype, endpoint=True)
    b = rng.integers(-128, 127, (columns, inner), dtype=np.int8, endpoint=True)
    expected = a.astype(np.int64) @ b.T.astype(np.int64)
    result = weft._int_mm(weft.from_numpy(a), weft.from_numpy(b).T)
    assert result.dtype is weft.int32
    assert np.array_equal(result.numpy(), expected)
    assert np.array_equal(blas.wide_product(a, b.T), expected)


@pytest.mark.parametrize("dtypes", [(weft.int32, weft.int8), (weft.int8, weft.uint8), (weft.float32, weft.int8)])
def test_int_mm_refuses_other_dtypes(dtypes):
    with pytest.raises(RuntimeError, match="_int_mm: input must be int8 or uint8"):
        weft._int_mm(*(weft.ones(2, 2, dtype=each) for each in dtypes))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("shape", [(1, 1), (300, 200), (200, 0), (3, 5)])
def test_a_column_times_a_row_is_their_outer_product(dtype, shape):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(2 * n).astype(dtype)[::2] for n in shape)
    assert np.array_equal(blas.matmul(a[:, None], b[None]), np.multiply.outer(a, b))
    assert np.array_equal(weft.outer(weft.from_numpy(a), weft.from_numpy(b)).numpy(), np.multiply.outer(a, b))


@pytest.mark.parametrize(
    "equation",
    ["bij,bjk->bik", "bij,bkj->bki", "i,j->ij", "i,j->ji", "bi,bi->b", "abi,bai->ab", "ij,ji->", "ab,cd->dbca"],
)
@pytest.mark.parametrize("size", [3, 1])
def test_einsum_of_two_operands_is_that_of_numpy(equation, size):
    rng = np.random.default_rng(0)
    lengths = dict(zip("abcdijk", (2, 3, 4, 5, 3, 3, 6)))
    first, second = equation.split("->")[0].split(",")
    a = rng.standard_normal([lengths[each] for each in first])
    b = rng.standard_normal([size if each == "i" and size == 1 else lengths[each] for each in second])
    expected = np.einsum(equation, a, np.broadcast_to(b, [lengths[each] for each in second]))
    result = weft.einsum(equation, weft.from_numpy(a), weft.from_numpy(b)).numpy()
    np.testing.assert_allclose(result, expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
def test_a_dot_product_of_halves_is_one_number_of_theirs(dtype):
    x = weft.full((40,), 2, dtype=dtype)
    assert weft.dot(x, x).tolist() == 160
    assert weft.dot(x, x).dtype is dtype


@pytest.mark.parametrize(("shape", "dim"), [((500, 3), 1), ((3, 500), 0), ((9, 3, 40), -2)])
def test_the_cross_product_is_exactly_numpys(shape, dim):
    x, y = (np.random.default_rng(seed).standard_normal(shape).astype(np.float32) for seed in (0, 1))
    found = weft.cross(weft.from_numpy(x), weft.from_numpy(y), dim=dim)
    assert (found.numpy() == np.cross(x, y, axis=dim)).all()
    assert not weft.cross(found, found, dim=dim).any()


@pytest.mark.parametrize(("first", "second"), [((30, 20), (40, 9)), ((300, 20), (2, 3)), ((90,), (100,))])
def test_blocks_are_numpys(first, second):
    x, y = (np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in (first, second))
    assert (weft.kron(weft.from_numpy(x), weft.from_numpy(y)).numpy() == np.kron(x, y)).all()
