"""Check that public functions and layers have the docstrings that CONTRIBUTING.md asks for.

A function or method with two or more arguments has a ``Parameters`` section that names each, and ``Examples`` with
``>>>``; so has a class of optimizers, schedules, data and distributions. A layer has both, and ``Shapes`` with an entry
``output``. What lacks something is listed, module by module.
"""

import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import weft
import weft.distributions
import weft.linalg
import weft.nn.utils.parametrizations
import weft.nn.utils.prune
import weft.optim.swa_utils
import weft.special
import weft.utils.data
import weft.vision.ops
import weft.vision.transforms.functional
from weft.ops._declare import public_functions
from weft.ops._families import all_functions

NAMESPACES = (
    weft,
    weft.nn.functional,
    weft.nn.init,
    weft.nn.utils,
    weft.nn.utils.parametrizations,
    weft.nn.utils.parametrize,
    weft.nn.utils.prune,
    weft.nn.utils.rnn,
    weft.optim.swa_utils,
    weft.utils.data,
    weft.linalg,
    weft.fft,
    weft.special,
    weft.signal.windows,
    weft.vision.ops,
    weft.vision.transforms.functional,
)
CLASSES = (weft.optim, weft.optim.lr_scheduler, weft.optim.swa_utils, weft.utils.data, weft.distributions)
# Classes whose methods are looked at as well; of Tensor those that are no functions of weft's.
WITH_METHODS = (
    weft.Tensor,
    weft.nn.Module,
    weft.nn.Embedding,
    weft.nn.EmbeddingBag,
    weft.nn.MultiheadAttention,
    weft.optim.Optimizer,
)
# What means the same everywhere: the tensor that the result is written into, NumPy's words for dim and keepdim, what
# distributions and their transforms have from `Distribution` and `Transform`.
EVERYWHERE = {"out", "axis", "keepdims", "validate_args", "cache_size"}
HEADING = re.compile(r"^(\S.*)\n-{3,}$", re.MULTILINE)


def sections(docstring: str) -> dict[str, str]:
    """The sections of a NumPy-style docstring, by their titles."""
    pieces = HEADING.split(docstring)
    return {title.strip(): body.strip("\n") for title, body in zip(pieces[1::2], pieces[2::2])}


def entries(section: str) -> set[str]:
    """The names that a section describes: those of ``stride, dilation : int``, without the stars of ``*size``."""
    lines = [line for line in section.splitlines() if line and not line.startswith(" ")]
    return {name.strip().lstrip("*") for line in lines for name in line.partition(" : ")[0].split(",")}


def arguments(function: Any, method: bool = False) -> list[str]:
    """The parameters to be described: all but private ones, those that are the same everywhere, and ``**kwargs``."""
    try:
        listed = list(inspect.signature(function).parameters.values())
    except ValueError:  # builtin
        return []
    return [
        each.name
        for each in listed[1 if method else 0 :]
        if not each.name.startswith("_")
        and each.name not in EVERYWHERE
        and each.kind is not each.VAR_KEYWORD
        and not (each.kind is each.VAR_POSITIONAL and each.name == "args")
    ]


def lacks(value: Any, names: list[str]) -> list[str]:
    """What the docstring of a function or class with these parameters lacks."""
    found = sections(inspect.getdoc(value) or "")
    described = entries(found.get("Parameters", ""))
    missing = [name for name in names if name not in described]
    if ">>>" not in found.get("Examples", ""):
        missing.append("Examples")
    if computes(value) and "output" not in entries(found.get("Shapes", "")):
        missing.append("Shapes")
    return missing


def computes(value: Any) -> bool:
    """Whether it is a layer that has a ``forward``, as containers have none."""
    layer = isinstance(value, type) and issubclass(value, weft.nn.Module)
    return layer and value.forward is not weft.nn.Module.forward


def public(namespace: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a namespace offers, by name."""
    for name in getattr(namespace, "__all__", None) or dir(namespace):
        if not name.startswith("_"):
            yield name, getattr(namespace, name, None)


def documented() -> Iterator[tuple[str, Any, list[str]]]:
    """Every function and layer to be checked: its name for people, itself, its parameters."""
    for namespace in NAMESPACES:
        for name, value in public(namespace):
            if inspect.isfunction(value) and home(value).startswith("weft") and len(arguments(value)) > 1:
                yield f"{namespace.__name__}.{name}", value, arguments(value)
    for owner in WITH_METHODS:
        for name in dir(owner):
            function = getattr(getattr(owner, name), "__func__", getattr(owner, name))  # also of a class method
            if not inspect.isfunction(function) or name.startswith("_"):
                continue
            of_weft = owner is weft.Tensor and any(hasattr(weft, each) for each in (name, name.removesuffix("_")))
            if not of_weft and len(names := arguments(function, method=True)) > 1:
                yield f"{owner.__name__}.{name}", function, names
    for name, value in public(weft.nn):
        if inspect.isclass(value) and issubclass(value, weft.nn.Module) and value is not weft.nn.Module:
            yield f"weft.nn.{name}", value, arguments(value.__init__, method=True)
    for namespace in CLASSES:
        for name, value in public(namespace):
            if inspect.isclass(value) and home(value).startswith("weft"):
                yield f"{namespace.__name__}.{name}", value, arguments(value.__init__, method=True)


# Functions that are made of declarations, which are shown as weft's own once somebody asks for overrides.
HOMES = {id(value): value.__module__ for value in (all_functions() | public_functions([weft.special])).values()}


def home(value: Any) -> str:
    """The module that a function or class is written in."""
    if isinstance(value, type):
        return value.__module__
    return HOMES.get(id(value)) or str(inspect.unwrap(value).__globals__["__name__"])


def main() -> int:
    """Say what each docstring lacks, module by module; the exit status is 1 if one does."""
    found: dict[str, list[str]] = defaultdict(list)
    seen = set()
    for name, value, names in documented():
        if id(value) not in seen and (missing := lacks(value, names)):
            found[home(value)].append(f"{name}: {', '.join(missing)}")
        seen.add(id(value))
    for module in sorted(found):
        print(f"check_docstrings: {module}:", *found[module], sep="\n    ", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
