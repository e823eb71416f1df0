"""Schemas of operators: ``"mylib::foo.out(Tensor x, int[2] k=1, *, Tensor(a!) out) -> Tensor(a!)"``, parsed.

They are what `weft.library` is told of a program's own operators, and what the overloads of `weft.ops.aten` say of
theirs: names, types and defaults of arguments, which of them are written to, and which results are views of which.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy

from weft._dtypes.dtypes import _by_name, dtype
from weft._engine.tensor import TensorBase

__all__ = ["AliasInfo", "Argument", "FunctionSchema", "is_of_type", "parse_schema", "takes"]

TYPES = frozenset(
    "Tensor int SymInt float bool str Scalar number complex ScalarType Device Layout MemoryFormat Generator Stream "
    "Dimname QScheme Storage DeviceIndex DispatchKeySet SymBool SymFloat Any t".split()
)
SHOWN = {"SymInt": "int", "SymFloat": "float", "SymBool": "bool", "Scalar": "number"}
SHOWN |= dict.fromkeys(("ScalarType", "Layout", "MemoryFormat"), "int")
TOKEN = re.compile(
    r"\s*(->|::|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|-?\d+\.?\d*(?:e[+-]?\d+)?|\w+|[(){}\[\]?!*=,.|\-])"
)
NUMBER = re.compile(r"-?\d")
END = "eof"
SIGNS = {"->": "arrow", END: END}


class AliasInfo:
    """Which memory an argument or result is: names of sets, ``(a)``, and whether it is written to, ``(a!)``."""

    def __init__(self, before: set[str], after: set[str], is_write: bool) -> None:
        self.before_set = before
        self.after_set = after
        self.is_write = is_write

    def __str__(self) -> str:
        text = "|".join(sorted(self.before_set)) + "!" * self.is_write
        return f"({text} -> {'|'.join(sorted(self.after_set))})" if self.after_set != self.before_set else f"({text})"


class TypeOf:
    """The type of an argument: its name, of which lists it is one of, and whether it may be None."""

    def __init__(self, base: str, alias: AliasInfo | None, suffixes: tuple[str, ...]) -> None:
        self.base = base
        self.alias = alias
        self.suffixes = suffixes  # "?", "[]" and "[2]", from the inside outwards

    @property
    def is_optional(self) -> bool:
        """Whether it may be None."""
        return self.suffixes[-1:] == ("?",)

    @property
    def is_list(self) -> bool:
        """Whether it is a list, or None."""
        return any(each != "?" for each in self.suffixes)

    @property
    def size(self) -> int | None:
        """How many elements the list has for which one number may stand."""
        outer = next((each for each in reversed(self.suffixes) if each != "?"), "[]")
        return int(outer[1:-1]) if outer != "[]" else None

    def written(self) -> str:
        """As in the schema."""
        alias = "" if self.alias is None else str(self.alias)
        return f"{self.base}{alias}{''.join(self.suffixes)}"

    def __str__(self) -> str:
        text = SHOWN.get(self.base, self.base)
        for suffix in self.suffixes:
            text = f"Optional[{text}]" if suffix == "?" else f"List[{text}]"
        return text

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeOf) and (self.base, self.suffixes) == (other.base, other.suffixes)

    def __hash__(self) -> int:
        return hash((self.base, self.suffixes))


class Argument:
    """An argument, or a result, of an operator.

    Attributes
    ----------
    name : str
        That of a result may be empty.
    type : TypeOf
        Whose str is as TorchScript writes it, ``"Optional[Tensor]"``.
    default_value : object
        None as well if there is none: ask `has_default_value`.
    kwarg_only : bool
    alias_info : AliasInfo or None
    N : int or None
        The number of elements of ``int[2]``, which takes one number too.
    """

    def __init__(self, name: str, type: TypeOf, default: tuple[Any, str] | None, kwarg_only: bool) -> None:
        self.name = name
        self.type = self.real_type = type
        self.default_value = None if default is None else default[0]
        self._default = default
        self.kwarg_only = kwarg_only
        self.alias_info = type.alias
        self.N = type.size

    def has_default_value(self) -> bool:
        """Whether it may be left out."""
        return self._default is not None

    @property
    def is_out(self) -> bool:
        """Whether it is what the result is written to."""
        return self.kwarg_only and self.alias_info is not None and self.alias_info.is_write

    def __str__(self) -> str:
        text = f"{self.type.written()} {self.name}".rstrip()
        return text if self._default is None else f"{text}={self._default[1]}"

    def __repr__(self) -> str:
        return f"Argument({self})"


class FunctionSchema:
    """The name, arguments and results of an operator's overload.

    Attributes
    ----------
    name : str
        With its namespace, ``"aten::add"``.
    overload_name : str
        Empty for the default one.
    arguments, returns : list of Argument
    """

    def __init__(self, name: str, overload: str, arguments: list[Argument], returns: list[Argument]) -> None:
        self.name = name
        self.overload_name = overload
        self.arguments = arguments
        self.returns = returns

    @cached_property
    def by_name(self) -> dict[str, Argument]:
        """The arguments by their names."""
        return {each.name: each for each in self.arguments}

    @property
    def is_mutable(self) -> bool:
        """Whether an argument is written to."""
        return any(each.alias_info is not None and each.alias_info.is_write for each in self.arguments)

    def __str__(self) -> str:
        overload = f".{self.overload_name}" if self.overload_name else ""
        parts: list[str] = []
        for each in self.arguments:
            if each.kwarg_only and "*" not in parts:
                parts.append("*")
            parts.append(str(each))
        results = ", ".join(str(each) for each in self.returns)
        shown = results if len(self.returns) == 1 else f"({results})"
        return f"{self.name}{overload}({', '.join(parts)}) -> {shown}"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def is_of_type(value: Any, kind: TypeOf, depth: int = -1) -> bool:
    """Whether an argument of this value is of a type."""
    depth = len(kind.suffixes) if depth < 0 else depth
    if depth:
        suffix = kind.suffixes[depth - 1]
        if suffix == "?":
            return value is None or is_of_type(value, kind, depth - 1)
        if isinstance(value, (list, tuple)):
            return all(is_of_type(each, kind, depth - 1) for each in value)
        return suffix != "[]" and is_of_type(value, kind, depth - 1)
    base = SHOWN_AS.get(kind.base, kind.base)
    if base == "Tensor":
        return isinstance(value, TensorBase)
    if base in KINDS:
        return isinstance(value, KINDS[base]) and (base == "bool" or not isinstance(value, bool) or base == "Scalar")
    return base != "ScalarType" or isinstance(value, dtype)


SHOWN_AS = {"SymInt": "int", "SymFloat": "float", "SymBool": "bool", "number": "Scalar"}
KINDS: dict[str, Any] = {
    "int": (int, numpy.integer),
    "float": (int, float, numpy.integer, numpy.floating),
    "bool": (bool, numpy.bool_),
    "str": str,
    "Scalar": (int, float, complex, numpy.number),
    "complex": (int, float, complex, numpy.number),
}


def takes(schema: FunctionSchema, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a schema takes these arguments."""
    positional = [each for each in schema.arguments if not each.kwarg_only]
    if len(args) > len(positional) or any(name not in schema.by_name for name in kwargs):
        return False
    given = {each.name: value for each, value in zip(positional, args)}
    if any(name in given for name in kwargs):
        return False
    given.update(kwargs)
    return all(
        is_of_type(given[each.name], each.type) if each.name in given else each.has_default_value()
        for each in schema.arguments
    )


class Parser:
    """Reads a schema token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, int]] = []
        position = 0
        while position < len(text.rstrip()):
            found = TOKEN.match(text, position)
            if found is None:
                raise self.error(f"unexpected character {text[position:].lstrip()[:1]!r}", position)
            self.tokens.append((found[1], found.start(1)))
            position = found.end()
        self.tokens.append((END, len(text)))
        self.place = 0

    def error(self, message: str, position: int | None = None, width: int = 1) -> RuntimeError:
        start = self.tokens[self.place][1] if position is None else position
        mark = f"\n{' ' * start}{'~' * width} <--- HERE" if start < len(self.text) else ""
        return RuntimeError(f"{message}:\n{self.text}{mark}\n")

    @property
    def token(self) -> str:
        return self.tokens[self.place][0]

    def take(self) -> str:
        found = self.token
        self.place += found != END
        return found

    def accept(self, token: str) -> bool:
        if self.token != token:
            return False
        self.take()
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            found = SIGNS.get(self.token, self.token)
            named = found if found in SIGNS.values() else repr(found)
            raise self.error(f"expected {SIGNS.get(token, token)} but found {named!r} here".replace('"', ""))

    def identifier(self) -> str:
        if not self.token.isidentifier() or self.token == END:
            raise self.error(f"expected ident but found {self.token!r} here")
        return self.take()

    def name(self) -> str:
        found = self.identifier()
        while self.token == "::":
            self.take()
            found += f"::{self.identifier()}"
        return found

    def schema(self) -> FunctionSchema:
        name = self.name()
        overload = ""
        if self.accept("."):
            overload = self.identifier()
            if overload == "default":
                raise RuntimeError(
                    f"{name}.default: default is not a legal overload name for aten operators; leave it out"
                )
        if self.token == END:
            raise RuntimeError("Tried to parse a function schema but only the operator name was given")
        self.expect("(")
        arguments = self.arguments()
        self.expect("->")
        returns = self.results()
        if self.token != END:
            raise self.error(f"expected the end of the schema but found {self.token!r} here")
        return FunctionSchema(name, overload, arguments, returns)

    def arguments(self) -> list[Argument]:
        found: list[Argument] = []
        kwarg_only = False
        while not self.accept(")"):
            if found or kwarg_only:
                self.expect_separator()
            if self.accept("*"):
                kwarg_only = True
                if self.token == ")":
                    continue
                self.expect(",")
            kind = self.type()
            name = self.identifier()
            default = self.default(kind) if self.accept("=") else None
            found.append(Argument(name, kind, default, kwarg_only))
        return found

    def expect_separator(self) -> None:
        if self.tokens[self.place - 1][0] == ",":
            return
        if not self.accept(","):
            self.expect(")")

    def results(self) -> list[Argument]:
        if self.accept("None"):
            return []
        if not self.accept("("):
            kind = self.type()
            return [Argument("" if self.token == END else self.identifier(), kind, None, False)]
        found: list[Argument] = []
        while not self.accept(")"):
            if found:
                self.expect(",")
            kind = self.type()
            found.append(Argument("" if self.token in (",", ")") else self.identifier(), kind, None, False))
        return found

    def type(self) -> TypeOf:
        start = self.tokens[self.place][1]
        base = self.identifier()
        if base not in TYPES:
            raise self.error(
                f"unknown type specifier {base!r}. Common valid schema types include Tensor, SymInt, int, float, bool, "
                "Scalar, str, ScalarType, Device, and lists (int[]) and optional ones (Tensor?) of them",
                start,
                len(base),
            )
        alias = self.alias() if self.accept("(") else None
        suffixes: list[str] = []
        while self.token in ("?", "["):
            if self.accept("?"):
                suffixes.append("?")
                continue
            self.take()
            size = "" if self.token == "]" else self.take()
            self.expect("]")
            suffixes.append(f"[{size}]")
            if alias is None and self.token == "(":
                self.take()
                alias = self.alias()
        return TypeOf(base, alias, tuple(suffixes))

    def alias(self) -> AliasInfo:
        before, write = self.sets()
        after = self.sets()[0] if self.accept("->") else before
        self.expect(")")
        return AliasInfo(before, after, write)

    def sets(self) -> tuple[set[str], bool]:
        found = {self.take()}
        while self.accept("|"):
            found.add(self.take())
        return found, self.accept("!")

    def default(self, kind: TypeOf) -> tuple[Any, str]:
        start = self.place
        value = self.value(kind)
        if kind.size is not None and value is not None and not isinstance(value, list):
            value = [value] * kind.size
        text = "".join(token + ("," in token) * " " for token, _ in self.tokens[start : self.place])
        return value, f'"{value}"' if isinstance(value, str) and text[:1] in "'\"" else text

    def value(self, kind: TypeOf) -> Any:
        token = self.token
        if token == "[":
            self.take()
            found: list[Any] = []
            while not self.accept("]"):
                if found:
                    self.expect(",")
                found.append(self.value(kind))
            return found
        if token in ("None", "True", "False"):
            self.take()
            return {"None": None, "True": True, "False": False}[token]
        if token[:1] in ("'", '"'):
            return self.take()[1:-1]
        if NUMBER.match(token):
            self.take()
            is_whole = token.lstrip("-").isdigit()
            return int(token) if is_whole and kind.base != "float" else float(token)
        if token.isidentifier() and token != END:
            return self.constant(kind, self.take())
        raise self.error(f"expected None but found {token!r} here")

    def constant(self, kind: TypeOf, word: str) -> Any:
        if kind.base == "ScalarType":
            return _by_name({"long": "int64", "float": "float32", "double": "float64"}.get(word, word))
        return {"inf": float("inf"), "nan": float("nan"), "Mean": 1, "Sum": 2}.get(word, word)


def parse_schema(text: str) -> FunctionSchema:
    """Parse a schema.

    Raises
    ------
    RuntimeError
        If it is none, with the place that is wrong.

    Examples
    --------
    >>> schema = parse_schema("mylib::scale(Tensor x, *, float by=2.0) -> Tensor")
    >>> [each.name for each in schema.arguments], schema.arguments[1].default_value
    (['x', 'by'], 2.0)
    """
    return Parser(text).schema()
