"""Exchange with NumPy, DLPack, buffers and Python's numbers; copies and pickles of tensors."""

import array
import copy
import gc
import mmap
import operator
import pickle
import weakref

import ml_dtypes
import numpy as np
import pytest

import weft
import weft._tensor.interop

DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bfloat16 uint16 uint32 uint64"
NUMPY = [np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name) for name in DTYPES.split()]


def content(tensor):
    return tensor.dtype, tensor.tolist()


# tensor(data)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (1, (weft.int64, 1)),
        (True, (weft.bool, True)),
        (2.5, (weft.float32, 2.5)),
        (1j, (weft.complex64, 1j)),
        ([True, 2], (weft.int64, [1, 2])),
        ([1, 2.5], (weft.float32, [1.0, 2.5])),
        ([True, 1j], (weft.complex64, [1, 1j])),
        ([], (weft.float32, [])),
        ([[], []], (weft.float32, [[], []])),
        ([(1, 2), [3, 4]], (weft.int64, [[1, 2], [3, 4]])),
        (range(3), (weft.int64, [0, 1, 2])),
        (np.float64(1), (weft.float64, 1.0)),
        (np.uint16(3), (weft.uint16, 3)),
        ([np.int32(1), 2], (weft.int64, [1, 2])),
        ([np.int32(1), 2.5], (weft.float32, [1.0, 2.5])),
        ([np.float64(1), 1], (weft.float64, [1.0, 1.0])),
        ([np.ones(2), np.zeros(2)], (weft.float64, [[1.0, 1.0], [0.0, 0.0]])),
        (bytearray(b"ab"), (weft.int64, [97, 98])),
        (array.array("f", [1, 2]), (weft.float32, [1.0, 2.0])),
        (-(1 << 63), (weft.int64, -(1 << 63))),
    ],
    ids=str,
)
def test_tensor_infers_dtype_and_shape(data, expected):
    assert content(weft.tensor(data)) == expected


def test_tensor_takes_tensors_as_numbers():
    assert content(weft.tensor([weft.tensor(1), weft.tensor([2.5])])) == (weft.float32, [1.0, 2.5])
    two = weft.tensor([1, 2])
    for data in ([two, two], [[two, two]], [two, 1], [1, two], [1, weft.ones(0)]):
        with pytest.raises(ValueError, match=r"^tensor: only one element tensors .*weft.stack"):
            weft.tensor(data)


def test_tensor_follows_the_default_dtype():
    weft.set_default_dtype(weft.float64)
    try:
        assert weft.tensor([1.5]).dtype is weft.float64
        assert weft.tensor([1.5, np.float32(1)]).dtype is weft.float64
        assert weft.tensor(1j).dtype is weft.complex128
    finally:
        weft.set_default_dtype(weft.float32)


@pytest.mark.parametrize(
    ("data", "dtype", "expected"),
    [
        (-2.7, weft.int64, -2),
        (-1, weft.uint8, 255),
        (0.5, weft.bool, True),
        (1j, weft.bool, True),
        ((1 << 64) - 1, weft.uint64, (1 << 64) - 1),
        (1e300, weft.float32, float("inf")),
        (70000, weft.float16, float("inf")),
        (1.00390625, weft.bfloat16, 1.0),
        (3, weft.complex64, 3),
        ([(1 << 60) + 1, 2.5], weft.int64, [(1 << 60) + 1, 2]),
        (np.array([2.5, -1.0]), weft.int8, [2, -1]),
        (1.5, float, 1.5),
    ],
    ids=str,
)
def test_tensor_converts_as_c_does(data, dtype, expected):
    assert weft.tensor(data, dtype=dtype).tolist() == expected


endless = []
endless += [endless, endless]

WRONG_DATA = [
    ([[1, 2], [1, 2, 3]], {}, ValueError, r"expected sequence of length 2 at dim 1 \(got 3\)"),
    ([[[1, 2]], [[3]]], {}, ValueError, r"expected sequence of length 2 at dim 2 \(got 1\)"),
    ([[1, 2], 3], {}, TypeError, "not a sequence: int"),
    ([1, [2]], {}, TypeError, "'list' object"),
    (endless, {}, ValueError, "too many dimensions 'list'"),
    ("text", {}, TypeError, "invalid data type 'str'"),
    (["text"], {}, ValueError, "too many dimensions 'str'"),
    (b"bytes", {}, TypeError, "invalid data type 'bytes'"),
    ([1, "text"], {}, TypeError, "invalid data type 'str'"),
    (None, {}, RuntimeError, "could not infer dtype of NoneType"),
    ({1: 2}, {}, RuntimeError, "could not infer dtype of dict"),
    ([object()], {}, RuntimeError, "could not infer dtype of object"),
    (None, {"dtype": weft.float32}, TypeError, "must be a number"),
    (1 << 63, {}, ValueError, "Overflow when unpacking long long"),
    (1 << 20000, {}, ValueError, "an integer of 20001 bits"),
    (300, {"dtype": weft.uint8}, RuntimeError, "uint8 without overflow: 300"),
    (np.int64(300), {"dtype": weft.uint8}, RuntimeError, "uint8 without overflow: 300"),
    (128, {"dtype": weft.int8}, RuntimeError, "int8 without overflow: 128"),
    (float("nan"), {"dtype": weft.int64}, RuntimeError, "not finite"),
    (1e300, {"dtype": weft.int64}, RuntimeError, "int64 without overflow"),
    (-1.5, {"dtype": weft.uint8}, RuntimeError, "uint8 without overflow: negative"),
    (-1, {"dtype": weft.uint64}, OverflowError, "-1 is outside the range of uint64"),
    (1j, {"dtype": weft.float32}, TypeError, "a complex number"),
    (1, {"requires_grad": True}, RuntimeError, "floating point and complex"),
    (1, {"dtype": "float32"}, TypeError, "'dtype' must be weft.dtype, not str"),
    (1.0, {"pin_memory": True}, RuntimeError, "pin_memory"),
    (np.array(["text"]), {}, TypeError, "can't convert a NumPy array of <U4"),
    (np.ones(3)[::-1], {}, ValueError, "negative"),
    (np.ones(1, ">f4"), {}, ValueError, "byte order"),
]


@pytest.mark.parametrize(("data", "options", "error", "message"), WRONG_DATA, ids=[case[3] for case in WRONG_DATA])
def test_tensor_explains_what_is_no_data(data, options, error, message):
    with pytest.raises(error, match=message):
        weft.tensor(data, **options)


def test_tensor_copies():
    a = np.zeros(2)
    x = weft.tensor(a)
    with pytest.warns(UserWarning, match="detach"):
        y = weft.tensor(x)
    a[0] = 1.0
    assert x.tolist() == [0.0, 0.0]
    assert x.data_ptr() != y.data_ptr()


def test_a_broadcast_array_becomes_a_tensor_that_can_be_written_to():
    x = weft.tensor(np.broadcast_to(np.float32(1), (2, 2)))
    assert x.stride() == (2, 1)


# NumPy


@pytest.mark.parametrize("dtype", NUMPY, ids=str)
def test_memory_is_shared_with_numpy_both_ways(dtype):
    a = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    x = weft.from_numpy(a[:, ::2])
    assert x.dtype.name == a.dtype.name
    assert x.stride() == (3, 2)
    a[0, 2] = 0
    assert x.tolist() == [[0, 0], [1, 1]]
    x.numpy()[0, 0] = 1
    assert a[0, 0] == 1


def test_from_numpy_keeps_the_array_alive():
    a = np.arange(3)
    watched = weakref.ref(a)
    x = weft.from_numpy(a)
    del a
    gc.collect()
    assert watched() is not None
    assert x.tolist() == [0, 1, 2]


def test_a_view_of_a_large_array_is_a_small_storage():
    x = weft.from_numpy(np.zeros((100, 100))[10:12, 5:7])
    assert x.untyped_storage().nbytes() == (100 + 2) * 8
    assert x.storage_offset() == 0
    assert weft.from_numpy(np.zeros(5)[2:2]).shape == (0,)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([1], TypeError, r"expected np.ndarray \(got list\)"),
        (np.float32(1), TypeError, r"expected np.ndarray \(got float32\)"),
        (np.ones(3)[::-1], ValueError, "negative"),
        (np.ones(2, ">i4"), ValueError, "byte order"),
        (np.array([None]), TypeError, "object"),
        (np.zeros(3, [("a", "i1"), ("b", "f4")])["b"], ValueError, "no multiples of its element size"),
    ],
    ids=["list", "scalar", "negative", "byte order", "object", "field"],
)
def test_from_numpy_explains_what_it_cannot_share(value, error, message):
    with pytest.raises(error, match=f"^from_numpy: .*{message}"):
        weft.from_numpy(value)


def test_read_only_arrays_are_mentioned_once_and_stay_read_only(monkeypatch):
    monkeypatch.setattr(weft._settings, "_said", set())
    a = np.ones(2)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        x = weft.from_numpy(a)
    weft.from_numpy(a)  # a second warning would be an error
    with pytest.raises(RuntimeError, match="read-only"):
        x.add_(1.0)
    assert a.tolist() == [1.0, 1.0]


def test_numpy_of_a_recorded_tensor_needs_detach():
    x = weft.ones(2, requires_grad=True)
    for attempt in (x.numpy, lambda: np.asarray(x)):
        with pytest.raises(RuntimeError, match=r"numpy\(\) .*detach\(\)\.numpy\(\)"):
            attempt()
    assert x.numpy(force=True).tolist() == [1.0, 1.0]


def test_numpy_of_a_recorded_tensor_needs_no_detach_where_nothing_is_recorded():
    weight = weft.ones(2, requires_grad=True)
    with weft.no_grad():
        weight.numpy()[0] = 5.0
        assert np.asarray(weight).tolist() == [5.0, 1.0]


def test_memory_from_a_capsule_can_be_written_to_in_both_directions():
    x = weft.arange(4.0)
    y = weft.from_dlpack(weft.utils.dlpack.to_dlpack(x))
    y[1] = 5
    y.t()[::2].mul_(2)
    assert x.tolist() == [0.0, 5.0, 4.0, 3.0]
    array = np.arange(6.0).reshape(2, 3).T
    weft.from_dlpack(array)[0, 1] = 9
    assert array[0, 1] == 9
    array.flags.writeable = False
    with pytest.raises((RuntimeError, ValueError)):
        weft.from_dlpack(array)[0, 0] = 1
    assert array[0, 0] == 0


def test_comparison_with_an_array_is_one_of_elements():
    x, a = weft.tensor([1.0, 2.0]), np.array([1, 3])
    for found in (x == a, a == x, x == np.array([[1.0], [3.0]])[0:1].T.ravel().repeat(2) * [1, 3]):
        assert found.tolist() == [True, False]
    assert (x != a).tolist() == (a != x).tolist() == [False, True]
    assert (x == np.ones((3, 1))).shape == (3, 2)
    for other in ("a", None, [1.0, 2.0], object(), np.datetime64(1, "s"), np.array(["a", "b"])):
        assert (x == other) is False
        assert (x != other) is True


def test_arithmetic_with_an_array_is_numpys_or_a_quotient():
    x, a = weft.tensor([1.0, 2.0]), np.array([4.0, 6.0])
    assert (x + a).tolist() == [5.0, 8.0]
    assert (a / x).tolist() == [4.0, 3.0]
    y = x
    y += a
    assert y.tolist() == [5.0, 8.0]
    assert x.tolist() == [1.0, 2.0]
    with pytest.raises(TypeError):
        x + np.datetime64(1, "s")


def test_numpy_functions_see_tensors():
    x = weft.tensor([1, 2])
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert not np.shares_memory(np.array(x), x.numpy())
    assert np.shares_memory(np.array(x, copy=False), x.numpy())
    with pytest.raises(ValueError, match="without a copy"):
        np.array(x, dtype=np.float32, copy=False)
    assert np.concatenate([x, x]).tolist() == [1, 2, 1, 2]


def test_ufuncs_of_tensors_give_tensors():
    x, n = weft.tensor([1.0, 2.0]), np.array([1.0, 1.0])
    for result in (np.add(n, x), np.add(x, n), x + n):
        assert content(result) == (weft.float64, [2.0, 3.0])
    assert content(np.negative(x)) == (weft.float32, [-1.0, -2.0])
    assert content(np.float64(2) * x) == (weft.float32, [2.0, 4.0])
    assert content(x * np.float64(2)) == (weft.float32, [2.0, 4.0])


# Buffers, asarray, as_tensor


def test_frombuffer_shares_memory():
    data = bytearray(8)
    x = weft.frombuffer(data, dtype=weft.int16, count=2, offset=2)
    x[0] = 258
    assert data == bytes([0, 0, 2, 1, 0, 0, 0, 0])
    with mmap.mmap(-1, 16) as memory:
        y = weft.frombuffer(memory, dtype=weft.float32)
        assert y.shape == (4,)
        del y


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (bytearray(), {}, r"both buffer length \(0\)"),
        (bytearray(3), {}, "multiple of element size"),
        (bytearray(4), {"offset": 5}, "offset"),
        (bytearray(4), {"offset": -1}, "offset"),
        (bytearray(4), {"count": 0}, "count"),
        (bytearray(4), {"count": 3}, "not be greater than actual buffer length"),
        ([1, 2], {}, "buffer protocol: list"),
    ],
    ids=str,
)
def test_frombuffer_checks_the_length(data, options, message):
    with pytest.raises(ValueError, match=f"^frombuffer: .*{message}"):
        weft.frombuffer(data, dtype=weft.int16, **options)


def test_asarray_shares_what_can_be_shared():
    a, data, x = np.arange(3), bytearray(4), weft.ones(2)
    assert np.shares_memory(weft.asarray(a).numpy(), a)
    assert weft.asarray(data, dtype=weft.uint8).shape == (4,)
    assert weft.asarray(x).data_ptr() == x.data_ptr()
    assert weft.asarray(x, copy=True).data_ptr() != x.data_ptr()
    assert content(weft.asarray([1, 2], dtype=weft.float64)) == (weft.float64, [1.0, 2.0])
    with pytest.raises(ValueError, match=r"^asarray: can't alias .*list"):
        weft.asarray([1], copy=False)
    with pytest.raises(ValueError, match=r"^asarray: can't alias .*int32"):
        weft.asarray(x, dtype=weft.int32, copy=False)


def test_asarray_keeps_history_unless_told_otherwise():
    y = weft.ones(2, requires_grad=True) * 2
    assert weft.asarray(y).requires_grad
    assert not weft.asarray(y, requires_grad=False).requires_grad
    assert weft.asarray([1.0], requires_grad=True).is_leaf


def test_as_tensor_returns_what_needs_no_change():
    x, a = weft.ones(2), np.ones(2, np.float32)
    assert weft.as_tensor(x) is x
    assert weft.as_tensor(x, dtype=weft.float64).dtype is weft.float64
    assert np.shares_memory(weft.as_tensor(a).numpy(), a)
    assert weft.as_tensor(a, dtype=weft.float64).dtype is weft.float64
    assert content(weft.as_tensor([1, 2])) == (weft.int64, [1, 2])


# DLPack


class Exporter:
    """An array of another library, of any version of the protocol."""

    def __init__(self, tensor, keywords):
        self.tensor = tensor
        self.keywords = keywords

    def __dlpack__(self, **options):
        if not set(options) <= set(self.keywords):
            raise TypeError(f"unexpected keywords {options}")
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize("name", DTYPES.split())
@pytest.mark.parametrize("keywords", [(), ("stream",), ("stream", "max_version", "dl_device", "copy")], ids=len)
def test_dlpack_round_trips_share_memory(name, keywords):
    x = weft.tensor([[0, 1], [1, 0]]).to(getattr(weft, name)).t()
    y = weft.from_dlpack(Exporter(x, keywords))
    assert y.dtype is x.dtype
    assert y.stride() == x.stride()
    assert y.tolist() == x.tolist()
    assert y.data_ptr() == x.data_ptr()


def test_dlpack_with_numpy():
    a = np.arange(3)
    assert weft.from_dlpack(a).data_ptr() == a.ctypes.data
    assert np.shares_memory(np.from_dlpack(weft.from_numpy(a)), a)
    assert weft.from_dlpack(a, copy=True).data_ptr() != a.ctypes.data
    assert weft.from_dlpack(a, device="cpu").data_ptr() == a.ctypes.data
    assert weft.from_dlpack(a.__dlpack__()).data_ptr() == a.ctypes.data


def test_dlpack_keeps_memory_alive_and_frees_it():
    x = weft.ones(1000)
    watched = weakref.ref(x._array)
    y = weft.from_dlpack(x)
    del x
    assert watched() is not None
    del y
    assert watched() is None


def test_dlpack_keywords_of_the_exporter():
    x = weft.ones(2)
    assert x.__dlpack_device__() == (1, 0)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert "versioned" in repr(x.__dlpack__(max_version=(1, 0)))
    assert "versioned" not in repr(x.__dlpack__(max_version=(0, 8)))
    assert "versioned" not in repr(x.__dlpack__(stream=-1, dl_device=(1, 0), copy=False))
    assert weft.from_dlpack(x.__dlpack__(copy=True)).data_ptr() != x.data_ptr()
    with pytest.raises(BufferError, match=r"^__dlpack__: .*detach"):
        weft.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match=r"^__dlpack__: .*\(2, 0\)"):
        x.__dlpack__(dl_device=(2, 0))


def test_dlpack_explains_what_it_cannot_take():
    with pytest.raises(TypeError, match=r"^from_dlpack: .*list"):
        weft.from_dlpack([1])
    used = weft.ones(2).__dlpack__()
    weft.from_dlpack(used)
    with pytest.raises(BufferError, match=r"^from_dlpack: .*unused"):
        weft.from_dlpack(used)

    class Elsewhere(Exporter):
        def __dlpack_device__(self):
            return (7, 0)

    with pytest.raises(BufferError, match="device type 7"):
        weft.from_dlpack(Elsewhere(weft.ones(1), ()))


# Python's numbers


def test_one_element_becomes_a_number():
    assert weft.tensor([[2.5]]).item() == 2.5
    assert type(weft.tensor([1.5], dtype=weft.bfloat16).item()) is float
    assert (float(weft.tensor(2)), int(weft.tensor([2.7])), complex(weft.tensor(1.0))) == (2.0, 2, 1 + 0j)
    assert bool(weft.tensor([[3.0]]))
    assert not weft.tensor(0)
    assert float(weft.tensor(1 + 0j)) == 1.0
    assert int(weft.tensor(1e30)) == 1000000015047466219876688855040
    assert "ab"[weft.tensor(1)] == "b"
    assert hex(weft.tensor([10])) == "0xa"
    assert list(range(5))[weft.tensor(1) : weft.tensor(3)] == [1, 2]
    assert weft.tensor(2.5, requires_grad=True).item() == 2.5


@pytest.mark.parametrize(
    ("attempt", "error", "message"),
    [
        (
            lambda: weft.tensor([1, 2]).item(),
            RuntimeError,
            "^item: a Tensor with 2 elements cannot be converted to Scalar",
        ),
        (lambda: weft.tensor([]).item(), RuntimeError, "^item: a Tensor with 0 elements"),
        (lambda: bool(weft.tensor([1, 2])), RuntimeError, "more than one value is ambiguous"),
        (lambda: bool(weft.tensor([])), RuntimeError, "no values is ambiguous"),
        (lambda: int(weft.tensor([1, 2])), ValueError, "only one element tensors"),
        (lambda: float(weft.tensor([1, 2])), ValueError, "only one element tensors"),
        (lambda: int(weft.tensor(float("nan"))), ValueError, "NaN"),
        (lambda: float(weft.tensor(1j)), RuntimeError, "without overflow"),
        (lambda: "ab"[weft.tensor(1.0)], TypeError, "only integer tensors"),
        (lambda: "ab"[weft.tensor([1, 1])], TypeError, "only integer tensors"),
        (lambda: "a" in weft.tensor([1]), RuntimeError, "passed in a <class 'str'>"),
    ],
    ids=range(11),
)
def test_what_is_no_number_is_explained(attempt, error, message):
    with pytest.raises(error, match=message):
        attempt()


def test_tolist_nests():
    assert weft.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert weft.tensor(2).tolist() == 2
    assert weft.tensor([[True]]).tolist() == [[True]]


def test_contains_compares_elements():
    x = weft.tensor([1, 2])
    assert 2 in x
    assert weft.tensor(1) in x
    assert 3 not in x


# Storages


def test_views_share_a_storage():
    x = weft.zeros(2, 3)
    row = x[1]
    assert row.storage_offset() == 3
    assert row.data_ptr() == x.data_ptr() + 12
    assert row.untyped_storage() is x.untyped_storage()
    assert row.untyped_storage().data_ptr() == x.data_ptr()
    assert row.storage().size() == 6
    assert weft.empty(0).data_ptr() == 0
    assert x.is_set_to(x.view(2, 3))
    assert not x.is_set_to(row)


def test_storages_can_be_read_and_written():
    x = weft.tensor([1, 2])
    x.storage()[0] = 5
    assert x.tolist() == [5, 2]
    assert x.storage().tolist() == [5, 2]
    bytes_ = x.untyped_storage()
    bytes_[8] = 7
    assert x.tolist() == [5, 7]
    bytes_.fill_(0)
    assert x.tolist() == [0, 0]
    assert len(bytes_) == bytes_.nbytes() == 16
    assert bytes_.clone() != bytes_
    with pytest.raises(RuntimeError, match=r"^copy_: source has 4 bytes"):
        bytes_.copy_(weft.UntypedStorage(4))


def test_set_makes_a_tensor_a_view_of_other_memory():
    x, y = weft.arange(6.0), weft.zeros(2)
    y.set_(x.untyped_storage(), 1, (2, 2), (2, 1))
    assert y.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    y[0, 0] = 9.0
    assert x[1].item() == 9.0
    assert weft.zeros(2).set_(x).is_set_to(x)
    assert weft.zeros(2).set_(x, 4, (2,)).tolist() == [4.0, 5.0]
    assert weft.zeros(2).set_().shape == (0,)
    with pytest.raises(RuntimeError, match=r"^set_: .*out of bounds for storage of size 24"):
        weft.zeros(2).set_(x.untyped_storage(), 5, (2,))
    with pytest.raises(RuntimeError, match=r"^set_: .*int64"):
        weft.zeros(2).set_(weft.tensor([1]))
    with pytest.raises(RuntimeError, match=r"^set_: a leaf Variable"):
        weft.zeros(2, requires_grad=True).set_(x)


# Copies and pickles


def test_deepcopy_copies_memory_gradient_and_attributes():
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    x.note = ["kept"]
    y = copy.deepcopy(x)
    assert y.requires_grad
    assert y.is_leaf
    assert y.grad.tolist() == [2.0, 4.0]
    assert y.note == ["kept"]
    assert (y.data_ptr() != x.data_ptr(), y.grad is not x.grad, y.note is not x.note) == (True, True, True)


def test_deepcopy_keeps_sharing_within_one_copy():
    base = weft.arange(6).reshape(2, 3)
    first, view, again = copy.deepcopy([base, base.t()[1:], base])
    assert first is again
    assert view.stride() == (1, 3)
    assert view.untyped_storage() is first.untyped_storage()
    assert first.untyped_storage() is not base.untyped_storage()


def test_deepcopy_of_history_is_refused():
    x = weft.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^__deepcopy__: only Tensors created explicitly by the user .*detach"):
        copy.deepcopy(x * 2)


def test_shallow_copies_share_memory():
    x = weft.ones(2, requires_grad=True)
    x.note = ["kept"]
    y = copy.copy(x)
    assert y is not x
    assert y.data_ptr() == x.data_ptr()
    assert y.requires_grad
    assert y.note is x.note
    z = copy.copy(x * 2)
    assert (z.requires_grad, z.is_leaf) == (True, True)


class Marked(weft.Tensor):
    pass


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_keep_dtype_geometry_sharing_and_class(protocol):
    base = weft.tensor([[1, 2], [3, 4]], dtype=weft.bfloat16)
    marked = weft.ones(2).as_subclass(Marked)
    marked.note = 1
    value = [base, base.t()[1], weft.ones(2, requires_grad=True), marked, weft.empty(0, 3)]
    first, view, leaf, again, empty = pickle.loads(pickle.dumps(value, protocol))
    assert content(first) == content(base)
    assert view.tolist() == [2.0, 4.0]
    assert view.untyped_storage() is first.untyped_storage()
    assert (leaf.requires_grad, leaf.is_leaf) == (True, True)
    assert type(again) is Marked
    assert again.note == 1
    assert empty.shape == (0, 3)


def test_pickles_can_travel_out_of_band():
    x = weft.zeros(1000)
    buffers = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(data) < 1000
    assert pickle.loads(data, buffers=buffers).shape == (1000,)


def test_deepcopy_keeps_the_class():
    marked = weft.ones(2).as_subclass(Marked)
    assert type(copy.deepcopy(marked)) is Marked
    assert type(copy.copy(marked)) is Marked


def test_storages_are_made_of_the_bytes_of_buffers():
    one = b"\x00\x00\x80\x3f"
    assert weft.FloatStorage.from_buffer(one * 2, "little").tolist() == [1.0, 1.0]
    assert weft.FloatStorage.from_buffer(one[::-1], "big").tolist() == [1.0]
    assert weft.IntStorage.from_buffer(bytearray(12), byte_order="native", count=1, offset=4).tolist() == [0]
    assert weft.BoolStorage.from_buffer(bytes([0, 1, 2])).tolist() == [False, True, True]
    assert weft.UntypedStorage.from_buffer(b"abcd", "big", dtype=weft.int16).tolist() == list(b"badc")
    for buffer, order, error in (
        (one, None, RuntimeError),
        (one, "x", ValueError),
        (one * 2 + b"a", "big", ValueError),
    ):
        with pytest.raises(error):
            weft.FloatStorage.from_buffer(buffer, order)
    with pytest.raises(ValueError, match="bytes after offset"):
        weft.FloatStorage.from_buffer(one, "little", count=2)


def test_more_dimensions_than_there_are_is_a_runtime_error():
    for make in (weft.ones, weft.zeros, weft.empty, weft.rand, lambda size: weft.full(size, 2.0)):
        assert make((1,) * 64).ndim == 64
        with pytest.raises(RuntimeError, match="64 dimensions"):
            make((1,) * 65)


def test_an_empty_tensor_that_cat_leaves_out_has_a_gradient():
    empty, x = weft.empty(0, requires_grad=True), weft.ones(2, 3)
    weft.cat([empty, x], 1).sum().backward()
    assert empty.grad.shape == (0,)


# Python's operators beside what is no tensor

ARITHMETIC = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()


class Other:
    """Something that can be combined with a tensor, and says so by the names of its methods."""


for name in ARITHMETIC:
    setattr(Other, f"__r{name}__", lambda self, tensor, name=name: f"r{name}")


@pytest.mark.parametrize("prefix", ["", "i"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_operators_leave_what_is_unknown_to_the_other_operand(name, prefix):
    tensor = weft.ones(2, 2, dtype=weft.int64)
    function = getattr(operator, f"{prefix}{name}", None) or getattr(operator, f"{prefix}{name}_")
    assert function(tensor, Other()) == f"r{name}"
    for nothing in (None, "a", [1, 2], object()):
        with pytest.raises(TypeError):
            function(tensor, nothing)
    assert tensor.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("name", "add sub mul truediv matmul".split())
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_operators_of_a_tensor_take_arrays(name, dtype):
    function, array = getattr(operator, name), np.array([[1, 2], [3, 4]], dtype)
    tensor = weft.arange(1.0, 5).reshape(2, 2)
    found = function(tensor, array)
    assert isinstance(found, weft.Tensor)
    np.testing.assert_allclose(found.numpy(), function(tensor.numpy(), array))


class Foreign:
    """A tensor of another library."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_tensors_of_other_libraries_become_ours():
    source = np.arange(3.0)
    shared, copied = weft.as_tensor(Foreign(source)), weft.tensor(Foreign(source))
    source[0] = 9
    assert shared.tolist() == [9, 1, 2] and copied.tolist() == [0, 1, 2]
    assert weft.tensor(Foreign(source), dtype=weft.float32).dtype is weft.float32
    assert weft.tensor(Foreign(source), requires_grad=True).is_leaf


@pytest.mark.parametrize("make", [lambda x: weft.tensor([x, 2.0]), lambda x: weft.tensor([[x]]), lambda x: float(x)])
def test_a_gradient_that_a_number_does_not_take_along_is_mentioned(make):
    weft.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="requires_grad=True to a scalar"):
            made = make(weft.tensor(1.0, requires_grad=True))
    finally:
        weft.set_warn_always(False)
    assert not getattr(made, "requires_grad", False)
    weft.tensor([weft.tensor(1.0), 2.0])  # a warning here would be an error


def test_memory_of_the_cpu_is_exported_without_a_stream():
    with pytest.raises(AssertionError, match="stream should be None on cpu"):
        weft.ones(2).__dlpack__(stream=1)
