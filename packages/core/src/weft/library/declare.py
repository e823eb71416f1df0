"""Decorators of ops, and what functions that are made of ops are composed with.

`op`, `pointwise` and `composite` declare one. The others are for what a declaration does not say by an option:
`reads_values` and `one_by_one` for vmap, `in_full_precision`, `in_half_precision` and `autocast_args` for autocast,
`write_out`, `write_inplace` and `bump_version` for results that are written into a tensor, `with_error_context` for
functions that are no ops, and `documented` for docstrings that say the same.
"""

from weft._docstrings import documented
from weft._interception.autocast import cast as autocast_args
from weft._interception.autocast import in_full_precision, in_half_precision
from weft.ops._batching import one_by_one, reads_values
from weft.ops._declare import ALL_DTYPES, composite, op, pointwise, with_error_context
from weft.ops._inplace import bump as bump_version
from weft.ops._inplace import write_inplace, write_out

__all__ = [
    "ALL_DTYPES",
    "autocast_args",
    "bump_version",
    "composite",
    "documented",
    "in_full_precision",
    "in_half_precision",
    "one_by_one",
    "op",
    "pointwise",
    "reads_values",
    "with_error_context",
    "write_inplace",
    "write_out",
]
