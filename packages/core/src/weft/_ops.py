"""Operators by the names of PyTorch's dispatcher: what ``weft.ops.<namespace>.<name>.<overload>`` is.

`weft.ops.aten` has functions of weft under those names, `weft.library` adds a program's own namespaces, and an op of
weft's that has no name of PyTorch's is under its own (``weft.ops.nn.lstm_layer``). Modes of ``__torch_dispatch__`` are
asked about overloads: an overload is one object, which can be compared and be a key.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from weft._interception.interceptors import operations
from weft._interception.torch_dispatch import call_overload
from weft._lazy import portions
from weft.ops._registry import registry
from weft.ops._schema import FunctionSchema
from weft.plugins import backends

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket", "load_library", "loaded_libraries", "namespace_of"]


class OpOverload:
    """One overload of an operator.

    Attributes
    ----------
    overloadpacket : OpOverloadPacket
    namespace : str
    _schema : FunctionSchema
        Its arguments and results.
    """

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = packet
        self.namespace = packet.namespace
        self._overloadname = overload
        self._opname = packet._opname
        self.__name__ = f"{packet._opname}.{overload}"
        self.__qualname__ = self.__name__
        self.__module__ = f"{__name__}.{packet.namespace}"

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self.overloadpacket.__doc__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return call_overload(self, self._op, args, kwargs)

    @property
    def _op(self) -> Callable[..., Any]:
        """What computes it, whoever is watching overloads."""
        return self.overloadpacket.function_of(self._overloadname)

    @cached_property
    def _schema(self) -> FunctionSchema:
        found = self.overloadpacket.schemas.get(self._overloadname)
        if found is None:
            raise AttributeError(f"{self}: weft has no schema of this overload")
        return found

    @property
    def tags(self) -> list[Any]:
        """What is known of it."""
        return self.overloadpacket.tags_of(self._overloadname)

    @property
    def is_view(self) -> bool:
        """Whether a result shares the memory of an argument, which is not written to."""
        results = [each.alias_info for each in self._schema.returns]
        return any(each is not None and not each.is_write for each in results)

    def name(self) -> str:
        """Its name with the namespace, ``"aten::add.Tensor"``."""
        suffix = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.namespace}::{self._opname}{suffix}"

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Whether a function was registered for a dispatch key."""
        return self.overloadpacket.has_kernel(self._overloadname, str(key).rpartition(".")[2])

    def __copy__(self) -> OpOverload:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return found, (self.namespace, self._opname, self._overloadname)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """An operator: all overloads of one name. A call finds out by itself which of them it is."""

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace = namespace
        self._opname = name
        self.__name__ = self.__qualname__ = name
        self.__module__ = f"{__name__}.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"
        self._known: dict[str, OpOverload] = {}
        self.torch_dispatch_rules: dict[type, Callable[..., Any]] = {}  # of modes and subclasses, in place of their own

    @property
    def schemas(self) -> dict[str, FunctionSchema]:
        """The schemas of the overloads that have one."""
        return {}

    def function_of(self, overload: str) -> Callable[..., Any]:
        """What computes an overload."""
        raise NotImplementedError

    def has_overload(self, name: str) -> bool:
        """Whether there is an overload of this name."""
        return name in self.schemas

    def has_kernel(self, overload: str, key: str) -> bool:
        """Whether a function was registered for a dispatch key: weft's are for each device that has a backend."""
        return key in ("Meta", "CompositeExplicitAutograd") or key.lower() in backends()

    def tags_of(self, overload: str) -> list[Any]:
        """What is known of an overload.

        Raises
        ------
        AttributeError
            If that is not kept, as of PyTorch's own operators.
        """
        raise AttributeError(f"{self}.{overload}: weft keeps tags of operators that programs define, and of no others")

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(self.schemas) or ["default"]

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("_") or not self.has_overload(name):
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        known = self._known.get(name)
        if known is None:
            known = self._known.setdefault(name, OpOverload(self, name))
        return known

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, self.overload_for(args, kwargs))(*args, **kwargs)

    def overload_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The overload that a call without one means."""
        return self.overloads()[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    def __copy__(self) -> OpOverloadPacket:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> Any:
        return found, (self.namespace, self._opname, "")

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class OwnOverloads(OpOverloadPacket):
    """An op of weft's under its own name."""

    def __init__(self, namespace: str, name: str, op: Any) -> None:
        super().__init__(namespace, name)
        self.op = op
        self.__doc__ = getattr(getattr(op, "function", None), "__doc__", None)

    def has_overload(self, name: str) -> bool:
        return name == "default"

    def function_of(self, overload: str) -> Callable[..., Any]:
        return self.run

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run the op on positional arguments, in its own order."""
        if hasattr(self.op, "arguments"):
            return self.op(**dict(zip(self.op.arguments, args)), **kwargs)
        return self.op(**self.op.named(args, kwargs))


class Namespace:
    """The operators of one namespace, each made when it is first asked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.__name__ = f"weft.ops.{name}"

    def __getattr__(self, name: str) -> OpOverloadPacket:
        packet = None if name.startswith("__") else self.find(name)
        if packet is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        setattr(self, name, packet)
        return packet

    def find(self, name: str) -> OpOverloadPacket | None:
        """The operator of a name; None if there is none."""
        full = f"{self.name}::{name}"
        op = registry.get(full) or operations.get(full)
        if full not in defined and op is None:
            for portion in portions():
                if self.name in getattr(portion, "OPERATORS", {}):
                    importlib.import_module(portion.OPERATORS[self.name])
        if full in defined:
            return defined[full]
        return None if op is None else OwnOverloads(self.name, name, op)

    def __dir__(self) -> list[str]:
        return sorted(full.partition("::")[2] for full in defined if full.startswith(f"{self.name}::"))

    def __repr__(self) -> str:
        return f"<weft.ops.{self.name}>"


defined: dict[str, OpOverloadPacket] = {}
"""The operators that programs have defined, by name with namespace."""

namespaces: dict[str, Namespace] = {}


def namespace_of(name: str) -> Namespace:
    """The namespace of a name; an empty one, if nothing has been defined there."""
    if name == "aten":
        aten: Namespace = importlib.import_module("weft.ops._aten").aten
        return aten
    return namespaces.get(name) or namespaces.setdefault(name, Namespace(name))


def found(namespace: str, name: str, overload: str) -> Any:
    """An operator, or the overload of one, by its names."""
    packet = getattr(namespace_of(namespace), name)
    return getattr(packet, overload) if overload else packet


class HigherOrderOperator:
    """An operator of functions, by name: PyTorch's compiler traces them, and weft calls functions as they are.

    Raises
    ------
    NotImplementedError
        When one is made.
    """

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"HigherOrderOperator({name!r}): weft has no operators of functions; write a function that calls its "
            "argument, or define an operator of tensors with weft.library.custom_op"
        )


loaded_libraries: set[str] = set()
"""The libraries that `load_library` has loaded: none."""


def load_library(path: str) -> NoReturn:
    """Refuse: a library of compiled operators is linked with PyTorch's C++ library, and weft has none.

    Packages catch the error, as it is the one that they get where their library was built for another PyTorch.

    Raises
    ------
    OSError
        Always, and says whether there is such a file.
    """
    if not Path(path).exists():
        raise OSError(f"{path}: cannot open shared object file: No such file or directory")
    raise OSError(
        f"{path}: its operators are compiled against PyTorch's C++ library, which weft does not have. Define them in "
        "Python: weft.library.define and weft.library.impl take a schema and functions of tensors"
    )
