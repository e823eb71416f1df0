"""Wrappers for several devices or processes: weft computes on one device in one process, so they only pass on."""

from weft.nn.parallel.scatter_gather import gather, scatter
from weft.nn.parallel.wrappers import DataParallel, DistributedDataParallel, data_parallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "scatter"]
