"""Write the stand-in's table of CuPy: its names, how each may be called, and the dtypes of each ufunc's loops.

Needs the wheel, and no GPU::

    pip install "cupy-cuda13x[ctk]==14.2.0" scipy ml_dtypes
    python scripts/make_cupy_interface.py

The wheel imports without a driver; all that stands in the table is asked of it. A module's entry says for each name

- of a function: its parameters, ``"a, axis=, out=, keepdims="``; ``null`` where it does not tell them;
- of a ufunc: ``"ufunc 2 1 bb->b ff->f"``, the numbers of its inputs and outputs, and its loops;
- of anything else: what it is, ``"module"``, ``"type"``, ``"value"``.
"""

from __future__ import annotations

import importlib
import inspect
import json
import types
from pathlib import Path
from typing import Any

import cupy

MODULES = (
    "cupy cupy.linalg cupy.fft cupy.lib.stride_tricks cupy.cuda cupy.cuda.runtime cupy.cuda.device cupy.cuda.nvtx "
    "cupyx cupyx.scipy.special cupyx.scipy.linalg cupyx.scipy.fft cupyx.scipy.sparse cupyx.scipy.sparse.linalg "
    "cupyx.scipy.signal cupyx.scipy.ndimage"
).split()
TARGET = Path(__file__).resolve().parent.parent / "packages/backend-cuda/tests/cupy_stand_in/interface.json"


def parameters(function: Any) -> str | None:
    """The parameters of a function, without the values of their defaults."""
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    plain = [each.replace(default=each.empty, annotation=each.empty) for each in given]
    names = [f"{name}=" if each.default is not each.empty else str(name) for name, each in zip(plain, given)]
    kinds = [each.kind for each in plain]
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    if keyword_only in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        names.insert(kinds.index(keyword_only), "*")
    return ", ".join(names)


def described(value: Any) -> str | None:
    """The entry of one name."""
    if type(value).__name__ == "ufunc":
        return " ".join(["ufunc", str(value.nin), str(value.nout), *value.types])
    if isinstance(value, types.ModuleType):
        return "module"
    if isinstance(value, type):
        return "type"
    if not callable(value):
        return "value"
    found = parameters(value)
    return None if found is None else f"({found})"


def methods() -> dict[str, str]:
    """The members of an array: of methods their parameters, as the first line of the docstring gives them."""
    found = {}
    for name in sorted(vars(cupy.ndarray.__mro__[1]) | vars(cupy.ndarray)):
        line = (getattr(cupy.ndarray, name).__doc__ or "").partition("\n")[0]
        if name.startswith("__") or not name.startswith("_"):
            inside = (
                line[line.find("(") + 1 : line.rfind(")")]
                if line.startswith("_ndarray_base.") and "(" in line
                else None
            )
            found[name] = "value" if inside is None else f"({arguments(inside)})"
    return found


def arguments(text: str) -> str:
    """``"self, int axis=-1"`` as ``"axis="``."""
    found = []
    for each in text.split(", "):
        name, has_default, _ = each.partition("=")
        found.append(name.split()[-1].strip() + has_default)
    return ", ".join(each for each in found if each != "self")


def main() -> None:
    """Ask the wheel, and write the table."""
    table: dict[str, Any] = {"version": cupy.__version__, "ndarray": methods()}
    for path in MODULES:
        module = importlib.import_module(path)
        table[path] = {
            name: described(getattr(module, name)) for name in sorted(dir(module)) if not name.startswith("_")
        }
    TARGET.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
