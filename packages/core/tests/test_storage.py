"""Storages: which object a tensor's memory is, for how long, and what those of the device ``meta`` refuse."""

import gc
import io
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft.storage import StorageBase


class Marked:
    """What is set on a storage; it says when it is gone."""


def mark(storage: Any) -> weakref.ref[Marked]:
    storage.mark = Marked()
    return weakref.ref(storage.mark)


def test_a_storage_keeps_its_attributes_while_a_tensor_that_was_asked_for_it_lives() -> None:
    tensor = weft.ones(3)
    seen = mark(tensor.untyped_storage())
    assert seen() is not None
    assert tensor.untyped_storage().mark is seen()
    storage = tensor.untyped_storage()
    del tensor
    assert seen() is not None
    del storage
    assert seen() is None


def test_a_tensor_of_a_storage_keeps_that_object_of_any_class() -> None:
    class Counted(weft.UntypedStorage):
        gone = 0

        def __del__(self) -> None:
            Counted.gone += 1

    storage = Counted(8)
    tensor = weft.tensor(storage, dtype=weft.float32)
    assert tensor.data_ptr() == storage.data_ptr()
    followed = weakref.ref(storage)
    del storage
    assert Counted.gone == 0
    assert isinstance(tensor.untyped_storage(), Counted)
    assert tensor.untyped_storage() is followed()
    del tensor
    assert Counted.gone == 1


@pytest.mark.parametrize(
    "leave",
    [
        lambda tensor: setattr(tensor, "data", weft.zeros(2)),
        lambda tensor: tensor.set_(weft.zeros(2)),
        lambda tensor: tensor.resize_(1000),
    ],
)
def test_a_tensor_that_uses_other_memory_does_not_keep_the_old(leave: Callable[[Any], Any]) -> None:
    tensor = weft.ones(3)
    seen = mark(tensor.untyped_storage())
    leave(tensor)
    assert seen() is None


def test_storages_in_a_cycle_are_collected() -> None:
    one, other = weft.UntypedStorage(2), weft.UntypedStorage(2)
    one.other, other.other = other, one  # type: ignore[attr-defined]
    seen = mark(one)
    del one, other
    gc.collect()
    assert seen() is None


def test_only_classes_derived_of_the_base_can_be_called() -> None:
    class Derived(StorageBase):
        __slots__ = ["note"]

    with pytest.raises(RuntimeError, match="Cannot directly construct StorageBase"):
        StorageBase()
    assert Derived(weft.UntypedStorage([1, 2])).tolist() == [1, 2]


META = {"typed": lambda: weft.TypedStorage([1, 2], dtype=weft.int16, device="meta")}
META["untyped"] = lambda: META["typed"]().untyped()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("kind", META)
@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda storage: storage[0], NotImplementedError, "Not available"),
        (lambda storage: storage.tolist(), NotImplementedError, "Not available"),
        (lambda storage: storage.cpu(), NotImplementedError, "Cannot copy out"),
        (lambda storage: storage._write_file(io.BytesIO(), False, True, 2), NotImplementedError, "Cannot copy out"),
        (lambda storage: storage.share_memory_(), RuntimeError, "only available on CPU"),
        (lambda storage: storage._share_fd_cpu_(), RuntimeError, "only available on CPU"),
        (lambda storage: storage._share_filename_cpu_(), RuntimeError, "only available on CPU"),
    ],
)
def test_a_storage_without_memory_says_what_it_cannot(
    kind: str, use: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    storage = META[kind]()  # type: ignore[no-untyped-call]
    with pytest.raises(error, match=message):
        use(storage)
    assert not storage.is_shared()


def test_a_storage_without_memory_is_resized() -> None:
    storage = weft.TypedStorage([1, 2], dtype=weft.int16, device="meta")
    assert storage.resize_(10).nbytes() == 20


def test_a_storage_is_written_with_its_length_before_it() -> None:
    written = io.BytesIO()
    weft.TypedStorage([1, 2], dtype=weft.int16)._write_file(written, True, True, 2)
    assert written.getvalue() == (2).to_bytes(8, "little") + b"\1\0\2\0"
