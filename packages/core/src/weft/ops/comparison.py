"""Comparisons, logic and bits: results without gradients."""

from __future__ import annotations

import math
from typing import Any

from weft._dtypes.dtypes import bool_, dtype, promote_types, result_dtype, scalar_dtype
from weft._engine.functions import Equal, MaskedFill, Where
from weft._engine.tensor import TensorBase
from weft._settings import warn_caller_once
from weft._tensor.base import Tensor, add_members
from weft._tensor.layout import in_order
from weft.ops._declare import ALL_DTYPES, composite, op, pointwise
from weft.ops._geometry import broadcast_shapes, require_tensors
from weft.ops._numerics import array_of, is_numpy, select
from weft.ops.creation import element_of, fitting, zeros_like
from weft.types import Number, Scalar

REAL = "bool int float"
BITS = "bool int"


@pointwise(
    "eq __eq__",
    "eq_",
    kernel="equal",
    result="bool",
    dtypes=ALL_DTYPES,
    compute_dtype="native",
    numbers="other",
    onnx="Equal",
)
def eq(input, other):
    """Where the elements are equal.

    Parameters
    ----------
    input : Tensor
    other : Tensor or number, broadcastable with input

    Returns
    -------
    Tensor of bool

    Examples
    --------
    >>> weft.eq(weft.tensor([1, 2]), weft.tensor([1, 3]))
    tensor([ True, False])
    >>> weft.eq(weft.tensor(float("nan")), float("nan"))
    tensor(False)
    """


@pointwise(
    "ne not_equal __ne__",
    "ne_ not_equal_",
    kernel="not_equal",
    result="bool",
    dtypes=ALL_DTYPES,
    compute_dtype="native",
    numbers="other",
)
def ne(input, other):
    """Where the elements differ.

    Parameters
    ----------
    input : Tensor
    other : Tensor or number, broadcastable with input

    Returns
    -------
    Tensor of bool

    Examples
    --------
    >>> weft.ne(weft.tensor([1, 2, 3]), 2)
    tensor([ True, False,  True])
    """


@ne.onnx
def _(graph, input, other):
    return graph.Not(graph.Equal(input, other))


@pointwise(
    "lt less __lt__",
    "lt_ less_",
    kernel="less",
    result="bool",
    dtypes=REAL,
    compute_dtype="native",
    numbers="other",
    onnx="Less",
)
def lt(input, other):
    """Where ``input`` is less than ``other``.

    Parameters
    ----------
    input : Tensor of real dtype
    other : Tensor or number, broadcastable with input

    Returns
    -------
    Tensor of bool

    Examples
    --------
    >>> weft.lt(weft.tensor([1, 2, 3]), 2)
    tensor([ True, False, False])
    """


@pointwise(
    "le less_equal __le__",
    "le_ less_equal_",
    kernel="less_equal",
    result="bool",
    dtypes=REAL,
    compute_dtype="native",
    numbers="other",
    onnx="LessOrEqual",
)
def le(input, other):
    """Where ``input`` is less than or equal to ``other``.

    Parameters
    ----------
    input : Tensor of real dtype
    other : Tensor or number, broadcastable with input

    Returns
    -------
    Tensor of bool

    Examples
    --------
    >>> weft.le(weft.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """


@pointwise(
    "gt greater __gt__",
    "gt_ greater_",
    kernel="greater",
    result="bool",
    dtypes=REAL,
    compute_dtype="native",
    numbers="other",
    onnx="Greater",
)
def gt(input, other):
    """Where ``input`` is greater than ``other``.

    Parameters
    ----------
    input : Tensor of real dtype
    other : Tensor or number, broadcastable with input

    Returns
    -------
    Tensor of bool

    Examples
    --------
    >>> weft.gt(weft.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """


@pointwise(
    "ge greater_equal __ge__",
    "ge_ greater_equal_",
    kernel="greater_equal",
    result="bool",
    dtypes=REAL,
    compute_dtype="native",
    numbers="other",
    onnx="GreaterOrEqual",
)
def ge(input, other):
    """Where ``input`` is greater than or equal to ``other``.

    Parameters
    ----------
    input : Tensor of real dtype
    other : Tensor or number, broadcastable with input

    Returns
    -------
    Tensor of bool

    Examples
    --------
    >>> weft.ge(weft.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """


not_equal, less, less_equal, greater, greater_equal = ne, lt, le, gt, ge


def truth(xp: Any, value: Any) -> Any:
    return value if value.dtype.kind == "b" else value != 0


@pointwise("logical_and", "logical_and_", result="bool", compute_dtype="native", numbers="")
def logical_and(xp, input, other):
    """Where both are true (not 0).

    Parameters
    ----------
    input, other : Tensor, broadcastable to each other

    Returns
    -------
    Tensor of bool

    Examples
    --------
    >>> weft.logical_and(weft.tensor([1, 2, 0]), weft.tensor([1.0, 0.0, 0.0]))
    tensor([ True, False, False])
    """
    return truth(xp, input) & truth(xp, other)


@logical_and.onnx
def _(graph, input, other):
    return graph.And(graph.truth(input), graph.truth(other))


@pointwise("logical_or", "logical_or_", result="bool", compute_dtype="native", numbers="")
def logical_or(xp, input, other):
    """Where at least one is true (not 0).

    Parameters
    ----------
    input, other : Tensor, broadcastable to each other

    Returns
    -------
    Tensor of bool

    Examples
    --------
    >>> weft.logical_or(weft.tensor([1, 2, 0]), weft.tensor([1.0, 0.0, 0.0]))
    tensor([ True,  True, False])
    """
    return truth(xp, input) | truth(xp, other)


@logical_or.onnx
def _(graph, input, other):
    return graph.Or(graph.truth(input), graph.truth(other))


@pointwise("logical_xor", "logical_xor_", result="bool", compute_dtype="native", numbers="")
def logical_xor(xp, input, other):
    """Where exactly one is true (not 0).

    Parameters
    ----------
    input, other : Tensor, broadcastable to each other

    Returns
    -------
    Tensor of bool

    Examples
    --------
    >>> weft.logical_xor(weft.tensor([1, 2, 0]), weft.tensor([1.0, 0.0, 0.0]))
    tensor([False,  True, False])
    """
    return truth(xp, input) ^ truth(xp, other)


@logical_xor.onnx
def _(graph, input, other):
    return graph.Xor(graph.truth(input), graph.truth(other))


@pointwise("logical_not", "logical_not_", result="bool", compute_dtype="native")
def logical_not(xp, input):
    """Where the element is 0."""
    return ~input if input.dtype.kind == "b" else input == 0


@logical_not.onnx
def _(graph, input):
    return graph.Not(graph.truth(input))


@pointwise("bitwise_and __and__ __rand__", "bitwise_and_ __iand__", kernel="bitwise_and", dtypes=BITS)
def bitwise_and(input, other):
    """The bits that are set in both.

    Parameters
    ----------
    input, other : Tensor or number (not both numbers) of bool or integers, broadcastable to each other

    Examples
    --------
    >>> weft.bitwise_and(weft.tensor([0b110, 0b011]), 0b101)
    tensor([4, 1])
    """


@bitwise_and.onnx
def _(graph, input, other):
    return graph.And(input, other) if graph.is_bool(input, other) else graph.BitwiseAnd(input, other)


@pointwise("bitwise_or __or__ __ror__", "bitwise_or_ __ior__", kernel="bitwise_or", dtypes=BITS)
def bitwise_or(input, other):
    """The bits that are set in one or both.

    Parameters
    ----------
    input, other : Tensor or number (not both numbers) of bool or integers, broadcastable to each other

    Examples
    --------
    >>> weft.bitwise_or(weft.tensor([0b110, 0b011]), 0b101)
    tensor([7, 7])
    """


@bitwise_or.onnx
def _(graph, input, other):
    return graph.Or(input, other) if graph.is_bool(input, other) else graph.BitwiseOr(input, other)


@pointwise("bitwise_xor __xor__ __rxor__", "bitwise_xor_ __ixor__", kernel="bitwise_xor", dtypes=BITS)
def bitwise_xor(input, other):
    """The bits that are set in exactly one.

    Parameters
    ----------
    input, other : Tensor or number (not both numbers) of bool or integers, broadcastable to each other

    Examples
    --------
    >>> weft.bitwise_xor(weft.tensor([0b110, 0b011]), 0b101)
    tensor([3, 6])
    """


@bitwise_xor.onnx
def _(graph, input, other):
    return graph.Xor(input, other) if graph.is_bool(input, other) else graph.BitwiseXor(input, other)


@pointwise("bitwise_not", "bitwise_not_", kernel="invert", dtypes=BITS, out="exact")
def bitwise_not(input):
    """All bits flipped; for bool, the other truth value."""


@bitwise_not.onnx
def _(graph, input):
    return graph.Not(input) if graph.is_bool(input) else graph.BitwiseNot(input)


def invert(self: Tensor) -> Tensor:
    """``~self``: all bits flipped.

    Raises
    ------
    TypeError
        For floating-point and complex numbers.
    """
    if self._key.dtype.category > 1:
        raise TypeError(
            f"~ (operator.invert) is only implemented on integer and Boolean-type tensors, not {self.dtype}"
        )
    inverted: Tensor = bitwise_not(self)
    return inverted


add_members(__invert__=invert)


def shift_operands(xp: Any, input: Any, other: Any) -> tuple[Any, Any, Any, int]:
    """Both operands as arrays (where a number alone would make int64 of uint64), where the shift is too far, bits."""
    element = input.dtype if hasattr(input, "dtype") else other.dtype
    input, other = array_of(xp, input, element), array_of(xp, other, element)
    bits = 8 * element.itemsize
    return input, other, (other >= bits) | (other < 0), bits


@pointwise("bitwise_left_shift __lshift__ __rlshift__", "bitwise_left_shift_ __ilshift__", dtypes="int")
def bitwise_left_shift(xp, input, other):
    """``input * 2 ** other``: the bits moved to the left.

    Parameters
    ----------
    input, other : Tensor or number (not both numbers) of integers, broadcastable to each other

    Returns
    -------
    Tensor; 0 where all bits are moved out.

    Examples
    --------
    >>> weft.bitwise_left_shift(weft.tensor([1, -3]), 2)
    tensor([  4, -12])
    """
    input, other, gone, _ = shift_operands(xp, input, other)
    return xp.where(gone, 0, xp.left_shift(input, xp.where(gone, 0, other))).astype(input.dtype)


@bitwise_left_shift.onnx
def _(graph, input, other):
    return graph.Mul(input, graph.Pow(graph.value(2, input), other))


@pointwise("bitwise_right_shift __rshift__ __rrshift__", "bitwise_right_shift_ __irshift__", dtypes="int")
def bitwise_right_shift(xp, input, other):
    """``input / 2 ** other``, rounded down: the bits moved to the right.

    Parameters
    ----------
    input, other : Tensor or number (not both numbers) of integers, broadcastable to each other

    Returns
    -------
    Tensor; 0 or -1, by the sign, where all bits are moved out.

    Examples
    --------
    >>> weft.bitwise_right_shift(weft.tensor([12, -3]), 1)
    tensor([ 6, -2])
    """
    input, other, gone, bits = shift_operands(xp, input, other)
    shifted = xp.right_shift(input, xp.where(gone, bits - 1, other))
    return (xp.where(gone, 0, shifted) if input.dtype.kind == "u" else shifted).astype(input.dtype)


@bitwise_right_shift.onnx
def _(graph, input, other):
    power = graph.Pow(graph.value(2, input), other)
    return graph.Div(graph.Sub(input, graph.Mod(input, power)), power)  # rounds down, as the shift of a negative number


@pointwise("isnan", kernel="isnan", result="bool", dtypes=ALL_DTYPES, compute_dtype="native", out=False)
def isnan(input):
    """Where the element is not a number."""


@isnan.onnx
def _(graph, input):
    return graph.is_nan(input)


@pointwise("isinf", result="bool", dtypes=ALL_DTYPES, compute_dtype="native", out=False)
def isinf(xp, input):
    """Where the element is infinite."""
    return xp.isinf(input)


@isinf.onnx
def _(graph, input):
    return graph.IsInf(input) if graph.is_floating(input) else graph.Not(graph.Equal(input, input))


@pointwise("isfinite", kernel="isfinite", result="bool", dtypes=ALL_DTYPES, compute_dtype="native", out=False)
def isfinite(input):
    """Where the element is neither infinite nor nan."""


@isfinite.onnx
def _(graph, input):
    return graph.Less(graph.Abs(input), math.inf) if graph.is_floating(input) else graph.Equal(input, input)


@pointwise(
    "isposinf",
    result="bool",
    dtypes=REAL,
    out="exact",
    compute_dtype="native",
    error_type=RuntimeError,
    error_hint="isposinf does not support complex inputs",
)
def isposinf(xp, input):
    """Where the element is positive infinity."""
    return input == xp.inf


@isposinf.onnx
def _(graph, input):
    return graph.IsInf(input, detect_negative=0) if graph.is_floating(input) else graph.Not(graph.Equal(input, input))


@pointwise(
    "isneginf",
    result="bool",
    dtypes=REAL,
    out="exact",
    compute_dtype="native",
    error_type=RuntimeError,
    error_hint="isneginf does not support complex inputs",
)
def isneginf(xp, input):
    """Where the element is negative infinity."""
    return input == -xp.inf


@isneginf.onnx
def _(graph, input):
    return graph.IsInf(input, detect_positive=0) if graph.is_floating(input) else graph.Not(graph.Equal(input, input))


@pointwise("isreal", result="bool", dtypes=ALL_DTYPES, compute_dtype="native", out=False)
def isreal(xp, input):
    """Where the imaginary part is 0."""
    return xp.isreal(input)


@isreal.onnx
def _(graph, input):
    same = graph.Equal(input, input)
    return graph.Or(same, graph.Not(same))


@pointwise(
    "signbit",
    result="bool",
    dtypes=REAL,
    out="exact",
    error_hint="signbit is not implemented for complex tensors",
)
def signbit(xp, input):
    """Where the sign bit is set: negative elements, and -0."""
    return xp.signbit(input) if input.dtype.kind == "f" else input < 0


@signbit.onnx
def has_sign(graph, input):
    """Of a zero too, whose reciprocal has the sign."""
    negative = graph.Less(input, 0)
    return graph.Or(negative, graph.Less(graph.Reciprocal(input), 0.0)) if graph.is_floating(input) else negative


@pointwise("copysign", "copysign_", result="float", dtypes=REAL, kernel="copysign", numbers="other")
def copysign(input, other):
    """The size of ``input`` with the sign of ``other``.

    Parameters
    ----------
    input : Tensor of real dtype
    other : Tensor or number, broadcastable with input

    Examples
    --------
    >>> weft.copysign(weft.tensor([1.0, -2.0]), -0.0)
    tensor([-1., -2.])
    """


@copysign.gradient("input")
def _(grad, input, output):
    return (grad * input.sgn() * output.sgn()).masked_fill(output == 0, 0)


@copysign.gradient("other")
def _(grad):
    return zeros_like(grad)  # not grad * 0, which an infinite gradient makes nan


@copysign.onnx
def _(graph, input, other):
    size = graph.Abs(graph.floating(input))
    if not hasattr(other, "dtype"):
        return graph.Neg(size) if math.copysign(1, other) < 0 else size
    return graph.where(has_sign(graph, other), graph.Neg(size), size)


@pointwise("nextafter", "nextafter_", dtypes="float", compute_dtype="native", kernel="nextafter", numbers="")
def nextafter(input, other):
    """The next floating-point number from ``input`` in the direction of ``other``.

    Parameters
    ----------
    input, other : Tensor of floating-point dtype, broadcastable to each other

    Examples
    --------
    >>> weft.nextafter(weft.tensor(1.0), weft.tensor(2.0)) - 1
    tensor(1.1921e-07)
    """


@nextafter.gradient("input")
def _(grad, input, other):
    return grad.masked_fill(input == other, 0)


@nextafter.gradient("other")
def _(grad):
    return zeros_like(grad)


@composite("heaviside", "heaviside_", out=True)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 for negative elements (and nan), 1 for positive, and that of ``values`` for 0.

    Parameters
    ----------
    input : Tensor of real dtype
    values : Tensor of input's dtype, broadcastable with it

    Raises
    ------
    RuntimeError
        If the dtypes differ.

    Examples
    --------
    >>> weft.heaviside(weft.tensor([-1.5, 0.0, 2.0]), weft.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    require_tensors("heaviside", input=input, values=values)
    if input.dtype is not values.dtype:
        raise RuntimeError(
            f"heaviside: heaviside is not yet implemented for tensors with different dtypes; got {input.dtype} and "
            f"{values.dtype}"
        )
    if input._key.is_complex:
        raise NotImplementedError("heaviside: heaviside is not yet implemented for complex tensors; they have no order")
    return heaviside_op(input, values)


@pointwise(name="heaviside", dtypes=REAL, gradient="refused", numbers="")
def heaviside_op(xp, input, values):
    """The step function, with values for 0."""
    return xp.where(input == 0, values, input > 0).astype(input.dtype)


@heaviside_op.onnx
def _(graph, input, values):
    return graph.where(graph.Equal(input, 0), values, graph.cast(graph.Greater(input, 0), input.dtype))


@pointwise("gcd", "gcd_", kernel="gcd", dtypes="int", numbers="")
def gcd(input, other):
    """The greatest common divisor of each pair of elements.

    Parameters
    ----------
    input, other : Tensor of integers, broadcastable to each other

    Examples
    --------
    >>> weft.gcd(weft.tensor([12, 0]), weft.tensor([18, 5]))
    tensor([6, 5])
    """


@pointwise("lcm", "lcm_", kernel="lcm", dtypes="int", numbers="")
def lcm(input, other):
    """The least common multiple of each pair of elements.

    Parameters
    ----------
    input, other : Tensor of integers, broadcastable to each other

    Examples
    --------
    >>> weft.lcm(weft.tensor([12, 0]), weft.tensor([18, 5]))
    tensor([36,  0])
    """


# Comparisons with a tolerance, and of whole tensors


@composite("isclose")
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Where ``|input - other| <= atol + rtol * |other|``.

    Parameters
    ----------
    input, other : Tensor of one dtype, broadcastable to each other
    rtol, atol : float
        Relative and absolute tolerance.
    equal_nan : bool
        nan is close to nan.

    Returns
    -------
    Tensor of bool

    Raises
    ------
    RuntimeError
        If the dtypes differ, or a tolerance is negative.

    Examples
    --------
    >>> weft.isclose(weft.tensor([1.0, 1000.0]), weft.tensor([1.1, 1000.1]), rtol=1e-3)
    tensor([False,  True])
    """
    require_tensors("isclose", input=input, other=other)
    if input.dtype is not other.dtype:
        raise RuntimeError(
            f"isclose: {input.dtype.scalar_type_name} did not match {other.dtype.scalar_type_name}; convert one of them"
        )
    for tolerance, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:  # nan is not
            raise RuntimeError(f"isclose: {tolerance} must be greater than or equal to zero, but got {value}")
    same = input == other
    if equal_nan and input.dtype.category >= 2:
        same = same | (input.isnan() & other.isnan())
    if rtol == 0 and atol == 0:
        return same
    if input.dtype.category < 2:
        input, other = input.double(), other.double()
    close = (input - other).abs() <= atol + (rtol * other).abs()
    return same | (close & (input - other).isfinite())


@composite("allclose")
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close, see `isclose`.

    Parameters
    ----------
    input, other : Tensor of one dtype, broadcastable to each other
    rtol, atol : float
        Relative and absolute tolerance.
    equal_nan : bool
        nan is close to nan.

    Raises
    ------
    RuntimeError
        If the dtypes differ, or a tolerance is negative.

    Examples
    --------
    >>> weft.allclose(weft.tensor([0.1 + 0.2]), weft.tensor([0.3]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@composite("equal", fast_path=Equal(takes="input other", dtypes="any"))
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements.

    Parameters
    ----------
    input, other : Tensor

    Examples
    --------
    >>> weft.equal(weft.tensor([1, 2]), weft.tensor([1, 2]))
    True
    >>> weft.equal(weft.tensor([1, 1]), weft.tensor([1]))
    False
    """
    if input._array.shape != other._array.shape:
        return False
    if input.ndim and input.numel() > PART and len(input) > 1 and not bool((input[0] == other[0]).all()):
        return False  # most that differ do so at once
    return bool((input == other).all())


PART = 8192  # elements of which the first ones are compared before the others are


@composite("isin", out="exact")
def isin(
    elements: Tensor | Number | None = None,
    test_elements: Tensor | Number | None = None,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    element: Number | None = None,
    test_element: Number | None = None,
) -> Tensor:
    """Where each element is one of ``test_elements``.

    Parameters
    ----------
    elements : Tensor of real dtype, or number
    test_elements : Tensor of real dtype, or number
        One of the two has to be a tensor.
    assume_unique : bool
        A promise that no element occurs twice, of which nothing is made.
    invert : bool
        Where it is none of them.
    element, test_element : number
        Other names of the first two, for numbers.

    Returns
    -------
    Tensor of bool, shape of elements

    Raises
    ------
    RuntimeError
        For complex numbers.

    Examples
    --------
    >>> weft.isin(weft.tensor([[1, 2], [3, 4]]), weft.tensor([2, 3]))
    tensor([[False,  True],
            [ True, False]])
    """
    elements = element if elements is None else elements
    test_elements = test_element if test_elements is None else test_elements
    if elements is None or test_elements is None:
        raise TypeError("isin(): missing elements or test_elements")
    if result_dtype((elements, test_elements), "isin").is_complex:
        raise RuntimeError("isin: Unsupported input type encountered for isin(): complex numbers have no order")
    return isin_op.op(as_tensor_like(elements, test_elements), as_tensor_like(test_elements, elements), invert)


def as_tensor_like(value: Any, other: Any) -> Any:
    """The value as a tensor on the device of the other, in a dtype that both have."""
    if isinstance(value, Tensor):
        return value.to(exact_dtype(value, other))
    common = exact_dtype(other, value)
    return other.new_full((), element_of("isin", value, common), dtype=common)


def exact_dtype(tensor: Any, other: Any) -> dtype:
    """The common dtype of a tensor and a tensor or number: one that holds the number too."""
    common = result_dtype((tensor, other))
    if isinstance(other, TensorBase):
        return common
    return promote_types(common, scalar_dtype(other))


@op(tensors="elements tests", name="isin", compute_dtype="float32", gradient=None)
def isin_op(elements: Tensor, tests: Tensor, invert: bool) -> Tensor:
    """Where each element is one of ``tests``."""
    return isin_op.op(elements, tests, invert)


@isin_op.kernel
def _(xp, elements, tests, invert):
    if tests.size == 1:
        test = tests.reshape(())
        return elements != test if invert else elements == test
    return xp.isin(elements, tests, invert=invert)


@isin_op.onnx
def _(graph, elements, tests, invert):
    same = graph.Equal(graph.Unsqueeze(elements, graph.sizes([-1])), graph.Reshape(tests, graph.sizes([-1])))
    found = graph.any(same, [-1], False)
    return graph.Not(found) if invert else found


# Choosing by a condition


@op(tensors="condition input other", dtypes=ALL_DTYPES, name="where", vmap="elementwise")
def choose(condition: Tensor, input: Tensor, other: Tensor) -> Tensor:
    """``input`` where the condition holds, else ``other``."""
    return choose.op(condition, input, other)


@choose.kernel
def _(xp, condition, input, other):
    return select(xp, condition, input, other, input.dtype)


@choose.gradient("input")
def _(grad, condition):
    return grad.masked_fill(~condition, 0)


@choose.gradient("other")
def _(grad, condition):
    return grad.masked_fill(condition, 0)


@choose.onnx
def _(graph, condition, input, other):
    return graph.where(condition, input, other)


@composite(out="exact elementwise", fast_path=Where(choose.op, dtypes="bool", input="any", other="any"))
def where(
    condition: Tensor, input: Tensor | Scalar | None = None, other: Tensor | Scalar | None = None
) -> Tensor | tuple[Tensor, ...]:
    """``input`` where the condition holds, else ``other``; with a condition alone, where it holds.

    Parameters
    ----------
    condition : Tensor of bool (or uint8)
    input, other : Tensor or number, broadcastable with condition, optional

    Returns
    -------
    Tensor; with a condition alone a tuple of index tensors, as ``nonzero(as_tuple=True)``.

    Raises
    ------
    RuntimeError
        If the condition is neither bool nor uint8.

    Examples
    --------
    >>> x = weft.tensor([-1.0, 2.0])
    >>> weft.where(x > 0, x, 0)
    tensor([0., 2.])
    >>> weft.where(x > 0)
    (tensor([1]),)
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if condition.dtype.name == "uint8":
        warn_caller_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead."
        )
    elif condition.dtype.name != "bool":
        raise RuntimeError(
            f"where: expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
        )
    common = result_dtype((input, other), "where")
    chosen = []
    for each in (input, other):
        if not isinstance(each, TensorBase):
            each = condition.new_full((), element_of("where", each, common), dtype=common)
        elif each.device is not condition.device and not each._array.ndim:
            each = each.to(condition.device)
        chosen.append(each.to(common))
    mask = condition if condition.dtype is bool_ else condition != 0
    broadcast_shapes("where", [mask._array.shape, chosen[0]._array.shape, chosen[1]._array.shape])
    return choose.op(mask, *chosen)


@composite("where")
def _where_method(self: Tensor, condition: Tensor, other: Tensor | Scalar) -> Tensor:
    chosen: Any = where(condition, self, other)
    return chosen


@op(tensors="input mask value", name="masked_fill", numbers="value", vmap="elementwise")
def fill_where(input: Tensor, mask: Tensor, value: Tensor | Scalar) -> Tensor:
    """``input`` with another value where the mask holds."""
    return fill_where.op(input, mask, value)


@fill_where.kernel
def _(xp, input, mask, value):
    if not hasattr(value, "dtype"):
        if value == 0 and is_numpy(xp):
            return keep_where(xp, ~mask, input)
        value = xp.asarray(value, input.dtype) if is_numpy(xp) else input.dtype.type(value).item()
    return in_order(xp, select(xp, mask, value, input, input.dtype))


@fill_where.onnx
def _(graph, input, mask, value):
    return graph.where(mask, graph.cast(graph.value(value, input), input.dtype), input)


def keep_where(xp: Any, mask: Any, input: Any) -> Any:
    """``input`` where the mask holds, else 0. Bits are masked: a choice of each element costs 15 times as much."""
    size = input.dtype.itemsize
    if size > 8 or input.ndim == 0 or mask.shape != input.shape:
        return in_order(xp, xp.where(mask, input, xp.zeros((), input.dtype)))
    bits = xp.ascontiguousarray(mask).view(xp.uint8).astype(f"u{size}")
    xp.negative(bits, out=bits)
    bits &= xp.ascontiguousarray(input).view(bits.dtype)
    return bits.view(input.dtype)


@fill_where.gradient("input")
def _(grad, mask):
    return fill_where.op(grad, mask, 0)


@fill_where.gradient("value")
def _(grad, mask):
    return fill_where.op(grad, ~mask, 0).sum()


@composite("masked_fill", "masked_fill_", fast_path=MaskedFill(fill_where.op, mask="bool"))
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Scalar) -> Tensor:
    """``input`` with another value where the mask holds.

    Parameters
    ----------
    input : Tensor
    mask : Tensor of bool, broadcastable to it
    value : number or 0-d Tensor

    Raises
    ------
    RuntimeError
        If the mask is not bool, or the value has dimensions or does not fit the dtype.

    Examples
    --------
    >>> scores = weft.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> weft.masked_fill(scores, weft.tensor([[False, True], [False, False]]), float("-inf"))
    tensor([[1., -inf],
            [3., 4.]])
    """
    if mask.dtype is not bool_:
        raise RuntimeError(f"masked_fill: only supports boolean masks, but got mask with dtype {mask.dtype}")
    value = filling("masked_fill", input, value)
    broadcast_shapes("masked_fill", [input._array.shape, mask._array.shape])
    return fill_where.op(input, mask, value)


def filling(name: str, input: Any, value: Any) -> Any:
    """The value that fills some places of a tensor, in its dtype.

    Raises
    ------
    RuntimeError
        If it has dimensions, or the dtype has no such number.
    """
    if not isinstance(value, TensorBase):
        return fitting(name, value, input.dtype)
    if value._array.ndim:
        raise RuntimeError(
            f"{name}: only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} dimension(s)."
        )
    key = value._key
    if key.plain and key.dtype is not input.dtype and key.device.type == "cpu":
        fitting(name, value.detach(), input.dtype)  # type: ignore[attr-defined]
    return value.to(input.device, input.dtype)  # type: ignore[attr-defined]
