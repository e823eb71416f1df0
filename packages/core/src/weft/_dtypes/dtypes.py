"""The dtypes, and the rules by which they combine.

Source of the rules: PyTorch's documented type promotion (the categories bool, integer, floating and
complex; dimensioned tensors before zero-dimensional ones before Python numbers).
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy

from weft import _display_name

BOOL, INTEGER, FLOATING, COMPLEX = range(4)
FLOAT8 = 4  # beside the categories, in what ops accept: the 8-bit floats, whose category is FLOATING


class dtype:
    """The element type of a tensor. Instances are interned: compare them with ``is`` or ``==``.

    Attributes
    ----------
    name : str
        ``"float32"``.
    numpy : numpy.dtype
        What a backend's arrays carry; bfloat16 and the 8-bit floats come from ml_dtypes.
    itemsize : int
        Bytes.
    is_floating_point, is_complex, is_signed : bool
    category : int
        0 bool, 1 integer, 2 floating, 3 complex.
    is_float8 : bool
        Whether it has 8 bits and is floating: for storage, without arithmetic.
    """

    def __init__(self, name: str, array_dtype: Any, category: int, scalar_type_name: str) -> None:
        self.name = name
        self.numpy = numpy.dtype(array_dtype)
        self.category = category
        self.scalar_type_name = scalar_type_name  # as error messages call it: Float, Long
        self.itemsize = self.numpy.itemsize
        self.is_floating_point = category == FLOATING
        self.is_complex = category == COMPLEX
        self.is_float8 = name.startswith("float8")
        self.is_signed = not (category == BOOL or name.startswith("uint") or name.endswith("fnu"))

    def __repr__(self) -> str:
        return f"{_display_name.name}.{self.name}"

    def __reduce__(self) -> tuple[Any, ...] | str:
        if _display_name.name == "torch":
            return self.name  # it is torch.float32, to PyTorch as well
        return _by_name, (self.name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: Any) -> dtype:
        return self

    @property
    def is_half(self) -> bool:
        """Whether arithmetic on it is done in float32 and rounded once."""
        return self is float16 or self is bfloat16

    @property
    def abbr(self) -> str:
        """The short name: ``f32``, ``i64``, ``c128``, ``bf16``, ``b8``, ``f8e5m2``."""
        if self.is_float8:
            return self.name.replace("float8_", "f8")
        letters = self.name.rstrip("0123456789")
        short = {"bool": "b", "int": "i", "uint": "u", "float": "f", "bfloat": "bf", "complex": "c"}[letters]
        return f"{short}{8 * self.itemsize}"

    def to_real(self) -> dtype:
        """The dtype of the real part."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self) -> dtype:
        """The complex dtype with parts of this dtype.

        Raises
        ------
        RuntimeError
            For integers, bool and the 8-bit floating-point dtypes.
        """
        if self.is_float8 or not (self.is_floating_point or self.is_complex):
            raise RuntimeError(
                f"to_complex: Unknown Complex ScalarType for {self.scalar_type_name}; convert with .to(weft.float32)"
            )
        return complex128 if self in (float64, complex128) else complex64


bool_ = dtype("bool", numpy.bool_, BOOL, "Bool")
uint8 = dtype("uint8", numpy.uint8, INTEGER, "Byte")
uint16 = dtype("uint16", numpy.uint16, INTEGER, "UInt16")
uint32 = dtype("uint32", numpy.uint32, INTEGER, "UInt32")
uint64 = dtype("uint64", numpy.uint64, INTEGER, "UInt64")
int8 = dtype("int8", numpy.int8, INTEGER, "Char")
int16 = dtype("int16", numpy.int16, INTEGER, "Short")
int32 = dtype("int32", numpy.int32, INTEGER, "Int")
int64 = dtype("int64", numpy.int64, INTEGER, "Long")
float16 = dtype("float16", numpy.float16, FLOATING, "Half")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOATING, "BFloat16")
float32 = dtype("float32", numpy.float32, FLOATING, "Float")
float64 = dtype("float64", numpy.float64, FLOATING, "Double")
complex64 = dtype("complex64", numpy.complex64, COMPLEX, "ComplexFloat")
complex128 = dtype("complex128", numpy.complex128, COMPLEX, "ComplexDouble")
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOATING, "Float8_e4m3fn")
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, FLOATING, "Float8_e5m2")
float8_e4m3fnuz = dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, FLOATING, "Float8_e4m3fnuz")
float8_e5m2fnuz = dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, FLOATING, "Float8_e5m2fnuz")
float8_e8m0fnu = dtype("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, FLOATING, "Float8_e8m0fnu")

ALL = (  # that one can compute with
    bool_,
    uint8,
    int8,
    int16,
    int32,
    int64,
    float16,
    float32,
    float64,
    complex64,
    complex128,
    bfloat16,
    uint16,
    uint32,
    uint64,
)
FLOAT8_DTYPES = (float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu)
STORABLE = ALL + FLOAT8_DTYPES  # that tensors may have
ALIASES = {
    "bool": bool_,
    "half": float16,
    "float": float32,
    "double": float64,
    "short": int16,
    "int": int32,
    "long": int64,
    "cfloat": complex64,
    "cdouble": complex128,
}
BY_NUMPY: dict[Any, dtype] = {each.numpy: each for each in STORABLE}
BY_PYTHON = {bool: bool_, int: int64, float: float32, complex: complex64}
NAMES = {each.name: each for each in STORABLE}
# NumPy's long long is int64 by another number on some platforms.
BY_NUMPY.setdefault(numpy.dtype(numpy.longlong), int64)
BY_NUMPY.setdefault(numpy.dtype(numpy.ulonglong), uint64)


OF_PYTHON_TYPES = {bool: bool_, int: int64, float: float64, complex: complex128}


def element_type(name: str, given: Any) -> dtype | None:
    """What a dtype argument means: a dtype, one of Python's number types, or None.

    Raises
    ------
    TypeError
        If it is something else.
    """
    if given is None or isinstance(given, dtype):
        return given
    found = OF_PYTHON_TYPES.get(given) if isinstance(given, type) else None
    if found is None:
        raise TypeError(f"{name}(): argument 'dtype' must be weft.dtype, not {type(given).__name__} ({given!r})")
    return found


def _by_name(name: str) -> dtype:
    return NAMES[name]


_default = float32


def get_default_dtype() -> dtype:
    """The dtype of floating-point numbers that name none: float32 unless it was set.

    Examples
    --------
    >>> weft.get_default_dtype()
    weft.float32
    """
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of floating-point numbers that name none.

    Raises
    ------
    TypeError
        If ``d`` is not a floating-point dtype, or has 8 bits: those are for storage.
    """
    if not isinstance(d, dtype) or not d.is_floating_point or d.is_float8:
        raise TypeError(
            "set_default_dtype: only floating-point types of 16 bits and more are supported as the default type; "
            f"got {d}"
        )
    global _default
    _default = d
    for listener in default_listeners:
        listener()


default_listeners: list[Any] = []  # who keeps something that depends on the default


def scalar_dtype(value: Any) -> dtype:
    """The dtype that a Python (or NumPy) number has when a tensor is made of it."""
    if isinstance(value, (bool, numpy.bool_)):
        return bool_
    if isinstance(value, (int, numpy.integer)):
        return int64
    if isinstance(value, (float, numpy.floating)):
        return _default
    if isinstance(value, (complex, numpy.complexfloating)):
        return _default.to_complex()
    raise TypeError(f"result_type: expected a Tensor or a number, not {type(value).__name__}")


def check_bits(name: str, value: int) -> None:
    """An integer that an op was given is one that some dtype has.

    Raises
    ------
    OverflowError
        If it has more than 64 bits.
    """
    if not -(1 << 63) <= value < 1 << 64:
        bits = value.bit_length()
        shown = f"{value}" if bits <= 128 else f"a number of {bits} bits"
        raise OverflowError(f"{name}: int too big to convert: {shown} needs more than 64 bits, which no dtype has")


_WIDE_UNSIGNED = (uint16, uint32, uint64)


def require_dtypes(name: str, **arguments: Any) -> None:
    """All arguments are dtypes.

    Raises
    ------
    TypeError
        Naming the first that is none.
    """
    for position, (argument, value) in enumerate(arguments.items()):
        if not isinstance(value, dtype):
            raise TypeError(
                f"{name}(): argument '{argument}' (position {position + 1}) must be weft.dtype, not "
                f"{type(value).__name__}"
            )


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both convert to, by category and then by width.

    Parameters
    ----------
    type1, type2 : dtype

    Raises
    ------
    RuntimeError
        For uint16, uint32 or uint64 with another integer dtype, and for an 8-bit floating-point dtype with any other:
        PyTorch defines none.

    Examples
    --------
    >>> weft.promote_types(weft.int32, weft.float16)
    weft.float16
    >>> weft.promote_types(weft.uint8, weft.int8)
    weft.int16
    """
    if type1 is type2:
        return type1
    require_dtypes("promote_types", type1=type1, type2=type2)
    if type1.is_float8 or type2.is_float8:
        raise RuntimeError(
            f"promote_types: Promotion for Float8 Types is not supported, attempted to promote "
            f"{type1.scalar_type_name} and "
            f"{type2.scalar_type_name}; convert one of them first, for example with .to(weft.float32)"
        )
    low, high = sorted((type1, type2), key=lambda each: each.category)
    if (type1 in _WIDE_UNSIGNED or type2 in _WIDE_UNSIGNED) and high.category != FLOATING:
        raise RuntimeError(
            f"promote_types: promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{type1.scalar_type_name} and {type2.scalar_type_name}; convert one of them first, for example with "
            ".to(weft.int64)"
        )
    if high.category == COMPLEX:
        return complex128 if complex128 in (low, high) or low is float64 else complex64
    if high.category == FLOATING:
        if low.category < FLOATING:
            return high
        if type1.itemsize == type2.itemsize:  # float16 with bfloat16
            return float32
        return type1 if type1.itemsize > type2.itemsize else type2
    if low.category == BOOL:
        return high
    if uint8 in (type1, type2):
        other = type1 if type2 is uint8 else type2
        return int16 if other is int8 else other
    return type1 if type1.itemsize > type2.itemsize else type2


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a conversion keeps the category: no complex to real, floating to integer, number to bool.

    Parameters
    ----------
    from_, to : dtype

    Examples
    --------
    >>> weft.can_cast(weft.float64, weft.float32), weft.can_cast(weft.float32, weft.int32)
    (True, False)
    """
    require_dtypes("can_cast", from_=from_, to=to)
    if from_.category == COMPLEX and to.category != COMPLEX:
        return False
    if from_.category == FLOATING and to.category < FLOATING:
        return False
    return not (from_.category != BOOL and to.category == BOOL)


def result_dtype(args: Any, name: str = "result_type") -> dtype:
    """The common dtype of tensors and Python numbers (anything with ``dtype`` and ``ndim`` is a tensor).

    Dimensioned tensors decide; a zero-dimensional tensor, and after it a Python number, changes the
    result only if it is of a higher category. ``name`` is the op's, for the error about a number that no dtype has.
    """
    dimensioned: dtype | None = None
    zero_dim: dtype | None = None
    number: dtype | None = None
    for arg in args:
        key = getattr(arg, "_key", None)
        if key is None:
            found = scalar_dtype(arg)
            if found is int64 and not -(1 << 63) <= arg < 1 << 63:
                check_bits(name, arg)
                found = uint64
            number = found if number is None else promote_types(number, found)
        elif arg._array.ndim:
            dimensioned = key.dtype if dimensioned is None else promote_types(dimensioned, key.dtype)
        else:
            zero_dim = key.dtype if zero_dim is None else promote_types(zero_dim, key.dtype)
    result = _combine(dimensioned, zero_dim)
    final = _combine(result, number)
    assert final is not None
    return final


def _combine(high: dtype | None, low: dtype | None) -> dtype | None:
    if high is None or low is None:
        return low if high is None else high
    if low.category <= high.category:
        return high
    if low.category == COMPLEX and high.category == FLOATING:  # the width of the tensor stays
        return high.to_complex()
    return promote_types(high, low) if high.category == BOOL else low


class finfo:
    """The limits of a floating-point dtype: ``bits, eps, max, min, tiny, smallest_normal, resolution``.

    Examples
    --------
    >>> weft.finfo(weft.float16).max
    65504.0
    """

    def __init__(self, type: dtype | None = None) -> None:
        of = element_type("finfo", type) or get_default_dtype()
        if not (of.is_floating_point or of.is_complex):
            raise TypeError(
                f"{_display_name.name}.finfo() requires a floating point input type, not {of}. Use iinfo for integers"
            )
        info = ml_dtypes.finfo(of.to_real().numpy)
        self.dtype = of.to_real().name
        self.bits = int(info.bits)
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        if of is float8_e5m2fnuz:
            self.eps = 0.125  # what PyTorch says; neighbours of 1 are 0.25 apart
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = 10.0 ** -int(-math.log10(self.eps))

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((finfo, self.dtype))


class iinfo:
    """The limits of an integer dtype: ``bits, max, min``.

    Examples
    --------
    >>> weft.iinfo(weft.int8).min
    -128
    """

    def __init__(self, type: dtype) -> None:
        of = element_type("iinfo", type)
        if of is None or of.category != INTEGER:
            raise TypeError(
                f"{_display_name.name}.iinfo() requires an integer input type, not {of}. Use finfo for floating point"
            )
        info = numpy.iinfo(of.numpy)
        self.dtype = of.name
        self.bits, self.max, self.min = int(info.bits), int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((iinfo, self.dtype))
