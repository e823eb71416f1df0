"""Sparse tensors with compressed rows or columns: CSR, CSC, BSR and BSC.

PyTorch Geometric, pyro and linear_operator make matrices so; DGL's programs multiply by them.
"""

import copy
import io
import sys
import warnings

import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.ops.compressed_rows import csr_matmul, csr_solve

LAYOUTS = ["sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]
DENSE = [[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 3.0, 4.0], [1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.5]]


def sparse_of(dense, layout):
    return dense.to_sparse(layout=getattr(weft, layout), blocksize=(2, 2) if "bs" in layout else None)


@pytest.fixture
def dense():
    return weft.tensor(DENSE, dtype=weft.float64)


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


@pytest.fixture
def sparse(dense, layout):
    return sparse_of(dense, layout)


@pytest.fixture(params=["scipy", "numpy"])
def library(request, monkeypatch):
    """Kernels by SciPy where it is installed, and those that do without."""
    if request.param == "scipy":
        pytest.importorskip("scipy.sparse")
    else:
        monkeypatch.setitem(sys.modules, "scipy.sparse", None)


def test_parts_and_queries(dense):
    csr, csc = dense.to_sparse_csr(), dense.to_sparse_csc()
    assert csr.crow_indices().tolist() == [0, 2, 4, 6, 7]
    assert csr.col_indices().tolist() == [0, 2, 2, 3, 0, 1, 3]
    assert csr.values().tolist() == [1.0, 2.0, 3.0, 4.0, 1.0, -1.0, 1.5]
    assert csc.ccol_indices().tolist() == [0, 2, 3, 5, 7]
    assert csc.row_indices().tolist() == [0, 2, 2, 0, 1, 1, 3]
    assert (csr._nnz(), csr.sparse_dim(), csr.dense_dim(), csr.is_sparse, csr.is_sparse_csr) == (7, 2, 0, False, True)
    assert (csc.layout, csc.is_sparse_csr) == (weft.sparse_csc, False)
    assert isinstance(csr, weft.Tensor)


def test_every_layout_is_made_of_its_own_parts_again(sparse, layout, dense):
    names = ("crow_indices", "col_indices") if layout[-1] == "r" else ("ccol_indices", "row_indices")
    parts = [getattr(sparse, name)() for name in (*names, "values")]
    made = getattr(weft, f"{layout}_tensor")(*parts, sparse.shape)
    assert made.layout is getattr(weft, layout)
    assert made.to_dense().equal(dense)
    general = weft.sparse_compressed_tensor(*parts, layout=made.layout)
    assert general.to_dense().equal(dense)
    assert weft.sparse_compressed_tensor(*parts, dtype=weft.float32, layout=made.layout).dtype is weft.float32


@pytest.mark.parametrize("to", ["sparse_coo", *LAYOUTS])
def test_conversions_keep_the_elements_and_their_gradients(dense, layout, to):
    if "bs" in layout and to in ("sparse_csr", "sparse_csc"):
        pytest.skip("refused, as by PyTorch")

    def there_and_back(values):
        sparse = sparse_of(dense, layout).with_values(values)
        return sparse.to_sparse(layout=getattr(weft, to), blocksize=(2, 2) if "bs" in to else None).to_dense()

    values = sparse_of(dense, layout).values()
    assert there_and_back(values).equal(dense)
    assert gradcheck(there_and_back, values.clone().requires_grad_())


def test_batches_and_dense_dimensions_survive_the_way_there_and_back():
    batches = weft.arange(1.0, 49).reshape(2, 4, 6)
    for convert in ("to_sparse_csr", "to_sparse_csc"):
        assert getattr(batches, convert)().to_dense().equal(batches)
        assert getattr(batches, convert)(dense_dim=1).to_dense().equal(batches)
        assert getattr(batches, convert)().transpose(1, 2).to_dense().equal(batches.mT)
    for convert in ("to_sparse_bsr", "to_sparse_bsc"):
        assert getattr(batches, convert)((2, 3)).to_dense().equal(batches)
        assert getattr(batches.movedim(0, 2), convert)((2, 3), dense_dim=1).to_dense().equal(batches.movedim(0, 2))
    empty = weft.zeros(3, 0).to_sparse_csr()
    assert empty.to_dense().shape == (3, 0) and (empty @ weft.ones(0, 2)).equal(weft.zeros(3, 2))


PRODUCTS = {
    "mm": lambda a, b: a @ b,
    "sparse.mm": lambda a, b: a @ b if a.layout is weft.strided else weft.sparse.mm(a, b),
    "from the right": lambda a, b: b.mT @ a,
    "vector": lambda a, b: a @ b[:, 0],
    "vector from the left": lambda a, b: b[:, 0] @ a,
    "addmm": lambda a, b: weft.addmm(b, a, b, beta=0.5, alpha=2.0),
    "many": lambda a, b: a @ weft.stack([b, 2 * b]),
    "transpose": lambda a, b: a.t() @ b,
    "sparse": lambda a, b: (a @ a).to_dense() @ b,
    "with COO": lambda a, b: (a @ a.to_sparse_coo() if a.layout is not weft.strided else a @ a).to_dense() @ b,
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.usefixtures("library")
def test_products_agree_with_dense_ones_and_their_gradients_with_differences(dense, sparse, name):
    product = PRODUCTS[name]
    other = weft.arange(8.0, dtype=weft.float64).reshape(4, 2).sub(3.5)
    weft.testing.assert_close(product(sparse, other), product(dense, other))
    inputs = (sparse.values().clone().requires_grad_(), other.requires_grad_())
    assert gradcheck(lambda values, other: product(sparse.with_values(values), other), inputs)


def test_products_have_second_gradients(dense):
    csr = dense.to_sparse_csr()
    inputs = (csr.values().clone().requires_grad_(), weft.randn(4, 2, dtype=weft.float64, requires_grad=True))
    assert gradgradcheck(lambda values, other: csr.with_values(values) @ other, inputs)


def test_products_in_function_transforms(dense):
    csr, x = dense.to_sparse_csr(), weft.randn(3, 4, 2, dtype=weft.float64)
    weft.testing.assert_close(weft.func.vmap(lambda y: csr @ y)(x), dense @ x)
    last = weft.func.vmap(lambda y: csr.t() @ y, in_dims=2, out_dims=2)(x.movedim(0, 2))
    weft.testing.assert_close(last.movedim(2, 0), dense.T @ x)
    primals, tangents = (csr.values(), x[0]), (csr.values(), x[1])
    _, tangent = weft.func.jvp(lambda values, y: csr.with_values(values) @ y, primals, tangents)
    weft.testing.assert_close(tangent, dense @ (x[0] + x[1]))


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16, weft.int64, weft.complex64], ids=str)
@pytest.mark.usefixtures("library")
def test_products_of_other_dtypes(dense, dtype):
    matrix, other = dense.mul(2).to(dtype), weft.arange(8).reshape(4, 2).to(dtype)
    product = matrix.to_sparse_csr() @ other
    assert product.dtype is dtype
    assert product.equal(matrix @ other)


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_terms_of_a_product_are_reduced_otherwise(dense, reduce):  # torch_geometric.utils.spmm
    csr = dense.to_sparse_csr()
    other = weft.arange(8.0, dtype=weft.float64).reshape(4, 2).sub(3.3)
    found = weft.sparse.mm(csr, other, reduce)
    for row, got in zip(dense, found):
        terms = (row[:, None] * other)[row != 0]
        weft.testing.assert_close(got, getattr(terms, reduce)(0))
    inputs = (csr.clone().requires_grad_(), other.requires_grad_())
    assert gradcheck(lambda a, b: weft.sparse.mm(a, b, reduce), inputs, masked=True)
    assert weft.sparse.mm(weft.zeros(2, 4).to_sparse_csr(), weft.ones(4, 1), reduce).equal(weft.zeros(2, 1))


@pytest.mark.parametrize("make", ["to_sparse", "to_sparse_csr"])
def test_gradcheck_takes_sparse_tensors_and_no_sparse_results(dense, make):
    sparse = getattr(dense, make)().requires_grad_()
    assert gradcheck(lambda a: (a * 2 + a).to_dense(), sparse, masked=True)
    assert gradcheck(lambda a: a.sin().to_dense(), sparse)
    assert gradgradcheck(lambda a: (a @ a.t()).to_dense(), sparse)
    with pytest.raises(RuntimeError, match="mismatch"):
        gradcheck(lambda a: (a * a.detach()).to_dense(), sparse)
    with pytest.raises(ValueError, match="Sparse output is not supported"):
        gradcheck(lambda a: a * 2, sparse)


def test_batches_of_matrices_multiply_dense_ones():
    a, b = weft.arange(1.0, 25).reshape(2, 3, 4), weft.randn(2, 4, 5)
    weft.testing.assert_close(weft.bmm(a.to_sparse_csr(), b), a @ b)
    weft.testing.assert_close(weft.bmm(b.mT, a.to_sparse_csc().transpose(1, 2)), b.mT @ a.mT)
    weft.testing.assert_close(a.to_sparse_csr() @ b[0], a @ b[0])


def test_a_product_at_the_places_of_a_pattern(dense):
    csr = dense.to_sparse_csr()
    a, b = (weft.randn(4, 3, dtype=weft.float64, requires_grad=True) for _ in range(2))
    found = weft.sparse.sampled_addmm(csr, a, b.mT, beta=0.5, alpha=2.0)
    assert found.layout is weft.sparse_csr
    weft.testing.assert_close(found.to_dense(), 0.5 * dense + 2 * (a @ b.mT) * (dense != 0))

    def values_of(values, a, b):
        return weft.sparse.sampled_addmm(csr.with_values(values), a, b.mT, beta=0.5, alpha=2.0).values()

    assert gradcheck(values_of, (csr.values().clone().requires_grad_(), a, b))


@pytest.mark.usefixtures("library")
def test_systems_of_equations():
    matrix = weft.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 0.0], [1.0, 0.0, 1.0]], dtype=weft.float64)
    right = weft.tensor([1.0, 2.0, 3.0], dtype=weft.float64)
    csr = matrix.to_sparse_csr()
    weft.testing.assert_close(weft.sparse.spsolve(csr, right), weft.linalg.solve(matrix, right))
    inputs = (csr.values().clone().requires_grad_(), right.requires_grad_())
    assert gradcheck(lambda values, right: weft.sparse.spsolve(csr.with_values(values), right), inputs)
    upper = matrix.triu()
    with pytest.warns(UserWarning, match="deprecated"):
        found = weft.triangular_solve(right.detach()[:, None], upper.to_sparse_csr())
    weft.testing.assert_close(found.solution[:, 0], weft.linalg.solve(upper, right.detach()))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2,
        lambda x: x * x,
        lambda x: x + x,
        lambda x: x - x * 3,
        lambda x: x / 4,
        lambda x: x.abs(),
        lambda x: -x,
        lambda x: x.relu(),
        lambda x: x.sin(),
        lambda x: x.sgn(),
        lambda x: x.square(),
        lambda x: x.t(),
        lambda x: x.mT * 2,
        lambda x: x.float(),
        lambda x: x.long(),
        lambda x: x.clone().mul_(2),
        lambda x: x.clone().add_(x),
        lambda x: x.clone().copy_(x * 2),
        lambda x: x.clone().zero_(),
        lambda x: weft.zeros_like(x),
        lambda x: x.isnan(),
        lambda x: x[1],
        lambda x: x.select(1, 2),
        lambda x: x.sum(),
        lambda x: weft.ones_like(x.to_dense()) + x,
        lambda x: x * weft.arange(16.0, dtype=weft.float64).reshape(4, 4),
        lambda x: x * weft.arange(4.0, dtype=weft.float64),
        lambda x: weft.arange(16.0, dtype=weft.float64).reshape(4, 4) * x,
    ],
)
def test_functions_agree_with_those_of_dense_tensors(sparse, dense, function):
    found, expected = function(sparse), function(dense)
    assert found.dtype is expected.dtype
    weft.testing.assert_close(found.to_dense(), expected)


def test_sums_and_products_of_different_patterns(sparse, dense, layout):
    other = weft.eye(4, dtype=weft.float64) * 3
    for function in (lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y):
        found = function(sparse, sparse_of(other, layout))
        assert found.layout is sparse.layout
        assert found.to_dense().equal(function(dense, other))


def test_sums_of_csr_matrices_keep_their_dimensions(dense):
    csr = dense.to_sparse_csr()
    for dim in (0, 1, (0, 1)):
        found = csr.sum(dim, keepdim=True)
        assert found.layout is weft.sparse_csr
        assert found.to_dense().equal(dense.sum(dim, keepdim=True))


def test_a_mask_picks_elements_in_its_own_layout(sparse, dense):
    other = weft.arange(16.0, dtype=weft.float64).reshape(4, 4)
    kept = sparse.with_values(weft.ones_like(sparse.values())).to_dense()
    assert other.sparse_mask(sparse).to_dense().equal(other * kept)
    assert other.to_sparse().sparse_mask(sparse).to_dense().equal(other * kept)


def test_leaves_have_gradients_of_their_layout(sparse):
    leaf = sparse.detach().requires_grad_()
    assert leaf.is_leaf and leaf.requires_grad and leaf.grad_fn is None
    (leaf * 2).to_dense().sum().backward()
    assert leaf.grad.layout is leaf.layout
    assert leaf.grad.values().equal(weft.full_like(leaf.values().detach(), 2.0))
    (again,) = weft.autograd.grad((leaf * 3).values().sum(), leaf)
    assert again.layout is leaf.layout


def test_gradients_reach_the_values_that_a_tensor_was_made_of(dense):
    csr = dense.to_sparse_csr()
    values = csr.values().clone().requires_grad_()
    made = weft.sparse_csr_tensor(csr.crow_indices(), csr.col_indices(), values, (4, 4))
    assert made.requires_grad and not made.is_leaf
    (made @ weft.ones(4, 1, dtype=weft.float64)).sum().backward()
    assert values.grad.tolist() == [1.0] * 7
    again = weft.sparse_csr_tensor(csr.crow_indices(), csr.col_indices(), values, (4, 4), requires_grad=True)
    assert again.is_leaf and again.grad is None


def test_copies_and_files(sparse):
    for copied in (copy.deepcopy(sparse), copy.copy(sparse)):
        assert copied.layout is sparse.layout and copied.to_dense().equal(sparse.to_dense())
    file = io.BytesIO()
    weft.save(sparse, file)
    file.seek(0)
    loaded = weft.load(file)
    assert loaded.layout is sparse.layout and loaded.to_dense().equal(sparse.to_dense())


def test_invalid_files_are_refused(dense):
    csr = dense.to_sparse_csr()
    csr.col_indices()[0] = 9
    file = io.BytesIO()
    weft.save(csr, file)
    file.seek(0)
    with pytest.raises(Exception, match="col_indices"):
        weft.load(file)


def test_the_text_says_what_it_is(dense):
    assert repr(dense.float().to_sparse_csr()) == (
        "tensor(crow_indices=tensor([0, 2, 4, 6, 7]),\n"
        "       col_indices=tensor([0, 2, 2, 3, 0, 1, 3]),\n"
        "       values=tensor([ 1.0000,  2.0000,  3.0000,  4.0000,  1.0000, -1.0000,\n"
        "                       1.5000]), size=(4, 4), nnz=7, layout=weft.sparse_csr)"
    )


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([0, 1, 3], [0, 1], [1.0, 2.0], (2, 2)), "== nnz"),
        (([1, 1, 2], [0, 1], [1.0, 2.0], (2, 2)), "== 0"),
        (([0, 2, 1], [0, 1], [1.0, 2.0], (2, 2)), "== nnz"),
        (([0, 2, 1, 2], [0, 1], [1.0, 2.0], (3, 2)), "0 <= crow"),
        (([0, 2, 2], [1, 0], [1.0, 2.0], (2, 2)), "sorted and distinct"),
        (([0, 2, 2], [1, 1], [1.0, 2.0], (2, 2)), "sorted and distinct"),
        (([0, 1, 2], [0, 2], [1.0, 2.0], (2, 2)), "col_indices < 2"),
        (([0, 1, 2], [0, -1], [1.0, 2.0], (2, 2)), "col_indices < 2"),
        (([0, 1, 2], [0, 1], [1.0], (2, 2)), "values.shape"),
        (([0, 1, 2], [0, 1], [1.0, 2.0], (3, 2)), "crow_indices.shape"),
        (([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2, 2)), "dimensionality"),
        (([0.0, 1, 2], [0, 1], [1.0, 2.0], (2, 2)), "int32 or int64"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(RuntimeError, match=message):
        weft.sparse_csr_tensor(*parts)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x.ccol_indices(), RuntimeError, "column compressed"),
        (lambda x: x.to_dense().crow_indices(), RuntimeError, "row compressed"),
        (lambda x: x.indices(), RuntimeError, "coordinate"),
        (lambda x: x + 1, RuntimeError, "same size"),
        (lambda x: x / x, RuntimeError, "scalar"),
        (lambda x: x.exp(), NotImplementedError, "to_dense"),
        (lambda x: x.sum(0), RuntimeError, "keepdim"),
        (lambda x: x @ weft.ones(3, 1, dtype=weft.float64), RuntimeError, "columns of"),
        (lambda x: x @ weft.ones(4, 1), RuntimeError, "same dtype"),
        (lambda x: x[0:1], RuntimeError, "numbers only"),
        (lambda x: x.numpy(), TypeError, "to_dense"),
        (lambda x: x.to_sparse(1), RuntimeError, "sparse_dim"),
        (lambda x: x.to_sparse_bsr((3, 3)), RuntimeError, "divisible"),
        (lambda x: x.to_dense().to_sparse(layout=weft.sparse_bsr), RuntimeError, "blocksize"),
        (lambda x: weft.tensor([[[1.0, 0.0]], [[1.0, 1.0]]]).to_sparse_csr(), RuntimeError, "same number"),
        (lambda x: weft.sparse.sampled_addmm(x.t(), x.to_dense(), x.to_dense()), RuntimeError, "csr layout"),
        (lambda x: weft.sparse.mm(x.to_dense(), x.to_dense()), ValueError, "expected a sparse tensor"),
        (lambda x: weft.sparse.mm(x, x.to_dense(), "prod"), RuntimeError, "reduce type"),
        (lambda x: weft.sparse.mm(x.to_sparse_csc(), x.to_dense(), "mean"), RuntimeError, "CSR"),
        (lambda x: weft.sparse.spsolve(x, weft.ones(3)), ValueError, "square"),
    ],
)
def test_what_compressed_tensors_refuse(dense, call, error, message):
    with pytest.raises(error, match=message):
        call(dense.to_sparse_csr())


def test_the_switch_of_checks_is_kept():
    switch = weft.sparse.check_sparse_tensor_invariants
    assert not switch.is_enabled()
    with switch():
        assert switch.is_enabled()
        with switch(enable=False):
            assert not switch.is_enabled()
    switch.enable()
    assert switch.is_enabled()
    switch.disable()

    @switch()
    def asks():
        return switch.is_enabled()

    assert asks() and not switch.is_enabled()


def test_rows_are_compressed_and_expanded():  # torch_geometric.index, torch_geometric.edge_index
    rows, columns = weft.tensor([0, 0, 2]), weft.tensor([1, 2, 0])
    crow = weft._convert_indices_from_coo_to_csr(rows, 4)
    assert crow.tolist() == [0, 2, 2, 3, 3]
    assert weft._convert_indices_from_coo_to_csr(rows, 4, out_int32=True).dtype is weft.int32
    assert weft._convert_indices_from_csr_to_coo(crow, columns).tolist() == [[0, 0, 2], [1, 2, 0]]
    assert weft._convert_indices_from_csr_to_coo(crow, columns, transpose=True).tolist() == [[1, 2, 0], [0, 0, 2]]
    coo = weft.sparse_coo_tensor(weft.stack([rows, columns]), weft.ones(3))
    assert coo._coalesced_(True) is coo and coo.is_coalesced()
    with pytest.raises(RuntimeError, match="vector"):
        weft._convert_indices_from_coo_to_csr(rows[None], 4)


@pytest.mark.parametrize("transposed", [False, True])
def test_products_and_solutions_leave_their_operands_as_they_are(transposed):
    """SciPy sorts the entries of a matrix in its own memory, and takes no read-only ones."""
    crow, col = weft.tensor([0, 2, 4, 6]), weft.tensor([0, 1, 2, 1, 2, 0])  # rows are not in order
    values = weft.tensor([4.0, 1.0, 1.0, 5.0, 6.0, 2.0], dtype=weft.float64)
    other = weft.arange(6.0, dtype=weft.float64).reshape(3, 2)
    parts = [values, crow, col, other]
    before = [each.clone() for each in parts]
    product = csr_matmul.op(*parts, 3, transposed)
    assert weft.allclose(csr_solve.op(values, crow, col, product, transposed), other)
    assert all(weft.equal(*pair) for pair in zip(parts, before))
    array = values.numpy().copy()
    array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fixed = weft.from_numpy(array)
    assert weft.allclose(csr_solve.op(fixed, crow, col, product, transposed), other)


def test_methods_of_compressed_tensors_are_found_by_the_class_of_all_tensors():
    matrix = weft.eye(2).to_sparse_csr()
    assert weft.Tensor.crow_indices(matrix).tolist() == [0, 1, 2]
    assert weft.Tensor.col_indices(matrix).tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="ccol_indices"):
        weft.Tensor.ccol_indices(matrix)
