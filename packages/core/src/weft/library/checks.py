"""Checks of arguments, which run before any kernel, and warnings that name the caller's line.

Each takes the function's name first, for its message.
"""

from weft._engine.fast_paths import OutOfRange
from weft._errors import caller_line, warn_caller
from weft._interception.checks import require_between
from weft._interception.transforms import refuse_values, values_at_hand, values_known
from weft._settings import warn_caller_once
from weft.ops._declare import number_in
from weft.ops._geometry import addressable, broadcast_shapes, elements, has_values, integers, wrap_dim
from weft.ops._positions import SOME, all_within, assert_none, check_positions, in_range, positioned

__all__ = [
    "SOME",
    "OutOfRange",
    "addressable",
    "all_within",
    "assert_none",
    "broadcast_shapes",
    "caller_line",
    "check_positions",
    "elements",
    "has_values",
    "in_range",
    "integers",
    "number_in",
    "positioned",
    "refuse_values",
    "require_between",
    "values_at_hand",
    "values_known",
    "warn_caller",
    "warn_caller_once",
    "wrap_dim",
]
