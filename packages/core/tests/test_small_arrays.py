"""What the engine does itself with small NumPy arrays: ends joined as bytes, sums by `numpy.dot`, views."""

import ast
import inspect
import itertools
import weakref

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
    tree = ast.parse(inspect.getsource(methods)) if hasattr(methods.make_view, "__code__") else None
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
    with pytest.raises(RuntimeError, match="single memory location"):
        x[:2] = x[1:]
    x[:2] = x[1:].clone()
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


@pytest.mark.parametrize("sizes", [(6, 4), ((6, 4),), ([6, 4],), (np.int64(6), 4), (-1, 4), ((6, -1),), (2, 3, 4)])
def test_sizes_of_a_view_are_given_one_by_one_or_as_a_sequence(sizes):
    x = weft.arange(24.0).reshape(4, 6)
    for made in (x.view(*sizes), x.reshape(*sizes)):
        assert made.shape == np.arange(24).reshape(*sizes).shape
        assert made.data_ptr() == x.data_ptr() and type(made.shape[0]) is int


@pytest.mark.parametrize("sizes", [(-2, 4), (-2,), (True, 24), (6.0, 4), (None,), (), (-1, -1), (5, 5), ("64",)])
def test_sizes_that_a_tensor_cannot_be_viewed_in_are_refused(sizes):
    x = weft.arange(24.0).reshape(4, 6)
    for method in (x.view, x.reshape):
        with pytest.raises((RuntimeError, TypeError)):
            method(*sizes)


@pytest.mark.parametrize("sizes", [(4, -2), (4, True), (4.0, 4), (None,), (), (4,), (3, 4), (4, 2**70)])
def test_sizes_that_a_tensor_cannot_be_repeated_to_are_refused(sizes):
    x = weft.ones(4, 1)
    assert x.expand(4, 1).shape == (4, 1)  # what is found for this must not be taken for True
    with pytest.raises((RuntimeError, TypeError)):
        x.expand(*sizes)


def test_a_size_that_is_a_tensor_is_not_kept():
    sizes = weft.arange(3, 5)
    gone = weakref.ref(sizes)
    assert weft.ones(1, 4).expand(sizes[0], 4).shape == (3, 4)
    del sizes
    assert gone() is None


def test_views_that_live_get_a_history_with_their_base():
    base, value = weft.zeros(4), weft.tensor(2.0, requires_grad=True)
    kept = [base[:2], base[2:]]
    base[0], base.view(2, 2)  # gone at once
    kept.append(base.view(2, 2)[1])
    base[3] = value * 3
    assert [each.requires_grad for each in kept] == [True] * 3
    (kept[1] * kept[2]).sum().backward()
    assert value.grad.item() == 2 * 6 * 3


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


@pytest.mark.parametrize("other, expected", [([1.0, -0.0], True), ([1.0, 2.0], False), ([1.0], False)])
def test_few_elements_are_equal_as_numbers_are(other, expected):
    assert weft.equal(weft.tensor([1.0, 0.0]), weft.tensor(other)) is expected


def test_nan_equals_nothing_among_few_elements():
    assert not weft.equal(weft.tensor([float("nan")]), weft.tensor([float("nan")]))


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_gather_along_each_dim_is_that_of_numpy(dim, order):
    array = np.arange(60.0, dtype=np.float32).reshape(3, 4, 5).transpose(order)
    shape = [2, 2, 2]
    shape[dim] = 6
    index = np.arange(24).reshape(shape) % array.shape[dim]
    inside = array[tuple(slice(None) if d == dim % 3 else slice(2) for d in range(3))]
    found = weft.gather(weft.from_numpy(array), dim, weft.from_numpy(index))
    np.testing.assert_array_equal(found.numpy(), np.take_along_axis(inside, index, dim))
    assert found.is_contiguous()


@pytest.mark.parametrize("shift", [0, 1, -1, 3, 7, -8])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_roll_along_one_dim_is_that_of_numpy(shift, dim):
    array = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(weft.from_numpy(array).roll(shift, dim).numpy(), np.roll(array, shift, dim))
    assert weft.zeros(0, 3).roll(shift, 0).shape == (0, 3)


def test_a_mask_takes_elements_or_whole_rows():
    array = np.arange(12.0).reshape(3, 4)
    for mask in (array % 3 == 0, np.array([True, False, True])):
        tensor = weft.from_numpy(array.T.copy()).t()
        taken = tensor[weft.from_numpy(mask)]
        np.testing.assert_array_equal(taken.numpy(), array[mask])
        taken.zero_()  # memory of its own
        assert tensor.sum() == array.sum() and taken.is_contiguous()
    leaf = weft.ones(3, requires_grad=True)
    leaf[weft.tensor([True, False, True])].sum().backward()
    assert leaf.grad.tolist() == [1, 0, 1]


@pytest.mark.parametrize("steps", [2, 3, 10, 64, 65])
def test_a_few_spaced_numbers_are_rounded_as_many_are(steps):
    quick = weft.linspace(-1.3, 2, steps)
    np.testing.assert_array_equal(quick.numpy(), weft.linspace(-1.3, 2, steps, device="cpu").numpy())
    assert quick.dtype is weft.float32 and quick[-1] == 2


def test_products_of_few_matrices_and_sums_with_them_are_those_of_numpy():
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(40.0).reshape(2, 4, 5)
    np.testing.assert_array_equal((weft.from_numpy(a) @ weft.from_numpy(b)).numpy(), a @ b)
    for added in (np.arange(5.0), np.arange(15.0).reshape(3, 5)):
        tensors = [weft.from_numpy(each).requires_grad_() for each in (added, a[0], b[0])]
        found = weft.addmm(*tensors)
        np.testing.assert_array_equal(found.detach().numpy(), added + a[0] @ b[0])
        found.sum().backward()
        assert tensors[0].grad.sum() == 15 and tensors[1].grad.tolist() == [b[0].sum(1).tolist()] * 3
    with pytest.raises(RuntimeError, match=r"addmm: .* \(3x4 and 5x4\)"):
        weft.addmm(weft.ones(4), weft.ones(3, 4), weft.ones(5, 4))


@pytest.mark.parametrize("dim", [None, 0, 1, 2, (1, 2)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_variances_over_any_dims_are_those_of_numpy(dim, keepdim):
    array = np.arange(24.0).reshape(2, 3, 4) ** 1.5
    found = weft.from_numpy(array).var(dim, keepdim=keepdim)
    np.testing.assert_allclose(found.numpy(), array.var(dim, ddof=1, keepdims=keepdim), rtol=1e-12)


PRODUCTS = {
    "@": lambda left, right: left @ right,
    "mm": weft.mm,
    "addmm": lambda left, right: weft.addmm(weft.zeros(len(left), right.shape[1]), left, right),
    "bmm": lambda left, right: weft.bmm(left[None], right[None])[0],
    "batch": lambda left, right: (left.expand(2, *left.shape) @ right)[1],
    "einsum": lambda left, right: weft.einsum("ij,jk->ik", left, right),
    "outer": lambda left, right: weft.outer(left[:, 0], right[0]) if len(right) == 1 else left @ right,
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_zero_times_what_is_not_finite_is_nan_in_products_of_every_size(name, value):
    for rows, inner, columns in itertools.product((1, 2, 9), (1, 2, 9), (1, 2, 9)):
        wild, zeros = weft.full((rows, inner), value), weft.zeros(inner, columns)
        assert PRODUCTS[name](wild, zeros).isnan().all(), (rows, inner, columns)
        wild, zeros = weft.full((inner, columns), value), weft.zeros(rows, inner)
        assert PRODUCTS[name](zeros, wild).isnan().all(), (rows, inner, columns)
