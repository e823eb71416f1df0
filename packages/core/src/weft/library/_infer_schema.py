"""The schema of a function, from its annotations."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from weft._devices.devices import device
from weft._dtypes.dtypes import dtype
from weft._tensor.base import Tensor

__all__ = ["infer_schema"]

Number = int | float | bool
SINGLE = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    dtype: "ScalarType",
    device: "Device",
    Number: "Scalar",
}
LISTED = (Tensor, int, float, bool, Number)


@cache
def types_of_arguments() -> dict[Any, str]:
    """What an annotation of an argument is in a schema."""
    found: dict[Any, str] = {}
    for kind, name in SINGLE.items():
        found[kind] = name
        found[typing.Optional[kind]] = f"{name}?"  # noqa: UP045
    for kind in LISTED:
        name = SINGLE[kind]
        for sequence in (Sequence[kind], list[kind], typing.Sequence[kind], typing.List[kind]):  # type: ignore[valid-type]  # noqa: UP006
            found[sequence] = f"{name}[]"
            if kind is not Tensor:
                found[typing.Optional[sequence]] = f"{name}[]?"  # noqa: UP045
    for sequence in (Sequence, list, typing.Sequence, typing.List):  # noqa: UP006
        found[sequence[Tensor | None]] = "Tensor?[]"  # type: ignore[index]
    return found


RETURNS = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", Number: "Scalar"}
RETURNS |= {list[Tensor]: "Tensor[]", typing.List[Tensor]: "Tensor[]"}  # noqa: UP006


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """The schema that a function's annotations say.

    Parameters
    ----------
    prototype_function : callable
    mutates_args : iterable of str, or "unknown"
        The arguments that it writes to; all tensors, if that is unknown.
    op_name : str, optional
        Comes first.

    Raises
    ------
    ValueError
        If an annotation is missing, or of a type that schemas do not have.

    Examples
    --------
    >>> def scale(x: weft.Tensor, by: float = 2.0) -> weft.Tensor: ...
    >>> infer_schema(scale, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    hints = annotations_of(prototype_function)

    def refuse(what: str) -> ValueError:
        return ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "infer_schema: mutates_args must either be a sequence of the names of the arguments that are "
            "mutated or the string 'unknown'"
        )
    written = None if isinstance(mutates_args, str) else {*mutates_args}
    if written is not None and not written <= {*signature.parameters}:
        raise refuse(
            f"{written - {*signature.parameters}} in mutates_args were not found in the custom op's signature. "
            "mutates_args should contain the names of all args that the custom op mutates, or just the string "
            "'unknown' if you don't know."
        )
    parts: list[str] = []
    for number, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise refuse("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        if name not in hints:
            raise refuse(f"Parameter {name} must have a type annotation.")
        kind = types_of_arguments().get(hints[name])
        if kind is None:
            known = ", ".join(str(each) for each in types_of_arguments())
            raise refuse(f"Parameter {name} has unsupported type {hints[name]}. The valid types are: {known}.")
        if kind.startswith("Tensor") and (written is None or name in written):
            kind = f"Tensor(a{number}!){kind.removeprefix('Tensor')}"
        elif written is not None and name in written:
            raise refuse(
                f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated"
            )
        parts.append(f"{kind} {name}{default_of(parameter, refuse)}")
    return f"{op_name or ''}({', '.join(parts)}) -> {returned(hints, signature, refuse)}"


def annotations_of(function: Any) -> dict[str, Any]:
    """A function's annotations as types, those without a name left out."""
    try:
        found = typing.get_type_hints(function)
    except (NameError, TypeError):  # of names that are gone: what is no string is a type all the same
        found = dict(getattr(function, "__annotations__", {}))
    if "return" in getattr(function, "__annotations__", {}) and found.get("return", ...) is type(None):
        found["return"] = None
    return found


def default_of(parameter: Any, refuse: Callable[[str], ValueError]) -> str:
    """A default as a schema writes it."""
    value = parameter.default
    if value is parameter.empty:
        return ""
    if value is None or isinstance(value, (int, float)):
        return f"={value}"
    if isinstance(value, str):
        return f'="{value}"'
    if isinstance(value, dtype):
        return f"={value.name}"
    if isinstance(value, device):
        return f'="{value}"'
    if isinstance(value, (list, tuple)) and all(isinstance(each, (int, float)) for each in value):
        return f"=[{', '.join(str(each) for each in value)}]"
    raise refuse(f"Parameter {parameter.name} has an unsupported default value type {type(value)}.")


def returned(hints: dict[str, Any], signature: Any, refuse: Callable[[str], ValueError]) -> str:
    """The results as a schema writes them."""
    if "return" not in hints:
        raise refuse("No return type annotation was provided. Please add one.")
    hint = hints["return"]
    if hint is None:
        return "()"
    if typing.get_origin(hint) is tuple:
        parts = typing.get_args(hint)
        if parts and all(each in RETURNS for each in parts):
            return f"({', '.join(RETURNS[each] for each in parts)})"
    elif hint in RETURNS:
        return RETURNS[hint]
    known = ", ".join(str(each) for each in RETURNS)
    raise refuse(f"Return has unsupported type {hint}. The valid types are: {known}.")
