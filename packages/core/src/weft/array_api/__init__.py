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

from weft.array_api import fft, linalg
from weft.array_api.constants import e, inf, nan, newaxis, pi
from weft.array_api.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from weft.array_api.data_types import (
    astype,
    bool,
    can_cast,
    complex64,
    complex128,
    finfo,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    result_type,
    uint8,
    uint16,
    uint32,
    uint64,
)
from weft.array_api.elementwise import (
    abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    clip,
    conj,
    copysign,
    cos,
    cosh,
    divide,
    equal,
    exp,
    expm1,
    floor,
    floor_divide,
    greater,
    greater_equal,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,
    real,
    reciprocal,
    remainder,
    round,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
)
from weft.array_api.indexing import take, take_along_axis
from weft.array_api.info import __array_namespace_info__
from weft.array_api.linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from weft.array_api.manipulation import (
    broadcast_arrays,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from weft.array_api.searching import argmax, argmin, count_nonzero, nonzero, searchsorted, where
from weft.array_api.sets import unique_all, unique_counts, unique_inverse, unique_values
from weft.array_api.sorting import argsort, sort
from weft.array_api.statistical import cumulative_prod, cumulative_sum, max, mean, min, prod, std, sum, var
from weft.array_api.utility import all, any, diff

__array_api_version__ = "2024.12"
