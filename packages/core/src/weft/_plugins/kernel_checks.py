"""Kernels of plugins: whether they return what their op declares.

The first result of each kernel of a third party's is checked for its type, dtype and, of pointwise ops, shape; after
that the kernel is called as if nothing had been. ``WEFT_CHECK_KERNELS=1`` checks every result of every kernel, our own
included, against the op's declared kernel.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from weft._dtypes.dtypes import bfloat16, float16, float32
from weft._engine.dispatch_keys import DispatchKey, KernelBySize
from weft._engine.tensor import state
from weft._engine.unresolved import Unresolved
from weft._errors import PluginError
from weft._interception.profiling import copies
from weft._lazy import FIRST_PARTY
from weft._plugins.access import plugins
from weft.backend import destination, invalidate_kernels

always = os.environ.get("WEFT_CHECK_KERNELS", "0") not in ("", "0")
OURS = frozenset(FIRST_PARTY.values()) | {"weft-core"}


@contextmanager
def checking() -> Iterator[None]:
    """Check every result of every kernel within the block, as ``WEFT_CHECK_KERNELS=1`` does."""
    global always
    if always:
        yield
        return
    always = True
    invalidate_kernels()
    try:
        yield
    finally:
        always = False
        invalidate_kernels()


def owner_of(name: str, device: str) -> Any:
    """The plugin whose kernel, perhaps, an op runs on a device: of single kernels, else of the backend; or None."""
    return plugins().kernel_owner(name, device)


def note(error: BaseException, name: str, key: Any) -> None:
    """Add to a kernel's exception whose kernel it was, if that is a third party's."""
    plugin = owner_of(name, key.device.type)
    if plugin is not None and plugin.distribution not in OURS:
        text = f"{name} on {key.device.type}: raised in a kernel of plugin {plugin}"
        if text not in getattr(error, "__notes__", ()):
            error.add_note(text)


def checked_kernel(declaration: Any, key: DispatchKey, kernel: Any, result: DispatchKey | None) -> Any:
    """A kernel as it is to be called: itself, unless its results are to be checked.

    Parameters
    ----------
    declaration : Declaration
    key : DispatchKey
        Of its arguments.
    kernel : callable
    result : DispatchKey or None
        Of its results, where the op declares it.
    """
    if key.device.type == "meta":  # rules of shapes, which say in other words what the declared kernel does
        return kernel
    plugin = owner_of(declaration.name, key.device.type)
    if not always and (plugin is None or plugin.distribution in OURS):
        return kernel
    return Guard(declaration, key, result, plugin).around(kernel)


class Guard:
    """Compares what one kernel returns with what its op declares."""

    def __init__(self, declaration: Any, key: DispatchKey, result: DispatchKey | None, plugin: Any) -> None:
        self._declaration = declaration
        self._kind = key
        self._result = result
        self._plugin = plugin
        self._generic: Any = None
        self._known: dict[Any, Any] = {}
        self._compares = always and self._is_replaced()

    def _is_replaced(self) -> bool:
        """Whether somebody has another kernel than the declared one: this needs no comparison with itself."""
        name, device = self._declaration.name, self._kind.device.type
        owner = plugins().backend(device)

        def declared(*args: Any) -> Any:
            raise NotImplementedError

        kept = owner.kernel(name, self._kind.dtype, declared) is declared
        halves = (float16, bfloat16)
        if kept and self._kind.dtype in halves:
            kept = owner.half_kernel(name, self._kind.dtype, declared) is declared
            kept = kept and owner.kernel(name, float32, declared) is declared
        return not kept or name in plugins().kernels(device)

    def around(self, kernel: Any) -> Any:
        """The kernel, with checks of all its results or of the first."""
        if isinstance(kernel, KernelBySize):
            small, large = (self.around(each) for each in (kernel.small, kernel.large))
            return kernel if small is kernel.small else KernelBySize(small, large, kernel.least)
        if kernel is None or type(kernel) is state.ufunc:  # the array library's own
            return kernel
        return self._each(kernel) if always else self._first(kernel)

    def _first(self, kernel: Any) -> Any:
        """A kernel that is put in its wrapper's place when its first result was right."""
        kernels, index = self._declaration.op.kernels, self._kind.index

        def checked(*args: Any) -> Any:
            found = kernel(*args)
            self._check(found, None)
            there = kernels[index]
            if there is checked:
                kernels[index] = kernel
            elif isinstance(there, KernelBySize):
                there.small = kernel if there.small is checked else there.small
                there.large = kernel if there.large is checked else there.large
            return found

        return checked

    def _each(self, kernel: Any) -> Any:
        def checked(*args: Any) -> Any:
            if len(args) > len(self._declaration.arguments):  # the last is where the result goes
                return kernel(*args)
            expected = self._expected(args)
            found = kernel(*args)
            if not self._agrees(found, expected):
                self._check(found, self._expected(args, anew=True))  # its shape may depend on values
            return found

        return checked

    # What is expected

    def _expected(self, args: tuple[Any, ...], anew: bool = False) -> Any:
        """Shape and dtype of what the op's declared kernel returns for such arguments; None if that cannot be asked."""
        key = described(args) if self._compares else None
        if key is None:
            return None
        if anew or key not in self._known:
            if len(self._known) > 1000:
                self._known.clear()
            self._known[key] = self._of_generic(args)
        return self._known[key]

    def _of_generic(self, args: tuple[Any, ...]) -> Any:
        if self._generic is None:
            self._generic, _ = self._declaration.prepare(self._kind, own=False)
        op, destination.op = destination.op, ""
        count, nbytes = copies.count, copies.bytes
        try:
            found = self._generic(*[copied(each) for each in args])
        except Exception:  # the kernel itself may do more than the declared one; what it raises is its own
            return None
        finally:
            destination.op = op
            copies.count, copies.bytes = count, nbytes  # of what profiles show
        return shapes(found)

    def _agrees(self, found: Any, expected: Any) -> bool:
        try:
            self._check(found, expected)
        except RuntimeError:
            return False
        return True

    def _check(self, found: Any, expected: Any) -> None:
        """Raise PluginError for a result of the wrong type, dtype or shape."""
        several = isinstance(found, (tuple, list))
        for each in found if several else (found,):
            if each is None and several:
                continue
            if not isinstance(each, (self._kind.array_type, numpy.generic, Unresolved)):
                raise self._wrong(f"returned a {type(each).__name__}", f"a {self._kind.array_type.__name__}")
            if each.dtype not in self._kind.siblings:
                raise self._wrong(f"returned an array of dtype {each.dtype}", "one of weft's dtypes")
            if self._result is not None and each.dtype != self._result.dtype.numpy:
                raise self._wrong(f"returned an array of dtype {each.dtype}", f"dtype {self._result.dtype.name}")
        if expected is not None and shapes(found) != expected:
            raise self._wrong(f"returned {said(shapes(found))}", said(expected))

    def _wrong(self, what: str, wanted: Any) -> Exception:
        who = "core's own kernel" if self._plugin is None else f"the kernel of plugin {self._plugin}"
        name, device = self._declaration.name, self._kind.device.type
        return PluginError(f"{name} on {device}, {self._kind.dtype.name}: {who} {what}; the op declares {wanted}")


def shapes(found: Any) -> Any:
    """Shape and dtype of each array that a kernel returned."""
    if isinstance(found, (tuple, list)):
        return tuple(None if each is None else shapes(each) for each in found)
    return tuple(getattr(found, "shape", ())), getattr(found, "dtype", None)


def said(found: Any) -> str:
    """What a message says of that."""
    if found and isinstance(found[0], tuple) and len(found[0]) == 2 and isinstance(found[0][0], tuple):
        return " and ".join("nothing" if each is None else said(each) for each in found)
    return f"shape {found[0]}, dtype {found[1]}" if found else "nothing"


def described(args: tuple[Any, ...]) -> Any:
    """What the shape of a result may depend on; None if an argument is none that can be given twice."""
    parts: list[Any] = []
    for each in args:
        if hasattr(each, "shape") and hasattr(each, "dtype"):
            parts.append((tuple(each.shape), each.dtype))
        elif isinstance(each, (list, tuple)):
            inner = described(tuple(each))
            if inner is None:
                return None
            parts.append((type(each), inner))
        elif (
            each is None
            or isinstance(each, (bool, int, float, complex, str, type, numpy.dtype))
            or hasattr(each, "itemsize")
        ):
            parts.append((type(each), each))
        else:
            return None  # a generator's stream, a function
    return tuple(parts)


def copied(value: Any) -> Any:
    """An argument that the declared kernel may write to."""
    if isinstance(value, (list, tuple)):
        return type(value)(copied(each) for each in value) if type(value) in (list, tuple) else value
    return copy.copy(value) if isinstance(value, numpy.ndarray) else value
