"""Write the stubs that tell editors and type checkers what the declarations of ops make at run time.

python scripts/make_stubs.py [--check]

``weft/_api.pyi`` lists what ``import weft`` offers, ``weft/_methods.pyi`` what the ops put on Tensor,
``weft/nn/functional/__init__.pyi`` the functions of neural networks, and ``weft/ops/_lazy_names.py`` what families have
that are imported when first asked for. Types are those that the declarations are annotated with. With ``--check``
nothing is written; the exit status says whether they are current.
"""

import argparse
import ast
import contextlib
import importlib
import inspect
import os
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import weft
from weft import _api
from weft._engine.methods import quick_methods
from weft._engine.tensor import TensorBase, state
from weft._lazy import LAZY
from weft._tensor import base
from weft.ops import _foreach
from weft.ops._declare import public_functions

PACKAGES = Path(__file__).resolve().parent.parent / "packages"
CORE = PACKAGES / "core" / "src" / "weft"
FUNCTIONAL = PACKAGES / "nn" / "src" / "weft" / "nn" / "functional"
PORTIONS = ("distributions", "fx", "nn", "optim", "text", "utils", "vision")
NOTE = "Made by scripts/make_stubs.py (./dev lint --fix), not by hand."
RETURNS_A_TENSOR = ("weft.ops.creation", "weft.ops.pointwise")  # of other families one cannot tell from the signature
OTHER_KERNELS = {"core::assign", "core::assign_at", "core::spread"}  # what writes ask a backend for by name
INCOMPATIBLE = {"__eq__", "__ne__"}  # with object's, on purpose
COMPARISONS = INCOMPATIBLE | {"__lt__", "__le__", "__gt__", "__ge__"}  # object has them, and Tensor's are others
# The names that annotations may use, and where stubs have them from. There each begins with an underscore: weft and
# Tensor have names of their own like int, float and dtype.
TYPES = {
    "builtins": "bool bytes complex dict float int list slice str tuple type",
    "collections.abc": "Callable Iterable Iterator Mapping Sequence",
    "typing": "Any Literal overload",
    "weft._devices.devices": "device",
    "weft._dtypes.dtypes": "dtype",
    "weft._tensor.base": "Tensor",
    "weft._tensor.layout": "layout memory_format",
    "weft._tensor.size": "Size",
    "weft.nn.functional.loss": "LinearCrossEntropyOptions",
    "weft.random": "Generator",
    "weft.types": "DType Device Layout MemoryFormat Number Scalar",
}
HOMES = {name: home for home, names in TYPES.items() for name in names.split()}
UNCHANGED = {"Any", "Tensor"}  # imported by every stub
TWO = "_tuple[Tensor, Tensor]"
EITHER = f"Tensor | {TWO}"  # by ``return_indices``


class Renamed(ast.NodeTransformer):
    """Rename what an annotation speaks of to what a stub calls it; LookupError where a stub does not have it."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in ("TensorBase", "object"):
            return ast.Name("Tensor" if node.id == "TensorBase" else "Any")
        if node.id not in HOMES:
            raise LookupError(node.id)
        return node if node.id in UNCHANGED else ast.Name(f"_{node.id}")

    def visit_Attribute(self, node: ast.Attribute) -> ast.Name:
        if not isinstance(node.value, ast.Name) or node.value.id != "weft":
            raise LookupError(ast.unparse(node))
        return self.visit_Name(ast.Name(node.attr))


def annotation(given: Any) -> str:
    """How a stub writes what a parameter or result is annotated with; Any where it cannot be said."""
    if given is inspect.Parameter.empty:
        return "Any"
    text = given if isinstance(given, str) else getattr(given, "__name__", "")
    try:
        return ast.unparse(Renamed().visit(ast.parse(text, mode="eval")))
    except (LookupError, SyntaxError):
        return "Any"


def imports(lines: list[str]) -> Iterator[str]:
    """The imports of the types that the lines of a stub speak of."""
    used = set(re.findall(r"\b_(\w+)", "\n".join(lines)))
    for home, names in TYPES.items():
        chosen = [f"{name} as _{name}" for name in names.split() if name in used and name not in UNCHANGED]
        if chosen:
            yield f"from {home} import {', '.join(chosen)}"


def default(value: Any) -> str:
    """How a stub writes a parameter's default."""
    plain = value is None or type(value) in (bool, int, float, str)
    return repr(value) if plain and value not in (float("inf"), float("-inf")) and value == value else "..."


def parameters(function: Any, method: bool) -> str:
    """The parameters of a function, or of the method that has a function's first argument as self."""
    pieces, star, slash = [], False, False
    listed = list(inspect.signature(function).parameters.values())
    for position, each in enumerate(listed):
        if method and position == 0:
            pieces.append("self")
            slash = each.kind is each.POSITIONAL_ONLY
            continue
        if slash and each.kind is not each.POSITIONAL_ONLY:
            pieces.append("/")
        slash = each.kind is each.POSITIONAL_ONLY
        if each.kind is each.KEYWORD_ONLY and not star:
            pieces.append("*")
        star = star or each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        prefix = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        value = "" if each.default is each.empty else f" = {default(each.default)}"
        pieces.append(f"{prefix}{each.name}: {annotation(each.annotation)}{value}")
    return ", ".join(pieces)


def is_inplace_operator(name: str) -> bool:
    """Whether ``a += b`` or its like is meant."""
    return name.startswith("__i") and f"__{name[3:]}" in vars(weft.Tensor)


def returned(function: Any, name: str) -> str:
    """The type of the result, as far as the declaration says it."""
    inplace = name.endswith("_") and not name.endswith("__")
    operator = name.startswith("__") and function.__module__.startswith(("weft._engine", "weft.ops._declare"))
    if inplace or operator or is_inplace_operator(name) or function.__module__ in RETURNS_A_TENSOR:
        return "Tensor"
    return annotation(inspect.signature(function).return_annotation)


def definition(name: str, function: Any, indent: str, method: bool) -> Iterator[str]:
    """The lines of one function or method."""
    ignore = "  # type: ignore[override]" if method and name in INCOMPATIBLE else ""
    listed = "self, other: Any" if method and is_inplace_operator(name) else parameters(function, method)
    result = returned(function, name)
    if result == EITHER:
        for flag, each in (("_Literal[False] = False", "Tensor"), ("_Literal[True]", TWO)):
            star = "" if "=" in flag else "*, "
            given = listed.replace("return_indices: _bool = False", f"{star}return_indices: {flag}")
            yield f"{indent}@_overload\n{indent}def {name}({given}) -> {each}: ..."
        yield f"{indent}@_overload"
    yield f"{indent}def {name}({listed}) -> {result}:{ignore}"
    summary = (inspect.getdoc(function) or "").strip().partition("\n\n")[0].replace("\n", " ").replace("\\", "\\\\")
    yield f'{indent}    """{summary}"""' if summary and not summary.endswith('"') else f"{indent}    ..."


def api() -> Iterator[str]:
    """The lines of ``_api.pyi``."""
    from weft.ops import all_functions

    yield f'"""What ``import weft`` offers. {NOTE}"""\n'
    yield "from typing import Any\n"
    made = all_functions()
    core = {module.name for module in pkgutil.iter_modules([str(CORE)]) if not module.name.startswith("_")}
    for name in sorted(core | set(PORTIONS)):
        if name not in vars(_api) or isinstance(vars(_api)[name], ModuleType):
            yield f"import weft.{name} as {name}"
    others = {name: value for name, value in vars(_api).items() if not name.startswith("_") and name not in made}
    del others["weft"], others["functions"]
    instances = []
    for name, value in sorted(others.items()):
        home, real = getattr(value, "__module__", None), getattr(value, "__name__", None)
        if home and real and getattr(sys.modules.get(home), real, None) is value:
            yield f"from {home} import {real} as {name}"
        elif not isinstance(value, ModuleType):
            instances.append((name, type(value)))
    for home, names in LAZY.items():
        found = static_names(importlib.import_module(home))
        yield from (f"from {home} import {name} as {name}" for name in sorted(names.split()) if name in found)
        instances += [(name, object) for name in sorted(names.split()) if name not in found]
    lines = []
    for name, kind in instances:
        known = "_dtype" if kind is weft.dtype else kind.__name__ if others.get(kind.__name__) is kind else "Any"
        lines.append(f"{name}: {known}")
    for name, function in sorted(made.items()):
        lines += ["", *definition(name, function, "", method=False)]
    yield from imports(lines)
    yield ""
    yield from lines


def functional() -> Iterator[str]:
    """The lines of ``nn/functional/__init__.pyi``."""
    from weft.nn import functional as F

    yield f'"""Functions of neural networks. {NOTE}"""\n'
    yield "from typing import Any\n"
    yield "from weft._tensor.base import Tensor"
    lines = []
    for name in sorted(F.__all__):
        lines += ["", *definition(name, getattr(F, name), "", method=False)]
    for name, value in sorted(vars(F).items()):
        if name.isupper():
            lines += ["", f"{name}: {value.__class__.__name__}[str, int]"]
    yield from imports(lines)
    yield from lines


def static_names(module: ModuleType) -> set[str]:
    """What a module's text defines, which is what a type checker finds in it."""
    names = set()
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return names


def methods() -> Iterator[str]:
    """The lines of ``_methods.pyi``."""
    yield f'"""What the ops put on Tensor. {NOTE}"""\n'
    yield "from typing import Any\n"
    yield "from weft._engine.tensor import TensorBase"
    yield "from weft._tensor.base import Tensor"
    lines = list(attached_methods())
    yield from imports(lines)
    yield "\nclass Methods(TensorBase):"
    yield '    """The methods and operators that declarations and other modules attach."""'
    yield from lines


def attached_methods() -> Iterator[str]:
    """The lines of the class in ``_methods.pyi``."""
    for name, value in sorted((vars(TensorBase) | quick_methods | vars(weft.Tensor)).items()):
        if name in written_by_hand() or (name in dir(object) and name not in COMPARISONS):
            continue
        if isinstance(value, property):
            yield f"\n    @property\n    def {name}(self) -> Any: ..."
            if value.fset is not None:
                yield f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ..."
        elif inspect.isroutine(value) and not isinstance(value, (classmethod, staticmethod)):
            yield ""
            yield from definition(name, value, "    ", method=True)
        elif not name.startswith("__"):
            yield f"\n    {name}: Any"


def later() -> Iterator[str]:
    """The lines of ``ops/_lazy_names.py``."""
    from weft.ops import FAMILIES, LAZY_FAMILIES

    yield f'"""What families have that are imported when first asked for.\n\n{NOTE}\n"""\n'
    at_once = public_functions(importlib.import_module(f"weft.ops.{family}") for family in FAMILIES)
    found = {family: importlib.import_module(f"weft.ops.{family}") for family in LAZY_FAMILIES}
    functions = {family: sorted(set(public_functions([module])) - set(at_once)) for family, module in found.items()}
    # A family's methods are those that its functions became, and the variants in place that it made.
    attached = {
        family: sorted(
            name
            for name, value in vars(weft.Tensor).items()
            if inspect.isfunction(value) and home_of(value) == module.__name__
        )
        for family, module in found.items()
    }
    for title, table in (("FUNCTIONS", functions), ("METHODS", attached)):
        yield f"{title} = {{"
        for family, names in table.items():
            if names:
                yield f'    "{family}": """'
                yield from textwrap.wrap(" ".join(names), 118)
                yield '""",'
        yield "}"


def kernel_names() -> Iterator[str]:
    """The lines of ``_plugins/kernel_names.py``."""
    for portion in ("", *PORTIONS, "linalg", "fft", "special", "sparse", "signal", "masked", "nested"):
        try:
            package = importlib.import_module(f"weft.{portion}".rstrip("."))
        except ImportError:
            continue
        for info in (
            pkgutil.walk_packages(package.__path__, f"{package.__name__}.") if hasattr(package, "__path__") else ()
        ):
            if info.name.startswith(("weft.backend_", "weft.ops", "weft.nn", "weft.optim", "weft.vision", "weft.text")):
                with contextlib.suppress(ImportError):
                    importlib.import_module(info.name)
    steps = [each.name for name, module in sys.modules.items() if name.startswith("weft.optim")
             for each in vars(module).values() if str(getattr(each, "name", "")).startswith("optim::")]  # fmt: skip
    lists = [f"foreach::{name.removeprefix('_foreach_')}" for name in dir(_foreach) if name.startswith("_foreach_")]
    names = {op.name for op in state.ops} | set(steps) | set(lists) | OTHER_KERNELS
    yield f'"""For which names a backend may have kernels.\n\n{NOTE}\n"""\n'
    yield "NAMES = {"
    for space in sorted({name.partition("::")[0] for name in names}):
        yield f'    "{space}": """'
        listed = sorted(name.partition("::")[2] for name in names if name.startswith(f"{space}::"))
        yield from textwrap.wrap(" ".join(listed), 118)
        yield '""",'
    yield "}"


def home_of(method: Any) -> str:
    """The module of the declaration that a method came from."""
    source = inspect.getclosurevars(method).nonlocals.get("function") if "." in method.__qualname__ else None
    return str(getattr(source or method, "__module__", ""))


def written_by_hand() -> set[str]:
    """What the body of the class itself defines, or its base."""
    tree = ast.parse(inspect.getsource(base))
    (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    names = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    fields = {name for name in vars(TensorBase) if not name.startswith("__")}  # its operators are Tensor's, seen closer
    return names | fields | {"__module__", "__doc__", "__dict__", "__weakref__"}


def main() -> int:
    """Write both files, or compare them with what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a stub is not current")
    check = parser.parse_args().check
    stale = []
    made = {
        CORE / "ops" / "_lazy_names.py": later,
        CORE / "_api.pyi": api,
        CORE / "_methods.pyi": methods,
        CORE / "_plugins" / "kernel_names.py": kernel_names,
        FUNCTIONAL / "__init__.pyi": functional,
    }
    for file, make in made.items():
        lines = make()
        text = "\n".join(lines) + "\n"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(str(file.relative_to(PACKAGES)))
            if not check:
                file.write_text(text, encoding="utf-8")
                if make is later:  # what this process has imported is that of the old one
                    os.execv(sys.executable, [sys.executable, *sys.argv])
    if check and stale:
        print(f"make_stubs: not current: {', '.join(stale)}; ./dev lint --fix makes them anew", file=sys.stderr)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
