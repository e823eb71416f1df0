"""LLVM's types that intrinsics use most."""

from __future__ import annotations

from llvmlite import ir

__all__ = ["I16", "I32", "POINTER", "SINGLE", "BFloat"]

I16, I32, SINGLE = ir.IntType(16), ir.IntType(32), ir.FloatType()
POINTER = ir.IntType(8).as_pointer()


class BFloat(ir.Type):  # type: ignore[misc]
    """LLVM's type of bfloat16."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BFloat)

    def __hash__(self) -> int:
        return hash(BFloat)
