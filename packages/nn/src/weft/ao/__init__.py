"""What PyTorch puts beside its core for smaller models: `quantization` to 8 bits, and `nn`, the layers it makes."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("nn", "quantization"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
