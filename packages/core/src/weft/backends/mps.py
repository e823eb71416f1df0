"""Whether Apple's graphics processors can be used: a plugin must bring the device ``mps``."""

import platform

from weft.accelerator import usable
from weft.plugins import backends


def is_built() -> bool:
    """Whether a backend for them is installed, usable or not."""
    return "mps" in backends()


def is_available() -> bool:
    """Whether tensors can be put on one.

    Examples
    --------
    >>> device = "mps" if weft.backends.mps.is_available() else "cpu"
    """
    return usable("mps") is not None


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is macOS, of that version or a later one."""
    version = platform.mac_ver()[0].split(".")
    return version != [""] and [int(part) for part in version[:2]] >= [major, minor][: len(version)]


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether this is macOS 13, or later."""
    return is_macos_or_newer(13, minor)
