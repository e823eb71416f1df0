"""The source files of modules: where a function or constant is written, and which names in it are global."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["SourceFile", "source_file"]

Function = ast.FunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class SourceFile:
    """A module's source, parsed.

    Attributes
    ----------
    module : str
        Its name.
    lines : list of bytes
        With their ends; `ast` counts columns in bytes.
    definitions : dict
        From the name of a function, class or constant of the module to the statement that makes it.
    imports : dict
        From a name that the module imports to (module, name in it); the latter is None for a module.
    """

    def __init__(self, module: str, text: bytes) -> None:
        self.module = module
        self.lines = text.splitlines(keepends=True)
        self.tree = ast.parse(text)
        self.definitions: dict[str, ast.stmt] = {}
        self.imports: dict[str, tuple[str, str | None]] = {}
        for statement in self.tree.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self.imports.update(imported(statement))
            self.definitions.update(dict.fromkeys(defined(statement), statement))
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line))
        self.starts = starts
        self.text = text

    def start(self, node: Any) -> int:
        """Where a node begins in the text, in bytes, with its decorators."""
        decorators = getattr(node, "decorator_list", None)
        if decorators:
            return self.starts[decorators[0].lineno - 1] + decorators[0].col_offset - 1
        return int(self.starts[node.lineno - 1] + node.col_offset)

    def end(self, node: Any) -> int:
        return int(self.starts[node.end_lineno - 1] + node.end_col_offset)

    def function(self, code: Any) -> Function:
        """The definition that a code object was compiled from.

        Raises
        ------
        LookupError
            If the file has none there: it is not the one that was imported.
        """
        count = code.co_argcount + code.co_kwonlyargcount
        for node in ast.walk(self.tree):
            if isinstance(node, FUNCTIONS) and first_line(node) == code.co_firstlineno:
                if len(node.args.args) + len(node.args.kwonlyargs) == count:
                    return node
        raise LookupError(f"{self.module}: no function in line {code.co_firstlineno} of its source")


@cache
def source_file(module: str) -> SourceFile:
    """The source of a module, which may also be compiled."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise LookupError(f"{module}: its source is not there")
    path = Path(found.origin)
    return SourceFile(module, path.with_name(f"{path.name.partition('.')[0]}.py").read_bytes())


def first_line(node: Function) -> int:
    return min([node.lineno, *[each.lineno for each in getattr(node, "decorator_list", ())]])


def defined(statement: ast.stmt) -> list[str]:
    """The names that a statement of a module defines."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, ast.AnnAssign):
        return stored(statement.target) if statement.value is not None else []
    if isinstance(statement, ast.Assign):
        return [name for target in statement.targets for name in stored(target)]
    return []


def stored(node: ast.AST) -> list[str]:
    """The variables to which a node assigns."""
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]


def imported(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """What an import binds: pairs of a name and (module, name in it)."""
    for alias in statement.names:
        if isinstance(statement, ast.ImportFrom):
            yield alias.asname or alias.name, (statement.module or "", alias.name)
        else:
            yield alias.asname or alias.name.partition(".")[0], (alias.name, None)


def local_names(node: Function) -> set[str]:
    """The local variables of a function, with its parameters; not what it imports, nor those of functions in it."""
    found = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    waiting: list[ast.AST] = list(node.body) if isinstance(node, ast.FunctionDef) else [node.body]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.FunctionDef):
            found.add(each.name)
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif isinstance(each, ast.ExceptHandler) and each.name:
            found.add(each.name)
        if not isinstance(each, (*FUNCTIONS, *COMPREHENSIONS)):
            waiting += ast.iter_child_nodes(each)
    return found


def comprehension_names(node: Any) -> set[str]:
    return {name for each in node.generators for name in stored(each.target)}
