"""Layers that quantization makes: `intrinsic`, several layers as one, and `quantized`, with weights of 8 bits."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("intrinsic", "qat", "quantizable", "quantized"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
