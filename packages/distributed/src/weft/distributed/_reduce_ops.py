"""`ReduceOp`: how the values of all processes are joined to one."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy

__all__ = ["PremulSum", "ReduceOp", "combine"]


class ReduceOp(Enum):
    """How values of all processes are joined."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


type.__setattr__(ReduceOp, "RedOpType", ReduceOp)  # the type of the members, which is ReduceOp itself


class PremulSum:
    """``PREMUL_SUM`` with its factor: each process's values are multiplied by it, and then summed."""

    def __init__(self, factor: Any) -> None:
        self.factor = factor
        self.op = ReduceOp.PREMUL_SUM

    def __repr__(self) -> str:
        return f"PREMUL_SUM({self.factor})"


_FUNCTIONS = {
    ReduceOp.SUM: "add",
    ReduceOp.PRODUCT: "multiply",
    ReduceOp.MIN: "minimum",
    ReduceOp.MAX: "maximum",
    ReduceOp.BAND: "bitwise_and",
    ReduceOp.BOR: "bitwise_or",
    ReduceOp.BXOR: "bitwise_xor",
}


def combine(xp: Any, op: ReduceOp, into: Any, other: Any) -> None:
    """Join an array with another process's, element by element, in place.

    Parameters
    ----------
    xp : module
        The array namespace of both.
    op : ReduceOp
        As a communicator gets it: SUM, PRODUCT, MIN, MAX, BAND, BOR or BXOR.
    into, other : arrays of one shape and dtype
    """
    with numpy.errstate(all="ignore"):  # inf and nan are results as others
        getattr(xp, _FUNCTIONS[op])(into, other, out=into)
