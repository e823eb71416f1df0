"""The table of modules and ops that are exported, `docs/onnx-table.md`: what the tests of this folder try.

``python tests/onnx/onnx_table.py`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import modules
import ops

from weft._interception.interceptors import operations
from weft.onnx._complex import CONVERTERS
from weft.ops._families import all_functions
from weft.ops._registry import registry

PATH = Path(__file__).resolve().parents[2] / "docs" / "onnx-table.md"
HEAD = """# Modules and ops in ONNX files

Made by `python tests/onnx/onnx_table.py` from the cases in [tests/onnx](../tests/onnx), which `WEFT_ONNX=all ./dev test
tests/onnx` tries. Each is exported at opset 18 and at opset 21 with dynamic batch size and length, checked by
`onnx.checker`, and run by onnxruntime at three batch sizes and lengths that were not recorded. All results agree with
weft's to 1e-5 of the largest element; integers and shapes are equal. Of what is not here `weft.onnx.export` says which
op it is, and where the program calls it.
"""


def converters() -> dict[str, str]:
    """How each op is written that is: by name."""
    all_functions()
    found = {}
    for name, op in sorted({**registry, **operations}.items()):
        declared = getattr(op, "onnx", None)
        if isinstance(declared, str):
            found[name] = f"`{declared}`"
        elif declared is not None:
            found[name] = "several operators, or one with attributes"
        elif getattr(op, "formula", None) is not None:
            found[name] = "its formula"
        elif name.startswith("core::fft_") and name in CONVERTERS:
            found[name] = "`DFT` on pairs of real numbers"
    return found


def lines() -> Iterator[str]:
    """The lines of the page."""
    yield HEAD
    exported = sorted(modules.CASES.keys() - modules.REFUSED.keys())
    yield f"## Modules\n\n{len(exported)} are exported, {len(modules.REFUSED)} are refused.\n"
    yield "| module | state | cases |\n|---|---|---|"
    for name in sorted(modules.CASES):
        reason = modules.REFUSED.get(name)
        yield f"| {name} | {'exported' if reason is None else f'refused: {reason}'} | {len(modules.CASES[name])} |"
    written = converters()
    yield f"\n## Ops\n\n{len(written)} are exported. Those without cases of their own are tried by those of modules.\n"
    yield "| op | written as | cases |\n|---|---|---|"
    for name, how in written.items():
        yield f"| {name} | {how} | {len(ops.CASES.get(name, ())) or ''} |"
    for name, (reason, _) in sorted(ops.REFUSED.items()):
        yield f"| {name} | refused: {reason} | |"


def text() -> str:
    """The whole page."""
    return "\n".join([*lines(), ""])


def own_names(program: Any) -> set[str]:
    """The ops of an exported program."""
    return {node.target.name for node in program.graph.nodes if hasattr(node.target, "op")}


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
