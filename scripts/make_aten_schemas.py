"""Write the schemas of PyTorch's operators that `weft.ops.aten` has functions for, as its dispatcher gives them.

It is run where PyTorch is installed beside weft, with ``--check`` to see whether the file is current.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

import weft.nn
from weft.ops._aten import function_named
from weft.ops._registry import registry

FILE = Path(__file__).parents[1] / "packages/core/src/weft/ops/_aten_schemas.txt"
TYPES = ("Dimname", "Storage", "__torch__", "Dict(", "Stream", " t[", "(t[")  # which weft's schemas do not have
FAMILIES = ("quantiz", "miopen", "cudnn", "sparse", "_nested", "_foreach", "__")


def is_function(name: str) -> bool:
    """Whether weft has a function, or for a backward an op, of a name."""
    found = function_named(name)
    return found is not None or (name.endswith("backward") and bool({f"core::{name}", f"nn::{name}"} & {*registry}))


def schemas() -> list[str]:
    """The schemas, without their namespace."""
    lines = []
    for full in sorted(torch._C._dispatch_get_all_op_names()):
        if not full.startswith("aten::") or any(each in full.lower() for each in FAMILIES):
            continue
        name, _, overload = full.removeprefix("aten::").partition(".")
        schema = torch._C._get_schema(f"aten::{name}", overload)
        text = str(schema)
        if any(each.is_out for each in schema.arguments) or any(each in text for each in TYPES):
            continue
        if is_function(name):
            lines.append(text.removeprefix("aten::"))
    return lines


def main() -> int:
    """Write the file, or compare it."""
    text = "\n".join(schemas()) + "\n"
    if "--check" in sys.argv:
        return int(FILE.read_text() != text)
    FILE.write_text(text)
    return 0


if __name__ == "__main__":
    weft.nn.Linear(1, 1)  # its portion is installed: there are functions of neural networks
    sys.exit(main())
