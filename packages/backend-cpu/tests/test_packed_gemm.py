"""Products with a matrix in panels are those of NumPy, for shapes that tiles fit and do not fit."""

import numpy as np
import pytest

from weft.backend_cpu import compiled, libraries

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")


@pytest.fixture(scope="module")
def add():
    from weft.backend_cpu.compiled.codegen.parallel import launcher
    from weft.backend_cpu.compiled.kernels.packed_gemm import add_product

    @launcher
    def call(a, place, panels, c, target, count, backwards):
        add_product(a, place, panels, c, target, count, backwards)

    return call


@pytest.mark.parametrize(("flipped", "backwards"), [(False, False), (True, True)])
@pytest.mark.parametrize(("rows", "inner", "columns"), [(1, 3, 5), (11, 40, 32), (300, 17, 70), (9, 1030, 33)])
def test_a_product_is_added_to_the_rows_that_are_named_and_to_no_others(add, rows, inner, columns, flipped, backwards):
    from weft.backend_cpu.compiled.kernels.packed_gemm import in_panels

    random = np.random.default_rng(rows)
    a, b = random.standard_normal((rows + 3, inner)), random.standard_normal((inner, columns))
    a, b = a.astype(np.float32), b.astype(np.float32)
    c = random.standard_normal((rows + 2, columns)).astype(np.float32)
    expected = c.copy()
    expected[1 : rows + 1] += a[2 : rows + 2] @ b
    add(a, 2, in_panels(np.ascontiguousarray(b.T) if flipped else b, flipped), c, 1, rows, backwards)
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(33, 16), (64, 50), (5, 3)])
def test_panels_have_the_columns_of_a_matrix_and_zeros(shape):
    from weft.backend_cpu.compiled.kernels.packed_gemm import in_panels

    matrix = np.arange(1, 1 + shape[0] * shape[1], dtype=np.float32).reshape(shape)
    for flipped, plain in ((False, matrix), (True, matrix.T)):
        panels = in_panels(matrix, flipped)
        found = panels.transpose(1, 0, 2).reshape(plain.shape[0], -1)
        assert np.array_equal(found[:, : plain.shape[1]], plain)
        assert not found[:, plain.shape[1] :].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("terms", "rows", "columns"), [(1, 3, (5, 0)), (8, 8, (32, 7)), (130, 70, (33, 64)), (300, 417, (1, 96))]
)
def test_products_of_columns_are_those_of_the_transpose(terms, rows, columns, dtype):
    from weft.backend_cpu.compiled.kernels.packed_gemm import products_of_columns

    random = np.random.default_rng(rows)
    a, *others = (random.standard_normal((terms, each)).astype(dtype) for each in (rows, *columns))
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    for given in (others, others[:1]):
        found = products_of_columns(a, *given)
        assert len(found) == len(given)
        for result, other in zip(found, given):
            np.testing.assert_allclose(result, a.T @ other, rtol=tolerance, atol=tolerance)
