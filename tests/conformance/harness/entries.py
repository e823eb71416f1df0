"""The operators of PyTorch's database by name, their samples, and what is left out."""

import random
import tomllib
import warnings
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # about packages that only PyTorch's own runner uses
    from torch.testing._internal.common_methods_invocations import op_db

FOLDER = Path(__file__).resolve().parent.parent
MAIN_DTYPES = ("float32", "int64", "bool")
# complex32 and the 8-bit floats have no NumPy counterpart, through which samples travel.
UNTRANSLATABLE_DTYPES = {"complex32", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"}


@cache
def by_name() -> dict[str, list[Any]]:
    """Entries of the database by operator name; a name has an entry for each variant."""
    names = defaultdict(list)
    for entry in op_db:
        names[entry.name].append(entry)
    return dict(names)


@cache
def exclusions() -> dict[str, str]:
    """Patterns of names that are not run, with the reason, from ``excluded.toml``."""
    with (FOLDER / "excluded.toml").open("rb") as file:
        return tomllib.load(file)["excluded"]


def exclusion(name: str) -> str | None:
    """Why ``name`` is left out, or None."""
    return next((why for pattern, why in exclusions().items() if fnmatchcase(name, pattern)), None)


def names(patterns: list[str]) -> list[str]:
    """Names to run, sorted: those that match one of ``patterns``, or all."""
    chosen = [n for n in by_name() if not patterns or any(fnmatchcase(n, p) for p in patterns)]
    return sorted(name for name in chosen if exclusion(name) is None)


def dtypes(entry: Any) -> set[str]:
    """Names of the dtypes that PyTorch supports for ``entry`` on the CPU and that can be translated."""
    return {str(dtype).removeprefix("torch.") for dtype in entry.dtypes} - UNTRANSLATABLE_DTYPES


def seed_everything(seed: int) -> None:
    """Seed the generators that sample functions draw from."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


def samples(entry: Any, dtype: str, requires_grad: bool, seed: int) -> Iterator[Any]:
    """Sample inputs of ``entry``; the same for the same seed, whatever the caller does between two of them."""
    seed_everything(seed)
    drawn = entry.sample_inputs("cpu", getattr(torch, dtype), requires_grad=requires_grad, set_seed=False)
    yield from list(drawn)
