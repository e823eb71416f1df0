"""The name by which weft prints its dtypes, shapes and types.

Programs print them, compare them as strings (``str(x.dtype) == "torch.float32"``) and take them apart, so under
``weft run`` it is the name that the program knows.
"""

import sys

name = "weft"


def is_own(module: str) -> bool:
    """Whether a module is weft's, by whichever of its two names."""
    return f"{getattr(sys.modules.get(module), '__package__', module)}.".startswith("weft.")
