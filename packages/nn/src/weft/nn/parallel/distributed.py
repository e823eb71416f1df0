"""`DistributedDataParallel` under the name of PyTorch's module, which Lightning and accelerate import."""

from weft.nn.parallel.wrappers import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
