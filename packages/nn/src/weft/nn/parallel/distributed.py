"""`DistributedDataParallel`, which weft-distributed brings, under the name of PyTorch's module."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from weft.nn.module import Module

__all__ = ["DistributedDataParallel"]


class WithoutPackage(Module):
    """`DistributedDataParallel` where weft-distributed is not installed: libraries ask for its type.

    Raises
    ------
    ImportError
        When one is made.
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise ImportError(
            "DistributedDataParallel: weft-distributed is not installed; install it with: pip install weft-distributed"
        )


if TYPE_CHECKING:
    from weft.distributed.data_parallel import DistributedDataParallel
else:

    def __getattr__(name):
        if name not in ("DistributedDataParallel", "_MixedPrecision"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if find_spec("weft.distributed.data_parallel") is None:
            return WithoutPackage
        found = import_module("weft.distributed.data_parallel")
        globals()["DistributedDataParallel"] = found.DistributedDataParallel
        globals()["_MixedPrecision"] = found.MixedPrecision
        return globals()[name]
