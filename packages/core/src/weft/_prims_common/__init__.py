"""What dtypes are and turn into, and what shapes are: the questions that PyTorch's decompositions and its tests ask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

import weft
from weft._dtypes.dtypes import dtype, result_dtype
from weft._tensor.base import Tensor

__all__ = [
    "ELEMENTWISE_TYPE_PROMOTION_KIND",
    "canonicalize_dim",
    "canonicalize_dims",
    "compare_tensor_meta",
    "corresponding_complex_dtype",
    "corresponding_real_dtype",
    "dtype_to_type",
    "elementwise_dtypes",
    "is_boolean_dtype",
    "is_complex_dtype",
    "is_expandable_to",
    "is_float_dtype",
    "is_integer_dtype",
    "is_same_shape",
    "is_weakly_lesser_type",
    "make_contiguous_strides_for",
    "type_to_dtype",
]

TYPES = (bool, int, float, complex)  # each holds the numbers of those before it
COMPLEX_OF = {weft.bfloat16: weft.complex64, weft.float16: weft.complex32, weft.float32: weft.complex64}
COMPLEX_OF[weft.float64] = weft.complex128
REAL_OF = {weft.complex32: weft.float16, weft.complex64: weft.float32, weft.complex128: weft.float64}
COMPUTED_IN = {weft.bfloat16: weft.float32, weft.float16: weft.float32, weft.complex32: weft.complex64}


class ELEMENTWISE_TYPE_PROMOTION_KIND(Enum):
    """How an elementwise function's result gets its dtype from the arguments' common one."""

    DEFAULT = (0,)  # it is the common one; halves are computed in float32
    NO_OPMATH = (1,)  # it is the common one, computed in as well
    INT_TO_FLOAT = (2,)  # integers give floats
    ALWAYS_BOOL = (3,)  # comparisons
    COMPLEX_TO_FLOAT = (4,)  # complex numbers give real ones
    BOOL_TO_LONG = (5,)  # bools are counted


def is_boolean_dtype(dtype: dtype) -> bool:
    """Whether a dtype is bool."""
    return dtype is weft.bool


def is_integer_dtype(dtype: dtype) -> bool:
    """Whether a dtype is of integers; bool is not."""
    return not (dtype.is_floating_point or dtype.is_complex or dtype is weft.bool)


def is_float_dtype(dtype: dtype) -> bool:
    """Whether a dtype is of real floats."""
    return dtype.is_floating_point


def is_complex_dtype(dtype: dtype) -> bool:
    """Whether a dtype is of complex numbers."""
    return dtype.is_complex


def dtype_to_type(dtype: dtype) -> type:
    """Python's type of a dtype's numbers: bool, int, float or complex."""
    if dtype is weft.bool:
        return bool
    return complex if dtype.is_complex else float if dtype.is_floating_point else int


def type_to_dtype(typ: type) -> dtype:
    """The dtype that a tensor made of one of Python's numbers has."""
    if typ is bool:
        return weft.bool
    if typ is int:
        return weft.int64
    default = weft.get_default_dtype()
    if typ is float:
        return default
    if typ is complex:
        return corresponding_complex_dtype(default)
    raise ValueError(f"type_to_dtype: typ must be bool, int, float or complex, got {typ!r}")


def corresponding_real_dtype(dtype: dtype) -> dtype:
    """The dtype of a complex one's parts."""
    return REAL_OF[dtype]


def corresponding_complex_dtype(dtype: dtype) -> dtype:
    """The complex dtype whose parts have a dtype; complex64 for bfloat16, which has none."""
    return COMPLEX_OF[dtype]


def is_weakly_lesser_type(a: type, b: type) -> bool:
    """Whether Python's numbers of type ``a`` are numbers of type ``b`` as well.

    Raises
    ------
    RuntimeError
        If one of them is no type of numbers.
    """
    for each in (a, b):
        if each not in TYPES:
            raise RuntimeError(f"is_weakly_lesser_type: expected bool, int, float or complex, got {each!r}")
    return TYPES.index(a) <= TYPES.index(b)


def elementwise_dtypes(*_args: Any, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND) -> tuple[dtype, dtype]:
    """Return the dtype that an elementwise function computes in, and its result's.

    Parameters
    ----------
    *_args : Tensor, bool, int, float, complex or None
        The function's arguments; None is left out.
    type_promotion_kind : ELEMENTWISE_TYPE_PROMOTION_KIND

    Raises
    ------
    ValueError
        If an argument is something else.

    Examples
    --------
    >>> kind = ELEMENTWISE_TYPE_PROMOTION_KIND.INT_TO_FLOAT
    >>> elementwise_dtypes(weft.ones(2, dtype=weft.int64), 1, type_promotion_kind=kind)
    (weft.float32, weft.float32)
    """
    kinds = ELEMENTWISE_TYPE_PROMOTION_KIND
    args = [each for each in _args if each is not None]
    for each in args:
        if not isinstance(each, (Tensor, *TYPES)):
            raise ValueError(f"elementwise_dtypes: expected tensors and numbers, got {type(each).__name__}")
    common = result_dtype(args, "elementwise_dtypes")
    kind = type_promotion_kind
    if kind is kinds.INT_TO_FLOAT and not (common.is_floating_point or common.is_complex):
        common = weft.get_default_dtype()
    computed = common if kind is kinds.NO_OPMATH else COMPUTED_IN.get(common, common)
    if kind is kinds.ALWAYS_BOOL:
        return computed, weft.bool
    if kind is kinds.BOOL_TO_LONG and common is weft.bool:
        return weft.int64, weft.int64
    if kind is kinds.COMPLEX_TO_FLOAT and common.is_complex:
        return computed, corresponding_real_dtype(common)
    return computed, common


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """Return a dimension counted from the front.

    Raises
    ------
    IndexError
        If there is no such dimension.
    """
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    if rank == 0 and not wrap_scalar:
        raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
    size = max(rank, 1)
    if not -size <= idx < size:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {idx})")
    return idx + size if idx < 0 else idx


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """Return dimensions counted from the front: one, or a tuple."""
    if isinstance(indices, Sequence):
        return tuple(canonicalize_dim(rank, each, wrap_scalar) for each in indices)
    return canonicalize_dim(rank, indices, wrap_scalar)


def is_same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes have the same sizes."""
    return tuple(a) == tuple(b)


def is_expandable_to(shape: Sequence[int], desired: Sequence[int]) -> bool:
    """Whether a tensor of ``shape`` can be expanded to ``desired``."""
    if len(shape) > len(desired):
        return False
    pairs = zip(reversed(shape), reversed(desired), strict=False)
    return all(size in (1, wanted) for size, wanted in pairs)


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor; with ``row_major=False`` its last two dimensions lie exchanged."""
    sizes = list(shape) if row_major else [*shape[:-2], *reversed(shape[-2:])]
    strides = [math.prod(max(size, 1) for size in sizes[place + 1 :]) for place in range(len(sizes))]
    return tuple(strides) if row_major else (*strides[:-2], *reversed(strides[-2:]))


def compare_tensor_meta(
    a: Tensor, b: Tensor, check_sizes: bool = True, check_strides: bool = False, *, check_conj: bool = True
) -> None:
    """Check that two tensors have one shape, dtype, device, and lazy conjugate and negative bits.

    Raises
    ------
    AssertionError
        If an argument is no tensor.
    RuntimeError
        If the tensors differ; `check_sizes` and `check_conj` are left out where they are False, strides where
        `check_strides` is.
    """
    for name, each in (("a", a), ("b", b)):
        if not isinstance(each, Tensor):
            raise AssertionError(f"{name} must be a Tensor, got {type(each)}")
    if check_sizes and a.shape != b.shape:
        raise RuntimeError(f"Shapes {a.shape} and {b.shape} are not equal!")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"Dtypes {a.dtype} and {b.dtype} are not equal!")
    if a.device != b.device:
        raise RuntimeError(f"Devices {a.device} and {b.device} are not equal!")
    if check_strides:
        counted = [place for place, size in enumerate(a.shape) if size > 1 and a.numel()]
        if any(a.stride(place) != b.stride(place) for place in counted):
            raise RuntimeError(f"Strides {a.stride()} and {b.stride()} are not equal!")
    if check_conj and a.is_conj() != b.is_conj():
        raise RuntimeError(f"Conj mismatch! is_conj is set to {a.is_conj()} and {b.is_conj()}")
    if a.is_neg() != b.is_neg():
        raise RuntimeError(f"Neg mismatch! is_neg is set to {a.is_neg()} and {b.is_neg()}")
