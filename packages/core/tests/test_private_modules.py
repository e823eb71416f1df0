"""Private modules of PyTorch's that its own tests and libraries import: what stands there works, or says what to do."""

import pytest

import weft
from weft import _utils
from weft._functorch.utils import enable_single_level_autograd_function
from weft._functorch.vmap import restore_vmap
from weft._ops import HigherOrderOperator
from weft.func import vmap
from weft.func._arguments import _slice_argnums
from weft.func.functorch.experimental import chunk_vmap
from weft.nested._internal import nested_tensor as jagged


@pytest.mark.parametrize("chunks", [1, 2, 3, 7])
def test_chunks_of_vmap_give_what_it_gives(chunks):
    x = weft.arange(15.0).reshape(5, 3)
    assert chunk_vmap(weft.sum, chunks=chunks)(x).tolist() == vmap(weft.sum)(x).tolist()
    assert chunk_vmap(lambda a: (a, a * 2), in_dims=1, out_dims=(0, 1), chunks=chunks)(x)[1].shape == (5, 3)


def test_a_restored_vmap_returns_values_and_their_dimensions():
    x = weft.randn(4, 3)
    function = restore_vmap(lambda a, b: (a * b, weft.ones(2), {"n": 3}), (1, None), 3, "error")
    (product, ones, rest), places = function(x, weft.ones(4))
    assert places == (0, None, {"n": None})
    assert product.tolist() == x.T.tolist()
    assert ones.shape == (2,) and rest == {"n": 3}


@pytest.mark.parametrize(
    ("argnums", "found"), [(0, ("a",)), (-1, ("c",)), ((0, -2), ("a", "b")), ((2, 0), ("c", "a")), ((1,), ("b",))]
)
def test_arguments_are_chosen_by_number(argnums, found):
    assert _slice_argnums(("a", "b", "c"), argnums) == found


@pytest.mark.parametrize(
    ("argnums", "said"),
    [
        (0.0, "int or Tuple"),
        ([0], "int or Tuple"),
        ((0.0,), "must be int"),
        (3, "positional inputs"),
        ((-4,), "positional inputs"),
        ((), "must be non-empty"),
        ((0, -3), "must be unique"),
    ],
)
def test_argument_numbers_that_lead_nowhere_are_refused(argnums, said):
    with pytest.raises(RuntimeError, match=said):
        _slice_argnums(("a", "b", "c"), argnums)


def test_a_jagged_tensor_is_made_of_a_list_and_given_offsets():
    components = [weft.ones(2, 3), weft.zeros(4, 3)]
    first, offsets = jagged.jagged_from_list(components, None)
    second, same = jagged.jagged_from_list(components, offsets, dtype=weft.float64)
    assert same is offsets and second.dtype is weft.float64
    assert (first + second).shape == first.shape
    assert jagged.buffer_from_jagged(first).shape == (6, 3)
    viewed = jagged.ViewNestedFromBuffer.apply(first.values(), offsets, {"min_seqlen": weft.empty(2, 0)})
    assert [each.shape for each in viewed.unbind()] == [(2, 3), (4, 3)]
    part = jagged.nested_view_from_values_offsets_lengths(first.values(), offsets, weft.tensor([1, 2]))
    assert [each.shape for each in part.unbind()] == [(1, 3), (2, 3)]


@pytest.mark.parametrize(
    ("components", "said"),
    [
        ([], "empty tensor list"),
        ([weft.ones(2), weft.ones(2).double()], "same dtype"),
        ([weft.ones(2), weft.ones(2, 1)], "same dim"),
        ([weft.ones(2), weft.ones(2, device="meta")], "same device"),
    ],
)
def test_a_jagged_tensor_of_unlike_components_is_refused(components, said):
    with pytest.raises(RuntimeError, match=said):
        jagged.jagged_from_list(components, None)


def test_tensors_are_rebuilt_from_storages_and_parts():
    x = weft.arange(6.0)
    rebuilt = _utils._rebuild_tensor(x.storage(), 1, (2, 2), (2, 1))
    assert rebuilt.tolist() == [[1, 2], [3, 4]]
    rebuilt[0, 0] = 9
    assert x[1] == 9
    indices = weft.tensor([[0, 1], [1, 0]])
    sparse = _utils._rebuild_sparse_tensor(weft.sparse_coo, (indices, weft.ones(2), (2, 2)))
    assert sparse.to_dense().tolist() == [[0, 1], [1, 0]]
    parts = weft.tensor([0, 1, 2]), weft.tensor([1, 0]), weft.ones(2), (2, 2)
    assert _utils._rebuild_sparse_tensor(weft.sparse_csr, parts).to_dense().tolist() == [[0, 1], [1, 0]]
    assert _utils._import_dotted_name("weft.nn.functional.relu") is weft.nn.functional.relu


def test_what_weft_has_not_says_what_to_do():
    with pytest.raises(NotImplementedError, match="setup_context"):
        enable_single_level_autograd_function()
    with pytest.raises(NotImplementedError, match=r"weft\.library\.custom_op"):
        HigherOrderOperator("mine")
