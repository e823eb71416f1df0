"""How an ONNX operator is declared, once, and found by name and version."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

__all__ = ["NEWEST_OPSET", "Operator", "find", "operator"]

NEWEST_OPSET = 28  # of the default domain; what a newer one changes is not known here
ML, PREVIEW, TRAINING = "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator of the format from one version of its opset on.

    Its function takes the node's inputs as positional arguments, in ONNX's order, and its attributes as keywords, both
    by ONNX's names. An attribute that a later version made an input is bound to the parameter of that name. It returns
    a tensor, a list (a sequence), None (an empty optional) or, if the operator has several outputs, a tuple.

    Attributes
    ----------
    name, domain : str
    since : int
        The first version of the opset whose semantics these are.
    function : callable
        Two names of keywords are not attributes: ``context``, the `Context` of the run, and ``outputs``, how many
        outputs the node has.
    host : frozenset of str
        Inputs that the function wants as Python values (numbers, lists of numbers): shapes, axes, counts.
    host_tensors : frozenset of str
        Inputs whose values it reads, but wants as tensors.
    frozen : frozenset of str
        Inputs that no training changes: statistics, limits, scales of a quantization.
    shape_only : bool
        Whether the results depend on the inputs' shapes alone, and are made on the CPU.
    required, most : int
        How many inputs are needed, and may be given; -1 for any number.
    inputs : tuple of str
        The names of the positional parameters.
    attributes : dict
        Whether each attribute is needed.
    """

    name: str
    domain: str
    since: int
    function: Callable[..., Any]
    host: frozenset[str]
    host_tensors: frozenset[str]
    frozen: frozenset[str]
    shape_only: bool
    inputs: tuple[str, ...]
    required: int
    most: int
    attributes: dict[str, bool]
    takes_context: bool
    takes_outputs: bool

    def __reduce__(self) -> tuple[Any, ...]:
        return find, (self.domain, self.name, self.since)

    def input_name(self, position: int) -> str:
        """The parameter that an input is bound to."""
        return self.inputs[min(position, len(self.inputs) - 1)] if self.inputs else ""

    def trains(self, position: int) -> bool:
        """Whether training changes an input."""
        return self.input_name(position) not in self.host | self.host_tensors | self.frozen


OPERATORS: dict[tuple[str, str], list[Operator]] = {}


def operator(
    *names: str,
    since: int = 1,
    domain: str = "",
    host: str = "",
    host_tensors: str = "",
    frozen: str = "",
    shape_only: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: declare what runs the operators of these names.

    Parameters
    ----------
    *names : str
    since : int
        The first version of the opset with this meaning, where an earlier one had another.
    domain : str
    host, host_tensors, frozen : str
        Names of inputs; see `Operator`.
    shape_only : bool
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        parameters = list(inspect.signature(function).parameters.values())
        positional = [each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
        variadic = [each for each in parameters if each.kind is each.VAR_POSITIONAL]
        keywords = {each.name: each.default is each.empty for each in parameters if each.kind is each.KEYWORD_ONLY}
        context, outputs = keywords.pop("context", None), keywords.pop("outputs", None)
        for name in names:
            made = Operator(
                name,
                domain,
                since,
                function,
                frozenset(host.split()),
                frozenset(host_tensors.split()),
                frozenset(frozen.split()),
                shape_only,
                tuple(each.name for each in [*positional, *variadic]),
                sum(each.default is each.empty for each in positional),
                -1 if variadic else len(positional),
                keywords,
                context is not None,
                outputs is not None,
            )
            versions = OPERATORS.setdefault((domain, name), [])
            versions.append(made)
            versions.sort(key=lambda each: each.since)
        return function

    return declare


@cache
def load_families() -> None:
    """Import the folder of declarations."""
    folder = importlib.import_module("weft.onnx._importer.operators")
    for family in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"{folder.__name__}.{family.name}")


def find(domain: str, name: str, version: int) -> Operator | None:
    """What runs an operator in files of an opset version; None if nothing does."""
    load_families()
    fitting = [each for each in OPERATORS.get((domain, name), ()) if each.since <= version]
    return fitting[-1] if fitting else None
