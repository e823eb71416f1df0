"""Sizes about every threshold at which a kernel changes, read from the kernels themselves.

A threshold is the size from which a `KernelBySize` takes its other kernel, and whatever number the code of a kernel's
module compares with: a literal, or a constant in capitals. Nobody lists them: a new one is tested by itself. Which is
of elements, of rows, or of a row's length the code does not say, so that each is tried as all three.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from contextlib import suppress
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

import weft
from weft._devices.devices import key_of
from weft.backend import KernelBySize, invalidate_kernels
from weft.backend_cpu import NUMPY_KERNELS, SMALL_ARRAYS, libraries
from weft.library.formulas import formula_of
from weft.ops._formula_kernels import array_kernels
from weft.ops._registry import registry

MOST = 1 << 17  # elements of a tensor here; what is beyond is a number of multiplications, see `Size.third`
SMALLEST = 5  # what is less is no size, but a number of dimensions or operands
LONGEST = 4200  # a row, or rows


class Size(NamedTuple):
    """What a sample makes its tensors from."""

    rows: int
    columns: int
    third: int = 5  # columns of another factor, channels, classes


BASE = (Size(7, 9), Size(1, 9), Size(9, 1), Size(0, 3), Size(3, 0), Size(1, 1))


@cache
def compared(module: str, own: bool) -> frozenset[int]:
    """The numbers that a module's code compares with; if it is the op's ``own``, also constants it divides by."""
    loaded = importlib.import_module(module)
    found: set[int] = set()
    for node in ast.walk(ast.parse(inspect.getsource(loaded))):
        if isinstance(node, ast.Compare):
            for part in ast.walk(node):
                found |= number_of(part, loaded)
        elif own and isinstance(node, ast.FunctionDef):
            for part in ast.walk(node):
                found |= number_of(part, loaded) if isinstance(part, ast.Name | ast.Attribute) else set()
    return frozenset(value for value in found if value >= SMALLEST)


def number_of(node: Any, module: Any) -> set[int]:
    """The whole number that an expression is, if it is a literal or a constant."""
    if isinstance(node, ast.Name | ast.Attribute):
        if not (node.id if isinstance(node, ast.Name) else node.attr).isupper():
            return set()
    elif not isinstance(node, ast.BinOp | ast.Constant):
        return set()
    try:
        value = eval(ast.unparse(node), vars(module))
    except Exception:  # names of a function's own
        return set()
    return {int(value)} if hasattr(value, "__index__") and type(value) is not bool and not np.ndim(value) else set()


def modules_of(name: str) -> dict[str, bool]:
    """The modules of weft with the kernels of an op, NumPy's and the libraries': their own, and those that they use."""
    kernels = [NUMPY_KERNELS.get(name), SMALL_ARRAYS.get(name), getattr(registry[name], "generic", None)]
    kernels += [array_kernels] * (formula_of(name) is not None)
    own = {each.__module__ for each in kernels if callable(each)}
    used: set[str] = set()
    for library in libraries.available():
        package = libraries.package_of(library)
        found = libraries.modules_of(package).get(name)
        if found is None and package == libraries.NUMBA and formula_of(name) is not None:
            found = "kernels.formulas"
        if found is not None:
            module = importlib.import_module(f"{library.__name__}.{found}")
            own.add(module.__name__)
            used |= neighbours(module, library.__name__)
    return {each: each in own for each in sorted(own | used) if each.startswith("weft.")}


def neighbours(module: Any, package: str) -> set[str]:
    """The modules of a library's package whose functions a module of kernels uses."""
    used = {getattr(value, "__module__", None) or "" for value in vars(module).values() if callable(value)}
    return {each for each in used if each.startswith(f"{package}.") and each in sys.modules}


def switches(kernel: Any) -> set[int]:
    """The sizes at which a kernel is another one."""
    found: set[int] = set()
    waiting = [kernel]
    while waiting:
        each = waiting.pop()
        if isinstance(each, KernelBySize):
            found.add(each.least)
            waiting += [each.small, each.large]
        elif isinstance(each, partial):
            waiting += each.args
    return found


@cache
def wake() -> None:
    """Have the ops look for their compiled kernels, as the first large array would."""
    if libraries.has_loops():
        importlib.import_module(libraries.WITH_LOOPS)
        invalidate_kernels()


def thresholds(names: set[str], dtype: Any) -> list[int]:
    """All thresholds of the kernels of some ops."""
    wake()
    found: set[int] = set()
    for name in names:
        op = registry[name].op
        with suppress(Exception):  # there may be none for this dtype
            found |= switches(op.kernel(key_of(dtype, weft.device("cpu"))))
        for module, own in modules_of(name).items():
            found |= compared(module, own)
    return sorted(value for value in found if value >= SMALLEST)


def sizes(names: set[str], dtype: Any) -> list[Size]:
    """Sizes about each threshold of some ops: as the number of elements, of rows, and of a row's elements.

    More than `MOST` can only be multiplications: a third factor makes a product that large.
    """
    found = list(BASE)
    for value in thresholds(names, dtype):
        if value > MOST:
            third = value // (64 * 64)
            if third <= 1024:
                found += [Size(64, 64, third), Size(64, 64, third + 1)]
            continue
        found += [Size(7, -(-value // 7)), Size(7, (value - 1) // 7), Size(1, value), Size(1, value - 1)]
        if value <= LONGEST:
            found += [Size(3, value + step) for step in (-1, 0, 1)] + [Size(value + step, 3) for step in (-1, 0, 1)]
    return list(dict.fromkeys(found))
