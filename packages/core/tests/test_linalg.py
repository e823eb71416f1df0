"""`weft.linalg`: decompositions rebuild their input, solvers solve, gradients agree with differences."""

import math
import sys

import numpy as np
import pytest

import weft
from weft import linalg
from weft.autograd import gradcheck, gradgradcheck

DTYPES = [weft.float32, weft.float64, weft.complex64, weft.complex128]


def matrix(*shape, dtype=weft.float64, requires_grad=False, seed=0):
    """A batch of matrices, well-conditioned where they are square."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if dtype.is_complex:
        values = values + 1j * rng.standard_normal(shape)
    if shape[-1] == shape[-2]:
        values = values + 3 * np.diag(np.arange(1, shape[-1] + 1))
    return weft.tensor(values, dtype=dtype, requires_grad=requires_grad)


def positive(A):
    return A @ A.mH + weft.eye(A.shape[-1], dtype=A.dtype)


def assert_close(actual, expected):
    assert actual.shape == expected.shape
    assert actual.dtype is expected.dtype
    eps = np.finfo(actual.dtype.numpy).eps
    np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), rtol=500 * eps, atol=500 * eps)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
class TestRebuild:
    def test_inverse_times_matrix_is_identity(self, dtype):
        A = matrix(2, 3, 3, dtype=dtype)
        assert_close(linalg.inv(A) @ A, weft.eye(3, dtype=dtype).expand(2, 3, 3))

    def test_solution_solves_from_either_side(self, dtype):
        A, B = matrix(2, 3, 3, dtype=dtype), matrix(3, 4, dtype=dtype, seed=1)
        assert_close(A @ linalg.solve(A, B), B.expand(2, 3, 4))
        assert_close(linalg.solve(A, B.mT, left=False) @ A, B.mT.expand(2, 4, 3))
        assert_close(A[0] @ linalg.solve(A[0], B[:, 0]), B[:, 0])

    @pytest.mark.parametrize("upper", [False, True])
    def test_cholesky_factor_squares_to_the_matrix(self, dtype, upper):
        A = positive(matrix(2, 3, 3, dtype=dtype))
        L = linalg.cholesky(A, upper=upper)
        assert_close(L.mH @ L if upper else L @ L.mH, A)

    @pytest.mark.parametrize("shape", [(2, 4, 3), (2, 3, 4), (3, 3)], ids=str)
    @pytest.mark.parametrize("mode", ["reduced", "complete"])
    def test_qr_rebuilds(self, dtype, shape, mode):
        A = matrix(*shape, dtype=dtype)
        Q, R = linalg.qr(A, mode)
        assert_close(Q @ R, A)
        assert_close(Q.mH @ Q, weft.eye(Q.shape[-1], dtype=dtype).expand(*shape[:-2], -1, -1))
        assert (R.tril(-1) == 0).all()

    @pytest.mark.parametrize("shape", [(2, 4, 3), (2, 3, 4)], ids=str)
    def test_svd_rebuilds(self, dtype, shape):
        A = matrix(*shape, dtype=dtype)
        U, S, Vh = linalg.svd(A, full_matrices=False)
        assert_close(U @ (S.unsqueeze(-1) * Vh), A)
        assert_close(linalg.svdvals(A), S)
        assert linalg.svd(A).U.shape == (2, shape[1], shape[1])

    def test_eigenvectors_are_scaled_by_eigenvalues(self, dtype):
        A = matrix(2, 3, 3, dtype=dtype)
        L, V = linalg.eig(A)
        assert_close(A.to(V.dtype) @ V, V * L.unsqueeze(-2))
        H = A + A.mH
        L, V = linalg.eigh(H)
        assert_close(H @ V, V * L.unsqueeze(-2))

    @pytest.mark.parametrize("shape", [(2, 4, 3), (3, 4), (3, 3)], ids=str)
    def test_lu_rebuilds(self, dtype, shape):
        A = matrix(*shape, dtype=dtype)
        P, L, U = linalg.lu(A)
        assert_close(P @ L @ U, A)

    def test_lu_solve_solves(self, dtype):
        A, B = matrix(2, 3, 3, dtype=dtype), matrix(2, 3, 4, dtype=dtype, seed=1)
        LU, pivots = linalg.lu_factor(A)
        assert_close(A @ linalg.lu_solve(LU, pivots, B), B)
        assert_close(A.mH @ linalg.lu_solve(LU, pivots, B, adjoint=True), B)
        assert_close(linalg.lu_solve(LU, pivots, B.mT, left=False) @ A, B.mT)


@pytest.mark.parametrize("dtype", [weft.float64, weft.complex128], ids=str)
class TestGradients:
    @pytest.mark.parametrize(
        "function",
        [
            linalg.inv,
            linalg.det,
            weft.logdet,
            linalg.matrix_exp,
            linalg.svdvals,
            lambda A: linalg.slogdet(A).logabsdet,
            lambda A: linalg.cholesky(positive(A)),
            lambda A: linalg.qr(A).R.abs(),
            lambda A: linalg.eigh(A + A.mH).eigenvectors.abs(),
            lambda A: linalg.eig(A).eigenvectors.abs(),
            lambda A: linalg.svd(A).Vh.abs(),
            lambda A: linalg.lu_factor(A).LU,
            lambda A: linalg.solve(A, A * A),
            lambda A: linalg.solve_triangular(A, A.mT, upper=True),
            lambda A: linalg.matrix_norm(A, "nuc"),
        ],
    )
    def test_gradients_agree_with_differences(self, dtype, function):
        A = matrix(3, 3, dtype=dtype, requires_grad=True)
        if dtype.is_complex and function is weft.logdet:
            pytest.skip("the logarithm has a branch cut")
        assert gradcheck(function, (A,))
        assert gradgradcheck(function, (A,))

    @pytest.mark.parametrize("shape", [(4, 2), (2, 4)], ids=str)
    @pytest.mark.parametrize(
        "function",
        [linalg.pinv, lambda A: linalg.svd(A, False).U.abs(), lambda A: linalg.qr(A).R.abs(), lambda A: linalg.lu(A).U],
    )
    def test_gradients_of_oblong_matrices_agree_with_differences(self, dtype, function, shape):
        assert gradcheck(function, (matrix(*shape, dtype=dtype, requires_grad=True),))


def test_gradient_of_the_determinant_of_a_singular_matrix_is_its_cofactors():
    A = weft.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=weft.float64, requires_grad=True)
    linalg.det(A).backward()
    assert_close(A.grad, weft.tensor([[4.0, -2.0], [-2.0, 1.0]], dtype=weft.float64))


def test_determinants_by_hand():
    A = weft.tensor([[2.0, 1.0], [4.0, -3.0]])
    assert_close(A.det(), weft.tensor(-10.0))
    sign, logabsdet = A.slogdet()
    assert sign == -1
    assert_close(logabsdet, weft.tensor(math.log(10)))
    assert A.logdet().isnan()


def test_errors_say_which_matrix_is_singular():
    batch = weft.stack([weft.eye(2), weft.ones(2, 2)])
    with pytest.raises(linalg.LinAlgError, match=r"linalg.inv: \(Batch element 1\): The diagonal element 2 is zero"):
        linalg.inv(batch)
    assert linalg.inv_ex(batch).info.tolist() == [0, 2]
    with pytest.raises(linalg.LinAlgError, match=r"linalg.solve: The solver failed .* singular"):
        linalg.solve(weft.zeros(2, 2), weft.ones(2))
    with pytest.raises(RuntimeError, match="leading minor of order 2 is not positive-definite"):
        linalg.cholesky(weft.tensor([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("function", [linalg.inv, linalg.det, linalg.eigh, linalg.cholesky, linalg.eig])
def test_what_is_no_batch_of_square_matrices_is_refused(function):
    with pytest.raises(RuntimeError, match="must be batches of square matrices"):
        function(weft.ones(2, 3))
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        function(weft.ones(2))


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16, weft.int64], ids=str)
def test_dtypes_without_a_lapack_routine_are_refused(dtype):
    with pytest.raises(RuntimeError, match=r"linalg\.inv"):
        linalg.inv(weft.ones(2, 2, dtype=dtype))


@pytest.mark.parametrize("ord", [None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_matrix_norms_are_those_of_numpy(ord):
    A = matrix(3, 4)
    assert float(linalg.norm(A, ord)) == pytest.approx(np.linalg.norm(A.numpy(), ord))


@pytest.mark.parametrize("order", [2**64, 2**2000, -(2**63) - 1])
@pytest.mark.parametrize("call", [
    lambda x, p: weft.norm(x, p), lambda x, p: x.norm(p, 0), lambda x, p: linalg.vector_norm(x, p),
    lambda x, p: weft.dist(x, x, p), lambda x, p: weft.renorm(x, p, 0, 1.0),
])  # fmt: skip
def test_orders_of_norms_beyond_64_bits_are_refused(order, call):
    for dtype in (weft.float16, weft.float32):
        with pytest.raises(OverflowError, match="int too big"):
            call(weft.ones(2, 2, dtype=dtype), order)
    assert weft.norm(weft.ones(2), 2**64 - 1).item() == 1.0


def test_least_squares_solution_is_that_of_numpy():
    A, B = matrix(5, 3), matrix(5, 2, seed=1)
    solution, residuals, rank, _ = linalg.lstsq(A, B, driver="gelsd")
    expected = np.linalg.lstsq(A.numpy(), B.numpy(), rcond=None)
    np.testing.assert_allclose(solution.numpy(), expected[0])
    np.testing.assert_allclose(residuals.numpy(), expected[1])
    assert rank == 3


def test_rank_counts_independent_columns():
    A = weft.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 0.0]])
    assert linalg.matrix_rank(A) == 2
    assert linalg.matrix_rank(weft.eye(3), atol=2.0) == 0


def test_negative_powers_are_those_of_the_inverse():
    A = matrix(3, 3)
    assert_close(linalg.matrix_power(A, -2) @ A @ A, weft.eye(3, dtype=A.dtype))


def test_exponential_of_a_generator_is_a_rotation():
    turn = weft.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=weft.float64) * 20.0
    expected = weft.tensor([[math.cos(20), -math.sin(20)], [math.sin(20), math.cos(20)]], dtype=weft.float64)
    assert_close(linalg.matrix_exp(turn), expected)


def test_multi_dot_is_the_product_in_any_order():
    tensors = [matrix(2, 5), matrix(5, 3), matrix(3, 7), matrix(7, 1)]
    assert_close(linalg.multi_dot(tensors), tensors[0] @ tensors[1] @ tensors[2] @ tensors[3])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reflections_of_geqrf_rebuild_the_matrix(dtype):
    A = matrix(2, 4, 3, dtype=dtype)
    packed, tau = weft.geqrf(A)
    R = packed.triu()
    assert_close(weft.orgqr(packed, tau) @ R[:, :3], A)
    assert_close(weft.ormqr(packed, tau, R), A)
    assert_close(weft.ormqr(packed, tau, A, transpose=True), R)


def test_cholesky_factor_solves():
    A, B = positive(matrix(3, 3)), matrix(3, 2)
    L = linalg.cholesky(A)
    assert_close(A @ weft.cholesky_solve(B, L), B)
    assert_close(A @ weft.cholesky_inverse(L), weft.eye(3, dtype=A.dtype))


def test_vandermonde_matrix_has_powers_from_0():
    assert linalg.vander(weft.tensor([2, 3])).tolist() == [[1, 2], [1, 3]]
    assert linalg.vander(weft.tensor([2.0]), N=4).tolist() == [[1.0, 2.0, 4.0, 8.0]]


def test_tensorinv_inverts_tensordot():
    A = matrix(6, 6).reshape(2, 3, 6)
    x = matrix(2, 3)
    assert_close(weft.tensordot(linalg.tensorinv(A, 2), x, 2), linalg.tensorsolve(A, x))


def test_batches_without_matrices_pass():
    empty = weft.zeros(0, 3, 3)
    assert linalg.inv(empty).shape == (0, 3, 3)
    assert linalg.det(weft.zeros(2, 0, 0)).tolist() == [1.0, 1.0]
    assert linalg.svd(empty).S.shape == (0, 3)
    assert linalg.matrix_exp(empty).shape == (0, 3, 3)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("hermitian", [False, True])
def test_ldl_solves_with_indefinite_matrices(dtype, hermitian):
    pytest.importorskip("scipy")
    A = matrix(2, 5, 5, dtype=dtype)
    A = A + (A.mH if hermitian else A.mT)
    A[0, :2, :2] = weft.tensor([[0.0, 9.0], [9.0, 0.0]])  # a block of two rows
    B = matrix(5, 3, dtype=dtype, seed=1)
    LD, pivots, info = linalg.ldl_factor_ex(A, hermitian=hermitian)
    assert not info.any()
    assert (pivots[0] < 0).any()
    assert_close(A @ linalg.ldl_solve(LD, pivots, B, hermitian=hermitian), B.expand(2, 5, 3))


def test_ldl_of_a_singular_matrix_is_refused_when_checked():
    pytest.importorskip("scipy")
    assert linalg.ldl_factor_ex(weft.zeros(2, 2)).info == 1
    with pytest.raises(linalg.LinAlgError, match=r"linalg.ldl_factor: D\[1,1\] is zero"):
        linalg.ldl_factor(weft.zeros(2, 2))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(2, 150, 150), (150, 90), (90, 150)], ids=str)
def test_lu_of_several_blocks_rebuilds(dtype, shape):
    A = matrix(*shape, dtype=dtype)
    P, L, U = linalg.lu(A)
    assert_close(P @ L @ U / 150, A / 150)
    assert (L.abs().amax() <= 1.5).all()  # by real and imaginary parts the pivot was the largest


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_triangular_solution_of_several_blocks_solves(dtype, upper, left):
    A = matrix(150, 150, dtype=dtype) / 10
    triangle = A.triu() if upper else A.tril()
    B = matrix(2, 150, 3, dtype=dtype)
    B = B if left else B.mT
    X = linalg.solve_triangular(A, B, upper=upper, left=left)
    assert_close(triangle @ X if left else X @ triangle, B)


def test_triangular_solution_with_a_zero_pivot_is_infinite():
    A = weft.tensor([[2.0, 1.0], [0.0, 0.0]])
    assert linalg.solve_triangular(A, weft.ones(2, 1), upper=True).isinf().any()


@pytest.mark.parametrize(
    "function",
    [
        linalg.inv,
        linalg.cholesky,
        lambda A: linalg.solve(A, A),
        lambda A: linalg.qr(A).R,
        lambda A: linalg.svd(A).U,
        lambda A: linalg.eigh(A).eigenvectors,
        lambda A: linalg.lu_factor(A).LU,
    ],
)
def test_results_lie_in_memory_by_columns(function):
    assert function(positive(matrix(2, 3, 3))).stride() == (9, 1, 3)


def test_empty_out_takes_the_layout_of_the_result():
    out = weft.empty(0, dtype=weft.float64)
    A, B = matrix(3, 3), matrix(3, 1)
    assert linalg.solve(A, B, out=out) is out
    assert out.stride() == (1, 3)
    assert_close(A @ out, B)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("svd_backward", lambda A: linalg.svd(A).U),
        ("svd_backward", lambda A: linalg.svd(A).Vh),
        ("linalg_eigh_backward", lambda A: linalg.eigh(A + A.mH).eigenvectors),
        ("linalg_eig_backward", lambda A: linalg.eig(A).eigenvectors),
    ],
)
def test_loss_that_depends_on_the_phase_of_vectors_is_refused(name, function):
    A = matrix(3, 3, dtype=weft.complex128, requires_grad=True)
    function(A).abs().sum().backward()
    weights = weft.arange(9.0, dtype=weft.float64).reshape(3, 3)
    with pytest.raises(RuntimeError, match=f"{name}: The .* vectors|{name}: The eigenvectors .* ill-defined"):
        (function(A) * weights).imag.sum().backward()


def test_values_alone_are_those_with_vectors():
    A = matrix(2, 4, 4)
    assert_close(linalg.eigvalsh(A + A.mT), linalg.eigh(A + A.mT).eigenvalues)
    assert_close(linalg.eigvals(A).abs().sort().values, linalg.eig(A).eigenvalues.abs().sort().values)
    A.requires_grad_()
    assert linalg.eigvals(A).requires_grad
    assert linalg.eigvalsh(A).requires_grad


@pytest.mark.parametrize("dtype", [weft.float64, weft.complex128], ids=str)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
def test_products_of_reflections_have_gradients(dtype, left, transpose):
    vectors = matrix(4, 2, dtype=dtype, requires_grad=True)
    tau = weft.tensor([0.5, 0.0], dtype=dtype, requires_grad=True)  # the second is no reflection
    other = matrix(4, 4, dtype=dtype, requires_grad=True)
    assert gradcheck(lambda *args: weft.ormqr(*args, left, transpose), (vectors, tau, other))
    assert gradcheck(weft.orgqr, (vectors, tau))


def test_product_of_reflections_is_that_of_their_matrices():
    vectors, tau = matrix(4, 2), weft.tensor([0.5, 1.5], dtype=weft.float64)
    expected = weft.eye(4, dtype=weft.float64)
    for k in range(2):
        v = vectors[:, k].clone()
        v[:k], v[k] = 0, 1
        expected = expected @ (weft.eye(4, dtype=weft.float64) - tau[k] * weft.outer(v, v))
    assert_close(linalg.householder_product(vectors, tau), expected[:, :2])


@pytest.mark.filterwarnings("ignore:.*is deprecated in favor of")
def test_lu_writes_into_tensors_of_any_dtype():
    A = matrix(3, 3)
    LU, pivots, info = weft.lu(A, get_infos=True)
    out = weft.empty(0, dtype=weft.float32), weft.empty(7, dtype=weft.int64)
    assert weft.lu(A, out=out) is out
    assert_close(out[0].double(), LU.float().double())
    assert out[1].tolist() == pivots.tolist()
    assert info == 0
    with pytest.raises(TypeError, match="lu: expected a tuple or list of 3 Tensors"):
        weft.lu(A, get_infos=True, out=out)


def test_power_0_is_the_identity_with_a_gradient_of_0():
    A = matrix(2, 3, 3, requires_grad=True)
    power = linalg.matrix_power(A, 0)
    assert_close(power, weft.eye(3, dtype=A.dtype).expand(2, 3, 3))
    power.sum().backward()
    assert (A.grad == 0).all()


def test_info_is_over_the_batch_of_the_matrix_alone():
    A = weft.stack([weft.eye(2), weft.ones(2, 2)]).unsqueeze(1)
    result, info = linalg.solve_ex(A, weft.ones(3, 2, 1))
    assert result.shape == (2, 3, 2, 1)
    assert info.tolist() == [[0], [2]]
    assert linalg.solve_ex(weft.zeros(2, 2), weft.ones(3, 2, 1)).info == 1


def test_addbmm_enlarges_the_tensor_it_writes_into():
    x = weft.tensor([2.0], requires_grad=True)
    y = x.clone()
    assert y.addbmm_(weft.ones(3, 2, 4), weft.ones(3, 4, 5), alpha=0.5) is y
    assert y.tolist() == [[8.0] * 5] * 2
    y.sum().backward()
    assert x.grad.tolist() == [10.0]
    with pytest.raises(RuntimeError, match="addbmm_"):
        weft.ones(3, 1).addbmm_(weft.ones(3, 2, 4), weft.ones(3, 4, 5))


@pytest.mark.parametrize("function", [linalg.svd, linalg.svdvals, linalg.eigh, linalg.eig, linalg.eigvals, linalg.pinv])
def test_matrices_that_are_not_finite_are_refused(function):
    with pytest.raises(RuntimeError, match="linalg"):
        function(weft.full((3, 3), math.nan))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda A: linalg.inv([[1.0]]), TypeError),
        (lambda A: linalg.solve(A, 1.0), TypeError),
        (lambda A: linalg.eigh(A, UPLO=1), TypeError),
        (lambda A: linalg.eigh(A, UPLO="X"), RuntimeError),
        (lambda A: linalg.svd(A, full_matrices=None), TypeError),
        (lambda A: linalg.svd(A, driver="gesvd"), RuntimeError),
        (lambda A: linalg.qr(A, mode="full"), RuntimeError),
        (lambda A: linalg.matrix_power(A, 0.5), TypeError),
        (lambda A: linalg.matrix_norm(A, dim=0), TypeError),
        (lambda A: linalg.matrix_norm(A, 3), RuntimeError),
        (lambda A: linalg.cond(A, "x"), RuntimeError),
        (lambda A: linalg.multi_dot(A), TypeError),
        (lambda A: linalg.vander(A[:, :1]), RuntimeError),
        (lambda A: linalg.cross(A, A.double()), RuntimeError),
        (lambda A: linalg.vecdot(A.long(), A.long()), RuntimeError),
        (lambda A: linalg.lstsq(A, weft.ones(2, 3, 3)), RuntimeError),
        (lambda A: linalg.tensorinv(A, ind=0), RuntimeError),
        (lambda A: linalg.lu_solve(A, weft.ones(2, dtype=weft.int32), A), RuntimeError),
        (lambda A: linalg.ldl_solve(A, weft.ones(3), A), RuntimeError),
        (lambda A: linalg.householder_product(A, weft.ones(4)), RuntimeError),
        (lambda A: weft.ormqr(A, weft.ones(3), weft.ones(2, 3, 3)), RuntimeError),
        (lambda A: weft.lu_unpack(A, weft.ones(3)), RuntimeError),
        (lambda A: weft.det(A.half()), NotImplementedError),
    ],
)
def test_wrong_arguments_raise_what_pytorch_raises(call, error):
    with pytest.raises(error):
        call(weft.eye(3))


def test_half_precision_products_may_be_given_in_float32():
    a = weft.full((2, 2), 300.0, dtype=weft.float16)
    assert weft.mm(a, a).isinf().all()
    assert weft.mm(a, a, out_dtype=weft.float32).tolist() == [[180000.0] * 2] * 2
    assert weft.bmm(a.unsqueeze(0), a.unsqueeze(0), out_dtype=weft.float32).dtype is weft.float32
    with pytest.raises(RuntimeError, match="mm: out_dtype must be the dtype of the operands"):
        weft.mm(a, a, out_dtype=weft.float64)


@pytest.mark.filterwarnings("ignore:.*is deprecated in favor of")
def test_chain_of_one_matrix_is_itself():
    A = matrix(2, 3)
    assert weft.chain_matmul(A) is A
    assert_close(weft.chain_matmul(A, A.mT, A), A @ A.mT @ A)
    with pytest.raises(RuntimeError, match="chain_matmul: Expected one or more matrices"):
        weft.chain_matmul()


def test_one_solution_of_many_systems_is_mapped():
    A, B = matrix(3, 3), matrix(4, 3, 2)
    both = weft.func.vmap(lambda b: linalg.solve_ex(A, b))(B)
    assert both.info.tolist() == [0] * 4
    assert_close(A @ both.result, B)


def test_ldl_without_scipy_names_the_command_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    with pytest.raises(ImportError, match=r'linalg.ldl_factor: needs scipy.linalg.*pip install "weft-backend-cpu\['):
        linalg.ldl_factor(weft.eye(2))


@pytest.mark.parametrize("p", ["fro", "nuc", 1, -1, math.inf])
def test_condition_of_a_singular_matrix_is_infinite(p):
    assert linalg.cond(weft.ones(2, 2), p).isinf()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("place", [(0, 0), (0, 3), (2, 1), (3, 3)])
@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_singular_values_of_a_matrix_with_an_infinity_are_nan_and_the_batch_goes_on(value, place, dtype):
    A = weft.randn(2, 4, 4, dtype=getattr(weft, dtype))
    A[(0, *place)] = value  # LAPACK iterates for ever where it is the first
    for values in (weft.linalg.svdvals(A), weft.linalg.svd(A).S, weft.svd(A).S):
        assert values[0].isnan().all()
        assert values[1].isfinite().all()
    assert weft.linalg.matrix_norm(A, 2)[0].isnan()
    assert weft.linalg.matrix_norm(A, "nuc")[0].isnan()
    assert weft.linalg.cond(A)[0].isnan()
    assert weft.linalg.pinv(A)[1].isfinite().all()
    assert weft.linalg.lstsq(A, A).solution[1].isfinite().all()


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_a_matrix_with_nan_has_no_singular_values(dtype):
    A = weft.randn(3, 4, 4, dtype=getattr(weft, dtype))
    A[2, 0, 0] = math.inf
    A[2, 1, 1] = math.nan
    for function in (weft.linalg.svd, weft.linalg.svdvals, weft.linalg.pinv, weft.linalg.cond):
        with pytest.raises(weft.linalg.LinAlgError, match=r"Batch element 2.*non-finite"):
            function(A)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("cholesky", lambda A: weft.cholesky(A)),
        ("cholesky", lambda A: A.cholesky()),
        ("qr", lambda A: weft.qr(A)),
        ("lu", lambda A: weft.lu(A)),
        ("lu_solve", lambda A: weft.lu_solve(A, A, weft.tensor([1, 2, 3], dtype=weft.int32))),
        ("triangular_solve", lambda A: weft.triangular_solve(A, A)),
        ("chain_matmul", lambda A: weft.chain_matmul(A, A)),
        ("cross", lambda A: weft.cross(A, A)),
        ("cross", lambda A: A.cross(A)),
    ],
)
def test_names_of_old_warn_the_caller(name, call):
    with pytest.warns(UserWarning, match=rf"weft\.{name}\b.* is deprecated in favor of weft\.linalg\.") as caught:
        call(weft.eye(3))
    assert [each.filename for each in caught] == [__file__]


def test_gels_solves_without_a_cut():
    A = weft.diag(weft.tensor([1.0, 0.5, 0.25]))
    assert_close(linalg.lstsq(A, A, rcond=0.9, driver="gels").solution, weft.eye(3))
    assert_close(linalg.lstsq(A, A, rcond=0.9, driver="gelsd").solution, weft.diag(weft.tensor([1.0, 0.0, 0.0])))


@pytest.mark.parametrize("pivots", [[7, 9], [0, 0], [-9, -9], [1, -2]])
def test_pivots_that_are_no_rows_are_refused(pivots):
    pytest.importorskip("scipy")
    LD, _ = linalg.ldl_factor(weft.tensor([[2.0, 1.0], [1.0, 3.0]]))
    with pytest.raises(RuntimeError, match="pivots"):
        linalg.ldl_solve(LD, weft.tensor(pivots, dtype=weft.int32), weft.ones(2, 1))


@pytest.mark.parametrize("dtype", [weft.float64, weft.complex128], ids=str)
@pytest.mark.parametrize("UPLO", ["L", "U"])
def test_the_gradient_of_eigenvectors_is_hermitian_whatever_the_other_triangle_holds(UPLO, dtype):
    weft.manual_seed(0)
    A = weft.randn(4, 4, dtype=dtype)
    part = A.tril() if UPLO == "L" else A.triu()
    whole = part + part.mH - weft.diag(A.diagonal().real.to(dtype))
    whole = whole - 1j * weft.diag(whole.diagonal().imag) if dtype.is_complex else whole
    found = []
    for matrix in (A, whole):
        matrix = matrix.clone().requires_grad_()
        values, vectors = weft.linalg.eigh(matrix, UPLO=UPLO)
        loss = (vectors.abs() ** 4).sum() + (values**3).sum()
        (first,) = weft.autograd.grad(loss, matrix, create_graph=True)
        (second,) = weft.autograd.grad((first.abs() ** 2).sum(), matrix)
        weft.testing.assert_close(first, first.mH)
        weft.testing.assert_close(second, second.mH)
        found.append((first, second))
    weft.testing.assert_close(*found)


@pytest.mark.parametrize("only", ["i", [weft.ones(2)], weft.ones(2)])
def test_an_equation_without_operands_is_refused(only):
    with pytest.raises(ValueError, match="at least one operand"):
        weft.einsum(only)


def test_cholesky_of_infinite_elements_follows_the_formula():
    inf = math.inf
    for size in (2, 3, 5):
        whole = weft.full((size, size), inf)
        L, info = weft.linalg.cholesky_ex(whole)
        assert info.item() == 2 and L[0, 0].item() == inf and L[1, :2].isnan().all()
        with pytest.raises(RuntimeError, match="order 2"):
            weft.linalg.cholesky(whole)
    corner = weft.eye(3)
    corner[0, 0] = inf
    good = weft.tensor([[4.0, 2.0, 0.0], [2.0, 5.0, 0.0], [0.0, 0.0, 9.0]])
    L, info = weft.linalg.cholesky_ex(weft.stack([good, corner, weft.full((3, 3), inf)]))
    assert info.tolist() == [0, 0, 2]
    weft.testing.assert_close(L[0], weft.tensor([[2.0, 0.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.0]]))
    weft.testing.assert_close(L[1], corner)


@pytest.mark.parametrize("norm", [weft.linalg.norm, weft.linalg.vector_norm, weft.linalg.matrix_norm])
def test_norms_are_not_taken_in_a_dtype_that_loses_values(norm):
    x = weft.ones(2, 2)
    assert norm(x.half(), dtype=weft.float32).dtype is weft.float32
    for given, wanted in ((weft.float64, weft.float32), (weft.float32, weft.float16), (weft.float16, weft.bfloat16)):
        with pytest.raises(RuntimeError, match="without narrowing"):
            norm(x.to(given), dtype=wanted)
    with pytest.raises(RuntimeError, match="Expected a floating point"):
        norm(x.int(), dtype=weft.float32)


def test_dot_says_what_its_operands_are():
    with pytest.raises(RuntimeError, match="1D tensors expected, but got 2D and 1D"):
        weft.dot(weft.ones(2, 2), weft.ones(2))
    with pytest.raises(RuntimeError, match="same dtype, but found Float and Double"):
        weft.dot(weft.ones(2), weft.ones(2, dtype=weft.float64))
    with pytest.raises(TypeError, match="must be Tensor"):
        weft.dot(weft.ones(2), 1)


@pytest.mark.parametrize("norm", [weft.norm, weft.linalg.vector_norm])
@pytest.mark.parametrize("order", [-1, -weft.inf, weft.inf])
def test_norms_without_an_identity_refuse_dims_without_elements(norm, order):
    with pytest.raises(RuntimeError, match="does not have an identity"):
        norm(weft.zeros(2, 0, 3), order, dim=1)


@pytest.mark.parametrize(("equation", "operands", "words"), [
    ("a1", [weft.ones(2, 2)], "invalid subscript given at index 1 in the equation string"),
    ("a.", [weft.ones(2)], "found '.' for operand 0 that is not part of any ellipsis"),
    ("a...b...", [weft.ones(2, 2)], "found '.' for operand 0 for which an ellipsis was already found"),
    ("a->.", [weft.ones(2)], "found '.' for output that is not part of any ellipsis"),
    ("abc...", [weft.ones(2, 2)], "is more than the number of dimensions"),
    ("b,aa", [weft.ones(2), weft.ones(2, 3)], "subscript a is repeated for operand 1 but"),
    ("a,a", [weft.ones(2), weft.ones(3)], "size 3 for operand 1 which does not broadcast with previously seen size 2"),
])  # fmt: skip
def test_einsum_names_the_term_that_is_wrong(equation, operands, words):
    with pytest.raises(RuntimeError, match=words):
        weft.einsum(equation, *operands)


def test_functions_of_matrices_name_the_shapes_that_they_want():
    with pytest.raises(RuntimeError, match="expected a tensor with 2 or more dimensions"):
        weft.linalg.pinv(weft.ones(3))
    with pytest.raises(RuntimeError, match=r"prod\(self.shape\[:other.ndim\]\), but got 6 != 4"):
        weft.linalg.tensorsolve(weft.ones(2, 3, 6), weft.ones(2, 2))
    with pytest.raises(RuntimeError, match="dim must be a 2-tuple"):
        weft.linalg.norm(weft.ones(3, 3), "nuc", 0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: weft.linalg.lstsq(weft.ones(3), weft.ones(3, 1)), "input must have at least 2 dimensions"),
        (lambda: weft.linalg.lstsq(weft.ones(3, 2), weft.tensor(1.0)), "other must have at least 1 dimension"),
        (lambda: weft.linalg.lstsq(weft.ones(3, 2), weft.ones(2)), r"size\(-2\) should match other.size\(-1\)"),
        (lambda: weft.linalg.vector_norm(weft.ones(2), dtype=weft.int32), "floating point or complex, but got Int"),
        (lambda: weft.linalg.vector_norm(weft.ones(2), dtype=weft.complex64), "should be real for real inputs"),
        (lambda: weft.linalg.cond(weft.eye(2), p="x"), "linalg.cond got an invalid norm type: x"),
        (lambda: weft.linalg.matrix_rank(weft.eye(2), rtol=weft.tensor(1j)), "rtol tensor of complex type"),
        (lambda: weft.linalg.pinv(weft.eye(2), atol=weft.tensor(1j)), "atol tensor of complex type"),
        (lambda: weft.linalg.eig(weft.full((2, 2), float("nan"))), "torch.linalg.eig: input tensor should not contain"),
    ],
)
def test_refusals_say_what_programs_look_for(call, said):
    with pytest.raises(RuntimeError, match=said):
        call()


@pytest.mark.parametrize(
    ("driver", "rcond", "rank"),
    [
        ("gelsd", 0.5, 1),
        ("gelss", 0.5, 1),
        ("gelsy", 0.5, 2),  # what is this part exactly counts
        ("gelsy", 0.6, 1),
        ("gelsy", 1.0, 1),
        ("gelsy", 2.0, 1),
        ("gelsd", 1.0, 2),  # LAPACK takes it for its own limit
        ("gelsd", 2.0, 2),
        ("gelsd", 0.0, 2),
        ("gelss", 1.0, 0),
        ("gelss", -1.0, 2),
        ("gelsd", -1.0, 2),
    ],
)
def test_lstsq_takes_rcond_as_lapacks_routine_does(driver, rcond, rank):
    A = weft.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    found = linalg.lstsq(A, weft.ones(3, 1), rcond=rcond, driver=driver)
    assert int(found.rank) == rank
    expected = [0.5 * (rank > 0), 1.0 * (rank > 1)]
    assert_close(found.solution.flatten(), weft.tensor(expected))
