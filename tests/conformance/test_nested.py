"""Nested tensors of both layouts agree with PyTorch's: components, shapes, gradients, printed form, errors."""

import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import torch

import weft

pytestmark = pytest.mark.filterwarnings("ignore")  # of either library: not the claim here


def tensors(library: Any) -> dict[str, Any]:
    """The names that lines use: a nested tensor of each kind, made of leaves, and dense operands."""
    a = library.tensor(np.arange(6.0).reshape(2, 3) / 7 + 0.1, requires_grad=True)
    b = library.tensor(np.arange(12.0).reshape(4, 3) / 5 - 1, requires_grad=True)
    w = library.tensor(np.arange(6.0).reshape(2, 3) - 2, requires_grad=True)
    nested = library.nested
    nt = nested.as_nested_tensor([a, b], layout=library.jagged)
    heads = library.tensor(np.sin(np.arange(6 * 16.0)).reshape(6, 2, 8), requires_grad=True)
    q = nested.nested_tensor_from_jagged(heads, nt.offsets())
    return {
        "torch": library,
        "F": library.nn.functional,
        "a": a,
        "b": b,
        "w": w,
        "heads": heads,
        "nt": nt,
        "st": nested.as_nested_tensor([a, b]),
        "any_sizes": nested.nested_tensor([library.ones(2, 3), 2 * library.ones(1, 5)]),
        "holes": nested.narrow(
            library.tensor(np.arange(24.0).reshape(2, 4, 3)),
            1,
            library.tensor([0, 1]),
            library.tensor([2, 3]),
            layout=library.jagged,
        ),
        "ids": nested.nested_tensor([library.tensor([1, 0]), library.tensor([1])], layout=library.jagged),
        "last": nested.nested_tensor([library.ones(2, 3), library.zeros(2, 4)], layout=library.jagged),
        "q": q.transpose(1, 2),
    }


def symbols(shape: Any) -> list[str]:
    return [re.sub(r"j\d+", "j", str(each)) for each in shape]


def parts(result: Any) -> list[Any]:
    """The dense tensors that a result consists of."""
    if isinstance(result, (tuple, list)):
        return [part for each in result for part in parts(each)]
    return list(result.unbind()) if result.is_nested else [result]


def described(result: Any) -> Any:
    """What is compared of a result beside the numbers."""
    if isinstance(result, (tuple, list)):
        return [described(each) for each in result]
    if not hasattr(result, "is_nested"):
        return re.sub(r"j\d+", "j", str(result))
    layout = str(result.layout).rpartition(".")[2]
    strided = result.is_nested and layout == "strided"
    shape = [list(each.shape) for each in result.unbind()] if strided else symbols(result.shape)
    return [result.is_nested, layout, shape, str(result.dtype).rpartition(".")[2], result.requires_grad]


def numbers(result: Any) -> list[np.ndarray]:
    return [np.asarray(each.detach().tolist(), float) for each in parts(result)]


def gradients(names: dict[str, Any], result: Any) -> list[Any]:
    """Of a weighted sum of the result's elements, for the leaves."""
    total = 0
    for part in parts(result):
        if part.requires_grad:
            weights = names["torch"].arange(1, part.numel() + 1, dtype=part.dtype).reshape(part.shape)
            total = total + (part * weights).sum()
    total.backward()
    return [None if names[leaf].grad is None else names[leaf].grad.tolist() for leaf in ("a", "b", "w", "heads")]


# PyTorch dies of the gradient of split, and has a wrong one of softmax over the ragged dimension: those are detached.
LINES = """nt
nt + 1
1 - nt
nt * nt
nt / 2
nt ** 2
nt.sin()
nt.exp()
nt.relu()
F.gelu(nt)
F.silu(nt)
F.leaky_relu(nt)
F.dropout(nt, 0.0)
nt.clamp(0, 1)
nt > 0
nt == nt
torch.where(nt > 0, nt, 0.0)
nt.masked_fill(nt > 0, 0.0)
nt * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
nt + torch.arange(6.0, dtype=torch.float64).reshape(2, 1, 3)
nt * torch.arange(24.0, dtype=torch.float64).reshape(2, 4, 3)
torch.arange(3.0, dtype=torch.float64) - nt
nt.float()
nt.to(torch.float32)
nt.clone()
nt.detach()
torch.zeros_like(nt)
torch.ones_like(nt)
nt.sum()
nt.sum(1)
nt.sum(1, keepdim=True)
nt.sum(-1)
nt.sum(-1, keepdim=True)
nt.sum((0, 1))
nt.mean()
nt.mean(1)
nt.mean(-1)
nt.amax(1)
nt.amin(1)
nt.max(1)
nt.min(1)
nt.max(-1)
nt.max()
nt.prod(1)
nt.argmax(-1)
(nt > 0).all()
(nt > 0).any()
nt.softmax(-1)
F.softmax(nt, dim=-1)
nt.detach().softmax(1)
F.log_softmax(nt, dim=-1)
F.layer_norm(nt, (3,))
F.rms_norm(nt, (3,))
F.linear(nt, w)
F.linear(nt, w, torch.ones(2, dtype=torch.float64))
nt @ w.T
torch.matmul(nt, torch.stack([w.T, w.T]))
torch.bmm(nt, torch.stack([w.T, w.T]))
nt.transpose(1, 2) @ nt
F.embedding(ids, w)
torch.cat([nt, nt * 2], -1)
nt.chunk(3, -1)
nt.detach().split([1, 2], -1)
nt.narrow(-1, 0, 2)
nt[0]
nt[-1]
nt[..., 0]
nt[..., 0:2]
nt[..., None]
nt.select(-1, 1)
nt.transpose(1, 2)
nt.permute(0, 2, 1)
nt.movedim(1, 2)
nt.unsqueeze(1)
nt.unsqueeze(-1)
nt.unsqueeze(-1).squeeze(-1)
nt.view(2, -1, 3, 1)
nt.view(2, -1, 1, 3)
nt.reshape(2, nt.size(1), 3)
nt.unflatten(-1, [3, 1])
nt.unflatten(-1, [3, 1]).flatten(-2)
nt.expand(2, nt.size(1), 3)
nt.unbind()
list(nt)
nt.to_padded_tensor(-1.0)
nt.to_padded_tensor(0.0, output_size=(2, 6, 3))
torch.nested.to_padded_tensor(nt, 1.0)
nt.values()
nt.offsets()
nt.lengths()
nt.size()
nt.size(1)
nt.size(1) * 3
nt.size(1) == 5
nt.size(1) == (nt + 1).size(1)
nt.size(1) >= 2
nt.dim()
nt.numel()
nt.stride()
len(nt)
nt.is_contiguous()
nt.transpose(1, 2).is_contiguous()
nt.is_leaf
nt._max_seqlen
nt._min_seqlen
last
last.sum(2)
last.to_padded_tensor(5.0)
last.transpose(1, 2)
holes
holes.unbind()
holes.offsets()
holes.values().shape
holes.lengths()
holes.is_contiguous()
holes.contiguous()
holes * 2
torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged)
torch.nested.nested_tensor([a, b], dtype=torch.float32, layout=torch.jagged)
torch.nested.as_nested_tensor(torch.ones(2, 3), layout=torch.jagged)
torch.nested.nested_tensor_from_jagged(a, torch.tensor([0, 1, 2]))
torch.nested.nested_tensor_from_jagged(a, lengths=torch.tensor([1, 1]))
torch.nested.nested_tensor_from_jagged(b, torch.tensor([0, 2, 4]), torch.tensor([1, 2])).unbind()
torch.nested.nested_tensor_from_jagged(a, torch.tensor([0, 1, 3]), jagged_dim=2)
torch.nested.masked_select(b, b > 0)
torch.nested.narrow(b.reshape(2, 2, 3), 1, 0, torch.tensor([1, 2]), layout=torch.jagged).unbind()
F.scaled_dot_product_attention(q, q * 2, q + 1)
F.scaled_dot_product_attention(q, q, q, scale=0.3).transpose(1, 2).flatten(-2)
st
st + 1
st + st
st * 2
st.relu()
st.softmax(-1)
F.linear(st, w)
F.layer_norm(st, (3,), torch.ones(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64))
st.transpose(1, 2)
st @ st.transpose(1, 2)
st.reshape(2, -1, 3, 1)
st.unbind()
st[0]
st.size(0)
st.size(2)
st.numel()
st.dim()
st.to_padded_tensor(0.0)
st.to_padded_tensor(0.0, output_size=(2, 6, 3))
st.values()
st.is_nested
any_sizes
any_sizes.to_padded_tensor(-1.0)
a.is_nested""".splitlines()


@pytest.mark.parametrize("line", LINES)
def test_lines_agree(line: str) -> None:
    theirs_names, mine_names = tensors(torch), tensors(weft)
    theirs, mine = eval(line, theirs_names), eval(line, mine_names)
    assert described(mine) == described(theirs)
    if not hasattr(theirs, "is_nested") and not (isinstance(theirs, (tuple, list)) and hasattr(theirs[0], "is_nested")):
        return
    for got, expected in zip(numbers(mine), numbers(theirs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-12)
    if not any(part.requires_grad for part in parts(theirs)):
        return
    try:
        expected = gradients(theirs_names, theirs)
    except (AttributeError, RuntimeError, ValueError):  # PyTorch has no gradient: weft's is tested against differences
        return
    for got, wanted in zip(gradients(mine_names, mine), expected):
        assert (got is None) == (wanted is None)
        if wanted is not None:
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("line", ["nt.detach()", "nt.detach().requires_grad_()", "st.detach()", "any_sizes", "holes"])
def test_nested_tensors_print_alike(line: str) -> None:
    expected = repr(eval(line, tensors(torch))).replace("torch.", "weft.")
    found = repr(eval(line, tensors(weft)))
    assert [re.sub(r"j\d+", "j", each) for each in found.split()] == [
        re.sub(r"j\d+", "j", each) for each in expected.split()
    ]


WRONG = """nt * torch.nested.nested_tensor([a, b], layout=torch.jagged)
nt + torch.ones(2, 5, 3)
nt.sum(0)
nt.sum((1, 2))
nt.mean(0)
nt.transpose(0, 1)
nt.squeeze(1)
nt.flatten(1)
nt[:, 0]
nt[0:1]
nt @ nt
torch.cat([nt, nt], 0)
torch.cat([nt, nt], 1)
torch.stack([nt, nt])
nt.tolist()
nt.numpy()
nt.to_dense()
nt.unbind(1)
torch.nested.nested_tensor([], layout=torch.jagged)
torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 4)], layout=torch.jagged)
torch.nested.nested_tensor([torch.ones(2), torch.ones(3, 4)])
torch.nested.nested_tensor(3)
torch.nested.nested_tensor([a, b], layout=torch.sparse_coo)
torch.nested.nested_tensor_from_jagged(a)
st.size(1)
st.shape
st * torch.ones(2, 1, 3)
st.to_padded_tensor(0.0, output_size=(2, 3, 3))
F.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(1))""".splitlines()


@pytest.mark.parametrize("line", WRONG)
def test_wrong_calls_raise_the_same_type(line: str) -> None:
    with pytest.raises(Exception) as theirs:
        eval(line, tensors(torch))
    with pytest.raises(theirs.type):
        eval(line, tensors(weft))
