"""Data parallel training: each process computes with a part of the batch, and all take the mean of the gradients.

`DistributedDataParallel` wraps the module. Its `Reducer` gathers gradients in flat `Bucket`s as the backward pass
brings them, and begins to exchange a bucket as soon as its last gradient is there, while the pass goes on.
"""

from weft.distributed.data_parallel.buckets import Bucket, BuiltinCommHookType, GradBucket, assign_to_buckets
from weft.distributed.data_parallel.ddp import DistributedDataParallel
from weft.distributed.data_parallel.mixed_precision import MixedPrecision
from weft.distributed.data_parallel.reducer import Reducer
from weft.distributed.data_parallel.synchronized_batch_norm import synchronized_batch_norm

__all__ = [
    "Bucket",
    "BuiltinCommHookType",
    "DistributedDataParallel",
    "GradBucket",
    "MixedPrecision",
    "Reducer",
    "assign_to_buckets",
    "synchronized_batch_norm",
]
