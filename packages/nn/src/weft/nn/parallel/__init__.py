"""Wrappers for several devices or processes.

In one process weft computes on one device, so `DataParallel` only passes on. `DistributedDataParallel` is of
weft-distributed, and found when it is first asked for.
"""

from typing import TYPE_CHECKING

from weft.nn.parallel.scatter_gather import gather, scatter
from weft.nn.parallel.wrappers import DataParallel, data_parallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "scatter"]

if TYPE_CHECKING:
    from weft.nn.parallel.distributed import DistributedDataParallel
else:

    def __getattr__(name):
        if name != "DistributedDataParallel":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from weft.nn.parallel import distributed

        return distributed.DistributedDataParallel
