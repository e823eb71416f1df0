"""What modes of ``__torch_dispatch__`` are shown of an op: rules, for ops that PyTorch names otherwise.

A rule is a function of the op's named arguments, which calls overloads of ``weft.ops.aten`` and returns the op's
results: see `weft.ops._aten_lowering`, where those of core are.
"""

from weft._interception.torch_dispatch import unwatched
from weft.ops._aten_lowering import decomposed, given, overload_of, reshapable, rows_by_matrix, shown

__all__ = ["decomposed", "given", "overload_of", "reshapable", "rows_by_matrix", "shown", "unwatched"]
