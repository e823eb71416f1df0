"""The library packaging, as it is installed; what imports this needs it."""

from packaging import version as version

__all__ = ["version"]
