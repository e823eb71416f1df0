"""The older name of `weft.ao.quantization`, by which many programs call it."""

from weft.ao.quantization import *  # noqa: F403
from weft.ao.quantization import __all__ as __all__
