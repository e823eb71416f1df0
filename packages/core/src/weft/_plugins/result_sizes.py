"""Results whose size overflows, on devices whose array library does not look.

CuPy's product of sizes wraps around: of two arrays that broadcast to 2^80 elements it would make a tiny one. Where an
operand is large, kernels are asked for the shapes of their results first.
"""

from __future__ import annotations

import math
from typing import Any

from weft._engine.dispatch_keys import KernelBySize
from weft._plugins.access import plugins
from weft._plugins.kernel_checks import described

LARGE = 1 << 19  # elements: of operands that are smaller no result's size can overflow


def with_overflow_check(declaration: Any, array_type: type[Any], kernel: Any, meta: Any) -> Any:
    """A kernel of an array library whose product of sizes wraps around: results that it cannot make are refused.

    Parameters
    ----------
    declaration : Declaration
    array_type : type
        Of the library's arrays.
    kernel : callable or None
    meta : callable
        Gives the kernel of the device meta, which is asked for shapes, once for each kind of large arguments.
    """
    if kernel is None or isinstance(kernel, KernelBySize):
        return kernel
    count = len(declaration.arguments)
    known: set[Any] = set()

    def run(*args: Any, **options: Any) -> Any:
        for each in args:
            if type(each) is array_type:
                if each.size > LARGE:
                    break
            elif type(each) is int:
                if each > LARGE:
                    break
            elif type(each) is tuple and any(type(part) is int and part > LARGE for part in each):
                break
        else:
            return kernel(*args, **options)
        key = described(args)
        if key is not None and key not in known:
            refuse_overflow(declaration.short, meta, array_type, args[:count])
            if len(known) > 1000:
                known.clear()
            known.add(key)
        return kernel(*args, **options)

    return run


def refuse_overflow(name: str, meta: Any, array_type: type[Any], args: tuple[Any, ...]) -> None:
    """Raise if the bytes of a result cannot be counted in 64 bits.

    Raises
    ------
    RuntimeError
        As PyTorch's.
    """
    try:
        shaped = plugins().backend("meta").from_numpy
        found = meta()(*[shaped(each, None) if type(each) is array_type else each for each in args])
    except Exception:  # what is wrong with them the kernel says
        return
    for each in found if isinstance(found, (tuple, list)) else (found,):
        if each is not None and math.prod(each.shape) * each.dtype.itemsize >= 1 << 63:
            raise RuntimeError(f"{name}: Storage size calculation overflowed with sizes={list(each.shape)}")
