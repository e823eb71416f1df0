"""Write the stubs that tell editors and type checkers what the declarations of ops make at run time.

python scripts/make_stubs.py [--check]

``weft/_api.pyi`` lists what ``import weft`` offers, ``weft/_methods.pyi`` what the ops put on Tensor,
``weft/return_types.pyi`` the types of named results, ``weft/special.pyi`` the special functions and
``weft/nn/functional/__init__.pyi`` those of neural networks, with the types that declarations are annotated with;
``weft/ops/_lazy_names.py`` what families have that are imported when first asked for, and
``weft/_plugins/kernel_names.py`` the names of all ops. With ``--check`` nothing is written; the exit status says
whether they are current.
"""

import argparse
import ast
import builtins
import contextlib
import importlib
import inspect
import os
import pkgutil
import sys
import textwrap
import typing
from collections.abc import Container, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import weft
import weft.linalg
import weft.special
import weft.types
from weft import _api, return_types
from weft._dtypes.dtypes import COMPLEX
from weft._engine.methods import declared_methods
from weft._engine.tensor import TensorBase, state
from weft._interception.torch_function import _asking
from weft._lazy import LAZY, lazy, portions
from weft._tensor import base
from weft.library.multi_tensor import MultiTensorStep
from weft.ops import _foreach
from weft.ops._declare import public_functions

PACKAGES = Path(__file__).resolve().parent.parent / "packages"
CORE = PACKAGES / "core" / "src" / "weft"
FUNCTIONAL = PACKAGES / "nn" / "src" / "weft" / "nn" / "functional"
PORTIONS = ("distributions", "export", "fx", "nn", "onnx", "optim", "text", "utils", "vision")
NOTE = "Made by scripts/make_stubs.py (./dev lint --fix), not by hand."
OTHER_KERNELS = {"core::assign", "core::assign_at", "core::spread"}  # what writes ask a backend for by name
COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}  # object has them, and Tensor's are others

FLAG, EITHER = "return_indices: bool = False", "Tensor | tuple[Tensor, Tensor]"
OVER_ALL = "(input: Tensor, *, out: Tensor | None = None) -> Tensor"
OF_TWO = "(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor"
ALONG = "(input: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, ...] | list[Tensor] | None = None)"
# Functions whose result is of another type for other arguments, form by form.
OVERLOADS = {
    "max": (OVER_ALL, OF_TWO, f"{ALONG} -> _return_types.max"),
    "min": (OVER_ALL, OF_TWO, f"{ALONG} -> _return_types.min"),
    "median": ("(input: Tensor) -> Tensor", f"{ALONG} -> _return_types.median"),
    "nanmedian": ("(input: Tensor) -> Tensor", f"{ALONG} -> _return_types.nanmedian"),
    "unique": (
        "(input: Tensor, sorted: bool = True, return_inverse: Literal[False] = False, "
        "return_counts: Literal[False] = False, dim: int | None = None) -> Tensor",
        "(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, "
        "dim: int | None = None) -> tuple[Tensor, ...]",
    ),
    "unique_consecutive": (
        "(input: Tensor, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, "
        "dim: int | None = None) -> Tensor",
        "(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None)"
        " -> tuple[Tensor, ...]",
    ),
    "where": (
        "(condition: Tensor) -> tuple[Tensor, ...]",
        "(condition: Tensor, input: Tensor | Scalar, other: Tensor | Scalar, *, out: Tensor | None = None) -> Tensor",
    ),
    "nonzero": (
        "(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor",
        "(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]",
    ),
    "size": ("(input: Tensor, dim: None = None) -> Size", "(input: Tensor, dim: int) -> int"),
    "type": (
        "(self: Tensor, dtype: None = None, non_blocking: bool = False) -> str",
        "(self: Tensor, dtype: DType | str | type, non_blocking: bool = False) -> Tensor",
    ),
    **dict.fromkeys(
        ("atleast_1d", "atleast_2d", "atleast_3d"),
        (
            "(tensor: Tensor, /) -> Tensor",
            "(first: Tensor, second: Tensor, /, *others: Tensor) -> tuple[Tensor, ...]",
            "(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]",
        ),
    ),
}


def default(value: Any) -> str:
    """How a stub writes a parameter's default."""
    plain = value is None or type(value) in (bool, int, float, str)
    return repr(value) if plain and value not in (float("inf"), float("-inf")) and value == value else "..."


def is_inplace_operator(name: str) -> bool:
    """Whether ``a += b`` or its like is meant."""
    return name.startswith("__i") and f"__{name[3:]}" in vars(weft.Tensor)


def is_operator(function: Any) -> bool:
    """Whether a declaration made it for one of Python's operators."""
    home = str(getattr(function, "__module__", ""))
    return home in ("weft._engine.dispatch", "weft.ops._declare") and "operator" in function.__qualname__


def is_pointwise(function: Any) -> bool:
    """Whether `pointwise` declared it: what was decorated is the kernel, whose parameters are arrays."""
    return hasattr(function, "declaration") and getattr(function, "__wrapped__", None) is _asking.get(function)


def inplace_source(function: Any) -> Any:
    """The function that a method writes the results of into its first argument; None of others."""
    wrapped = getattr(function, "__wrapped__", None) or function  # of those that have a common case of their own
    made = _asking.get(wrapped, wrapped)
    code = getattr(made, "__code__", None)
    if code is None or not code.co_filename.endswith("_declare.py") or not {"function", "name"} <= {*code.co_freevars}:
        return None
    return inspect.getclosurevars(made).nonlocals["function"]


def parameters_of(function: Any, out: bool) -> Iterator[inspect.Parameter]:
    """What a function takes; of declared functions, ``out`` too if that is wanted."""
    if is_pointwise(function):
        declaration = function.declaration
        number = "Scalar" if COMPLEX in declaration.dtypes else "Number"
        numbers = declaration.arguments if declaration.numbers is None else declaration.numbers
        for name in declaration.arguments:
            kind = f"Tensor | {number}" if name in numbers and len(declaration.arguments) > 1 else "Tensor"
            yield inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
    else:
        listed = [each for each in inspect.signature(function).parameters.values() if each.name != "out" or out]
        yield from (each for each in listed if each.kind is not each.VAR_KEYWORD)
        if not getattr(function, "takes_out", False) or not out:
            yield from (each for each in listed if each.kind is each.VAR_KEYWORD)
            return
    if out:
        several = inspect.unwrap(function).__annotations__.get("return", "").startswith("tuple[")
        kind = "tuple[Tensor, ...] | list[Tensor] | None" if several else "Tensor | None"
        yield inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)


class Stub:
    """The text of one stub, and the imports that its annotations need.

    Parameters
    ----------
    names : container of str
        What the stub defines: a type of such a name gets another one.
    offers : dict of str to object
        What it imports anyhow.
    """

    def __init__(self, names: Container[str], offers: dict[str, Any]) -> None:
        self.names = names
        self.offers = offers
        self.imports: set[str] = set()

    def annotation(self, written: Any, scope: dict[str, Any]) -> str:
        """An annotation, with the names that the stub has for the types that it names in some scope."""
        scope = vars(builtins) | vars(weft.types) | scope
        tree = ast.parse(written if isinstance(written, str) else inspect.formatannotation(written), mode="eval")
        return ast.unparse(Renamed(self, scope).visit(tree))

    def name_of(self, name: str, value: Any) -> str:
        """The name of a type in this stub, which imports it."""
        if self.offers.get(name) is value:
            return name
        if vars(typing).get(name) is value:
            home, real = "typing", name
        elif name in weft.types.__all__ and vars(weft.types)[name] is value:
            home, real = "weft.types", name
        else:
            home, real = value.__module__, value.__qualname__
        alias = f"_{real}" if real in self.names else real
        if home != "builtins" or alias != real:
            self.imports.add(f"from {home} import {real}" + (f" as {alias}" if alias != real else ""))
        return alias

    def parameters(self, function: Any, method: bool) -> str:
        """The parameters of a function, or of the method that has a function's first argument as self."""
        pieces, star, slash = [], False, False
        source = inplace_source(function)
        out = not method and source is None
        function = source or function
        for position, each in enumerate(parameters_of(function, out)):
            if method and position == 0:
                pieces.append("self")
                slash = each.kind is each.POSITIONAL_ONLY
                if each.kind is not each.VAR_POSITIONAL:
                    continue
            if slash and each.kind is not each.POSITIONAL_ONLY:
                pieces.append("/")
            slash = each.kind is each.POSITIONAL_ONLY
            if each.kind is each.KEYWORD_ONLY and not star:
                pieces.append("*")
            star = star or each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
            prefix = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
            written = "Any" if each.annotation is each.empty else each.annotation
            if is_operator(function) and each.name == "other":
                written = "Tensor" if "product" in function.__qualname__ else "Tensor | Scalar"
            value = "" if each.default is each.empty else f" = {default(each.default)}"
            pieces.append(f"{prefix}{each.name}: {self.annotation(written, scope_of(function))}{value}")
        return ", ".join(pieces)

    def returned(self, function: Any, name: str) -> str:
        """The type of the result, as the declaration says it."""
        source = inspect.unwrap(function)
        written = getattr(source, "__annotations__", {}).get("return", Any)
        inplace = name.endswith("_") and not name.endswith("__") and written in (Any, "Any")
        if inplace or is_operator(function) or is_inplace_operator(name) or is_pointwise(function):
            return self.name_of("Tensor", weft.Tensor)
        if str(written).startswith("tuple[") and source.__name__ in dir(return_types):
            self.imports.add("from weft import return_types as _return_types")
            return f"_return_types.{source.__name__}"
        return self.annotation(written, scope_of(function))

    def overload(self, name: str, form: str, method: bool) -> str:
        """One of the forms of a function whose result is of another type for other arguments."""
        (tree,) = ast.parse(f"def {name}{form}: ...").body
        assert isinstance(tree, ast.FunctionDef)
        if method:
            tree.args.args[0] = ast.arg("self")
            keep = [place for place, each in enumerate(tree.args.kwonlyargs) if each.arg != "out"]
            tree.args.kwonlyargs = [tree.args.kwonlyargs[place] for place in keep]
            tree.args.kw_defaults = [tree.args.kw_defaults[place] for place in keep]
        scope = {"Literal": typing.Literal, "_return_types": return_types}
        self.imports |= {"from typing import overload as _overload", "from weft import return_types as _return_types"}
        Renamed(self, vars(builtins) | vars(weft.types) | scope).visit(tree.args)
        assert tree.returns is not None
        tree.returns = Renamed(self, vars(builtins) | vars(weft.types) | scope).visit(tree.returns)
        return ast.unparse(ast.fix_missing_locations(tree)).partition("\n")[0]

    def definition(self, name: str, function: Any, indent: str, method: bool) -> Iterator[str]:
        """The lines of one function or method."""
        if method and getattr(_asking.get(function, function), "__module__", "") == "weft._lazy":
            function = lazy(name)
        summary = (inspect.getdoc(function) or "").strip().partition("\n\n")[0].replace("\n", " ").replace("\\", "\\\\")
        text = f'{indent}    """{summary}"""' if summary and not summary.endswith('"') else f"{indent}    ..."
        if name in OVERLOADS and getattr(weft, name, function) is function:  # a method may be another function
            for form in OVERLOADS[name]:
                yield f"{indent}@_overload"
                yield f"{indent}{self.overload(name, form, method)}"
                yield text
            return
        bases = {name, f"__{name[3:]}"} & (vars(TensorBase).keys() | COMPARISONS)
        narrower = method and bases and (is_operator(function) or is_inplace_operator(name))  # those take any object
        ignore = "  # type: ignore[override]" if narrower else ""
        if method and is_inplace_operator(name):
            listed = self.parameters(vars(weft.Tensor)[f"__{name[3:]}"], method)
        else:
            listed = self.parameters(function, method)
        result = self.returned(function, name)
        if result == EITHER and FLAG in listed:  # the general form, for a flag that is a variable, is the last
            self.imports |= {"from typing import Literal", "from typing import overload as _overload"}
            for flag, each in (("Literal[False] = False", "Tensor"), ("Literal[True]", "tuple[Tensor, Tensor]")):
                given = listed.replace(FLAG, f"{'' if '=' in flag else '*, '}return_indices: {flag}")
                yield f"{indent}@_overload\n{indent}def {name}({given}) -> {each}: ..."
            yield f"{indent}@_overload"
        yield f"{indent}def {name}({listed}) -> {result}:{ignore}"
        yield text


class Renamed(ast.NodeTransformer):
    """An annotation with the names that a stub has for the types of a scope."""

    def __init__(self, stub: Stub, scope: dict[str, Any]) -> None:
        self.stub = stub
        self.scope = scope

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A type by its name."""
        return ast.Name(self.stub.name_of(node.id, self.scope[node.id]))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """A type by its module and name."""
        if ast.unparse(node.value) == "_return_types":
            return node
        return ast.Name(self.stub.name_of(node.attr, eval(ast.unparse(node), self.scope)))


def scope_of(function: Any) -> dict[str, Any]:
    """The names that the annotations of a function may use."""
    return getattr(inspect.unwrap(function), "__globals__", {}) if not is_pointwise(function) else {}


def api() -> Iterator[str]:
    """The lines of ``_api.pyi``."""
    from weft.ops._families import all_functions

    yield f'"""What ``import weft`` offers. {NOTE}"""\n'
    made = all_functions()
    others = {name: value for name, value in vars(_api).items() if not name.startswith("_") and name not in made}
    del others["weft"], others["functions"]
    tables = dict(pair for table in (*(each.NAMES for each in portions()), LAZY) for pair in table.items())
    stub = Stub(vars(_api).keys() | made.keys() | set(" ".join(tables.values()).split()), others)
    lines = []
    later = {name: getattr(weft, name) for name in LAZY["weft.ops._foreach"].split()}  # made from a list of names
    for name, function in sorted((made | later).items()):
        lines += ["", *stub.definition(name, function, "", method=False)]
    yield from sorted(stub.imports | {"from typing import Any"})
    yield ""
    core = {module.name for module in pkgutil.iter_modules([str(CORE)]) if not module.name.startswith("_")}
    for name in sorted(core | set(PORTIONS)):
        if name not in vars(_api) or isinstance(vars(_api)[name], ModuleType):
            yield f"import weft.{name} as {name}"
    instances = []
    for name, value in sorted(others.items()):
        home, real = getattr(value, "__module__", None), getattr(value, "__name__", None)
        if home and real and getattr(sys.modules.get(home), real, None) is value:
            yield f"from {home} import {real} as {name}"
        elif not isinstance(value, ModuleType):
            instances.append((name, type(value)))
    for home, names in tables.items():
        found = static_names(importlib.import_module(home))
        yield from (f"from {home} import {name} as {name}" for name in sorted(names.split()) if name in found)
        instances += [(name, object) for name in sorted(names.split()) if name not in found and name not in later]
    yield "from weft._dtypes.dtypes import dtype as _dtype\n"
    for name, kind in instances:
        known = "_dtype" if kind is weft.dtype else kind.__name__ if others.get(kind.__name__) is kind else "Any"
        yield f"{name}: {known}"
    yield from lines


def static_names(module: ModuleType) -> set[str]:
    """What a module's text defines, which is what a type checker finds in it."""
    names = set()
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names |= {each.asname or each.name for each in node.names}
        elif isinstance(node, ast.Assign):
            names |= {each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return names


def methods() -> Iterator[str]:
    """The lines of ``_methods.pyi``."""
    found = {
        name: value
        for name, value in sorted((vars(TensorBase) | declared_methods | vars(weft.Tensor)).items())
        if name not in written_by_hand() and (name not in dir(object) or name in COMPARISONS)
    }
    stub = Stub(found, {})
    lines = []
    for name, value in found.items():
        if isinstance(value, property):
            written = getattr(value.fget, "__annotations__", {}).get("return", Any)
            kind = stub.annotation(written, getattr(value.fget, "__globals__", {}))
            lines.append(f"\n    @property\n    def {name}(self) -> {kind}: ...")
            if value.fset is not None:
                written = getattr(value.fset, "__annotations__", {}).get("value", Any)
                kind = stub.annotation(written, getattr(value.fset, "__globals__", {}))
                lines.append(f"    @{name}.setter\n    def {name}(self, value: {kind}) -> None: ...")
        elif inspect.isroutine(value) and not isinstance(value, (classmethod, staticmethod)):
            lines += ["", *stub.definition(name, value, "    ", method=True)]
        elif not name.startswith("__"):
            lines.append(f"\n    {name}: Any")
    yield f'"""What the ops put on Tensor. {NOTE}"""\n'
    yield from sorted(stub.imports | {"from typing import Any", "from weft._engine.tensor import TensorBase"})
    yield "\nclass Methods(TensorBase):"
    yield '    """The methods and operators that declarations and other modules attach."""'
    yield from lines


def functional() -> Iterator[str]:
    """The lines of ``nn/functional/__init__.pyi``."""
    from weft.nn import functional as F

    stub = Stub(set(F.__all__), {})
    lines = []
    for name in sorted(F.__all__):
        lines += ["", *stub.definition(name, getattr(F, name), "", method=False)]
    for name, value in sorted(vars(F).items()):
        if name.isupper():
            lines += ["", f"{name}: {value.__class__.__name__}[str, int]"]
    yield f'"""Functions of neural networks. {NOTE}"""\n'
    yield from sorted(stub.imports)
    yield from lines


def special() -> Iterator[str]:
    """The lines of ``special.pyi``."""
    stub = Stub(weft.special.__all__, {})
    lines = []
    for name in weft.special.__all__:
        lines += ["", *stub.definition(name, getattr(weft.special, name), "", method=False)]
    yield f'"""Special functions. {NOTE}"""\n'
    yield from sorted(stub.imports)
    yield from lines


def results() -> Iterator[str]:
    """The lines of ``return_types.pyi``."""
    from weft.ops._families import all_functions

    yield f'"""The types of named results. {NOTE}"""\n'
    yield "from typing import Any, NamedTuple\n"
    yield "from weft.types import Tensor\n"
    yield "all_return_types: list[Any]"
    fields = {name: fields.split() for fields, names in return_types.FIELDS.items() for name in names.split()}
    for name in sorted(fields):
        declared = all_functions().get(name) or getattr(weft.linalg, name.removeprefix("linalg_"), None)
        written = inspect.unwrap(declared).__annotations__.get("return", "")
        yield f"\nclass {name}(NamedTuple):"
        for field, kind in zip(fields[name], types_in(written, len(fields[name]))):
            yield f"    {field}: {kind}"


def types_in(written: str, count: int) -> list[str]:
    """The types of so many results by the annotation of a tuple of them; Tensor where it does not say."""
    tree = ast.parse(written, mode="eval").body if written.startswith("tuple[") else None
    if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Tuple) and len(tree.slice.elts) == count:
        return [ast.unparse(each) for each in tree.slice.elts]
    return ["Tensor"] * count


def later() -> Iterator[str]:
    """The lines of ``ops/_lazy_names.py``."""
    from weft.ops._families import FAMILIES, LAZY_FAMILIES

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
             for each in vars(module).values() if isinstance(each, MultiTensorStep)]  # fmt: skip
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
        CORE / "return_types.pyi": results,
        CORE / "special.pyi": special,
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
