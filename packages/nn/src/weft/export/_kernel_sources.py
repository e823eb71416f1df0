"""The sources of kernels, with all that they use, as text that imports no weft: what edge devices run.

A kernel is a function of an array namespace that may call helpers of its module and of others. They are taken from
their files as they are written there, comments included, with what serves other array libraries than NumPy left out.
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

from weft.export._source_files import (
    SourceFile,
    comprehension_names,
    imported,
    local_names,
    source_file,
    stored,
)

__all__ = ["KernelSources", "NotStandalone"]

# Questions that have one answer where there is NumPy alone, and its dtypes.
CHECK_POSITIONS = "weft.ops._positions", "check_positions"  # of arrays, which are NumPy's
ANSWERS = {
    ("weft.ops._numerics", "is_numpy"): True,
    ("weft._engine.unresolved", "has_values"): True,
    ("weft._dtypes.float8", "is_float8"): False,
}
# Calls whose results nobody takes: they count, or warn.
SILENT = {("weft._interception.profiling", "copies"), ("weft._settings", "warn_of_lost_part")}
# Functions that ask weft what it has loaded.
REPLACED = {
    ("weft.backend", "scientific"): '''
        def NAME(xp, module, op):
            """The functions of ``scipy.<module>``, which this kernel needs beside NumPy."""
            from importlib import import_module

            return import_module(f"scipy.{module}")
    ''',
    ("weft.backend", "NoEquivalentError"): '''
        class NAME(NotImplementedError):
            """SciPy lacks a function."""
    ''',
}
# What knows of tensors, devices and their backends.
INNER = tuple(
    f"weft.{each}" for each in ("_devices", "_plugins", "_tensor.base", "_engine.tensor", "plugins", "backend")
)


class NotStandalone(LookupError):
    """A kernel uses something of weft that has no meaning without it."""


class KernelSources:
    """Collects functions and what they use.

    Attributes
    ----------
    parts : list of str
        Definitions, each behind those that it is made of.

    Names are chosen when all is collected. Until then placeholders stand for them, which `finished` replaces.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self.parts: list[str] = []
        self.imports: dict[str, Callable[[str], str]] = {}  # from a placeholder to the statement for a name
        self.names: dict[Any, str] = {}
        self.wanted: dict[str, tuple[str, str]] = {}  # by placeholder: a name, and a module for where it is taken
        self.locals: dict[str, set[str]] = {}  # variables of functions that use a name, by its placeholder
        self.reserved = {*dir(builtins), *reserved}

    def finished(self, first: str, last: str = "") -> str:
        """Imports, a text, the definitions and another text, with names in the place of placeholders."""
        taken, chosen = set(self.reserved), {}
        for placeholder, (name, module) in self.wanted.items():
            taken_by = module.rpartition(".")[2].strip("_")
            beside = f"{name}_{taken_by}" if taken_by else f"{name}_"
            refused = taken | self.locals.get(placeholder, set())
            options = [name, beside, *[f"{name}_{count}" for count in range(2, len(refused) + 3)]]
            chosen[placeholder] = next(each for each in options if each not in refused)
            taken.add(chosen[placeholder])
        imports = sorted(statement(chosen[placeholder]) for placeholder, statement in self.imports.items())
        parts = ["\n".join(imports), first, *self.parts, last]
        return PLACEHOLDER.sub(lambda match: chosen[match[0]], "\n\n\n".join(each for each in parts if each))

    def unique(self, name: str, module: str = "") -> str:
        """A placeholder for a name that nothing else has: that which is wanted, or with something behind it."""
        placeholder = f"\1{len(self.wanted)}\1"
        self.wanted[placeholder] = name, module
        return placeholder

    def function(self, function: Any, name: str = "") -> str:
        """Collect a function; a placeholder for its name.

        Parameters
        ----------
        function : function
            Also a closure over numbers, strings and functions, or one with a cache.
        name : str
            The wanted name, by default its own.

        Raises
        ------
        NotStandalone
            If it uses what is weft's alone.
        """
        key = id(function)
        if key in self.names:
            return self.names[key]
        if isinstance(function, partial):
            return self.partial(function, name)
        plain = getattr(function, "__wrapped__", function)
        if not isinstance(plain, FunctionType):
            raise NotStandalone(f"{function!r} has no source in Python")
        if not name and "<locals>" not in plain.__qualname__ and plain.__name__ == plain.__qualname__:
            return self.definition(plain.__module__, plain.__name__)
        file = source_file(plain.__module__)
        chosen = self.names[key] = self.unique(name or plain.__name__)
        node = file.function(plain.__code__)
        text = Rendering(self, file, closure_of(plain)).statement(node, chosen)
        self.parts.append(text)
        return chosen

    def kernel(self, function: Any, name: str) -> str:
        """Collect a kernel as a function without its first parameter, the array namespace, which is NumPy."""
        key = "kernel", id(function)
        if key not in self.names:
            file = source_file(function.__module__)
            chosen = self.names[key] = self.unique(name)
            rendering = Rendering(self, file, closure_of(function))
            node = file.function(function.__code__)
            rendering.namespace = node.args.args[0].arg
            self.parts.append(rendering.statement(node, chosen))
        return self.names[key]

    def partial(self, function: Any, name: str) -> str:
        """A function with some arguments given."""
        inner = self.function(function.func)
        chosen = self.names[id(function)] = self.unique(name or f"{inner}_with")
        args = [self.value(each) for each in function.args]
        args += [f"{key}={self.value(value)}" for key, value in function.keywords.items()]
        self.parts.append(f"{chosen} = {self.imported_name('functools', 'partial')}({', '.join([inner, *args])})")
        return chosen

    def value(self, value: Any) -> str:
        """What a variable of a closure holds, as source."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return repr(value)
        if isinstance(value, tuple):
            return "(" + "".join(f"{self.value(each)}, " for each in value) + ")"
        if isinstance(value, ModuleType) and not is_own(value.__name__):
            return self.module(value.__name__)
        return self.function(value)

    # Names of modules

    def module(self, module: str) -> str:
        """Import a module that is not weft's."""
        key = "import", module, ""
        if key not in self.names:
            chosen = self.names[key] = self.unique(module.rpartition(".")[2])
            self.imports[chosen] = partial(module_import, module)
        return self.names[key]

    def imported_name(self, module: str, name: str) -> str:
        """Import a name from a module that is not weft's."""
        key = "import", module, name
        if key not in self.names:
            chosen = self.names[key] = self.unique(name, module)
            self.imports[chosen] = partial(name_import, module, name)
        return self.names[key]

    def definition(self, module: str, name: str) -> str:
        """Collect what a module of weft's defines."""
        key = module, name
        if key in self.names:
            return self.names[key]
        file = source_file(module)
        node = file.definitions.get(name)
        if key in REPLACED:
            self.names[key] = self.unique(name, module)
            self.parts.append(textwrap.dedent(REPLACED[key]).strip().replace("NAME", self.names[key]))
            return self.names[key]
        if node is None:
            raise NotStandalone(f"{module}.{name} is made when it is first asked for")
        if module.startswith(INNER) or hasattr(getattr(import_module(module), name), "is_public"):
            raise NotStandalone(f"{module}.{name} is weft itself")
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            self.names[key] = self.unique(name, module)
            rendering = Rendering(self, file)
            rendering.arrays = key == CHECK_POSITIONS
            text = rendering.statement(node, self.names[key])
        else:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
            for each in [one for target in targets for one in stored(target)]:
                self.names[module, each] = self.unique(each, module)
            text = Rendering(self, file).statement(node)
        self.parts.append(text)
        return self.names[key]


def closure_of(function: Any) -> dict[str, Any]:
    """What the free variables of a function hold."""
    return dict(zip(function.__code__.co_freevars, [each.cell_contents for each in function.__closure__ or ()]))


def module_import(module: str, name: str) -> str:
    return f"import {module}" if name == module else f"import {module} as {name}"


def name_import(module: str, original: str, name: str) -> str:
    return f"from {module} import {original}" + ("" if name == original else f" as {name}")


def is_own(module: str) -> bool:
    return module.partition(".")[0] == "weft"


def found_in(file: SourceFile, name: str) -> tuple[str, str | None] | None:
    """The module that defines a global name, and its name there (None: it is a module itself); None for a builtin."""
    if name in file.definitions:
        return file.module, name
    if name in file.imports:
        module, original = file.imports[name]
        return (module, None) if original is None else defining(module, original)
    if hasattr(builtins, name):
        return None
    raise NotStandalone(f"{file.module}: {name} is made when it is first asked for")


def defining(module: str, name: str) -> tuple[str, str | None]:
    """Where a name that is imported from a module is defined, and its name there."""
    if not is_own(module):
        return module, name
    value = getattr(import_module(module), name, None)
    if isinstance(value, ModuleType):
        return value.__name__, None
    file = source_file(module)
    if name in file.definitions:
        return module, name
    if name in file.imports:
        further = found_in(file, name)
        assert further is not None
        return further
    owner = getattr(value, "__module__", None)
    if owner is None or owner == module:
        raise NotStandalone(f"{module}.{name} is made when it is first asked for")
    return defining(owner, getattr(value, "__name__", name))


class Rendering:
    """The text of one definition, with names and branches as they are without weft.

    Parameters
    ----------
    sources : KernelSources
        Gives names to what it uses.
    file : SourceFile
    closure : dict
        What its free variables hold.
    """

    def __init__(self, sources: KernelSources, file: SourceFile, closure: dict[str, Any] | None = None) -> None:
        self.sources = sources
        self.file = file
        self.closure = closure or {}
        self.scopes: list[set[str]] = []
        self.aliases: dict[str, tuple[str, str | None]] = {}  # of imports in functions
        self.edits: list[tuple[int, int, str]] = []
        self.root: Any = None
        self.namespace = ""  # the parameter that NumPy stands for
        self.arrays = False  # it is known to get arrays, and not numbers

    def statement(self, node: Any, name: str = "") -> str:
        """The text of a statement of a module, or of a kernel, which is then called by a name."""
        self.root = node
        start, end = self.file.starts[node.lineno - 1] + node.col_offset, self.file.end(node)
        kept = self.kept_decorators(node)
        if isinstance(node, ast.Lambda):
            self.visit(node)
            return f"{name} = {self.edited(start, end)}"
        if name and isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            word = b"def " if isinstance(node, ast.FunctionDef) else b"class "
            place = self.file.text.index(word, start) + len(word)
            self.edits.append((place, place + len(node.name), name))
        self.visit(node)
        indent = " " * node.col_offset
        return "".join(f"@{each}\n" for each in kept) + textwrap.dedent(indent + self.edited(start, end))

    def kept_decorators(self, node: Any) -> list[str]:
        """The decorators that are not weft's, as source: caches, for example."""
        kept = []
        for each in getattr(node, "decorator_list", ()):
            root = each.func if isinstance(each, ast.Call) else each
            if isinstance(root, ast.Name):
                found = found_in(self.file, root.id)
                if found is None or not is_own(found[0]):
                    inner = Rendering(self.sources, self.file)
                    inner.visit(each)
                    kept.append(inner.edited(self.file.start(each), self.file.end(each)))
        return kept

    def edited(self, start: int, end: int) -> str:
        """A part of the text, with the edits done; lines of which nothing is left are gone."""
        parts, place = [], start
        for first, last, text in sorted(self.edits):
            if first < place:
                continue  # inside of what was left out
            parts += [self.file.text[place:first].decode(), text or GONE]
            place = last
        parts.append(self.file.text[place:end].decode())
        lines = [line for line in "".join(parts).split("\n") if GONE not in line or line.replace(GONE, "").strip()]
        return "\n".join(line.replace(GONE, "").rstrip() for line in lines)

    # Edits

    def replace(self, node: Any, text: str) -> None:
        self.edits.append((self.file.start(node), self.file.end(node), text))

    def remove(self, start: int, end: int) -> None:
        if end > start:
            self.edits.append((start, end, ""))

    def keep_only(self, node: Any, part: Any) -> None:
        """Leave an expression's part in its place."""
        self.remove(self.file.start(node), self.file.start(part))
        self.remove(self.file.end(part), self.file.end(node))
        self.visit(part)

    # Walking

    def visit(self, node: Any) -> None:
        known = self.truth(node) if isinstance(node, (ast.Call, ast.BoolOp, ast.UnaryOp)) else None
        if known is not None:
            self.replace(node, repr(known))
            return
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is not None:
            method(node)
        else:
            self.visit_all(ast.iter_child_nodes(node))

    def visit_all(self, nodes: Any) -> None:
        for each in nodes:
            if isinstance(each, ast.AST):
                self.visit(each)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.visit_all([*node.args.defaults, *node.args.kw_defaults])
        if node is not self.root:
            self.visit_all(node.decorator_list)
        self.scopes.append(local_names(node))
        self.drop_annotations(node)
        if node is self.root and self.namespace:
            first, *others = node.args.args
            self.scopes[-1].discard(first.arg)
            self.remove(self.file.start(first), self.file.start(others[0]) if others else self.file.end(first))
        self.block(node.body)
        self.scopes.pop()

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit_all([*node.args.defaults, *node.args.kw_defaults])
        self.scopes.append(local_names(node))
        self.visit(node.body)
        self.scopes.pop()

    def drop_annotations(self, node: ast.FunctionDef) -> None:
        """Types of parameters and results, whose names nothing else may need."""
        args = node.args
        for each in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
            if each is not None and each.annotation is not None:
                self.remove(self.file.start(each) + len(each.arg), self.file.end(each.annotation))
        if node.returns is not None:
            arrow = self.file.text.rindex(b"->", 0, self.file.start(node.returns))
            self.remove(arrow - 1, self.file.end(node.returns))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if self.scopes or node.value is not None:
            if node.value is None:
                self.remove(self.file.start(node), self.file.end(node))
                return
            self.remove(self.file.end(node.target), self.file.end(node.annotation))
            self.visit_all([node.target, node.value])
        else:  # a field of a class
            self.replace(node.annotation, "object")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.visit_all([*node.bases, *node.keywords])
        self.block(node.body)

    def visit_comprehension_scope(self, node: Any) -> None:
        self.scopes.append(comprehension_names(node))
        self.visit_all(ast.iter_child_nodes(node))
        self.scopes.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_scope

    def visit_Import(self, node: Any) -> None:
        """An import in a function: as one of the module."""
        self.aliases.update(dict(imported(node)))
        self.remove(self.file.start(node), self.file.end(node))

    visit_ImportFrom = visit_Import

    def visit_Name(self, node: ast.Name) -> None:
        if any(node.id in scope for scope in self.scopes):
            return
        if node.id == self.namespace:
            self.put(node, self.sources.module("numpy"))
            return
        if node.id in self.closure:
            self.put(node, self.sources.value(self.closure[node.id]))
            return
        where = self.locate(node)
        if where is None:
            return
        self.put(node, self.name_of(*where))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if is_half_of_table(node):
            subscript: Any = node.value
            self.remove(self.file.start(node), self.file.start(subscript.slice))
            self.edits.append((self.file.end(subscript.slice), self.file.end(node), '.char == "e"'))
            self.visit(subscript.slice)
            return
        where = self.locate(node)
        if where is not None and where[1] is not None and isinstance(node.value, ast.Name):
            base = self.locate(node.value)
            if base is not None and base[1] is None and is_own(base[0]):
                self.put(node, self.name_of(*where))
                return
        self.visit(node.value)

    def put(self, node: Any, name: str) -> None:
        self.sources.locals.setdefault(name, set()).update(*self.scopes)
        self.replace(node, name)

    def locate(self, node: Any) -> tuple[str, str | None] | None:
        """Where a global name, or one in a module of weft's, is defined; None for others."""
        if isinstance(node, ast.Name):
            if any(node.id in scope for scope in self.scopes) or node.id in (*self.closure, self.namespace):
                return None
            if node.id in self.aliases:
                module, name = self.aliases[node.id]
                return (module, None) if name is None else defining(module, name)
            return found_in(self.file, node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            base = self.locate(node.value)
            if base is not None and base[1] is None and is_own(base[0]):
                return defining(base[0], node.attr)
        return None

    def name_of(self, module: str, name: str | None) -> str:
        if not is_own(module):
            return self.sources.module(module) if name is None else self.sources.imported_name(module, name)
        if name is None:
            raise NotStandalone(f"{self.file.module}: it needs the module {module}")
        return self.sources.definition(module, name)

    # Branches

    def truth(self, node: Any) -> bool | None:
        """The value of a condition, where NumPy alone decides it."""
        if isinstance(node, ast.Call):
            where = self.locate(node.func)
            return ANSWERS.get(where) if where is not None else None  # type: ignore[arg-type]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            known = self.truth(node.operand)
            return None if known is None else not known
        if self.arrays and isinstance(node, ast.Compare) and ast.unparse(node).endswith("is not numpy.ndarray"):
            return False
        if isinstance(node, ast.BoolOp):
            values = [self.truth(each) for each in node.values]
            decides = isinstance(node.op, ast.Or)
            if decides in values:
                return decides
            return not decides if None not in values else None
        return None

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Leave out operands that do not matter."""
        kept = [each for each in node.values if self.truth(each) is None]
        place = self.file.start(node)
        for each in kept:
            if each is kept[0]:
                self.remove(place, self.file.start(each) if each is not node.values[0] else place)
            else:
                before = node.values[node.values.index(each) - 1]
                self.remove(place, self.file.end(before))
            place = self.file.end(each)
            self.visit(each)
        if kept[-1] is not node.values[-1]:
            self.remove(place, self.file.end(node.values[-1]))

    def visit_IfExp(self, node: ast.IfExp) -> None:
        known = self.truth(node.test)
        if known is None:
            self.visit_all([node.test, node.body, node.orelse])
        else:
            self.keep_only(node, node.body if known else node.orelse)

    def block(self, statements: list[Any]) -> None:
        """The statements of a body, to where it ends."""
        for each in statements:
            if isinstance(each, ast.If) and self.truth(each.test) is False and not each.orelse:
                left = "pass" if len(statements) == 1 else ""
                self.edits.append((self.file.start(each), self.file.end(each), left))
                continue
            if self.is_silent(each):
                self.edits.append((self.file.start(each), self.file.end(each), "pass" if len(statements) == 1 else ""))
                continue
            self.visit(each)
            if isinstance(each, ast.If) and self.truth(each.test) and ends(each.body) and each is not statements[-1]:
                self.remove(self.file.end(each), self.file.end(statements[-1]))
                return

    def is_silent(self, statement: Any) -> bool:
        """Whether it is a call of what only counts or warns."""
        call = statement.value if isinstance(statement, ast.Expr) else None
        root = call.func if isinstance(call, ast.Call) else None
        root = root.value if isinstance(root, ast.Attribute) else root
        return isinstance(root, ast.Name) and self.locate(root) in SILENT

    def visit_If(self, node: ast.If) -> None:
        known = self.truth(node.test)
        if known is None:
            self.visit(node.test)
            self.block(node.body)
            self.block(node.orelse)
            return
        chosen = node.body if known else node.orelse
        if not chosen:
            self.edits.append((self.file.start(node), self.file.end(node), "pass"))
            return
        start, first = self.file.start(node), chosen[0]
        if isinstance(first, ast.If) and self.file.text[self.file.start(first) :].startswith(b"elif"):
            self.edits.append((start, self.file.start(first) + len(b"elif"), "if"))
        else:
            self.remove(start, self.file.start(first))
            self.dedent(first.lineno + 1, chosen[-1].end_lineno, first.col_offset - node.col_offset)
        self.block(chosen)
        self.remove(self.file.end(chosen[-1]), self.file.end(node))

    def dedent(self, first: int, last: Any, columns: int) -> None:
        """Move lines to the left."""
        for line in range(first, last + 1):
            if self.file.lines[line - 1].startswith(b" " * columns):
                self.edits.append((self.file.starts[line - 1], self.file.starts[line - 1] + columns, ""))

    def visit_For(self, node: Any) -> None:
        for name, value in ast.iter_fields(node):
            if name in ("body", "orelse", "finalbody"):
                self.block(value)
            elif isinstance(value, ast.AST):
                self.visit(value)
            elif isinstance(value, list):
                self.visit_all(value)

    visit_While = visit_With = visit_Try = visit_ExceptHandler = visit_For


GONE = "\0"
PLACEHOLDER = re.compile("\1[0-9]+\1")


def ends(statements: list[Any]) -> bool:
    return isinstance(statements[-1], (ast.Return, ast.Raise))


def is_half_of_table(node: ast.Attribute) -> bool:
    """Whether it asks a table of weft's dtypes if one of NumPy's is of half precision: ``BY_NUMPY[dtype].is_half``."""
    value = node.value
    if node.attr != "is_half" or not isinstance(value, ast.Subscript) or not isinstance(value.value, ast.Name):
        return False
    return value.value.id == "BY_NUMPY"
