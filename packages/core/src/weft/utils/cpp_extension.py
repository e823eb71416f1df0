"""Names of extensions in C++ and CUDA: they link PyTorch's own library, which weft has not, so building one is refused.

Libraries build theirs when they are first used and go on without (peft's butterfly factorization).
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["CUDA_HOME", "CUDAExtension", "BuildExtension", "CppExtension", "load", "load_inline"]

CUDA_HOME = None


def load(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused.

    Raises
    ------
    RuntimeError
        An extension is compiled code that calls PyTorch's library.
    """
    raise RuntimeError(
        f"cpp_extension: {name!r} is compiled against PyTorch's C++ library, which weft has not; write the op in "
        "Python with weft.library.custom_op, or use the library's own fallback"
    )


load_inline = CppExtension = CUDAExtension = load


class BuildExtension:
    """What ``setup.py`` would build extensions with: refused, as `load` is."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        load("BuildExtension")
