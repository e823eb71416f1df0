"""`weft.ops.aten`: functions by the names that PyTorch's dispatcher has for them, for programs that call those."""

from __future__ import annotations

import pkgutil
from functools import cache
from typing import Any

import weft
from weft._interception.torch_dispatch import position
from weft._lazy import attribute_of, portions
from weft._ops import Namespace, OpOverloadPacket, defined
from weft.ops._registry import registry
from weft.ops._schema import FunctionSchema, parse_schema, takes

# Functions that PyTorch has in this namespace alone: where they are. Portions have some more.
HOMES = {
    "slice": "weft.ops.copies:_slice",
    **{
        name: f"weft.ops._aten_functions:{name}"
        for name in """
_efficient_attention_forward _flash_attention_forward _local_scalar_dense _log_softmax _log_softmax_backward_data
_pin_memory _softmax _sparse_addmm _to_copy _unsafe_view alias cauchy copy exponential geometric index index_put
index_put_ lift_fresh log_normal select_backward sigmoid_backward slice_backward split tanh_backward
threshold_backward unbind uniform
""".split()
    },
}
PLACES = ("", "nn.functional.")
PREFIXED = {"linalg_": "linalg.", "fft_": "fft.", "special_": "special."}


class AtenPacket(OpOverloadPacket):
    """A function under its dispatcher's name.

    Each attribute without a leading underscore is one of its overloads (``add.Tensor``, ``add.Scalar``,
    ``add.default``): the same function, which finds out by itself what it was given.
    """

    def __init__(self, name: str, function: Any) -> None:
        super().__init__("aten", name)
        self.__doc__ = function.__doc__
        self._function = function

    @property
    def schemas(self) -> dict[str, FunctionSchema]:
        """The schemas of the overloads."""
        return schemas_of(self._opname)

    def function_of(self, overload: str) -> Any:
        """The function."""
        return self._function

    def has_overload(self, name: str) -> bool:
        """Any name will do: overloads are one function."""
        return True

    def overload_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The first overload whose schema takes the arguments."""
        fitting = (name for name, schema in self.schemas.items() if takes(schema, args, kwargs))
        return next(fitting, "default")

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if not position.below:
            return self._function(*args, **kwargs)
        return super().__call__(*args, **kwargs)


class Aten(Namespace):
    """The functions by their dispatcher's names, each made when it is first asked for.

    A name is that of a function of `weft` or of `weft.nn.functional`, with a prefix one of `weft.linalg`, `weft.fft` or
    `weft.special` (``linalg_inv``), or a method of Tensor (``add_``, ``view``).

    Examples
    --------
    >>> weft.ops.aten.slice.Tensor(weft.arange(5), 0, 1, None, 2)
    tensor([1, 3])
    """

    def __getattr__(self, name: str) -> OpOverloadPacket:
        packet = None if name.startswith("__") else self.find(name)
        if packet is None:
            raise AttributeError(
                f"weft.ops.aten has no attribute {name!r}; it has the functions of weft, weft.nn.functional, "
                "weft.linalg, weft.fft and weft.special, and the methods of Tensor"
            )
        setattr(self, name, packet)
        return packet

    def find(self, name: str) -> OpOverloadPacket | None:
        """The function of a name; None if there is none."""
        if f"aten::{name}" in defined:
            return defined[f"aten::{name}"]
        function = function_named(name) or declared_as(name)
        return None if function is None else AtenPacket(name, function)


def declared_as(name: str) -> Any:
    """The function of an op that is declared, and is no public function, as the backward of an activation."""
    op = registry.get(f"core::{name}") or registry.get(f"nn::{name}")
    schema = next(iter(schemas_of(name).values()), None)
    if op is None or schema is None:
        return None
    names = [WEFTS.get(each.name, each.name) for each in schema.arguments]
    if names != list(op.arguments):
        return None
    defaults = {own: each.default_value for own, each in zip(names, schema.arguments) if each.has_default_value()}

    def function(*args: Any, **kwargs: Any) -> Any:
        given = {WEFTS.get(each, each): value for each, value in kwargs.items()}
        return op(**defaults | dict(zip(names, args)) | given)

    function.__doc__ = op.function.__doc__
    return function


WEFTS = {"self": "input", "grad_output": "output_grad"}


def function_named(name: str) -> Any:
    """The function that a dispatcher's name stands for, or None."""
    homes = [table[name] for table in (HOMES, *(each.ATEN for each in portions())) if name in table]
    if homes:
        home, _, own = homes[0].partition(":")
        return attribute_of(home, own, f"weft.ops.aten has no attribute {name!r}")
    paths = [place + name for place in PLACES]
    paths += [place + name.removeprefix(prefix) for prefix, place in PREFIXED.items() if name.startswith(prefix)]
    for path in (*paths, f"Tensor.{name}"):
        found: Any = weft
        for part in path.split("."):
            found = getattr(found, part, None)
        if callable(found) and not isinstance(found, type):
            return found
    return None


@cache
def schema_lines() -> dict[str, list[str]]:
    """The schemas of overloads, as text, by the name of the function."""
    text = (pkgutil.get_data("weft.ops", "_aten_schemas.txt") or b"").decode()
    lines: dict[str, list[str]] = {}
    for line in text.splitlines():
        lines.setdefault(line.partition("(")[0].partition(".")[0], []).append(line)
    return lines


@cache
def schemas_of(name: str) -> dict[str, FunctionSchema]:
    """The schemas of a function's overloads, by their names."""
    parsed = [parse_schema(f"aten::{line}") for line in schema_lines().get(name, ())]
    return {each.overload_name or "default": each for each in parsed}


aten = Aten("aten")
