"""Kernels of oneDNN, Intel's library for deep learning, through its C API.

`library` finds and loads it and declares its functions; `primitives` builds, keeps and runs them. Each other module is
a family of kernels.
"""

from __future__ import annotations

MISSING = "not installed: pip install 'weft[fast]', or set WEFT_ONEDNN to a libdnnl.so.3"

FAMILIES = {  # module: the ops that it serves
    "matmul": "core::matmul core::addmm core::int_mm nn::linear",
    "convolution": "nn::conv1d nn::conv2d nn::conv3d nn::conv1d_input_gradient nn::conv2d_input_gradient "
    "nn::conv3d_input_gradient nn::conv1d_weight_gradient nn::conv2d_weight_gradient nn::conv3d_weight_gradient "
    "nn::int_conv1d nn::int_conv2d nn::int_conv3d",
    "pooling": "nn::avg_pool nn::avg_pool_gradient",
}
MODULES = {op: f".{module}" for module, ops in FAMILIES.items() for op in ops.split()}


def is_available() -> bool:
    """Whether the library is there."""
    from weft.backend_cpu.onednn.library import load

    return load() is not None


def version() -> str:
    """Of the library."""
    from weft.backend_cpu.onednn.library import version

    return f"oneDNN {version()}"
