"""Loops have no entry for Python, which would crash: compiled functions call them, and Python calls launchers."""

import ast
from pathlib import Path

import weft.backend_cpu

SOURCES = sorted((Path(weft.backend_cpu.__file__).parent / "compiled").glob("*.py"))


def decorators(node):
    return {ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in getattr(node, "decorator_list", ())}


def called_from_python(node, loops):
    """Names of loops that a piece of source calls outside of what is compiled."""
    if decorators(node) & {"loop", "launcher", "function", "cfunc", "njit", "overload", "intrinsic"}:
        return []
    found = [node.func.id] if isinstance(node, ast.Call) and getattr(node.func, "id", None) in loops else []
    return found + [name for child in ast.iter_child_nodes(node) for name in called_from_python(child, loops)]


def test_python_calls_no_loop():
    for source in SOURCES:
        tree = ast.parse(source.read_text())
        loops = {node.name for node in ast.walk(tree) if "loop" in decorators(node)}
        assert called_from_python(tree, loops) == [], source.name
