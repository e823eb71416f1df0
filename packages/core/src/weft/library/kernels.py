"""The kernels of ops: as functions of arrays, and wrapped while a program runs, as counters of operations do."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from typing import Any

import numpy

from weft._devices.devices import cpu, key_of
from weft._dtypes.dtypes import STORABLE
from weft._engine.dispatch_keys import KernelBySize
from weft._engine.tensor import state
from weft.ops._registry import registry

__all__ = ["cpu_kernel", "wrap_kernels"]


def cpu_kernel(name: str, dtype: Any) -> Callable[..., Any]:
    """The kernel that runs a declared op on the CPU, as a function of arrays.

    Parameters
    ----------
    name : str
        With its namespace, ``"core::add"``.
    dtype : dtype
        Of the arrays.

    Returns
    -------
    callable
        Takes NumPy's arrays, and what else the op's kernel takes.

    Raises
    ------
    KeyError
        If no op has the name.

    Examples
    --------
    >>> import numpy
    >>> from weft.library.kernels import cpu_kernel
    >>> cpu_kernel("core::add", weft.float32)(numpy.ones(2, "float32"), 2.0)
    array([3., 3.], dtype=float32)
    """
    kernel = registry[name].op.kernel(key_of(dtype, cpu))
    return by_size(kernel) if isinstance(kernel, KernelBySize) else kernel


def by_size(kernel: KernelBySize) -> Callable[..., Any]:
    """One function of a kernel for small arrays and another for large ones."""

    def choose(*args: Any) -> Any:
        first = args[0][0] if type(args[0]) is list else args[0]
        return (kernel.large if numpy.size(first) >= kernel.least else kernel.small)(*args)

    return choose


def wrap_kernels(names: Container[str], wrap: Callable[[str, Any], Any]) -> list[Callable[[], None]]:
    """Put a kernel of one's own in the place of each kernel of some ops.

    Parameters
    ----------
    names : container of str
        The ops, ``"core::matmul"``; of those that are declared by now.
    wrap : callable
        ``wrap(name, kernel)`` returns what is called in the kernel's place, with its arguments.

    Returns
    -------
    list of callable
        Each puts one kernel back. Somebody else's that has replaced it since stays.

    Examples
    --------
    >>> from weft.library.kernels import wrap_kernels
    >>> def loud(name, kernel):
    ...     return lambda *args: (print(name), kernel(*args))[1]
    >>> undo = wrap_kernels({"core::matmul"}, loud)
    >>> _ = weft.ones(2, 2) @ weft.ones(2, 2)
    core::matmul
    >>> for each in undo:
    ...     each()
    """
    for element in STORABLE:
        key_of(element, cpu)  # dispatch keys are made when a first tensor has them; here is where kernels are replaced
    undo: list[Callable[[], None]] = []
    for op in state.ops:
        if op.name not in names:
            continue
        for index, key in {key.index: key for key in state.known_keys}.items():
            try:
                kernel = op.kernel(key)
            except Exception:  # the op is not for this dtype: whoever calls it gets the error
                continue
            wrapped = wrap(op.name, kernel)
            wrapped.watched = kernel  # as a profiler marks what it replaces
            op.kernels[index] = wrapped
            undo.append(partial(restore, op, index, kernel, wrapped))
    return undo


def restore(op: Any, index: int, kernel: Any, wrapped: Any) -> None:
    """Put a kernel back, unless somebody else has replaced it since: then the replaced one goes on."""
    if op.kernels[index] is wrapped:
        op.kernels[index] = kernel
