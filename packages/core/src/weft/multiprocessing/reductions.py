"""How tensors and storages go from process to process: as a handle of shared memory and a place in it."""

from __future__ import annotations

import weakref
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy

from weft._tensor.base import Tensor
from weft._tensor.shared_memory import Segment, open_segment
from weft.storage import UntypedStorage, address, mapping_of

__all__ = ["StorageWeakRef", "init_reductions", "rebuild_storage", "reduce_storage", "reduce_tensor"]


class StorageWeakRef:
    """A reference to a storage that does not keep it alive; two are equal that are of one storage's memory.

    Parameters
    ----------
    storage : UntypedStorage or TypedStorage
    """

    def __init__(self, storage: Any) -> None:
        self.cdata = storage._cdata
        self._reference = weakref.ref(getattr(storage, "_untyped_storage", storage))

    def expired(self) -> bool:
        """Whether the storage is gone."""
        return self._reference() is None

    def __hash__(self) -> int:
        return hash(self.cdata)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, StorageWeakRef) and self.cdata == other.cdata)


def reduce_tensor(tensor: Tensor) -> Any:
    """Take a tensor apart for another process; the memory follows as its storage.

    Raises
    ------
    RuntimeError
        If it has a history, which stays in the process.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )
    return tensor.__reduce_ex__(4)


def reduce_storage(storage: UntypedStorage) -> Any:
    """Share a storage's memory and tell where it is.

    What is on another device, is empty, or lies in a file that somebody else has mapped is copied instead.
    """
    if storage.device.type != "cpu" or not storage.nbytes():
        return storage.__reduce_ex__(4)
    segment = mapping_of(storage.share_memory_()._array)
    if not isinstance(segment, Segment):
        return storage.__reduce_ex__(4)
    start = address(storage._array) - address(numpy.frombuffer(segment, numpy.uint8))
    return rebuild_storage, (segment.handle(), len(segment), start, storage.nbytes())


def rebuild_storage(handle: Any, size: int, start: int, nbytes: int) -> UntypedStorage:
    """The storage at a place of another process's segment."""
    segment = open_segment(handle, size)
    return UntypedStorage._of_bytes(memoryview(segment)[start : start + nbytes])


def init_reductions() -> None:
    """Teach the pickler of :mod:`multiprocessing` about tensors; importing the package does it."""
    ForkingPickler.register(Tensor, reduce_tensor)
    ForkingPickler.register(UntypedStorage, reduce_storage)
