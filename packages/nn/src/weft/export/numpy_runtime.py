"""What programs that `ExportedProgram.to_python` wrote ask of weft, where it is installed: its kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from weft._devices.devices import cpu, key_of
from weft._dtypes.dtypes import _by_name
from weft._engine.dispatch_keys import KernelBySize
from weft.library import get_op

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
    declaration: Any = get_op(name)
    kernel = declaration.op.kernel(key_of(_by_name(element), cpu))
    if isinstance(kernel, KernelBySize):
        kernel = by_size(kernel)
    return with_rest(kernel, rest) if rest else kernel


def by_size(kernel: KernelBySize) -> Callable[..., Any]:
    def choose(*args: Any) -> Any:
        first = args[0][0] if type(args[0]) is list else args[0]
        return (kernel.large if first.size >= kernel.least else kernel.small)(*args)

    return choose


def with_rest(kernel: Callable[..., Any], rest: tuple[Any, ...]) -> Callable[..., Any]:
    return lambda *args: kernel(*args, *rest)
