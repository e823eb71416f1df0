"""resize_ and what needs it: out= of another size."""

import pickle

import pytest

import weft


def test_resize_keeps_the_elements_in_the_order_of_memory() -> None:
    x = weft.arange(6).reshape(2, 3)
    assert x.resize_(3, 4) is x
    assert x.shape == (3, 4)
    assert x.flatten()[:6].tolist() == [0, 1, 2, 3, 4, 5]


def test_smaller_and_back_is_the_same_memory() -> None:
    x = weft.arange(6)
    start = x.data_ptr()
    x.resize_(2).resize_(2, 3)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x.data_ptr() == start


def test_resize_of_a_view_reads_on_in_the_storage() -> None:
    x = weft.arange(6)
    assert x[2:3].resize_(3).tolist() == [2, 3, 4]


def test_resize_as_takes_the_size_of_another() -> None:
    assert weft.ones(2, 3).resize_as_(weft.zeros(3, 2)).shape == (3, 2)


def test_resize_to_channels_last() -> None:
    x = weft.zeros(0).resize_(2, 3, 4, 5, memory_format=weft.channels_last)
    assert x.shape == (2, 3, 4, 5)
    assert x.is_contiguous(memory_format=weft.channels_last)


def test_resize_refuses_a_tensor_that_requires_grad() -> None:
    with pytest.raises(RuntimeError, match=r"resize_.*requires? grad"):
        weft.ones(2, requires_grad=True).resize_(3)


@pytest.mark.parametrize("size", [(-1,), (2**62, 4)])
def test_resize_refuses_impossible_sizes(size: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError):
        weft.ones(2).resize_(size)


def test_out_of_no_elements_is_resized() -> None:
    out = weft.empty(0)
    assert weft.add(weft.ones(2, 3), 1, out=out) is out
    assert out.tolist() == [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]


def test_out_of_no_elements_may_have_any_strides() -> None:
    out = weft.empty(1, 0).expand(4, 0)
    assert weft.exp(weft.ones(4, 0), out=out).shape == (4, 0)


# Storages


@pytest.mark.parametrize("size", [0, 4, 8, 15, 17, 64])
def test_tensors_move_with_a_storage_that_is_resized(size: int) -> None:
    x = weft.arange(4.0)
    v = x[1:]
    storage = x.untyped_storage()
    assert storage.resize_(size) is storage
    assert storage.nbytes() == x.untyped_storage().nbytes() == v.untyped_storage().nbytes() == size
    if size < 16:  # what no longer fits keeps its elements
        assert (x.tolist(), v.tolist(), v.storage_offset()) == ([0, 1, 2, 3], [1, 2, 3], 1)
        assert pickle.loads(pickle.dumps(v)).tolist() == [1, 2, 3]
        del storage
    x.untyped_storage().resize_(32)
    x.copy_(weft.tensor([4.0, 5, 6, 7]))
    assert v.tolist() == [5, 6, 7]
    assert x.untyped_storage() is v.untyped_storage()
    assert x.untyped_storage().nbytes() == 32


def test_a_resized_storage_keeps_its_first_bytes() -> None:
    storage = weft.UntypedStorage([1, 2, 3])
    assert storage.resize_(2).tolist() == [1, 2]
    assert storage.resize_(5).tolist()[:2] == [1, 2]
    assert weft.tensor([1j, 2]).storage().resize_(3).tolist()[:2] == [1j, 2]


def test_a_tensor_that_left_a_storage_does_not_come_back() -> None:
    x, other = weft.arange(4.0), weft.ones(4)
    storage = x.untyped_storage().resize_(4)
    x.set_(other)
    storage.resize_(32)
    assert x.data_ptr() == other.data_ptr()


def test_shared_memory_does_not_grow() -> None:
    x = weft.ones(2).share_memory_()
    assert not x.untyped_storage().resizable()
    for grow in (lambda: x.resize_(9), lambda: x.untyped_storage().resize_(36)):
        with pytest.raises(RuntimeError, match="not resizable"):
            grow()
    assert x.resize_(1).is_shared()


@pytest.mark.parametrize("size", [-1, 1 << 62])
def test_a_storage_of_an_impossible_size_is_refused(size: int) -> None:
    with pytest.raises(RuntimeError):
        weft.UntypedStorage(3).resize_(size)


def test_bytes_become_elements_of_a_dtype_one_by_one() -> None:
    storage = weft.UntypedStorage([1, 0, 2])
    assert storage.float().tolist() == [1, 0, 2]
    assert storage.bool().tolist() == [True, False, True]
    assert storage.type("weft.IntStorage").tolist() == [1, 0, 2]
    assert storage.type() == "weft.storage.UntypedStorage"
    assert storage.type(storage.type()) is storage
    assert storage.new().nbytes() == 0
