"""Matrices that cannot be inverted or factored: their info, the errors, and that nobody waits who does not check."""

import pytest

import weft
from weft.testing import assert_close

SINGULAR = [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 1.0]]
EMPTY_COLUMN = [[0.0, 2.0, 3.0], [0.0, 4.0, 7.0], [0.0, 1.0, 1.0]]
GOOD = [[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 5.0]]
INDEFINITE = [[4.0, 1.0, 0.0], [1.0, -3.0, 0.0], [0.0, 0.0, 1.0]]
NAN = [[float("nan")] * 3] * 3

FACTORED = {
    "inv_ex": (weft.linalg.inv_ex, [GOOD, SINGULAR, EMPTY_COLUMN]),
    "solve_ex": (lambda A: weft.linalg.solve_ex(A, A.new_ones(3, 2)), [GOOD, SINGULAR, EMPTY_COLUMN]),
    "solve_ex of vectors": (lambda A: weft.linalg.solve_ex(A, A[..., 0]), [EMPTY_COLUMN, GOOD, GOOD]),
    "cholesky_ex": (weft.linalg.cholesky_ex, [GOOD, INDEFINITE, GOOD, NAN]),
    "cholesky_ex, upper": (lambda A: weft.linalg.cholesky_ex(A, upper=True), [INDEFINITE, GOOD]),
    "lu_factor_ex": (weft.linalg.lu_factor_ex, [GOOD, SINGULAR, EMPTY_COLUMN]),
    "ldl_factor_ex": (weft.linalg.ldl_factor_ex, [GOOD, INDEFINITE, EMPTY_COLUMN]),
}
CHECKED = {
    "inv": (weft.linalg.inv, SINGULAR),
    "inverse": (weft.inverse, EMPTY_COLUMN),
    "solve": (lambda A: weft.linalg.solve(A, A[..., 0]), SINGULAR),
    "cholesky": (weft.linalg.cholesky, INDEFINITE),
    "lu_factor": (weft.linalg.lu_factor, SINGULAR),
    "matrix_power": (lambda A: weft.linalg.matrix_power(A, -2), SINGULAR),
    "tensorinv": (lambda A: weft.linalg.tensorinv(A, ind=A.ndim - 1), SINGULAR),
    "svd": (weft.linalg.svd, NAN),
    "svdvals": (weft.linalg.svdvals, NAN),
}
DTYPES = [weft.float32, weft.float64, weft.complex64, weft.complex128]


def on_both(function, matrices, dtype):
    A = weft.tensor(matrices, dtype=dtype)
    return function(A), function(A.to("cuda"))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FACTORED)
def test_info_is_that_of_each_matrix(name, dtype):
    function, matrices = FACTORED[name]
    for each in (matrices, [matrices, matrices[::-1]], *matrices):
        here, there = on_both(function, each, dtype)
        assert there.info.device.type == "cuda"
        assert there.info.tolist() == here.info.tolist()


@pytest.mark.parametrize("name", FACTORED)
def test_what_has_no_fault_is_right_beside_what_has(name):
    function, matrices = FACTORED[name]
    here, there = on_both(function, matrices, weft.float64)
    good = here.info == 0
    for one, other in zip(here, there):
        assert_close(other.cpu()[good], one[good])


@pytest.mark.parametrize("name", FACTORED)
def test_who_does_not_check_info_does_not_wait(name, on_stand_in):
    import cupy_stand_in

    function, matrices = FACTORED[name]
    A = weft.tensor(matrices, device="cuda")
    with cupy_stand_in.record() as log:
        function(A)
    assert not [event for event in log if event.kind in ("wait", "upload", "silent")]


@pytest.mark.parametrize("name", CHECKED)
def test_what_has_no_result_raises(name):
    function, matrix = CHECKED[name]
    for matrices in (matrix, [GOOD, matrix]):
        if name == "tensorinv" and matrices is not matrix:
            continue
        A = weft.tensor(matrices)
        with pytest.raises(weft.linalg.LinAlgError) as here:
            function(A)
        with pytest.raises(weft.linalg.LinAlgError) as there:
            function(A.to("cuda"))
        assert str(there.value) == str(here.value)
    assert weft.ones(2, device="cuda").sum().item() == 2  # the device goes on


def test_large_matrices_are_factored_one_by_one(monkeypatch):
    from weft.backend_cuda import linear_algebra

    monkeypatch.setattr(linear_algebra, "MAX_BATCHED", 2)
    here, there = on_both(lambda A: weft.linalg.solve_ex(A, A[0]), [GOOD, EMPTY_COLUMN, GOOD], weft.float64)
    assert there.info.tolist() == here.info.tolist() == [0, 1, 0]
    assert_close(there.result.cpu()[::2], here.result[::2])


@pytest.mark.parametrize(
    ("A", "B"),
    [((3, 3), (2, 3, 4)), ((2, 3, 3), (3, 4)), ((2, 1, 3, 3), (5, 3, 4)), ((2, 0, 0), (2, 0, 4)), ((3, 3), (3, 0))],
    ids=str,
)
def test_batches_broadcast(A, B):
    weft.manual_seed(0)
    A, B = weft.randn(*A, dtype=weft.float64), weft.randn(*B, dtype=weft.float64)
    for function in (
        lambda A, B: weft.linalg.solve_ex(A, B),
        lambda A, B: [weft.linalg.solve_triangular(A, B, upper=True)],
        lambda A, B: [weft.linalg.solve_triangular(A, B, upper=False, unitriangular=True)],
        lambda A, B: [weft.cholesky_solve(B, A)],
    ):
        for one, other in zip(function(A, B), function(A.cuda(), B.cuda())):
            assert other.shape == one.shape
            assert_close(other.cpu(), one, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["inv", "cholesky", "det", "solve", "eigh", "svdvals", "lu_factor", "pinv"])
def test_gradients_and_theirs_agree(name):
    def gradients(A):
        A.requires_grad_()
        result = getattr(weft.linalg, name)(A, *([A[0]] if name == "solve" else []))
        result = result if isinstance(result, weft.Tensor) else result[0]
        (first,) = weft.autograd.grad(result.sin().sum(), A, create_graph=True)
        return first.detach(), weft.autograd.grad(first.cos().sum(), A)[0]

    weft.manual_seed(0)
    A = weft.randn(2, 3, 3, dtype=weft.float64)
    A = A @ A.mT + weft.eye(3, dtype=weft.float64)
    for there, here in zip(gradients(A.cuda()), gradients(A)):
        assert_close(there.cpu(), here, rtol=1e-8, atol=1e-8)


def test_what_cusolver_lacks_says_so(monkeypatch):
    import cupy

    def missing(*args):
        raise RuntimeError("geev is not available")

    monkeypatch.setattr(cupy.linalg, "eig", missing)
    with pytest.raises(NotImplementedError, match=r"linalg_eig: geev is not available.*to\('cpu'\)"):
        weft.linalg.eig(weft.eye(2, device="cuda"))


@pytest.mark.parametrize("dtype", [weft.float64, weft.complex128], ids=str)
def test_the_determinants_gradient_is_right_for_singular_matrices(dtype):
    two_short = [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]]
    matrices = weft.tensor([GOOD, SINGULAR, EMPTY_COLUMN, two_short, [[0.0] * 3] * 3], dtype=dtype)
    if dtype.is_complex:
        matrices = matrices * weft.tensor([1, 1j, 1 - 2j], dtype=dtype)
    here, there = matrices.clone().requires_grad_(), matrices.cuda().requires_grad_()
    for A in (here, there):
        weft.linalg.det(A).real.sum().backward()
    assert_close(there.grad.cpu(), here.grad, rtol=1e-9, atol=1e-9)


def test_the_determinants_gradient_waits_for_nothing(on_stand_in):
    import cupy_stand_in

    A = weft.tensor([GOOD, SINGULAR], device="cuda", requires_grad=True)
    weft.linalg.det(A).sum().backward()
    with cupy_stand_in.record() as log:
        weft.linalg.det(A).sum().backward()
    assert not [event for event in log if event.kind in ("wait", "upload")]


def test_pivots_out_of_range_are_reported():
    LU, pivots = weft.linalg.lu_factor(weft.tensor(GOOD, device="cuda"))
    with pytest.raises(RuntimeError, match="index 6 is out of bounds"):
        weft.lu_unpack(LU, pivots + 4).P.cpu()
    assert weft.lu_unpack(LU, pivots).P.cpu().sum().item() == 3


@pytest.mark.parametrize("name", ["inv", "cholesky", "lu_factor", "eigvalsh", "svdvals"])
def test_what_is_checked_goes_through_vmap(name):
    matrices = weft.eye(3) + weft.ones(2, 3, 3)
    function = getattr(weft.linalg, name)
    found = weft.func.vmap(function)(matrices.cuda())
    expected = function(matrices)
    if name == "lu_factor":
        found, expected = found[0], expected[0]
    weft.testing.assert_close(found.cpu(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("matrices", ["random", "zero diagonal", "singular"])
def test_ldl_has_lapacks_pivots_and_factors(matrices, hermitian, dtype, on_stand_in):
    import cupy_stand_in

    generator = weft.Generator().manual_seed(0)
    for shape in ((0, 0), (1, 1), (2, 2, 2), (0, 2, 2), (2, 9, 9)):
        A = weft.randn(*shape, dtype=dtype, generator=generator)
        A = A + (A.mH if hermitian else A.mT)
        if matrices == "zero diagonal":
            A = A - weft.diag_embed(A.diagonal(dim1=-2, dim2=-1))
        elif matrices == "singular":
            A[..., shape[-1] // 2 :, :] = A[..., shape[-1] // 2 :] = 0
        there = A.cuda()
        with cupy_stand_in.record() as log:
            found = weft.linalg.ldl_factor_ex(there, hermitian=hermitian)
        assert not [event for event in log if event.kind in ("wait", "upload", "silent")]
        here = weft.linalg.ldl_factor_ex(A, hermitian=hermitian)
        assert weft.equal(found.pivots.cpu(), here.pivots)
        assert weft.equal(found.info.cpu(), here.info)
        rtol = 1e-2 if dtype.itemsize == 4 or dtype is weft.complex64 else 1e-9
        assert_close(found.LD.cpu(), here.LD, rtol=rtol, atol=rtol)
