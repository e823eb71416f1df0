"""`loss_parallel`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["loss_parallel"]


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Let `cross_entropy` of logits that are divided along the classes work on the parts.

    The rules of DTensor do so inside of the block and outside: a class's logits are never gathered.

    Examples
    --------
    >>> from weft.distributed.tensor import Shard, distribute_tensor
    >>> from weft.distributed.tensor.parallel import loss_parallel
    >>> mesh = weft.distributed.init_device_mesh("cpu", (1,))
    >>> logits = distribute_tensor(weft.zeros(4, 8, requires_grad=True), mesh, [Shard(1)])
    >>> targets = distribute_tensor(weft.zeros(4, dtype=weft.long), mesh)
    >>> with loss_parallel():
    ...     loss = weft.nn.functional.cross_entropy(logits, targets)
    ...     loss.backward()
    >>> loss.item() == weft.tensor(8.0).log().item()
    True
    >>> weft.distributed.destroy_process_group()
    """
    yield
