"""Which of PyTorch's names a library's source uses, and which of them weft has not."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from _weft_as_torch import ROOTS


@dataclass(frozen=True)
class Use:
    """A name of PyTorch's in a library's source.

    Attributes
    ----------
    name : str
        ``"torch.nn.functional.relu"``.
    place : str
        File and line.
    at_import : bool
        It is asked for when the file is imported, and nothing there catches the error.
    """

    name: str
    place: str
    at_import: bool


def missing_names(library: str) -> dict[str, list[Use]]:
    """The names that weft has not, with where the library uses them.

    Raises
    ------
    ModuleNotFoundError
        If the library is not installed.
    """
    known: dict[str, bool] = {}
    missing: dict[str, list[Use]] = {}
    for use in uses(library):
        if use.name not in known:
            known[use.name] = has(use.name)
        if not known[use.name]:
            missing.setdefault(use.name, []).append(use)
    return missing


def has(name: str) -> bool:
    """Whether weft answers to a dotted name of PyTorch's, where ``torch`` is weft."""
    parts = name.split(".")
    found: object = None
    for place, part in enumerate(parts):
        if place:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if hasattr(found, part):
                    found = getattr(found, part)
                    continue
        if place and not isinstance(found, ModuleType):
            return not isinstance(found, type)  # what an object has, its class says, which is not known here
        try:
            found = importlib.import_module(".".join(parts[: place + 1]))
        except ImportError:
            return False
    return True


def uses(library: str) -> Iterator[Use]:
    """The names of PyTorch's in the files of an installed library."""
    for file in sources(library):
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue  # templates, and code for other versions of Python
        reader = Reader(str(file))
        reader.visit(tree)
        yield from reader.uses


def sources(library: str) -> list[Path]:
    """The files of an installed library, without importing it."""
    spec = importlib.util.find_spec(library)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {library!r}", name=library)
    origin = Path(spec.origin)
    return sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]


class Reader(ast.NodeVisitor):
    """Collects PyTorch's names from a file, with the names under which it imports them."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.uses: list[Use] = []
        self.names: dict[str, str] = {}  # of the file: PyTorch's
        self.guards = 0  # around this line: functions, and statements that may be passed over

    def add(self, name: str, node: ast.AST) -> None:
        """Note a use."""
        line = getattr(node, "lineno", 0)
        self.uses.append(Use(name, f"{self.file}:{line}", not self.guards))

    def visit_Import(self, node: ast.Import) -> None:
        for each in node.names:
            if each.name.partition(".")[0] in ROOTS:
                self.add(each.name, node)
                bound = each.asname or each.name.partition(".")[0]
                self.names[bound] = each.name if each.asname else bound

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level == 0 and (node.module or "").partition(".")[0] in ROOTS:
            for each in node.names:
                if each.name == "*":
                    self.add(str(node.module), node)
                else:
                    self.add(f"{node.module}.{each.name}", node)
                    self.names[each.asname or each.name] = f"{node.module}.{each.name}"

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in self.names and isinstance(node.ctx, ast.Load):
            self.add(".".join([self.names[inner.id], *reversed(parts)]), node)
        else:
            self.generic_visit(node)

    def guarded(self, node: ast.AST) -> None:
        """Read what runs later, or not at all."""
        self.guards += 1
        self.generic_visit(node)
        self.guards -= 1

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        defaults = [each for each in (*node.args.defaults, *node.args.kw_defaults, *node.decorator_list) if each]
        for each in defaults:
            self.visit(each)
        self.guards += 1
        for statement in node.body:
            self.visit(statement)
        self.guards -= 1

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_Lambda = visit_If = visit_Try = visit_IfExp = guarded


def report(library: str) -> list[str]:
    """What to tell of a library, a line for each name that is missing: those that its import needs first.

    Raises
    ------
    ModuleNotFoundError
        If the library is not installed.
    """
    missing = missing_names(library)
    if not missing:
        return [f"{library}: weft has every name of PyTorch's that its source uses"]
    first = {name for name, found in missing.items() if any(use.at_import for use in found)}
    lines = [f"{library}: weft lacks {len(missing)} of the names that its source uses, {len(first)} of them at import"]
    for name in sorted(missing, key=lambda each: (each not in first, -len(missing[each]), each)):
        when = "at import" if name in first else "when called"
        lines.append(f"    {name:<60} {when:<12} {len(missing[name]):>4} {missing[name][0].place}")
    return lines


def main(library: str) -> int:
    """Print the report; 2 if the library is not installed."""
    try:
        print("\n".join(report(library)))
    except ModuleNotFoundError as error:
        print(f"weft doctor: {error}; install it beside weft, without its dependencies", file=sys.stderr)
        return 2
    return 0
