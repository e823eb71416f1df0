"""Legacy types make tensors and storages, recognise them, and are converted to; expected values are PyTorch's."""

import pickle

import pytest

import weft


def test_a_tensor_type_makes_a_tensor_of_its_dtype_from_values():
    made = weft.LongTensor([1.5, 2])
    assert made.dtype is weft.int64 and made.tolist() == [1, 2]


@pytest.mark.parametrize("sizes", [(2, 3), (weft.Size([2, 3]),), (weft.tensor(2), 3)])
def test_sizes_make_an_uninitialised_tensor(sizes):
    assert weft.DoubleTensor(*sizes).shape == (2, 3)
    assert weft.Tensor(*sizes).dtype is weft.float32


def test_a_tuple_is_values_and_a_size_is_a_shape():
    assert weft.Tensor((2, 3)).tolist() == [2, 3]
    assert weft.Tensor(size=(2, 3)).shape == (2, 3)


def test_a_tensor_shares_its_memory_with_the_one_made_of_it():
    x = weft.zeros(2)
    weft.FloatTensor(x)[0] = 1
    assert x.tolist() == [1, 0]
    assert weft.Tensor(weft.ones(2, dtype=weft.int32)).dtype is weft.int32


def test_the_tensor_made_of_one_with_history_has_a_history():
    x = weft.ones(2, requires_grad=True)
    assert weft.Tensor(x).requires_grad


def test_a_tensor_of_another_dtype_is_refused():
    with pytest.raises(TypeError, match="HalfTensor"):
        weft.HalfTensor(weft.ones(2))


@pytest.mark.parametrize("data", [2.5, "a", None, True])
def test_what_is_no_sequence_is_refused(data):
    with pytest.raises(TypeError, match="FloatTensor"):
        weft.FloatTensor(data)


@pytest.mark.parametrize("type_", [weft.FloatTensor, weft.Tensor])
def test_another_device_is_refused(type_):
    with pytest.raises(RuntimeError, match="expects device type: cpu"):
        type_(2, device="meta")


def test_isinstance_looks_at_dtype_and_device():
    assert isinstance(weft.zeros(2), weft.FloatTensor)
    assert not isinstance(weft.zeros(2), weft.LongTensor)
    assert not isinstance(3, weft.LongTensor)
    assert not issubclass(weft.FloatTensor, weft.Tensor)


@pytest.mark.parametrize("wanted", ["torch.LongTensor", "weft.LongTensor", weft.LongTensor, weft.int64])
def test_type_converts_to_a_type_by_class_name_or_dtype(wanted):
    assert weft.ones(2).type(wanted).dtype is weft.int64


def test_type_without_an_argument_is_the_name():
    assert weft.ones(2).type() == "weft.FloatTensor"


@pytest.mark.parametrize(("wanted", "error"), [("torch.foo", ValueError), (int, ValueError), (3, TypeError)])
def test_type_refuses_what_is_no_type(wanted, error):
    with pytest.raises(error, match="type"):
        weft.ones(2).type(wanted)


def test_new_makes_a_tensor_of_the_same_dtype():
    x = weft.zeros(2, dtype=weft.int32)
    assert x.new(2, 3).shape == (2, 3) and x.new(2, 3).dtype is weft.int32
    assert x.new([1.5, 2]).tolist() == [1, 2]
    assert x.new().shape == (0,)
    with pytest.raises(TypeError, match="new"):
        x.new(weft.zeros(2))


def test_the_default_type_sets_the_default_dtype():
    weft.set_default_tensor_type("torch.DoubleTensor")
    try:
        assert weft.zeros(1).dtype is weft.float64
    finally:
        weft.set_default_tensor_type(weft.FloatTensor)
    assert weft.get_default_dtype() is weft.float32


def test_an_integer_type_is_no_default():
    with pytest.raises(TypeError, match="floating-point"):
        weft.set_default_tensor_type(weft.IntTensor)


def test_a_storage_type_makes_and_recognises_storages():
    made = weft.FloatStorage([1, 2])
    assert made.tolist() == [1, 2] and made.dtype is weft.float32
    assert isinstance(made, weft.FloatStorage) and not isinstance(made, weft.LongStorage)
    assert made.type() == "weft.FloatStorage"
    assert made.double().tolist() == [1, 2] and made.double().dtype is weft.float64
    assert weft.FloatStorage(3).size() == 3
    assert weft.zeros(2).storage_type() is weft.FloatStorage


def test_a_storage_type_refuses_an_untyped_storage_in_place_of_a_size():
    with pytest.raises(TypeError, match="wrap_storage"):
        weft.FloatStorage(weft.zeros(2).untyped_storage())


def test_types_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(weft.FloatTensor)) is weft.FloatTensor


def test_typename_says_what_an_object_is():
    assert weft.typename(weft.ones(2)) == "weft.FloatTensor"
    assert weft.typename([1]) == "list"
    assert weft.typename(weft.Tensor) == "weft.Tensor"


def test_types_of_cuda_tensors_have_names_without_a_gpu():
    assert weft.cuda.FloatTensor.dtype is weft.float32 and weft.cuda.FloatTensor.is_cuda
    assert not isinstance(weft.ones(2), weft.cuda.FloatTensor)
    assert issubclass(weft.cuda.OutOfMemoryError, RuntimeError) and weft.OutOfMemoryError is weft.cuda.OutOfMemoryError
    with pytest.raises(AttributeError, match=r"weft\.cuda"):
        weft.cuda.NothingTensor


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: weft.FloatStorage(device="cpu"), RuntimeError, "'device' cannot be specified"),
        (lambda: weft.FloatStorage(dtype=weft.float32), RuntimeError, "'dtype' cannot be specified"),
        (lambda: weft.FloatStorage(length=1), TypeError, "unexpected keyword"),
        (lambda: weft.FloatStorage(0, 0), RuntimeError, "Too many positional"),
        (lambda: weft.FloatStorage("3"), TypeError, "invalid data type"),
        (lambda: weft.FloatStorage(weft.ones(3)), TypeError, "type not recognized"),
        (lambda: weft.FloatStorage(1, wrap_storage=weft.UntypedStorage(4)), RuntimeError, "No positional"),
        (lambda: weft.FloatStorage(wrap_storage=weft.FloatStorage(1)), TypeError, "must be UntypedStorage"),
        (lambda: weft.TypedStorage(wrap_storage=weft.UntypedStorage(4)), RuntimeError, "'dtype' must be specified"),
        (lambda: weft.TypedStorage(dtype=0), TypeError, "'dtype' must be"),
        (lambda: weft.TypedStorage(dtype=weft.int8, device="nowhere"), RuntimeError, "device not recognized"),
    ],
)
def test_a_storage_of_contradictory_arguments_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("name", ["int8", "int64", "float16", "bfloat16", "float32", "complex64", "bool"])
def test_a_tensor_of_a_storage_takes_its_elements_and_no_others(name):
    dtype = getattr(weft, name)
    model = weft.tensor([1, 0, 1]).to(dtype)
    assert weft.tensor(model.storage()).tolist() == model.tolist()
    assert weft.tensor(model.untyped_storage(), dtype=dtype).tolist() == model.tolist()
    other = weft.int32
    with pytest.raises(RuntimeError, match="Expected a Storage of type Int"):
        weft.tensor(model.storage(), dtype=other)
    with pytest.raises(RuntimeError, match="Expected a Storage of type Int"):
        weft.zeros(1, dtype=other).set_(model.storage())


def test_storages_of_files_share_them(tmp_path):
    path = tmp_path / "elements"
    first = weft.FloatStorage.from_file(path, True, 5)
    second = weft.FloatStorage.from_file(path, True, 5)
    first.fill_(2)
    assert second.tolist() == [2.0] * 5
    assert weft.UntypedStorage.from_file(path, False, 4).tolist() == [0, 0, 0, 64]
    assert first.filename == str(path)
    with pytest.raises(RuntimeError, match="smaller"):
        weft.FloatStorage.from_file(path, False, 6)


def test_each_legacy_storage_is_found_by_its_dtype():
    names = weft.storage._dtype_to_storage_type_map()
    assert names[weft.float32] == "FloatStorage"
    assert all(getattr(weft, name).dtype is dtype for dtype, name in names.items())


def test_typed_storages_have_no_slices():
    with pytest.raises(RuntimeError, match="slices"):
        weft.FloatStorage(3)[1:]
    assert weft.ones(3).storage().untyped()[2:4].tolist() == [128, 63]
