"""Buckets: gradients of several parameters in one flat tensor, which one collective exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import weft

__all__ = ["Bucket", "BuiltinCommHookType", "GradBucket", "assign_to_buckets"]

FIRST_BUCKET_BYTES = 1024 * 1024  # the exchange of a small first bucket begins early
DEFAULT_BUCKET_BYTES = 25 * 1024 * 1024


def assign_to_buckets(
    tensors: Sequence[Any], limits: Sequence[int], alone: Sequence[bool] | None = None
) -> list[list[int]]:
    """Divide tensors into buckets of one dtype and device each.

    Parameters
    ----------
    tensors : sequence of Tensor
        In the order in which their gradients are expected.
    limits : sequence of int
        How many bytes fill the first bucket of a dtype and device, the second, and so on; the last one is for the rest.
    alone : sequence of bool, optional
        Which tensors have a bucket to themselves, since their gradients are sparse.

    Returns
    -------
    list of list of int
        The positions of the tensors of each bucket, the bucket first that is complete first.
    """
    made: list[list[int]] = []
    filling: dict[Any, list[int]] = {}
    sizes: dict[Any, int] = {}
    filled: dict[Any, int] = {}
    for position, tensor in enumerate(tensors):
        if alone is not None and alone[position]:
            made.append([position])
            continue
        key = (tensor.dtype, tensor.device)
        filling.setdefault(key, []).append(position)
        sizes[key] = sizes.get(key, 0) + tensor.numel() * tensor.element_size()
        if sizes[key] >= limits[min(filled.get(key, 0), len(limits) - 1)]:
            made.append(filling.pop(key))
            filled[key] = filled.get(key, 0) + 1
            sizes[key] = 0
    made.extend(filling.values())
    return sorted(made, key=lambda positions: positions[-1])


class Bucket:
    """Gradients of some parameters, in one flat tensor.

    Parameters
    ----------
    index : int
        In the order in which buckets are exchanged, which is that of all processes.
    indices : list of int
        The numbers of its parameters.
    parameters : list of Parameter
    names : list of str
    dtype : dtype, optional
        In which gradients are exchanged; default: the parameters' own.
    is_sparse : bool
        It has one parameter, whose gradient is sparse.

    Attributes
    ----------
    flat : Tensor, shape (elements,)
    views : list of Tensor
        The part of ``flat`` of each parameter, in its shape and, where that is dense, with its strides.
    pending : int
        How many gradients are still to come in this backward pass.
    """

    def __init__(
        self,
        index: int,
        indices: list[int],
        parameters: list[Any],
        names: list[str],
        dtype: Any = None,
        is_sparse: bool = False,
    ) -> None:
        self.index = index
        self.indices = indices
        self.parameters = parameters
        self.names = names
        self.is_sparse = is_sparse
        self.pending = len(indices)
        self.is_wanted = True
        self.sparse_grad: Any = None
        self.work: Any = None  # of the exchange that is under way: a Work, or a hook's Future
        first = parameters[0]
        count = 0 if is_sparse else sum(each.numel() for each in parameters)
        self.flat = weft.zeros(count, dtype=dtype or first.dtype, device=first.device)
        self.views = [] if is_sparse else views_of(self.flat, parameters)

    @property
    def size(self) -> int:
        """Bytes of its gradients."""
        return sum(each.numel() * each.element_size() for each in self.parameters)

    def reset(self) -> None:
        """Wait for all gradients again."""
        self.pending = len(self.indices)
        self.is_wanted = True
        self.sparse_grad = self.work = None


def views_of(flat: Any, parameters: Sequence[Any]) -> list[Any]:
    """Parts of a flat tensor, one for each parameter."""
    views, start = [], 0
    for parameter in parameters:
        part = flat[start : start + parameter.numel()]
        if is_dense(parameter):
            views.append(part.as_strided(parameter.shape, parameter.stride(), part.storage_offset()))
        else:
            views.append(part.view(parameter.shape))
        start += parameter.numel()
    return views


def is_dense(tensor: Any) -> bool:
    """Whether the elements lie without gaps and none twice, in some order of the dimensions."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


class GradBucket:
    """What a communication hook gets: the gradients of a bucket, which are not divided by the number of processes.

    A hook returns a `weft.futures.Future` of a tensor like `buffer`, which takes the place of these gradients.
    """

    def __init__(self, bucket: Bucket, count: int) -> None:
        self._bucket = bucket
        self._count = count
        self._buffer = bucket.sparse_grad if bucket.is_sparse else bucket.flat

    def index(self) -> int:
        """Return the number of the bucket, in the order in which buckets are exchanged."""
        return self._bucket.index

    def buffer(self) -> Any:
        """Return the flat tensor of all gradients; of a sparse gradient, that."""
        return self._buffer

    def set_buffer(self, buffer: Any) -> None:
        """Put another tensor in the place of the buffer."""
        self._buffer = buffer

    def gradients(self) -> list[Any]:
        """Return the gradients: parts of the buffer in the shapes of the parameters."""
        bucket = self._bucket
        if bucket.is_sparse:
            return [self._buffer]
        return bucket.views if self._buffer is bucket.flat else views_of(self._buffer, bucket.parameters)

    def parameters(self) -> list[Any]:
        """Return the parameters."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Whether it is the last bucket of this backward pass."""
        return self._bucket.index == self._count - 1

    def __repr__(self) -> str:
        names = ", ".join(self._bucket.names)
        return f"<GradBucket {self._bucket.index} of {self._count}: {names}>"


class BuiltinCommHookType(Enum):
    """The hooks that `DistributedDataParallel._register_builtin_comm_hook` knows."""

    ALLREDUCE = 0
    FP16_COMPRESS = 1
