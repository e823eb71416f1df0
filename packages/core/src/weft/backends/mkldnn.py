"""Intel's oneDNN by its old name: available where the CPU backend computes with it; settings are kept."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import SimpleNamespace, TracebackType

from weft.backends._context import flags_set, replaced
from weft.plugins import backend

VERBOSE_OFF = 0
VERBOSE_ON = 1
VERBOSE_ON_CREATION = 2

enabled = True
deterministic = False
allow_tf32 = True
fp32_precision = "none"
matmul = SimpleNamespace(fp32_precision="none")
conv = SimpleNamespace(fp32_precision="none")
rnn = SimpleNamespace(fp32_precision="none")


def is_available() -> bool:
    """Whether the CPU backend names oneDNN among the libraries that it uses."""
    return any("onednn" in f"{part} {library}".lower() for part, library in backend("cpu").describe().items())


class verbose:
    """Context manager, accepted: the library's own messages cannot be switched from here."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> verbose:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = None,
) -> tuple[object, ...]:
    """Set several at once, and return what they were; None leaves one as it is."""
    names = ("enabled", "deterministic", "allow_tf32", "fp32_precision")
    values = (_enabled, _deterministic, _allow_tf32, _fp32_precision)
    return tuple(replaced(__name__, dict(zip(names, values))).values())


def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str | None = None
) -> AbstractContextManager[None]:
    """Context manager: the settings have these values inside of the block."""
    changes = {
        "enabled": enabled,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
        "fp32_precision": fp32_precision,
    }
    return flags_set(__name__, changes)
