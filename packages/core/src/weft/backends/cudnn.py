"""NVIDIA's library of neural-network kernels: settings are kept; weft.backend_cuda chooses its kernels itself."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import SimpleNamespace

from weft.backends._context import flags_set, replaced

__all__ = ["flags", "is_acceptable", "is_available", "set_flags", "version"]

enabled = True
deterministic = False
benchmark = False
benchmark_limit: int | None = 10
allow_tf32 = True
fp32_precision = "none"
conv = SimpleNamespace(fp32_precision="tf32")
rnn = SimpleNamespace(fp32_precision="tf32")


def version() -> int | None:
    """None: the library is not used."""
    return None


def is_available() -> bool:
    """False: the library is not used."""
    return False


def is_acceptable(tensor: object) -> bool:
    """False: no tensor goes to the library."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = None,
) -> tuple[object, ...]:
    """Set several at once, and return what they were; None leaves one as it is."""
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32", "fp32_precision")
    values = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32, _fp32_precision)
    return tuple(replaced(__name__, dict(zip(names, values))).values())


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int | None = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str | None = None,
) -> AbstractContextManager[None]:
    """Context manager: the settings have these values inside of the block."""
    return flags_set(
        __name__,
        {
            "enabled": enabled,
            "benchmark": benchmark,
            "benchmark_limit": benchmark_limit,
            "deterministic": deterministic,
            "allow_tf32": allow_tf32,
            "fp32_precision": fp32_precision,
        },
    )
