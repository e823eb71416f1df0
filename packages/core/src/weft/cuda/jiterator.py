"""Elementwise functions from a line of CUDA's C++, as PyTorch compiles them on its GPUs. weft does not compile such.

Its own way to a fused elementwise function is an op's formula, which all backends compile.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from weft._tensor.base import Tensor

__all__: list[str] = []


def _create_jit_fn(code_string: str, **kwargs: Any) -> Callable[..., Tensor]:
    """Return a function that says, when it is called, that weft does not compile the code.

    Parameters
    ----------
    code_string : str
        A function template of C++.
    **kwargs : int or float
        Its further arguments' defaults.
    """
    return _create_multi_output_jit_fn(code_string, 1, **kwargs)


def _create_multi_output_jit_fn(code_string: str, num_outputs: int, **kwargs: Any) -> Callable[..., Any]:
    """Return a function that says, when it is called, that weft does not compile the code."""
    found = re.search(r"(\w+)\s*\(", code_string)
    name = found.group(1) if found else code_string

    def compiled(*tensors: Tensor, **options: Any) -> Any:
        raise RuntimeError(
            f"jiterator: weft does not compile C++, here of {name!r}. Write it with weft's functions, which "
            "weft.compile fuses"
        )

    return compiled
