"""Methods of Tensor about its memory and its elements one by one; expected values are PyTorch's."""

import multiprocessing
import sys

import numpy as np
import pytest

import weft


def test_apply_replaces_each_element_and_rounds_towards_zero_for_integers():
    x = weft.arange(6, dtype=weft.int32).reshape(2, 3)
    assert x.apply_(lambda v: v * 1.7) is x
    assert x.tolist() == [[0, 1, 3], [5, 6, 8]]


def test_apply_writes_in_order_to_a_transposed_tensor():
    base = weft.zeros(3, 2)
    numbers = iter(range(6))
    base.t().apply_(lambda v: next(numbers))
    assert base.t().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_map_broadcasts_the_other_tensor():
    x = weft.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.map_(weft.tensor([10.0, 20.0]), lambda a, b: a * b).tolist() == [[10, 40], [30, 80]]
    assert weft.ones(2).map2_(weft.ones(2), weft.ones(2) * 2, lambda a, b, c: a + b * c).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: x.apply_(lambda v: "a"), TypeError),
        (lambda x: x.apply_(3), TypeError),
        (lambda x: x.map_(weft.ones(2, dtype=weft.float64), lambda a, b: a), TypeError),
        (lambda x: x.map_(3, lambda a, b: a), TypeError),
        (lambda x: x.map_(weft.ones(4), lambda a, b: a), RuntimeError),
        (lambda x: x.requires_grad_().apply_(lambda v: v), RuntimeError),
        (lambda x: x.map_(weft.ones(2, requires_grad=True), lambda a, b: a), RuntimeError),
    ],
)
def test_wrong_callbacks_and_operands_are_refused_and_nothing_is_written(call, error):
    x = weft.ones(2)
    with pytest.raises(error):
        call(x)
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("shape", "wrap", "places"),
    [
        ((2, 3), False, [(0, 0), (1, 1)]),
        ((7, 3), False, [(0, 0), (1, 1), (2, 2)]),
        ((7, 3), True, [(0, 0), (1, 1), (2, 2), (4, 0), (5, 1), (6, 2)]),
        ((5, 1), True, [(0, 0), (2, 0), (4, 0)]),
        ((3, 3, 3), False, [(0, 0, 0), (1, 1, 1), (2, 2, 2)]),
        ((2, 2, 2, 2), False, [(0, 0, 0, 0), (1, 1, 1, 1)]),
        ((0, 3), True, []),
    ],
)
def test_the_diagonal_is_where_all_indices_are_equal(shape, wrap, places):
    found = weft.zeros(shape).fill_diagonal_(1, wrap=wrap)
    assert [tuple(each) for each in found.nonzero().tolist()] == places


def test_the_gradient_stops_at_a_diagonal_that_was_written():
    x = weft.zeros(2, 2, requires_grad=True)
    (x * 2).fill_diagonal_(1).sum().backward()
    assert x.grad.tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize("shape", [(3,), (2, 3, 2)])
def test_a_tensor_without_main_diagonal_is_refused(shape):
    with pytest.raises(RuntimeError, match="fill_diagonal_"):
        weft.zeros(shape).fill_diagonal_(1)


@pytest.mark.parametrize(
    ("tensor", "order"),
    [
        (weft.ones(2, 3, 4, 5).to(memory_format=weft.channels_last), (0, 2, 3, 1)),
        (weft.ones(3).expand(2, 3), (0, 1)),
        (weft.ones(4, 1, 3).transpose(0, 2), (2, 1, 0)),
        (weft.ones(4, 1, 3, 2, 5).permute(4, 1, 0, 2, 3), (2, 1, 3, 4, 0)),
        (weft.tensor(1.0), ()),
    ],
)
def test_dim_order_goes_from_the_outermost_dimension_to_the_innermost(tensor, order):
    assert tensor.dim_order() == order


def test_an_ambiguous_order_is_refused_if_asked_for():
    x = weft.empty(1, 2, 3, 4)
    with pytest.raises(RuntimeError, match="unique"):
        x.dim_order(ambiguity_check=True)
    assert x.dim_order(ambiguity_check=[weft.contiguous_format, weft.channels_last]) == (0, 1, 2, 3)
    with pytest.raises(RuntimeError, match="unique"):
        weft.ones(2, 1, 3, 4).dim_order(ambiguity_check=[weft.contiguous_format, weft.channels_last])
    with pytest.raises(TypeError, match="ambiguity_check"):
        x.dim_order(ambiguity_check=3)


@pytest.mark.skipif(sys.platform != "linux", reason="needs processes made by fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of a process that has threads, from Python 3.12 on
def test_a_forked_process_writes_to_shared_memory():
    x = weft.zeros(2, 3).t()
    assert x.share_memory_() is x and x.is_shared() and x[1:].is_shared() and not weft.zeros(2).is_shared()
    process = multiprocessing.get_context("fork").Process(target=x._array.__setitem__, args=((2, 1), 7))
    process.start()
    process.join()
    assert x.tolist() == [[0, 0], [0, 0], [0, 7]] and x.stride() == (1, 3)


def test_a_file_is_read_and_if_shared_written(tmp_path):
    path = tmp_path / "numbers"
    np.arange(4, dtype=np.float32).tofile(path)
    private = weft.from_file(str(path), size=3)
    private[0] = 9
    assert private.tolist() == [9, 1, 2] and np.fromfile(path, np.float32).tolist() == [0, 1, 2, 3]
    shared = weft.from_file(str(path), shared=True, size=5)
    shared[4] = 8
    assert shared.is_shared() and np.fromfile(path, np.float32).tolist() == [0, 1, 2, 3, 8]
    assert weft.from_file(str(path), size=2, dtype=weft.int16).dtype is weft.int16
    assert weft.from_file(str(path)).shape == (0,)


def test_a_file_that_is_missing_or_too_short_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="unable to open"):
        weft.from_file(str(tmp_path / "nothing"), size=1)
    (tmp_path / "short").write_bytes(b"abc")
    with pytest.raises(RuntimeError, match="smaller than the required"):
        weft.from_file(str(tmp_path / "short"), size=1)
    with pytest.raises(RuntimeError, match="negative"):
        weft.from_file(str(tmp_path / "short"), size=-1)


def test_the_hash_is_the_exclusive_or_of_the_bits_as_64_bit_numbers():
    assert weft.hash_tensor(weft.tensor([1, 2, 4])).item() == 7
    assert weft.hash_tensor(weft.tensor([1.0, 2.0, 3.0])).item() == 4609434218613702656
    assert weft.tensor([-1, 2], dtype=weft.int8).hash_tensor().item() == 2**64 - 3
    assert weft.hash_tensor(weft.ones(2, 3), 0, keepdim=True).tolist() == [[0, 0, 0]]
    assert weft.hash_tensor(weft.tensor(1.0)).shape == ()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: weft.hash_tensor(weft.ones(2, 0)), RuntimeError),
        (lambda: weft.hash_tensor(weft.ones(2, 0), 1), IndexError),
        (lambda: weft.hash_tensor(weft.ones(2), mode=1), RuntimeError),
        (lambda: weft.hash_tensor(weft.ones(2, dtype=weft.complex64)), NotImplementedError),
        (lambda: weft.hash_tensor(weft.ones(2), 0, out=weft.empty(0, dtype=weft.int64)), RuntimeError),
    ],
)
def test_hashes_of_nothing_or_of_another_kind_are_refused(call, error):
    with pytest.raises(error, match="hash_tensor"):
        call()


def test_norms_by_their_older_names():
    x = weft.tensor([[3.0, 0.0], [0.0, 4.0]])
    assert weft.frobenius_norm(x, (0, 1)).item() == 5 and weft.frobenius_norm(x, []).item() == 5
    assert weft.nuclear_norm(x).item() == pytest.approx(7)
    assert weft.nuclear_norm(x, True).shape == (1, 1)
    assert weft.norm_except_dim(x, 2, 1).tolist() == [[3, 4]]
    assert weft.norm_except_dim(x, 2, -1).item() == 5
    assert weft.norm_except_dim(weft.tensor([-3.0, 4.0])).tolist() == [3, 4]
    with pytest.raises(RuntimeError, match="floating point"):
        weft.norm_except_dim(weft.ones(2, dtype=weft.int64))


def test_a_module_load_copies_or_takes_the_other_tensor():
    x, other = weft.zeros(2), weft.ones(2, requires_grad=True)
    assert x.module_load(weft.ones(2)).data_ptr() == x.data_ptr() and x.tolist() == [1, 1]
    taken = x.module_load(other, assign=True)
    assert taken.data_ptr() == other.data_ptr() and not taken.requires_grad


def test_old_resizes_keep_the_number_of_elements():
    x = weft.arange(6)
    with pytest.warns(UserWarning, match="reshape"):
        assert x.resize(2, 3).shape == (2, 3)
    with pytest.warns(UserWarning, match="reshape"), pytest.raises(RuntimeError, match="6 elements"):
        x.resize(7)


def test_what_python_2_asked_for_is_there():
    x = weft.tensor([2.0])
    assert (x.__div__(4).item(), x.__long__(), x.__nonzero__()) == (0.5, 2, True)
    assert [each.item() for each in reversed(weft.arange(3))] == [2, 1, 0]


def test_a_tensor_on_the_cpu_has_no_cuda_interface_and_no_streams():
    x = weft.ones(2)
    assert not hasattr(x, "__cuda_array_interface__")
    with pytest.raises(NotImplementedError, match="record_stream"):
        x.record_stream(None)
    with pytest.raises(RuntimeError, match="pin_memory"):
        x.pin_memory()


def test_a_dense_tensor_is_its_own_dense_form():
    x = weft.ones(2, 3)
    assert x.to_dense() is x and (x.dense_dim(), x.sparse_dim()) == (2, 0)
    assert x.grad_dtype is weft.float32 and x.name is None and not x.is_distributed()
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert not x.volatile
    with pytest.raises(RuntimeError, match="leaf"):
        (x.requires_grad_() * 2).grad_dtype


@pytest.mark.parametrize(
    "make",
    [
        lambda: weft.Size([1.5]),
        lambda: weft.Size("ab"),
        lambda: weft.Size([None]),
        lambda: weft.Size([[1]]),
        lambda: weft.Size([weft.tensor([1, 2])]),
        lambda: weft.Size([weft.tensor(1.0)]),
        lambda: weft.Size([1]) + (1.5,),
        lambda: (1.5,) + weft.Size([1]),
        lambda: weft.Size([1]) + [1],
        lambda: [1] + weft.Size([1]),
        lambda: weft.Size(3),
    ],
)
def test_sizes_are_integers(make):
    with pytest.raises(TypeError):
        make()


def test_sizes_are_python_integers_of_64_bits():
    made = weft.Size(each for each in (True, np.int64(2), weft.tensor([3]), 4))
    assert made == (1, 2, 3, 4) and all(type(each) is int for each in made)
    with pytest.raises(ValueError, match="64 bits"):
        weft.Size([1 << 63])
    assert all(type(each) is weft.Size for each in (made + (1,), (1,) + made, made * 2, 2 * made, made[1:]))


@pytest.mark.parametrize("make", [weft.zeros, weft.ones, weft.empty])
def test_a_size_must_be_given_but_may_be_of_no_dimensions(make):
    with pytest.raises(TypeError, match="missing 1 required"):
        make()
    assert make(()).shape == make(size=()).shape == ()


@pytest.mark.parametrize("name", ["bool", "complex64"])
def test_counting_in_truth_values_or_complex_numbers_is_refused(name):
    dtype = getattr(weft, name)
    with pytest.raises(NotImplementedError, match="arange_cpu"):
        weft.arange(2, dtype=dtype)
    with pytest.raises(NotImplementedError, match="arange_cpu"):
        weft.arange(2, out=weft.empty(2, dtype=dtype))
    if name == "bool":
        with pytest.raises(NotImplementedError, match="linspace"):
            weft.linspace(0, 1, 3, dtype=dtype)
    assert weft.linspace(0, 1, 3, dtype=weft.complex64).tolist() == [0, 0.5, 1]


def test_integers_are_no_part_of_complex_numbers():
    for dtype in (weft.int32, weft.bool):
        with pytest.raises(RuntimeError, match="to_complex"):
            dtype.to_complex()
