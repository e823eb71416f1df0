"""What the programs are made of: shapes, dtypes, numbers, tensors, index expressions, as source text."""

from __future__ import annotations

import math
from typing import Any

FLOATING = ["float32", "float64", "float16", "bfloat16"]
INTEGER = ["int64", "int32", "int16", "int8", "uint8"]
COMPLEX = ["complex64", "complex128"]
DTYPES = [*FLOATING, *INTEGER, *COMPLEX, "bool"]


def shape(random: Any, most: int = 4, least: int = 0, empty: bool = True) -> tuple[int, ...]:
    """A small shape; one in ten dimensions has no elements."""
    sizes = [1, 2, 3, 2, 3, 4, 5, 1, 2] + ([0] if empty else [])
    return tuple(random.choice(sizes) for _ in range(random.randint(least, most)))


def tensor(random: Any, size: tuple[int, ...], dtype: str, layouts: bool = True) -> str:
    """Small values, exact in every dtype, in some layout."""
    count = math.prod(size)
    low = 0 if dtype in ("uint8", "bool") else -(count // 3)
    text = f"torch.arange({low}, {low + count})"
    text += f".remainder({random.choice([2, 3])}) > 0" if dtype == "bool" else ""
    text = f"({text})" if dtype == "bool" else text
    order = random.choice(["", "", "", "transposed", "strided", "offset"]) if layouts and size else ""
    if order == "transposed" and len(size) > 1:
        text += f".reshape({tuple(reversed(size))}).permute({tuple(reversed(range(len(size))))})"
    elif order == "strided":
        low = 0 if dtype in ("uint8", "bool") else -count
        text = f"torch.arange({low}, {low + 2 * count}).reshape({(*size[:-1], 2 * size[-1])})[..., ::2]"
    elif order == "offset" and count:
        low = 0 if dtype in ("uint8", "bool") else -2
        text = f"torch.arange({low}, {low + count + 2})[2:].reshape({size})"
    elif size != (count,):
        text += f".reshape({size})"
    if dtype != "int64" and not (dtype == "bool" and order not in ("strided", "offset")):
        text += f".to(torch.{dtype})"
    return text


def number(random: Any) -> str:
    return random.choice(["2", "-1", "0", "3", "1.5", "-0.5", "2.0", "True", "False", "1j"])


def pick(random: Any, tensors: dict[str, Any], wanted: Any = None) -> str | None:
    """The name of one of some tensors, the last ones more often."""
    names = [name for name, value in tensors.items() if wanted is None or wanted(value)]
    if not names:
        return None
    return random.choice(names + names[-1:])
