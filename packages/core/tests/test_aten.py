"""`weft.ops.aten`, and functions that PyTorch has for its own use but programs call all the same."""

import copy
import math
import pickle
import subprocess
import sys

import pytest

import weft

aten = weft.ops.aten


def test_a_name_is_that_of_a_public_function():
    x = weft.tensor([1.0, 4.0])
    assert aten.sqrt.default(x).tolist() == [1.0, 2.0]
    assert aten.add.Tensor(x, x, alpha=2).tolist() == aten.add(x, x, alpha=2).tolist() == [3.0, 12.0]
    assert [each.item() for each in aten.max.dim(x, 0)] == [4.0, 1]


def test_prefixes_stand_for_namespaces():
    assert weft.equal(aten.linalg_inv.default(2 * weft.eye(2)), weft.eye(2) / 2)
    assert aten.fft_fft(weft.ones(2)).tolist() == [2, 0]
    assert aten.special_entr(weft.ones(1)).tolist() == [0.0]


def test_methods_have_names_too():
    x = weft.arange(4)
    assert aten.view.default(x, [2, 2]).shape == (2, 2)
    assert aten.add_.Scalar(x, 1) is x
    assert x.tolist() == [1, 2, 3, 4]


def test_an_overload_is_one_object_and_says_its_name():
    assert aten.add is aten.add
    assert aten.add.Tensor is aten.add.Tensor
    assert (str(aten.add), str(aten.add.Tensor)) == ("aten.add", "aten.add.Tensor")
    assert aten.add.__name__ == "add"


@pytest.mark.parametrize("name", ["no_such_function", "float32", "Tensor", "linalg", "__wrapped__"])
def test_what_is_no_function_has_no_name(name):
    with pytest.raises(AttributeError, match=rf"weft\.ops\.aten has no attribute '{name}'"):
        getattr(aten, name)


def test_an_overload_has_none_of_its_own():
    with pytest.raises(AttributeError, match=r"'OpOverload' object has no attribute 'Scalar'"):
        _ = aten.add.Tensor.Scalar


def test_other_namespaces_are_empty():
    with pytest.raises(AttributeError, match=r"'no_such_namespace' object has no attribute 'foo'"):
        _ = weft.ops.no_such_namespace.foo


def test_it_is_imported_when_first_asked_for():
    code = "import sys, weft; print('weft.ops._aten' in sys.modules, weft.ops.aten, 'weft.ops._aten' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "<weft.ops.aten>", "True"]


# Slices


def test_a_slice_is_a_view_with_the_ends_of_pythons_own():
    x = weft.arange(6)
    assert aten.slice.Tensor(x, 0, 1, -1, 2).tolist() == [1, 3]
    assert aten.slice(x, start=-100, end=100).tolist() == x.tolist()
    assert aten.slice(x, 0, 4, 2).tolist() == []
    aten.slice(x, 0, 1, 3).zero_()
    assert x.tolist() == [0, 0, 0, 3, 4, 5]


def test_a_slice_needs_a_dimension_and_a_positive_step():
    with pytest.raises(IndexError, match=r"slice.*0-dim"):
        aten.slice(weft.ones(()))
    with pytest.raises(RuntimeError, match=r"slice.*step must be positive"):
        aten.slice(weft.ones(2), 0, 0, 2, 0)


# Chunks


def test_chunk_cat_joins_chunks_of_the_same_number_and_fills_up_with_zeros():
    found = weft._chunk_cat([weft.arange(1, 4), weft.tensor([[5, 6], [7, 8]])], 0, 2)
    assert found.tolist() == [[1, 2, 5, 6], [3, 0, 7, 8]]


def test_chunk_cat_keeps_the_dimensions_before():
    assert weft._chunk_cat([weft.ones(2, 5, 3), weft.ones(2, 1, 4)], 1, 4).shape == (2, 4, 2 * 3 + 4)


@pytest.mark.parametrize(
    ("shapes", "dim", "chunks", "words"),
    [
        ([(2, 3), (4,)], -1, 3, "non-negative dim"),
        ([(2, 3), (4,)], 1, 3, "dim < ndim"),
        ([(2, 3), (4, 3)], 1, 3, "same sizes"),
        ([(2,)], 0, 0, "positive num_chunks"),
        ([(0,), (3,)], 0, 1, "non-empty tensor"),
        ([(), ()], 0, 1, "zero-dimensional"),
        ([], 0, 1, "non-empty input tensor list"),
    ],
)
def test_chunk_cat_refuses_what_does_not_fit_together(shapes, dim, chunks, words):
    with pytest.raises(RuntimeError, match=f"_chunk_cat.*{words}"):
        weft._chunk_cat([weft.ones(shape) for shape in shapes], dim, chunks)


# Softmax


def test_safe_softmax_is_zero_where_nothing_is_left():
    x = weft.tensor([[0.0, 0.0], [-math.inf, -math.inf], [1.0, -math.inf]], requires_grad=True)
    found = weft._safe_softmax(x, 1)
    assert found.tolist() == [[0.5, 0.5], [0.0, 0.0], [1.0, 0.0]]
    found[:, 0].sum().backward()
    assert x.grad.tolist() == [[0.25, -0.25], [0.0, 0.0], [0.0, 0.0]]


def test_safe_softmax_converts_first():
    assert weft._safe_softmax(weft.zeros(2, dtype=weft.int64), 0, weft.float64).dtype is weft.float64


def test_softmax_backward_data_is_the_gradient_of_softmax():
    x = weft.tensor([[0.0, 1.0, 3.0], [2.0, 2.0, -1.0]], requires_grad=True)
    grad = weft.tensor([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0]])
    result = weft.softmax(x, 1)
    result.backward(grad)
    assert weft.allclose(weft._softmax_backward_data(grad, result.detach(), 1, weft.float32), x.grad)


@pytest.mark.parametrize(
    ("grad", "output", "dtype", "error"),
    [
        (weft.ones(2), weft.ones(3), weft.float32, RuntimeError),
        (weft.ones(2), weft.ones(2, dtype=weft.float64), weft.float32, RuntimeError),
        (weft.ones(2), weft.ones(2), weft.float64, RuntimeError),
        (weft.ones(2, dtype=weft.int64), weft.ones(2, dtype=weft.int64), weft.int64, NotImplementedError),
    ],
)
def test_softmax_backward_data_refuses_what_is_no_gradient_of_softmax(grad, output, dtype, error):
    with pytest.raises(error, match="_softmax_backward_data"):
        weft._softmax_backward_data(grad, output, 0, dtype)


# Indices with a mask


def test_masked_index_reads_only_where_the_mask_is_true():
    x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
    index = weft.tensor([2, 7, -9, 2])
    found = weft._unsafe_masked_index(x, (index >= 0) & (index < 3), [index], -1.0)
    assert found.tolist() == [3.0, -1.0, -1.0, 3.0]
    found.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 2.0]


def test_masked_index_leaves_dimensions_of_none_whole():
    x = weft.arange(6).reshape(2, 3)
    mask = weft.tensor([[True], [False]])
    assert weft._unsafe_masked_index(x, mask.T, [None, weft.tensor([2, 5])], 9).tolist() == [[2, 9], [5, 9]]


def test_masked_index_of_nothing_is_all_filled():
    found = weft._unsafe_masked_index(weft.empty(0, 2), weft.tensor([[False]]), [weft.tensor([3]), None], 4.0)
    assert found.tolist() == [[4.0, 4.0]]


def test_masked_index_put_adds_only_where_the_mask_is_true():
    x, values = weft.zeros(3, requires_grad=True), weft.tensor([1.0, 2.0, 4.0], requires_grad=True)
    index = weft.tensor([1, 1, 8])
    found = weft._unsafe_masked_index_put_accumulate(x, index < 3, [index], values)
    assert found.tolist() == [0.0, 3.0, 0.0]
    found.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    assert values.grad.tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("indices", "error"),
    [
        ([weft.tensor([True, False])], RuntimeError),
        ([weft.tensor([0.0])], RuntimeError),
        ([weft.tensor([0]), weft.tensor([0])], IndexError),
        (weft.tensor([0]), TypeError),
    ],
)
def test_masked_index_refuses_other_indices(indices, error):
    with pytest.raises(error, match="_unsafe_masked_index"):
        weft._unsafe_masked_index(weft.ones(2), weft.tensor([True]), indices, 0.0)


def test_segment_reduce_has_two_names():
    data, lengths = weft.tensor([1.0, 2.0, 4.0]), weft.tensor([1, 2])
    assert weft._segment_reduce(data, "max", lengths=lengths).tolist() == [1.0, 4.0]


def test_segments_of_each_example_of_a_batch_are_reduced():
    data, lengths = weft.tensor([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]), weft.tensor([[1, 2], [2, 1]])
    with pytest.warns(UserWarning, match="segment_reduce; it runs once for each"):
        found = weft.vmap(lambda x, n: weft.segment_reduce(x, "sum", lengths=n))(data, lengths)
    assert found.tolist() == [[1.0, 6.0], [24.0, 32.0]]


def test_handles_are_copied_and_pickled_as_themselves():
    for handle in (weft.ops.aten.add, weft.ops.aten.add.Tensor):
        assert copy.copy(handle) is copy.deepcopy([handle])[0] is handle
        assert pickle.loads(pickle.dumps(handle)) is handle
