"""Docstrings that functions share: what many of them say in the same words is written once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

# The parameters of functions that make tensors.
PIN_MEMORY = """pin_memory : bool
    Make it in page-locked memory, where there is an accelerator; see `Tensor.pin_memory`.
"""
OPTIONS = """device : device, str or int, optional
    Default: `get_default_device`.
layout : layout, optional
    ``weft.strided``, or where the function can make them ``weft.sparse_coo``.
pin_memory : bool
    Make it in page-locked memory, where there is an accelerator; see `Tensor.pin_memory`.
requires_grad : bool
    Whether operations on the result are recorded."""
LIKE_OPTIONS = """dtype : dtype, optional
    Default: that of ``input``.
device : device, str or int, optional
    Default: that of ``input``.
layout : layout, optional
    ``weft.strided``, or where the function can make them ``weft.sparse_coo``.
pin_memory : bool
    Make it in page-locked memory, where there is an accelerator; see `Tensor.pin_memory`.
requires_grad : bool
    Whether operations on the result are recorded.
memory_format : memory_format, optional
    The order of dimensions in memory; default: that of ``input``."""
NEW_OPTIONS = LIKE_OPTIONS.partition("\nmemory_format")[0].replace("that of ``input``", "this tensor's")


def documented(**pieces: str) -> Callable[[T], T]:
    """Fill in the docstring of a class or function: each ``{name}`` in it becomes the piece of that name.

    Pieces are filled in one after the other, so that one may name those after it.

    Examples
    --------
    >>> @documented(options="device : device, optional")
    ... def zeros(size, device=None):
    ...     '''Make zeros; {options}.'''
    >>> zeros.__doc__
    'Make zeros; device : device, optional.'
    """

    def fill(target: Any) -> Any:
        text = text_of(target)
        if text:  # python -OO leaves none
            for name, piece in pieces.items():
                text = text.replace(f"{{{name}}}", piece)
            target.__doc__ = text
        return target

    return fill


def text_of(function: Any) -> str:
    """A function's docstring without the indentation of its lines; "" without one."""
    text = function.__doc__ or ""
    indentation = 8 if "<locals>" in function.__qualname__ else 4
    return text if sys.version_info >= (3, 13) else text.replace("\n" + " " * indentation, "\n")  # 3.13 compiles it so


def section(function: Any, title: str) -> str:
    """The section of a function's docstring with this title, ready to be appended to another; "" without one."""
    _, found, rest = text_of(function).partition(f"\n\n{title}\n{'-' * len(title)}\n")
    return found + rest.partition("\n\n")[0] if found else ""
