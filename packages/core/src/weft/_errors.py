"""Exceptions that programs catch by PyTorch's names."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

__all__ = ["AcceleratorError", "OutOfMemoryError", "PluginError", "warn_deprecated"]


class OutOfMemoryError(RuntimeError):
    """A device has not the memory for a result; on the CPU it is a plain RuntimeError, as in PyTorch."""

    __module__ = "weft"


class PluginError(RuntimeError):
    """A plugin is installed and cannot bring what was asked for; its own exception is the ``__cause__``."""

    __module__ = "weft.plugins"  # where users and tracebacks find it


def warn_deprecated(name: str, instead: str) -> None:
    """Warn the first caller outside of weft that PyTorch has a newer name for a function."""
    warn_caller(f"weft.{name} is deprecated in favor of weft.{instead}")


def is_own(frame: FrameType) -> bool:
    """Whether a frame is in weft's code, whatever its modules are called."""
    return f"{frame.f_globals.get('__package__')}.".startswith("weft.")


def caller_line(*programs: str) -> str:
    """The line of the program that runs, ``"model.py:12"``: of the first caller outside of weft.

    Parameters
    ----------
    *programs : str
        Packages of weft's that are programs here, as ``"weft.vision"`` is with its models.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame):
        if str(frame.f_globals.get("__package__")).startswith(programs):
            break
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


def warn_caller(message: str) -> None:
    """Warn the first caller outside of weft."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and is_own(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


class AcceleratorError(RuntimeError):
    """An accelerator's runtime reported an error."""

    __module__ = "weft"
