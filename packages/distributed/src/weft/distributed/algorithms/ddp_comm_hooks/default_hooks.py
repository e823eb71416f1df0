"""Hooks that take the mean of gradients, in their own precision or in half of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
from weft.distributed._collectives import all_reduce
from weft.distributed._groups import _get_default_group
from weft.distributed.data_parallel.buckets import GradBucket
from weft.futures import Future

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]

Hook = Callable[[Any, GradBucket], Future[Any]]


def mean_of(process_group: Any, tensor: Any) -> Future[Any]:
    """A future of the mean of a tensor over the processes; the tensor is written to."""
    group = _get_default_group() if process_group is None else process_group
    with weft.no_grad():
        tensor.div_(group.size())
    work = all_reduce(tensor, group=group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """Take the mean, as is done without a hook."""
    return mean_of(process_group, bucket.buffer())


def compressed(dtype: Any, process_group: Any, bucket: GradBucket) -> Future[Any]:
    """Take the mean in another precision, and return it in that of the buffer."""
    buffer = bucket.buffer()
    return mean_of(process_group, buffer.to(dtype)).then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """Take the mean in float16."""
    return compressed(weft.float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """Take the mean in bfloat16."""
    return compressed(weft.bfloat16, process_group, bucket)


def compressing(dtype: Any, hook: Hook) -> Hook:
    """A hook that gives another one gradients of a precision, and returns what that does in their own."""

    def wrapper(hook_state: Any, bucket: GradBucket) -> Future[Any]:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))
        return hook(hook_state, bucket).then(lambda done: buffer.copy_(first_of(done.value())))

    return wrapper


def first_of(result: Any) -> Any:
    """The tensor that a hook's future has, alone or in a list."""
    return result[0] if isinstance(result, (list, tuple)) else result


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that has another one exchange gradients in float16."""
    return compressing(weft.float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that has another one exchange gradients in bfloat16."""
    return compressing(weft.bfloat16, hook)
