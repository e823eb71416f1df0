"""What the engine does itself with small NumPy arrays: ends joined as bytes, sums and products by `numpy.dot`."""

import ast
import inspect

import numpy as np
import pytest

import weft
from weft._engine import methods


@pytest.mark.parametrize("dim", [0, 1, -1, -2])
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided", "expanded"])
@pytest.mark.parametrize("dtype", [weft.float32, weft.int64, weft.bool, weft.bfloat16, weft.complex64])
def test_joined_and_stacked_arrays_are_those_of_numpy(dim, layout, dtype):
    tensors = [(weft.arange(12).reshape(3, 4) * factor).to(dtype) for factor in (1, 2)]
    if layout == "transposed":
        tensors = [each.t().contiguous().t() for each in tensors]
    elif layout == "strided":
        tensors = [each[:, ::2] for each in tensors]
    elif layout == "expanded":
        tensors = [each[:1].expand(3, 4) for each in tensors]
    arrays = [each.to(weft.complex128).numpy() for each in tensors]
    joined, stacked = weft.cat(tensors, dim), weft.stack(tensors, dim)
    assert joined.is_contiguous() and stacked.is_contiguous()
    np.testing.assert_array_equal(joined.to(weft.complex128).numpy(), np.concatenate(arrays, dim))
    np.testing.assert_array_equal(stacked.to(weft.complex128).numpy(), np.stack(arrays, dim))


def test_what_is_joined_has_memory_of_its_own():
    parts = [weft.ones(2), weft.zeros(3)]
    joined = weft.cat(parts)
    joined += 1
    joined[1:].mul_(2)
    assert joined.tolist() == [2, 4, 2, 2, 2] and parts[0].tolist() == [1, 1]
    assert joined.untyped_storage().nbytes() == 20 and joined.clone().storage_offset() == 0


def test_tensors_without_elements_or_dimensions_are_joined_as_ever():
    assert weft.cat([weft.zeros(0), weft.ones(2, 2)]).shape == (2, 2)
    assert weft.cat([weft.zeros(0, 3), weft.zeros(0, 3)]).shape == (0, 3)
    assert weft.stack([weft.tensor(1.0), weft.tensor(2.0)]).tolist() == [1, 2]
    assert weft.stack([weft.zeros(0), weft.zeros(0)]).shape == (2, 0)


@pytest.mark.parametrize("dim", [-4, -3, 2, 3])
def test_joining_along_a_dimension_that_is_not_there_is_an_error(dim):
    tensors = [weft.ones(2, 2), weft.ones(2, 2)]
    with pytest.raises(IndexError):
        weft.cat(tensors, dim)
    if dim not in (-3, 2):
        with pytest.raises(IndexError):
            weft.stack(tensors, dim)


def test_sizes_that_do_not_fit_are_an_error():
    with pytest.raises(RuntimeError, match="cat"):
        weft.cat([weft.ones(2, 2), weft.ones(2, 3)])
    with pytest.raises(RuntimeError, match="stack"):  # as many rows as three tensors of the first one's shape have
        weft.stack([weft.ones(2, 4), weft.ones(1, 4), weft.ones(3, 4)])


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
def test_sums_and_products_of_few_elements_are_right_in_any_layout(dtype):
    x = weft.arange(24, dtype=dtype).reshape(4, 6)
    for each in (x, x.t(), x[::2, ::3], x[:1].expand(4, 6), x[:0], x[1, 2]):
        assert each.sum().item() == each.numpy().sum() and each.sum().shape == ()
    np.testing.assert_array_equal((x[:, ::2] @ x.t()[:3]).numpy(), x[:, ::2].numpy() @ x.t()[:3].numpy())
    infinite = weft.tensor([float("inf"), 1.0, float("nan")], dtype=dtype)
    assert infinite[:2].sum().item() == float("inf") and infinite.sum().isnan()


def test_methods_of_the_engine_do_not_call_each_other():
    """Tensors are made by the base class's function in C, whose table of methods ends before those of this class."""
    tree = ast.parse(inspect.getsource(methods)) if hasattr(methods.view_of, "__code__") else None
    if tree is None:
        pytest.skip("compiled: the source is not what runs")
    (declared,) = [each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == "TensorMethods"]
    names = {each.name for each in declared.body if isinstance(each, ast.FunctionDef)}
    called = [node.func for node in ast.walk(declared) if isinstance(node, ast.Call)]
    calls = [each.attr for each in called if isinstance(each, ast.Attribute) and ast.unparse(each.value) == "self"]
    assert not names.intersection(calls)


def test_elements_are_written_by_position():
    x = weft.zeros(3, 4)
    x[1] = 2
    x[:, -1] = weft.arange(3.0)
    x[..., None, 0] = 5.0
    assert x.tolist() == [[5, 0, 0, 0], [5, 2, 2, 1], [5, 0, 0, 2]] and x._version == 3
    x[:2] = x[1:]  # of the same memory
    assert x.tolist() == [[5, 2, 2, 1], [5, 0, 0, 2], [5, 0, 0, 2]]


@pytest.mark.parametrize(("index", "value"), [(3, 1.0), ((0, 0, 0), 1.0), (0, weft.ones(3)), (0, weft.ones(2, 4))])
def test_what_cannot_be_written_leaves_all_as_it_was(index, value):
    x = weft.zeros(3, 4)
    with pytest.raises((IndexError, RuntimeError)):
        x[index] = value
    assert not x.any() and x._version == 0


def test_writing_to_memory_that_is_repeated_is_an_error():
    with pytest.raises(RuntimeError):
        weft.zeros(1, 4).expand(3, 4)[:2] = 1.0


def test_a_write_that_is_needed_for_a_gradient_is_recorded():
    x, value = weft.zeros(3), weft.tensor(2.0, requires_grad=True)
    x[1] = value
    x[2] = 3.0
    (x * x).sum().backward()
    assert value.grad.item() == 4


@pytest.mark.parametrize(("start", "end"), [(0, -1), (1, -1), (0, 1), (1, 1), (-2, 2)])
def test_dimensions_become_one(start, end):
    x = weft.arange(24.0).reshape(2, 3, 4)
    for each in (x, x.transpose(0, 1), x[:, ::2], weft.zeros(0, 3, 4)):
        numbers = each.numpy()
        first, last = start % 3, end % 3
        shape = (*numbers.shape[:first], int(np.prod(numbers.shape[first : last + 1])), *numbers.shape[last + 1 :])
        np.testing.assert_array_equal(each.flatten(start, end).numpy(), numbers.reshape(shape))
    assert x.flatten(start, end).data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="flatten"):
        x.flatten(2, 0)


@pytest.mark.parametrize("dtype", [weft.int8, weft.uint8, weft.int32, weft.int64])
def test_integers_beside_a_number_are_computed_in_their_dtype_or_as_floats(dtype):
    x = weft.tensor([5, 0, 100], dtype=dtype)
    for number in (3, 1, 100):
        numbers = x.numpy()
        for made, expected in (
            (x + number, numbers + number),
            (x % number, numbers % number),
            (x > number, numbers > number),
        ):
            np.testing.assert_array_equal(made.numpy(), expected)
            assert made.numpy().dtype == expected.dtype
    assert (x / 300).tolist() == pytest.approx([5 / 300, 0, 1 / 3])  # though 300 is none of the 8-bit integers
    assert (x == (1 << 40)).tolist() == (
        [False, dtype is not weft.int64, False]
    )  # which wraps around to 0, as PyTorch's
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x % 0
    assert (x[:0] // 0).shape == (0,)
