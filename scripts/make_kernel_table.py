"""Write the table that says, before anything is imported, which kernels the CPU backend's libraries have.

python scripts/make_kernel_table.py [--check]

The modules of kernels are imported, and what they register is written to ``weft/backend_cpu/kernel_table.py``. With
``--check`` nothing is written; the exit status says whether the table is current.
"""

import argparse
import ast
import importlib
import os
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

os.environ.pop("WEFT_CPU_LEAST", None)  # before the sizes are read

from weft.backend_cpu.registry import MIN_SIZE, MIN_SIZE_FUSED, registered

PACKAGE = "weft.backend_cpu"
FOLDER = Path(__file__).resolve().parent.parent / "packages" / "backend-cpu" / "src" / "weft" / "backend_cpu"
TABLE = FOLDER / "kernel_table.py"
LIBRARIES = {"onednn": "onednn", "compiled": "compiled/kernels"}  # package, and the folder of its modules of kernels
WIDTH = 120

Key = tuple[str, str, str]  # library, op, dtype
HEAD = '''"""The kernels of the libraries, by package and module: from which size on, bitwise or not, dtypes, ops.

Made by scripts/make_kernel_table.py (./dev lint --fix), not by hand.
"""

from __future__ import annotations

from weft.backend_cpu.registry import MIN_SIZE, MIN_SIZE_FUSED, Row

TABLE: dict[str, dict[str, list[Row]]] = {'''


def modules(library: str) -> Iterator[str]:
    """The names of a library's modules of kernels, below its package, after those that they import."""
    folder = LIBRARIES[library].replace("/", ".")
    done: set[str] = set()

    def visit(name: str) -> Iterator[str]:
        file = FOLDER / LIBRARIES[library] / f"{name}.py"
        if name in done or not file.exists():
            return
        done.add(name)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}.{folder}."):
                yield from visit(str(node.module).rpartition(".")[2])
        yield f"{folder}.{name}".removeprefix(f"{library}.")

    for file in sorted((FOLDER / LIBRARIES[library]).glob("*.py")):
        if file.stem != "__init__":
            yield from visit(file.stem)


def homes() -> dict[Key, str]:
    """Where each kernel is registered: the module whose import does so."""
    found: dict[Key, str] = {}
    for library in LIBRARIES:
        for module in modules(library):
            importlib.import_module(f"{PACKAGE}.{library}.{module}")
            found |= {key: module for key in registered if key not in found}
    return found


def size(value: int) -> str:
    """How the table writes a number of elements."""
    for unit, written in ((MIN_SIZE, "MIN_SIZE"), (MIN_SIZE_FUSED, "MIN_SIZE_FUSED")):
        if value % unit == 0:
            return "0" if value == 0 else written if value == unit else f"{value // unit} * {written}"
    raise SystemExit(f"make_kernel_table: min_size={value} is no multiple of MIN_SIZE or MIN_SIZE_FUSED")


def lines() -> Iterator[str]:
    """The lines of the table: a row for all ops of a module that are alike."""
    alike: dict[tuple[str, str], dict[str, dict[tuple[str, bool], list[str]]]] = defaultdict(lambda: defaultdict(dict))
    for (library, op, dtype), module in homes().items():
        kernel = registered[library, op, dtype]
        ways = alike[library, module][op]
        ways.setdefault((size(kernel.min_size), kernel.bitwise), []).append(dtype)
    yield from HEAD.splitlines()
    for library in LIBRARIES:
        yield f'    "{library}": {{'
        for (owner, module), ops in sorted(alike.items()):
            if owner == library:
                yield f'        "{module}": ['
                yield from rows(ops)
                yield "        ],"
        yield "    },"
    yield "}"


def rows(ops: dict[str, dict[tuple[str, bool], list[str]]]) -> Iterator[str]:
    """The rows of a module."""
    found: dict[tuple[str, bool, str], list[str]] = defaultdict(list)
    for op, ways in sorted(ops.items()):
        for (least, bitwise), dtypes in ways.items():
            found[least, bitwise, " ".join(sorted(dtypes))].append(op)
    for (least, bitwise, dtypes), names in sorted(found.items()):
        first, second = written(dtypes), written(" ".join(names))
        yield from f"            Row({least}, {bitwise}, {first}, {second}),".splitlines()


def written(text: str) -> str:
    """A list of names as a string of Python's, over several lines if it is long."""
    if len(text) < 60:
        return f'"{text}"'
    lines = textwrap.wrap(text, WIDTH, initial_indent=" " * 16, subsequent_indent=" " * 16)
    return "\n".join(['"""', *lines, '            """'])


def main() -> int:
    """Write the table, or compare it with what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the table is not current")
    check = parser.parse_args().check
    if importlib.util.find_spec("numba") is None:
        print("make_kernel_table: without Numba nobody knows its kernels; the table is left as it is", file=sys.stderr)
        return 0
    text = "\n".join(lines()) + "\n"
    if TABLE.exists() and TABLE.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"make_kernel_table: {TABLE.name} is not current; ./dev lint --fix makes it anew", file=sys.stderr)
        return 1
    TABLE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
