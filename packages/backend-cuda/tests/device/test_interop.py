"""Memory that other libraries share: DLPack and ``__cuda_array_interface__``, both ways and without a copy."""

import cupy
import numpy
import pytest

import weft

DTYPES = ["float32", "float64", "float16", "int64", "int32", "uint8", "bool", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("take", [weft.as_tensor, weft.asarray, weft.from_dlpack])
def test_cupys_arrays_become_tensors_of_the_same_memory(take, dtype):
    array = cupy.zeros((2, 3), dtype)
    x = take(array)
    assert x.device == weft.device("cuda:0") and x.dtype is getattr(weft, dtype) and x.shape == (2, 3)
    array[1, 2] = 1
    assert x[1, 2].item() == 1
    assert x.data_ptr() == array.data.ptr


def test_a_tensor_of_an_array_is_a_copy():
    array = cupy.zeros(3)
    x = weft.tensor(array)
    array[0] = 1
    assert x.tolist() == [0.0] * 3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("take", [cupy.asarray, cupy.from_dlpack])
def test_tensors_become_cupys_arrays_of_the_same_memory(take, dtype):
    x = weft.zeros(2, 3, dtype=getattr(weft, dtype), device="cuda")
    array = take(x)
    assert isinstance(array, cupy.ndarray) and array.shape == (2, 3) and array.dtype == dtype
    x[1, 2] = 1
    assert array[1, 2].item() == 1
    assert array.data.ptr == x.data_ptr()


def test_strides_and_offsets_are_kept():
    x = weft.arange(12.0, device="cuda").reshape(3, 4).t()[1:, ::2]
    for array in (cupy.asarray(x), cupy.from_dlpack(x)):
        assert cupy.asnumpy(array).tolist() == x.tolist()
        assert array.strides == tuple(8 // 2 * each for each in x.stride())
    again = weft.as_tensor(cupy.asarray(x))
    assert again.stride() == x.stride() and again.tolist() == x.tolist()


def test_bfloat16_goes_by_dlpack():
    x = weft.ones(3, dtype=weft.bfloat16, device="cuda")
    again = weft.from_dlpack(x)
    assert again.dtype is weft.bfloat16 and again.data_ptr() == x.data_ptr()


class Interface:
    """An array that has nothing but the interface."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


@pytest.mark.parametrize("take", [weft.as_tensor, weft.asarray])
def test_the_interface_alone_is_enough(take):
    array = cupy.arange(6.0).reshape(2, 3)
    x = take(Interface(array))
    assert x.data_ptr() == array.data.ptr and x.device.type == "cuda" and x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert weft.tensor(Interface(array)).data_ptr() != array.data.ptr


def test_the_memory_lives_as_long_as_a_tensor_or_an_array_has_it():
    array = cupy.arange(4)
    x = weft.as_tensor(array)
    del array
    assert x.tolist() == [0, 1, 2, 3]
    array = cupy.asarray(x)
    del x
    assert cupy.asnumpy(array).tolist() == [0, 1, 2, 3]


def test_what_has_history_or_unresolved_bits_is_not_given():
    x = weft.ones(2, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        cupy.asarray(x)
    with pytest.raises(BufferError, match="detach"):
        cupy.from_dlpack(x)
    z = weft.ones(2, dtype=weft.complex64, device="cuda").conj()
    with pytest.raises(RuntimeError, match="resolve_conj"):
        cupy.asarray(z)
    with pytest.raises(AttributeError, match="cuda"):
        weft.ones(2).__cuda_array_interface__


def test_the_device_is_told_and_the_host_may_be_asked_for():
    x = weft.arange(3, device="cuda")
    assert x.__dlpack_device__() == (2, 0)
    assert numpy.from_dlpack(x.cpu()).tolist() == [0, 1, 2]
    host = weft.from_dlpack(x, device="cpu")
    assert host.device == weft.device("cpu") and host.tolist() == [0, 1, 2]
    with pytest.raises(BufferError, match="copy=False"):
        weft.from_dlpack(x, device="cpu", copy=False)


def test_the_consumers_stream_comes_after_the_producers(on_stand_in):
    import cupy_stand_in

    x = weft.ones(2, device="cuda")
    stream = weft.cuda.Stream()
    with cupy_stand_in.record() as log:
        x.__dlpack__(stream=stream.cuda_stream)
        with weft.cuda.stream(stream):
            weft.from_dlpack(Dlpack(x, 0))
    told = [event.what for event in log if event.kind == "order" and " after event in " in event.what]
    assert told == [f"stream {stream.cuda_stream} after event in stream 0"]


class Dlpack:
    """A tensor that tells which stream it was asked for."""

    def __init__(self, tensor, index):
        self.tensor, self.index = tensor, index

    def __dlpack_device__(self):
        return 2, self.index

    def __dlpack__(self, *, stream=None, **options):
        assert stream == weft.cuda.current_stream(self.index).cuda_stream
        return self.tensor.__dlpack__(stream=stream, **options)


@pytest.mark.skipif("weft.cuda.device_count() < 2", reason="needs two CUDA devices")
def test_arrays_of_the_second_device_stay_there():
    with cupy.cuda.Device(1):
        array = cupy.arange(3)
    x = weft.as_tensor(array)
    assert x.device == weft.device("cuda:1") and x.data_ptr() == array.data.ptr
    assert weft.as_tensor(array, device="cuda:0").device.index == 0
