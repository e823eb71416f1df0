"""What kernels for any array library are written with: constants of a device, and what some libraries lack of NumPy.

Kernels get the array namespace, ``xp``. On a device they neither read values, which would wait for it, nor make arrays
of Python's numbers or of NumPy's arrays at each call, which would be sent there.
"""

from weft.ops._numerics import array_of, constant, is_numpy, peaks
from weft.ops._scatter import combine_at

__all__ = ["array_of", "combine_at", "constant", "is_numpy", "peaks"]
