"""The suites: each has ``CASES``, from a case's name to a function that builds it for a library.

A case is built once for weft and once for PyTorch by the same code, and returns what is timed: a function without
arguments. The libraries have the same names, so a case seldom asks which one it was given.
"""

import sys
from typing import Any


def is_weft(lib: Any) -> bool:
    """Whether a library is weft, whose name is "torch" once it stands in PyTorch's place."""
    return lib is sys.modules.get("weft")
