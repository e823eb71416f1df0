"""What a type checker knows of calls: ``./dev lint`` runs mypy over this file, and nothing runs it.

An ignored error that is none any more is an error itself.
"""
# mypy: warn-unused-ignores

from typing import assert_type

import weft
from weft import Tensor, return_types


def functions(x: Tensor, y: Tensor) -> None:
    assert_type(weft.exp(x), Tensor)
    assert_type(weft.mul(x, 2), Tensor)
    assert_type(weft.max(x), Tensor)
    assert_type(weft.max(x, y), Tensor)
    assert_type(weft.max(x, 0), return_types.max)
    assert_type(weft.max(x, dim=0, keepdim=True).indices, Tensor)
    assert_type(weft.median(x), Tensor)
    weft.exp("x")  # type: ignore[arg-type]
    weft.exp(2)  # type: ignore[arg-type]
    weft.mul(x, "2")  # type: ignore[arg-type]
    weft.hypot(x, 2)  # type: ignore[arg-type]


def methods(x: Tensor, y: Tensor) -> None:
    assert_type(x.exp(), Tensor)
    assert_type(x.mul(2), Tensor)
    assert_type(x.mul_(y), Tensor)
    assert_type(x.max(), Tensor)
    assert_type(x.max(0).values, Tensor)
    x.exp(2)  # type: ignore[call-arg]
    x.mul("2")  # type: ignore[arg-type]


def operators(x: Tensor, y: Tensor) -> None:
    assert_type(x + 1, Tensor)
    assert_type(1 - x, Tensor)
    assert_type(x @ y, Tensor)
    assert_type(x == y, Tensor)
    x + "1"  # type: ignore[operator]
    x @ 2  # type: ignore[operator]
    x += y
    assert_type(x, Tensor)
