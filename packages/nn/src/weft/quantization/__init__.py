"""The older name of `weft.ao.quantization`, by which many programs call it."""

from weft.ao.quantization import *
from weft.ao.quantization import __all__ as __all__
