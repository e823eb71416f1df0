"""What PyTorch's libraries can be asked and told, module by module: ``weft.backends.cudnn.benchmark = True``.

Answers are honest: a library that weft does not use is not available. Settings are plain attributes: each is kept as it
was set and read back, and changes nothing unless its module says so.
"""

import importlib
from contextlib import AbstractContextManager, nullcontext
from typing import Any

MODULES = (
    "cpu cuda cudnn cusparselt kleidiai mha miopen mkl mkldnn mps nnpack openmp opt_einsum python_native quantized "
    "xnnpack"
).split()

fp32_precision = "none"


def disable_global_flags() -> None:
    """Do nothing: flags stay plain attributes."""


def flags_frozen() -> bool:
    """False: flags may be set at any time."""
    return False


def __allow_nonbracketed_mutation() -> AbstractContextManager[None]:
    """A block in which flags may be set, as they always may; MONAI sets cuDNN's in it."""
    return nullcontext()


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *MODULES})
