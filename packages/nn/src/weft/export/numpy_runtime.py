"""What programs that `ExportedProgram.to_python` wrote ask of weft, where it is installed: its kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import weft
from weft.library.kernels import cpu_kernel

__all__ = ["fast_kernels"]


def fast_kernels(kernels: Mapping[str, tuple[str, str, tuple[Any, ...]]]) -> dict[str, Callable[..., Any]]:
    """The kernels that weft itself runs on the CPU.

    Parameters
    ----------
    kernels : dict
        From names to the op, the dtype of its arrays, and the arguments behind those of a call.

    Returns
    -------
    dict
        From the names to functions of NumPy's arrays.

    Examples
    --------
    >>> import numpy
    >>> double = fast_kernels({"double": ("core::mul", "float32", (2.0,))})["double"]
    >>> double(numpy.ones(2, "float32"))
    array([2., 2.], dtype=float32)
    """
    return {name: fast_kernel(*each) for name, each in kernels.items()}


def fast_kernel(name: str, element: str, rest: tuple[Any, ...]) -> Callable[..., Any]:
    """One of them."""
    kernel = cpu_kernel(name, getattr(weft, element))
    return (lambda *args: kernel(*args, *rest)) if rest else kernel
