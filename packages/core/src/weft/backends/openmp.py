"""Threads of compiled loops."""

from __future__ import annotations

from weft import _settings


def is_available() -> bool:
    """Whether core's own kernels run on OpenMP: they are NumPy's, which does not."""
    return _settings.has_openmp
