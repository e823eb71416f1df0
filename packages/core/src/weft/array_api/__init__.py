"""The Python array API standard, version 2024.12, over `weft.Tensor`.

Libraries get this namespace from a tensor: ``xp = x.__array_namespace__()``. Its functions have the standard's
names, arguments, dtypes and special cases where PyTorch's differ; the arrays are tensors, and gradients are recorded.
The README in this folder says where operators differ, and which libraries use it.

Examples
--------
>>> x = weft.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> xp = x.__array_namespace__()
>>> xp.mean(x, axis=0, keepdims=True)
tensor([[2., 3.]])
>>> xp.add(xp.asarray(1, dtype=xp.int64), xp.asarray([1], dtype=xp.int8)).dtype  # 1 + x is int8, as in PyTorch
weft.int64
"""

from weft.array_api import fft as fft
from weft.array_api import linalg as linalg
from weft.array_api.constants import *
from weft.array_api.creation import *
from weft.array_api.data_types import *
from weft.array_api.elementwise import *
from weft.array_api.indexing import *
from weft.array_api.info import __array_namespace_info__ as __array_namespace_info__
from weft.array_api.linear_algebra import *
from weft.array_api.manipulation import *
from weft.array_api.searching import *
from weft.array_api.sets import *
from weft.array_api.sorting import *
from weft.array_api.statistical import *
from weft.array_api.utility import *

__array_api_version__ = "2024.12"
