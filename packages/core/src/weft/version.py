"""The version, and those of the libraries of accelerators that PyTorch's builds are made for: there are none."""

from __future__ import annotations

from weft import __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

debug = False
cuda: str | None = None
git_version: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
