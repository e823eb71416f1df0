"""Intel's library of linear algebra: NumPy's own is used."""

from __future__ import annotations

from types import TracebackType

from weft import _settings

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """False: products and decompositions go through NumPy and SciPy, whatever those are built with."""
    return _settings.has_mkl


class verbose:
    """Context manager, accepted: there are no messages of the library to switch."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
