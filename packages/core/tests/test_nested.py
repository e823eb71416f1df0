"""Nested tensors of the jagged and the strided layout, which recommenders, torchrec and transformers' kernels make."""

import copy
import gc
import io
import pickle

import pytest

import weft
from weft.autograd import gradcheck

LENGTHS = (2, 4, 0, 1)


def components(requires_grad=False):
    weft.manual_seed(0)
    return [weft.randn(length, 3, dtype=weft.float64, requires_grad=requires_grad) for length in LENGTHS]


def jagged_of(parts):
    return weft.nested.as_nested_tensor(parts, layout=weft.jagged)


@pytest.fixture
def parts():
    return components()


@pytest.fixture
def jagged(parts):
    return jagged_of(parts)


def agree(found, expected):
    """A nested tensor has these components."""
    assert found.is_nested
    assert len(found) == len(expected)
    for got, wanted in zip(found.unbind(), expected):
        assert got.shape == wanted.shape
        weft.testing.assert_close(got, wanted)


def test_a_nested_tensor_says_what_it_is(jagged):
    assert isinstance(jagged, weft.Tensor)
    assert jagged.is_nested and jagged.layout is weft.jagged and not weft.ones(1).is_nested
    assert (jagged.ndim, len(jagged), jagged.dtype, jagged.numel()) == (3, 4, weft.float64, 21)
    assert jagged.offsets().tolist() == [0, 2, 6, 6, 7] and jagged.lengths() is None
    assert jagged.values().shape == (7, 3)
    assert repr(jagged).startswith("NestedTensor(size=(4, j") and "offsets=tensor([0, 2, 6, 6, 7])" in repr(jagged)


def test_the_ragged_size_is_a_symbol(jagged, parts):
    ragged = jagged.size(1)
    assert ragged == (jagged * 2).size(1) and jagged.shape == (jagged + 1).shape
    assert ragged != jagged_of(parts).size(1) and ragged != 5
    assert repr(ragged * 3) == f"3*{ragged}" == repr(3 * ragged)
    assert ragged >= 2 and ragged > 1 and not ragged < 2 and not ragged <= 1
    assert hash(ragged) == hash(jagged.size(1)) and isinstance(ragged, weft.SymInt)
    assert weft.Size(list(jagged.shape)) == jagged.shape  # tensordict
    with pytest.raises(TypeError, match="no single size"):
        int(ragged)
    with pytest.raises(ValueError, match="compare"):
        assert ragged > 5


def test_symbols_do_not_outlive_their_offsets(parts):
    from weft.nested import _nested_int

    gc.collect()
    before = len(_nested_int._of_offsets)
    made = jagged_of(parts)
    assert made.size(1) is not None and len(_nested_int._of_offsets) == before + 1
    del made
    gc.collect()
    assert len(_nested_int._of_offsets) == before


ELEMENTWISE = {
    "add": lambda x: x + 1,
    "reflected": lambda x: 2 - x,
    "two": lambda x: x * (x + 1),
    "row": lambda x: x * weft.arange(3.0, dtype=weft.float64),
    "where": lambda x: weft.where(x > 0, x, 0.0),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0.5),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "tanh": lambda x: weft.tanh(x),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "last sum": lambda x: x.sum(-1),
    "kept sum": lambda x: x.sum(-1, keepdim=True),
    "last mean": lambda x: x.mean(-1),
    "matrix": lambda x: x @ weft.arange(6.0, dtype=weft.float64).reshape(3, 2),
    "cat": lambda x: weft.cat([x, 2 * x], -1),
    "part": lambda x: x[..., 1:],
    "column": lambda x: x[..., 0],
    "narrow": lambda x: x.narrow(-1, 1, 2),
    "chunk": lambda x: x.chunk(3, -1)[1],
    "split": lambda x: x.split([1, 2], -1)[1],
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "unflatten": lambda x: x.unflatten(-1, (3, 1)),
    "flatten": lambda x: x.unflatten(-1, (3, 1)).flatten(-2),
    "float": lambda x: x.float(),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_functions_of_components_run_on_all_at_once(name):
    function, parts = ELEMENTWISE[name], components(requires_grad=True)
    agree(function(jagged_of(parts)), [function(part) for part in parts])
    if name != "float":
        assert gradcheck(lambda *parts: function(jagged_of(parts)).values(), parts)


RAGGED = {
    "sum": lambda x, dim: x.sum(dim),
    "kept": lambda x, dim: x.sum(dim, keepdim=True),
    "prod": lambda x, dim: x.prod(dim),
}


@pytest.mark.parametrize("name", RAGGED)
def test_reductions_over_the_ragged_dimension_are_dense(name):
    function, parts = RAGGED[name], components(requires_grad=True)
    found = function(jagged_of(parts), 1)
    assert not found.is_nested
    weft.testing.assert_close(found, weft.stack([function(part, 0) for part in parts]))
    assert gradcheck(lambda *parts: function(jagged_of(parts), 1), parts)


@pytest.mark.parametrize("name", ["mean", "amax", "amin", "max", "min", "argmax", "softmax"])
def test_reductions_of_components_that_are_not_empty(name, parts):
    parts = [part for part in parts if len(part)]
    found = getattr(jagged_of(parts), name)(1)
    expected = [getattr(part, name)(0) for part in parts]
    if name == "softmax":
        agree(found, expected)
    elif name in ("max", "min"):
        weft.testing.assert_close(found.values, weft.stack([each.values for each in expected]))
        weft.testing.assert_close(found.indices, weft.stack([each.indices for each in expected]))
    else:
        weft.testing.assert_close(found, weft.stack(expected))


def test_reductions_of_everything(jagged):
    values = jagged.values()
    assert jagged.sum() == values.sum() and jagged.mean() == values.mean() and jagged.max() == values.max()
    assert jagged.sum((0, 1)).equal(values.sum(0))
    assert not (jagged > 0).all() and (jagged > 0).any()


def test_padding_and_back(jagged, parts):
    padded = jagged.to_padded_tensor(-1.0)
    assert padded.shape == (4, 4, 3)
    for row, part in zip(padded, parts):
        assert row[: len(part)].equal(part) and (row[len(part) :] == -1).all()
    assert weft.nested.to_padded_tensor(jagged, 0.0, output_size=(4, 6, 3)).shape == (4, 6, 3)
    leaves = components(requires_grad=True)
    assert gradcheck(lambda *parts: jagged_of(parts).to_padded_tensor(0.5), leaves)


def test_dense_operands_broadcast_against_the_padded_form(jagged):
    padded = jagged.to_padded_tensor(0.0)
    for other in (weft.randn(4, 1, 3), weft.randn(4, 4, 3), weft.randn(1, 1, 3), weft.randn(1, 4, 1)):
        other = other.double()
        lengths = zip((padded * other).unbind(), LENGTHS)
        agree(jagged * other, [row[:length] for row, length in lengths])
    with pytest.raises(RuntimeError, match="longest component"):
        jagged + weft.ones(4, 5, 3)


def test_matrices_one_for_each_component(jagged, parts):
    other = weft.randn(4, 3, 2, dtype=weft.float64)
    agree(jagged @ other, [part @ each for part, each in zip(parts, other)])
    agree(weft.bmm(jagged, other), [part @ each for part, each in zip(parts, other)])
    found = jagged.transpose(1, 2) @ jagged
    weft.testing.assert_close(found, weft.stack([part.T @ part for part in parts]))


def test_the_ragged_dimension_moves(jagged, parts):
    turned = jagged.transpose(1, 2)
    agree(turned, [part.T for part in parts])
    assert repr(turned.shape[2]) == repr(jagged.shape[1]) and not turned.is_contiguous()
    agree(turned.transpose(1, 2) * 2, [part * 2 for part in parts])
    agree(jagged.unsqueeze(1), [part[None] for part in parts])
    agree(jagged.view(4, -1, 1, 3), [part[:, None] for part in parts])
    agree(jagged.reshape(*jagged.shape[:2], 3, 1), [part[..., None] for part in parts])
    agree(turned.sum(1), [part.sum(1) for part in parts])
    weft.testing.assert_close(turned.sum(2), weft.stack([part.sum(0) for part in parts]))


def test_components(jagged, parts):
    assert jagged[1].equal(parts[1]) and jagged[-1].equal(parts[-1]) and jagged[1, 0].equal(parts[1][0])
    assert [len(each) for each in jagged] == list(LENGTHS)
    flat = weft.nested.nested_tensor_from_jagged(weft.arange(6), weft.tensor([0, 2, 5]), weft.tensor([1, 3]))
    assert [each.tolist() for each in flat.unbind()] == [[0], [2, 3, 4]]
    assert not flat.is_contiguous() and flat.contiguous().values().tolist() == [0, 2, 3, 4]
    assert flat.sum(1).tolist() == [0, 9] and flat.numel() == 4 and flat.sum() == 9
    assert (flat + weft.tensor([[10], [20]])).values().tolist() == [10, 22, 23, 24]


def test_constructors(parts):
    made = weft.nested.nested_tensor_from_jagged(weft.arange(5.0), lengths=weft.tensor([2, 3]))
    assert made.offsets().tolist() == [0, 2, 5] and made._max_seqlen == 3
    narrowed = weft.nested.narrow(weft.arange(12).reshape(3, 4), 1, weft.tensor([0, 1, 3]), 1, layout=weft.jagged)
    assert [each.tolist() for each in narrowed.unbind()] == [[0], [5], [11]]
    dense = weft.arange(6).reshape(2, 3)
    chosen = weft.nested.masked_select(dense, dense % 2 == 0)
    assert [each.tolist() for each in chosen.unbind()] == [[0, 2], [4]]
    numbers = weft.nested.nested_tensor([[1, 2], [3]], dtype=weft.float32, layout=weft.jagged)
    assert numbers.values().tolist() == [1.0, 2.0, 3.0]
    leaf = weft.nested.nested_tensor(components(requires_grad=True), layout=weft.jagged, requires_grad=True)
    assert leaf.is_leaf and leaf.requires_grad
    again = weft.nested.as_nested_tensor(weft.nested.nested_tensor(parts), layout=weft.jagged)
    agree(again, parts)


def test_gradients_reach_components_values_and_leaves():
    leaf = weft.nested.nested_tensor(components(), layout=weft.jagged, requires_grad=True)
    (leaf * 3).sum().backward()
    assert leaf.grad.is_nested and (leaf.grad.values() == 3).all()
    (found,) = weft.autograd.grad((leaf * leaf).values().sum(), leaf)
    agree(found, [2 * each.detach() for each in leaf.unbind()])
    values = weft.ones(3, requires_grad=True)
    made = weft.nested.nested_tensor_from_jagged(values, weft.tensor([0, 1, 3]))
    assert not made.is_leaf
    made.sum().backward()
    assert values.grad.tolist() == [1, 1, 1]


def test_in_place_functions_write_to_the_values(jagged):
    values = jagged.values().clone()
    assert jagged.mul_(2) is jagged
    jagged += 1
    assert jagged.values().equal(values * 2 + 1)
    jagged.copy_(jagged * 2).zero_()
    assert (jagged.values() == 0).all()


def test_offsets_move_with_the_values(jagged):
    moved = jagged.to("meta")
    assert moved.device.type == moved.offsets().device.type == "meta"


def test_copies_and_pickles(jagged, parts):
    agree(copy.deepcopy(jagged), parts)
    agree(pickle.loads(pickle.dumps(jagged)), parts)
    agree(pickle.loads(pickle.dumps(weft.nested.nested_tensor(parts))), parts)
    with pytest.raises(Exception, match="offsets"):
        weft.save(jagged, io.BytesIO())


# The strided layout


def test_components_of_any_sizes():
    parts = [weft.ones(2, 3), 2 * weft.ones(1, 5)]
    x = weft.nested.nested_tensor(parts)
    assert x.layout is weft.strided and (x.size(0), x.ndim, x.numel()) == (2, 3, 11)
    assert repr(x).startswith("nested_tensor([\n  tensor([[1., 1., 1.],\n")
    agree(x * 2 + x, [3 * part for part in parts])
    agree(x.transpose(1, 2), [part.T for part in parts])
    agree(x.softmax(-1), [part.softmax(-1) for part in parts])
    agree(x @ x.transpose(1, 2), [part @ part.T for part in parts])
    assert x.to_padded_tensor(-1.0).tolist() == [
        [[1, 1, 1, -1, -1], [1, 1, 1, -1, -1]],
        [[2, 2, 2, 2, 2], [-1, -1, -1, -1, -1]],
    ]
    assert x[1].equal(parts[1])
    assert x._nested_tensor_size().tolist() == [[2, 3], [1, 5]]  # torch_geometric.utils.from_nested_tensor
    with pytest.raises(RuntimeError, match="irregular"):
        x.size(1)


def test_strided_gradients_agree_with_differences():
    parts = [weft.randn(2, 3, dtype=weft.float64, requires_grad=True) for _ in range(2)]

    def function(*parts):
        x = weft.nested.as_nested_tensor(list(parts))
        return ((x * 2).tanh().transpose(1, 2) @ x).to_padded_tensor(0.0)

    assert gradcheck(function, parts)
    leaf = weft.nested.nested_tensor([weft.ones(2), weft.ones(1)], requires_grad=True)
    (leaf * 3).values().sum().backward()
    agree(leaf.grad, [3 * weft.ones(2), 3 * weft.ones(1)])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x + jagged_of(components()), RuntimeError, "same offsets"),
        (lambda x: x.sum(0), RuntimeError, "batch dimension"),
        (lambda x: x.sum((1, 2)), RuntimeError, "ragged"),
        (lambda x: x.transpose(0, 1), ValueError, "batch dimension"),
        (lambda x: x.flatten(1), RuntimeError, "ragged"),
        (lambda x: x[:, 0], RuntimeError, "slice"),
        (lambda x: x @ x, RuntimeError, "matmul"),
        (lambda x: weft.cat([x, x], 1), RuntimeError, "ragged"),
        (lambda x: weft.stack([x, x]), RuntimeError, "stack"),
        (lambda x: x.cumsum(1), NotImplementedError, "to_padded_tensor"),
        (lambda x: x.numpy(), RuntimeError, "numpy"),
        (lambda x: x.view(2, -1), RuntimeError, "batch"),
        (lambda x: weft.ones(1).to_padded_tensor(0.0), RuntimeError, "nested"),
        (lambda x: weft.nested.nested_tensor([], layout=weft.jagged), RuntimeError, "empty"),
        (
            lambda x: weft.nested.nested_tensor([weft.ones(2, 3), weft.ones(3, 2)], layout=weft.jagged),
            RuntimeError,
            "single",
        ),
        (lambda x: weft.nested.nested_tensor([weft.ones(2), weft.ones(1, 2)]), RuntimeError, "dimension"),
        (lambda x: weft.nested.nested_tensor(3), TypeError, "list"),
        (lambda x: weft.nested.nested_tensor([1], layout=weft.sparse_coo), RuntimeError, "layout"),
        (lambda x: weft.nested.nested_tensor_from_jagged(weft.ones(3)), RuntimeError, "At least one"),
        (lambda x: weft.nested.nested_tensor_from_jagged(weft.ones(3), weft.tensor([0, 5])), RuntimeError, "outside"),
        (lambda x: weft.nested.nested_tensor_from_jagged(weft.ones(3), weft.tensor([0, 2])), RuntimeError, "end with"),
        (
            lambda x: weft.nested.nested_tensor_from_jagged(weft.ones(3), weft.tensor([0, 3, 2])),
            RuntimeError,
            "outside",
        ),
        (lambda x: weft.nested.narrow(weft.ones(2, 3), 1, 2, 2, layout=weft.jagged), RuntimeError, "outside"),
        (lambda x: weft.nested.masked_select(weft.ones(3), weft.ones(3) > 0), RuntimeError, "2 dimensions"),
    ],
)
def test_what_nested_tensors_refuse(jagged, call, error, message):
    with pytest.raises(error, match=message):
        call(jagged)


def test_a_mask_says_how_long_the_sequences_of_a_nested_tensor_are():
    steps = weft.arange(12.0).reshape(2, 3, 2)
    mask = weft.tensor([[True, True, False], [True, True, True]])
    nested = weft._nested_tensor_from_mask(steps, mask)
    assert nested.to_padded_tensor(0.0).equal(steps.masked_fill(~mask[:, :, None], 0.0))
    for wrong in (mask.float(), mask[:, :2], mask[:, :, None], ~mask):
        with pytest.raises(RuntimeError, match="_nested_tensor_from_mask"):
            weft._nested_tensor_from_mask(steps, wrong)
