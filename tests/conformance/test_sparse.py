"""Sparse tensors of every layout agree with PyTorch's: results, layouts, places, gradients, printed form, errors.

Each line is run in both libraries on the same numbers. Where PyTorch computes something, weft does the same; what
PyTorch has no kernel for, weft may have.
"""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import torch
from torch.testing._internal.common_methods_invocations import op_db

import weft

sys.path.insert(0, str(Path(__file__).parent))

from harness.resolve import function
from harness.translate import Library, Translator

pytestmark = pytest.mark.filterwarnings("ignore")  # of either library: not the claim here

MATRIX = np.array([[1, 0, 2, 0], [0, 0, 3, 4], [1, -1, 0, 0], [0, 0, 0, 1.5]])
LAYOUTS = ("coo", "csr", "csc", "bsr", "bsc")
STRIDED = ("strided", "torch.strided", "weft.strided")


def tensors(library: Any) -> dict[str, Any]:
    """The names that lines use: a matrix in each layout, each a leaf, batches, and dense operands."""
    leaf = library.tensor(MATRIX)
    batch = library.tensor(np.arange(1.0, 25).reshape(2, 3, 4))
    return {
        "torch": library,
        "leaf": leaf,
        "d": library.tensor(MATRIX * 0.5 + 1, requires_grad=True),
        "coo": leaf.to_sparse().requires_grad_(),
        "csr": leaf.to_sparse_csr().requires_grad_(),
        "csc": leaf.to_sparse_csc().requires_grad_(),
        "bsr": leaf.to_sparse_bsr((2, 2)).requires_grad_(),
        "bsc": leaf.to_sparse_bsc((2, 2)).requires_grad_(),
        "tri": library.tensor(np.triu(MATRIX) + np.eye(4)).to_sparse_csr(),
        "v": library.tensor([1.0, 2.0, -3.0, 0.5], dtype=library.float64),
        "B": batch,
        "bc": batch.to_sparse_csr(),
        "bb": batch.to_sparse_bsr((3, 2)),
        "dense_dims": library.tensor(np.arange(24.0).reshape(2, 3, 4)).to_sparse_csr(dense_dim=1),
    }


def places(tensor: Any) -> list[Any]:
    """The indices of a sparse tensor, and its values' shape; PyTorch's products leave indices out of order."""
    name = str(tensor.layout).rpartition(".")[2]
    if name == "sparse_coo":
        tensor = tensor.coalesce()
        return [tensor.indices().tolist(), list(tensor.values().shape)]
    row = name in ("sparse_csr", "sparse_bsr")
    compressed = tensor.crow_indices() if row else tensor.ccol_indices()
    indices = tensor.to_sparse_coo().coalesce().indices()
    return [compressed.tolist(), sorted(indices.t().tolist()), list(tensor.values().shape)]


def described(result: Any) -> list[Any]:
    """What is compared of a result; and what has to be close."""
    if not hasattr(result, "layout"):
        return [result] if isinstance(result, (int, bool, float)) else [list(result)]
    layout = str(result.layout).rpartition(".")[2]
    told = [layout, list(result.shape), str(result.dtype).rpartition(".")[2], result.requires_grad]
    return told if layout == "strided" else [*told, *places(result)]


def dense(result: Any) -> np.ndarray:
    return np.asarray(result.detach().to_dense().tolist(), float)


def gradients(names: dict[str, Any], result: Any) -> dict[str, Any]:
    """Of a weighted sum of the result's elements for the leaves; of sparse ones, where they have elements.

    PyTorch's gradient of a sparse tensor is in places dense, also where that has no elements; weft's never is.
    """
    result = result.to_dense()
    weights = names["torch"].arange(1, result.numel() + 1, dtype=names["torch"].float64).reshape(result.shape)
    (result * weights).sum().backward()
    found = {name: names[name].grad for name in (*LAYOUTS, "d")}
    kept = {name: 1 if name == "d" else MATRIX != 0 for name in found}
    return {name: dense(grad) * kept[name] for name, grad in found.items() if grad is not None}


def agree(line: str) -> None:
    theirs_names, mine_names = tensors(torch), tensors(weft)
    theirs, mine = eval(line, theirs_names), eval(line, mine_names)
    assert described(mine) == described(theirs), line
    if not hasattr(theirs, "layout"):
        return
    np.testing.assert_allclose(dense(mine), dense(theirs), rtol=1e-12, err_msg=line)
    if not theirs.requires_grad:
        return
    try:
        expected = gradients(theirs_names, theirs)
    except (RuntimeError, NotImplementedError):  # PyTorch has no gradient: weft's is tested against differences
        return
    found = gradients(mine_names, mine)
    assert found.keys() == expected.keys(), line
    for name, grad in expected.items():
        np.testing.assert_allclose(found[name], grad, rtol=1e-12, err_msg=f"{line}: {name}")


FORMS = [
    "{a}.to_dense()",
    "{a} * 2",
    "2 * {a}",
    "{a} + {a}",
    "{a}.abs()",
    "{a}.neg()",
    "{a}.relu()",
    "{a}.sin()",
    "{a}.sgn()",
    "{a}.sum()",
    "{a}.t()",
    "{a}.transpose(0, 1)",
    "{a}.clone()",
    "{a}.detach()",
    "{a}.float()",
    "{a}.detach().long()",
    "{a}.mT",
    "{a} @ d",
    "torch.mm({a}, d)",
    "torch.sparse.mm({a}, d)",
    "d @ {a}",
    "torch.sparse.mm(d, {a})",
    "{a} @ v",
    "v @ {a}",
    "torch.mv({a}, v)",
    "torch.addmm(d, {a}, d)",
    "torch.addmm(d, {a}, d, beta=0.5, alpha=2)",
    "torch.sparse.addmm(d, {a}, d, beta=0.5, alpha=2)",
    "torch.nn.functional.linear(d, {a})",
    "d.sparse_mask({a})",
    "{a}.values() if '{a}' != 'coo' else {a}.coalesce().values()",
    "{a}.to_sparse_coo()",
    "{a}._nnz()",
    "{a}.sparse_dim()",
    "{a}.dense_dim()",
    "{a}.is_sparse",
    "{a}.is_sparse_csr",
    "{a}.is_leaf",
    "{a}.numel()",
    "torch.zeros_like({a})",
]
NO_KERNEL = {  # lines that PyTorch refuses, and weft computes or refuses as well
    ("bsr", "d @ {a}"),
    ("bsr", "torch.sparse.mm(d, {a})"),
    ("bsr", "v @ {a}"),
    *(("bsc", form) for form in FORMS if "mm(" in form and "d, {a})" not in form),
    ("bsc", "{a} @ d"),
    ("bsc", "{a} @ v"),
    ("bsc", "torch.mv({a}, v)"),
    ("bsc", "torch.nn.functional.linear(d, {a})"),
    ("bsc", "torch.addmm(d, {a}, d)"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_computes_what_pytorch_does(layout: str, form: str) -> None:
    try:
        eval(form.format(a=layout), tensors(torch))
    except (RuntimeError, NotImplementedError) as error:
        assert (layout, form) in NO_KERNEL, error
        return
    agree(form.format(a=layout))


LINES = [
    "coo @ coo",
    "csr @ csr",
    "csr @ csc",
    "csc @ csr",
    "csc @ csc",
    "torch.sparse.mm(coo, coo)",
    "torch.sparse.mm(csr, csr)",
    "torch.addmm(d, csr, csr)",
    "torch.addmm(csr, csr, csr)",
    "d + csr",
    "csr + d",
    "d + csc",
    "csr * csr",
    "csr * d",
    "d * csr",
    "csr + csr.detach() * 2",
    "csr.sum(0, keepdim=True)",
    "csr.sum(1, keepdim=True)",
    "csr.sum((0, 1), keepdim=True)",
    "csr[0]",
    "csr[0, 2]",
    "csr[1, 0]",
    "csr.select(1, 2)",
    "csc[0]",
    "csc.select(1, 2)",
    "csr.to_sparse_csc()",
    "csc.to_sparse_csr()",
    "csr.to_sparse_bsr((2, 2))",
    "csr.to_sparse_bsc((1, 2))",
    "csc.to_sparse_bsc((2, 1))",
    "bsr.to_sparse_bsc((2, 2))",
    "bsc.to_sparse_bsr((2, 2))",
    "coo.to_sparse_csr()",
    "coo.to_sparse_csc()",
    "coo.to_sparse_bsr((2, 2))",
    "coo.to_sparse_bsc((4, 1))",
    "leaf.to_sparse(layout=torch.sparse_csr)",
    "leaf.to_sparse(layout=torch.sparse_bsr, blocksize=(1, 2))",
    "csr.to_sparse(layout=torch.sparse_csc)",
    "csr.to_sparse(layout=torch.strided)",
    "torch.sparse.sampled_addmm(csr, d, d)",
    "torch.sparse.sampled_addmm(csr, d, d, beta=0.5, alpha=3.0)",
    "torch.sparse.sampled_addmm(bc, B @ B.mT, B)",
    "torch.triangular_solve(d, tri, upper=True)[0]",
    *(f"torch.sparse.mm(csr, d, {reduce!r})" for reduce in ("sum", "mean", "amax", "amin", "max", "min")),
    "bc.to_dense()",
    "bb.to_dense()",
    "bc[1]",
    "bc * 2",
    "bc + bc",
    "bc + B",
    "bc.sum()",
    "bc.to_sparse()",
    "bc.transpose(1, 2)",
    "bc.to_sparse_csc()",
    "bb.to_sparse_bsc((3, 2))",
    "bb.to_sparse()",
    "dense_dims.to_dense()",
    "dense_dims.to_sparse()",
    "dense_dims * 3",
    "dense_dims.dense_dim()",
    "torch.sparse.sum(coo)",
    "torch.sparse.sum(coo, 0)",
    "torch.sparse.sum(coo, 1)",
    "torch.sparse.sum(coo, [0, 1])",
    "torch.sparse.softmax(coo, 1)",
    "torch.sparse.log_softmax(coo, 0)",
    "torch.hspmm(coo, d.detach())",
    "torch.smm(coo.detach(), d.detach())",
    "torch.sspaddmm(coo.detach(), coo.detach(), d.detach())",
    "torch.zeros(2, 3, layout=torch.sparse_csr)",
    "torch.zeros(2, 3, layout=torch.sparse_csc)",
    "torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, 1]), (3, 3), layout=torch.sparse_csr)",
    "torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, 1]), (3, 3), layout=torch.sparse_csc)",
    "torch.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 4.0], (2, 3), dtype=torch.float64)",
    "torch.sparse_csr_tensor([0, 1, 2], [2, 0], [3, 4])",
    "torch.sparse_csc_tensor([0, 1, 2], [2, 0], [3, 4])",
    "torch.sparse_bsr_tensor([0, 1, 2], [1, 0], [[[1, 2]], [[3, 4]]])",
    "torch.sparse_bsc_tensor([0, 1, 2], [1, 0], [[[1, 2]], [[3, 4]]])",
    "torch.sparse_csr_tensor([[0, 1, 2], [0, 1, 2]], [[2, 0], [0, 1]], [[3, 4], [5, 6]])",
    "torch.sparse_compressed_tensor([0, 1, 2], [2, 0], [[3, 4], [5, 6]], layout=torch.sparse_csr)",
    "csr.crow_indices()",
    "csr.col_indices()",
    "csc.ccol_indices()",
    "csc.row_indices()",
    "csr.detach().copy_(csr.detach() * 2)",
    "csr.detach().zero_()",
    "csr.detach().mul_(2)",
    "csr.detach().neg_()",
    "csr.detach().isnan()",
    "csr.detach().signbit()",
    "csr.angle()",
    "csr.sqrt().detach().isnan()",
]


@pytest.mark.parametrize("line", LINES)
def test_lines_agree(line: str) -> None:
    agree(line)


PRINTED = """torch.eye(3, dtype=torch.float64).to_sparse_csr()
torch.eye(3).to_sparse_csr().requires_grad_()
torch.eye(3, dtype=torch.int32).to_sparse_csc()
torch.zeros(2, 3).to_sparse_csr()
torch.ones(4, 6).to_sparse_bsr((2, 3))
torch.ones(2, 4, 6).to_sparse_csr()
torch.eye(3, dtype=torch.int32).to_sparse()
torch.eye(3, dtype=torch.float64).to_sparse().requires_grad_()
torch.sparse_coo_tensor(size=(2, 3))
torch.eye(3, dtype=torch.complex64).to_sparse_bsc((3, 1))""".splitlines()


@pytest.mark.parametrize("line", PRINTED)
def test_sparse_tensors_print_alike(line: str) -> None:
    expected = repr(eval(line, {"torch": torch})).replace("torch.", "weft.")
    assert " ".join(repr(eval(line, {"torch": weft})).split()) == " ".join(expected.split())


WRONG = [
    "torch.sparse_csr_tensor([0, 1, 3], [0, 1], [1.0, 2.0], (2, 2))",
    "torch.sparse_csr_tensor([1, 1, 2], [0, 1], [1.0, 2.0], (2, 2))",
    "torch.sparse_csr_tensor([0, 2, 1], [0, 1], [1.0, 2.0], (2, 2))",
    "torch.sparse_csr_tensor([0, 2, 2], [1, 0], [1.0, 2.0], (2, 2))",
    "torch.sparse_csr_tensor([0, 2, 2], [1, 1], [1.0, 2.0], (2, 2))",
    "torch.sparse_csr_tensor([0, 1, 2], [0, 2], [1.0, 2.0], (2, 2))",
    "torch.sparse_csr_tensor([0, 1, 2], [0, -1], [1.0, 2.0], (2, 2))",
    "torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0], (2, 2))",
    "torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (3, 2))",
    "torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2, 2))",
    "torch.sparse_csr_tensor([0.0, 1, 2], [0, 1], [1.0, 2.0], (2, 2))",
    "torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2), layout=torch.sparse_csc)",
    "torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2), layout=torch.sparse_coo)",
    "torch.sparse_bsr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2))",
    "torch.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0]]], (1, 3))",
    "torch.ones(5, 4).to_sparse_bsr((2, 2))",
    "torch.ones(4, 4).to_sparse(layout=torch.sparse_csr, blocksize=(2, 2))",
    "torch.ones(4, 4).to_sparse(layout=torch.sparse_bsr)",
    "B.relu().sub(5).relu().to_sparse_csr()",
    "torch.ones(2, 2, 2).to_sparse().to_sparse_csr()",
    "bsr.to_sparse_csr()",
    "bsr.to_sparse_bsr((1, 2))",
    "bc.to_sparse_bsr((3, 2))",
    "csr.ccol_indices()",
    "csc.crow_indices()",
    "d.crow_indices()",
    "d.values()",
    "csr.indices()",
    "csr.coalesce()",
    "csr + 1",
    "csr / csr",
    "csr.exp()",
    "csr.sum(0)",
    "csc.sum(0, keepdim=True)",
    "csr.numpy()",
    "csr.stride()",
    "csr.reshape(16)",
    "csr.expand(2, 4, 4)",
    "csr[0:1]",
    "bc.select(1, 1)",
    "bc.transpose(0, 1)",
    "csr @ torch.ones(3, 2, dtype=torch.float64)",
    "csr @ torch.ones(4, 2)",
    "torch.sparse.sampled_addmm(csc, d, d)",
    "torch.sparse.sampled_addmm(csr, d[:2], d)",
    "bool(csr)",
]


@pytest.mark.parametrize("line", WRONG)
def test_wrong_calls_raise_the_same_type(line: str) -> None:
    with torch.sparse.check_sparse_tensor_invariants(), pytest.raises(Exception) as theirs:
        eval(line, tensors(torch))
    with pytest.raises(theirs.type):
        eval(line, tensors(weft))


def test_compressed_files_are_read_by_either(tmp_path: Any) -> None:
    for line in ("csr", "csc", "bsr", "bsc", "bc", "dense_dims", "coo"):
        for writer, reader in ((torch, weft), (weft, torch)):
            written = eval(line, tensors(writer)).detach()
            writer.save({"x": written}, tmp_path / "file.pt")
            read = reader.load(tmp_path / "file.pt")["x"]
            assert described(read) == described(written)
            np.testing.assert_array_equal(dense(read), dense(written))


# PyTorch's own samples

SAMPLES = 12  # of each operator and layout
WITHOUT = {  # operators whose samples of sparse tensors are not compared
    "randn_like": "random",
    "to_sparse": "compared in the lines above",
    **dict.fromkeys(("masked.sum", "masked.prod", "masked.amax", "masked.amin", "masked.mean"), "weft has dense ones"),
}
ENTRIES = [
    pytest.param(entry, getattr(torch, layout), id=f"{entry.name}-{layout}")
    for entry in op_db
    for layout, flag in (
        ("sparse_coo", "supports_sparse"),
        *((f"sparse_{each}", f"supports_sparse_{each}") for each in LAYOUTS[1:]),
    )
    if getattr(entry, flag) and entry.name not in WITHOUT
]


def same_elements(mine: Any, theirs: Any) -> None:
    assert str(mine.layout).rpartition(".")[2] == str(theirs.layout).rpartition(".")[2]
    assert str(mine.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    found, expected = (np.asarray(each.detach().to_dense().tolist()) for each in (mine, theirs))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def sparse_samples(entry: Any, layout: Any) -> Iterator[Any]:
    """The database's own samples of a layout, or the dense ones converted."""
    try:
        yield from entry.sample_inputs_sparse(layout, "cpu", torch.float64)
        return
    except NotImplementedError:  # there are none
        pass
    blocksize = (1, 1) if layout in (torch.sparse_bsr, torch.sparse_bsc) else None
    for sample in entry.sample_inputs("cpu", torch.float64):
        if sample.input.ndim >= 2:
            sample.input = sample.input.to_sparse(layout=layout, blocksize=blocksize)
            yield sample


@pytest.mark.parametrize(("entry", "layout"), ENTRIES)
def test_pytorchs_samples_agree(entry: Any, layout: Any) -> None:
    count = 0
    for sample in itertools.islice(sparse_samples(entry, layout), SAMPLES):
        try:
            expected = entry.op(sample.input, *sample.args, **sample.kwargs)
        except (RuntimeError, NotImplementedError):  # no kernel for this one
            continue
        translator = Translator(Library("weft"))
        inputs = translator([sample.input, *sample.args])
        found = function(entry, translator)(*inputs, **translator(sample.kwargs))
        same_elements(found, expected)
        count += 1
    assert count
