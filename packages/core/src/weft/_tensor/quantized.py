"""Quantized tensors: numbers kept as integers of few bits, with one scale and one zero point for the whole tensor.

It is a subclass that overrides ``__torch_function__``, and defining one puts a check on every public function: so this
module is imported when the first quantized tensor is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft._devices.devices import backend_of
from weft._dtypes import dtypes, named
from weft._engine.unresolved import values_of
from weft._tensor.base import Tensor
from weft._tensor.printing import body_text, with_suffixes
from weft._tensor.values_wrapper import Functions, ValuesWrapper, implements_in, wrapper_of
from weft.types import DType

__all__ = ["dequantize", "int_repr", "q_scale", "q_zero_point", "quantize_per_tensor"]

FUNCTIONS: Functions = {}  # what quantized tensors have in place of Tensor's functions, by name
implements = implements_in(FUNCTIONS)
INTEGERS = {named.qint8: dtypes.int8, named.quint8: dtypes.uint8, named.qint32: dtypes.int32}


class QuantizedTensor(ValuesWrapper):
    """A tensor of ``(integer - zero_point) * scale``, of which the integers are kept.

    Views, indices, copies, what orders elements and what compares them is there; what computes is refused. There are no
    gradients. Views share the integers: what is written is rounded.

    Examples
    --------
    >>> x = weft.quantize_per_tensor(weft.tensor([-1.0, 0.3, 9.0]), 0.5, 10, weft.quint8)
    >>> x.int_repr()
    tensor([ 8, 11, 28], dtype=weft.uint8)
    >>> x[1:].dequantize()
    tensor([0.5000, 9.0000])
    """

    _functions = FUNCTIONS
    _described = "quantized tensors; take dequantize() of the tensor, or its int_repr()"
    _quantized_dtype: Any
    _scale: float
    _zero_point: int

    @property
    def dtype(self) -> Any:
        """``weft.qint8``, ``weft.quint8`` or ``weft.qint32``."""
        return self._quantized_dtype

    @property
    def is_quantized(self) -> bool:  # type: ignore[override]
        """True."""
        return True

    def qscheme(self) -> Any:
        """``weft.per_tensor_affine``."""
        return named.per_tensor_affine

    def q_scale(self) -> float:
        """The distance of neighbouring numbers."""
        return self._scale

    def q_zero_point(self) -> int:
        """Which integer stands for 0."""
        return self._zero_point

    def int_repr(self) -> Any:
        """A copy of the integers."""
        return self._inner_values.clone()

    def dequantize(self) -> Any:
        """The numbers that the integers stand for, in float32."""
        steps = self._inner_values.to(dtypes.int64) - self._zero_point
        return steps.to(dtypes.float32) * self._scale

    def with_values(self, values: Any) -> Any:
        """Other integers, of the same scale and zero point."""
        return made(values, self._scale, self._zero_point, self._quantized_dtype)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """There are no gradients.

        Raises
        ------
        RuntimeError
            If one is asked for.
        """
        if requires_grad:
            raise RuntimeError("requires_grad_: only Tensors of floating point dtype can require gradients")
        return self

    def item(self) -> float:  # type: ignore[override]
        """The number of a tensor of one element."""
        return self.dequantize().item()  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        return bool(self.dequantize())

    def __float__(self) -> float:
        return float(self.dequantize())

    def __int__(self) -> int:
        return int(self.dequantize())

    def __setitem__(self, index: Any, value: Any) -> None:  # type: ignore[override]
        self._inner_values[index] = integers_for(self, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return made, (self._inner_values, self._scale, self._zero_point, self._quantized_dtype)

    def __repr__(self) -> str:  # type: ignore[override]
        body = "[]"
        if self.numel():
            numbers = self.dequantize()
            body = body_text(values_of(numbers._array), backend_of(numbers.device).to_numpy, indent=len("tensor("))
        said = [f"size={tuple(self.shape)}"]
        if self.device.type != "cpu":
            said.append(f"device='{self.device}'")
        said += [f"dtype={self.dtype}", f"quantization_scheme={self.qscheme()}"]
        said += [f"scale={self._scale}", f"zero_point={self._zero_point}"]
        return with_suffixes(f"tensor({body}", said, indent=len("tensor("))

    __str__ = __repr__


def made(integers: Any, scale: float, zero_point: int, dtype: Any) -> Any:
    """A quantized tensor of its parts."""
    result = wrapper_of(QuantizedTensor, integers, integers.shape)
    result._scale, result._zero_point, result._quantized_dtype = scale, zero_point, dtype
    return result


def quantize_per_tensor(
    input: Tensor | Sequence[Tensor], scale: float | Tensor, zero_point: int | Tensor, dtype: DType
) -> Any:
    """Round numbers to integers: ``clamp(round(input / scale + zero_point))``, to even at a half.

    Parameters
    ----------
    input : Tensor of float32, shape (*), or sequence of them
    scale : float or Tensor of one element; for a sequence a Tensor with one for each
        The distance of neighbouring numbers.
    zero_point : int or Tensor, likewise
        Which integer stands for 0.
    dtype : dtype
        ``weft.qint8``, ``weft.quint8`` or ``weft.qint32``.

    Returns
    -------
    Tensor, shape (*), or tuple of them
        It has ``dtype``, and no gradient. ``dequantize`` gives the numbers, ``int_repr`` the integers.

    Raises
    ------
    RuntimeError
        For other dtypes, or a zero point that the dtype does not have.

    Examples
    --------
    >>> weft.quantize_per_tensor(weft.tensor([-1.0, 0.3, 9.0]), 0.5, 10, weft.quint8).dequantize()
    tensor([-1.0000,  0.5000,  9.0000])
    """
    if not isinstance(input, Tensor) and isinstance(input, Sequence):
        several: Any = zip(input, scale, zero_point, strict=True)  # type: ignore[arg-type]
        return tuple(quantize_per_tensor(each, step, zero, dtype) for each, step, zero in several)
    if dtype not in INTEGERS:
        raise RuntimeError(f"quantize_per_tensor: dtype has to be qint8, quint8 or qint32; got {dtype}")
    if input.dtype is not dtypes.float32:
        raise RuntimeError(f"quantize_per_tensor: Quantize only works on Float Tensor, got {input.dtype}")
    scale, zero_point = float(scale), int(zero_point)
    limits = weft.iinfo(INTEGERS[dtype])
    for outside, end in ((zero_point > limits.max, "above upper"), (zero_point < limits.min, "below lower")):
        if outside:
            raise RuntimeError(f"quantize_per_tensor: zero_point {zero_point} is {end} bound of {dtype}")
    factor = weft.tensor(scale, dtype=dtypes.float32, device=input.device).reciprocal()
    in_bytes = dtype.itemsize == 1  # product and sum are rounded together then, and nan is the largest integer
    wide = dtypes.float64 if in_bytes else dtypes.float32
    steps = (input.detach().to(wide) * factor.to(wide) + zero_point).to(dtypes.float32).round().to(dtypes.float64)
    steps = steps.nan_to_num(nan=limits.max if in_bytes else limits.min).clamp(limits.min, limits.max)
    return made(steps.to(INTEGERS[dtype]), scale, zero_point, dtype)


def dequantize(input: Tensor | Sequence[Tensor]) -> Any:
    """The numbers of a quantized tensor, or of each of several, in float32.

    Parameters
    ----------
    input : Tensor or sequence of Tensors
        Any other tensor is turned into float32.

    Returns
    -------
    Tensor or tuple of Tensors

    Examples
    --------
    >>> weft.dequantize(weft.quantize_per_tensor(weft.tensor([0.3]), 0.25, 0, weft.qint8))
    tensor([0.2500])
    """
    return input.dequantize() if isinstance(input, Tensor) else tuple(each.dequantize() for each in input)


def int_repr(input: Tensor) -> Tensor:
    """A copy of the integers of a quantized tensor.

    Examples
    --------
    >>> weft.int_repr(weft.quantize_per_tensor(weft.tensor([0.3]), 0.25, 0, weft.qint8))
    tensor([1], dtype=weft.int8)
    """
    return input.int_repr()


def q_scale(input: Tensor) -> float:
    """The scale of a quantized tensor.

    Examples
    --------
    >>> weft.q_scale(weft.quantize_per_tensor(weft.tensor([0.3]), 0.25, 0, weft.qint8))
    0.25
    """
    return input.q_scale()


def q_zero_point(input: Tensor) -> int:
    """The zero point of a quantized tensor.

    Examples
    --------
    >>> weft.q_zero_point(weft.quantize_per_tensor(weft.tensor([0.3]), 0.25, 7, weft.qint8))
    7
    """
    return input.q_zero_point()


# What the integers do as the numbers would ---------------------------------------------------------------

PLACES = """
as_strided chunk clone contiguous cpu cuda detach diagonal expand expand_as flatten flip getitem index_select mT
movedim narrow permute pin_memory ravel repeat repeat_interleave reshape reshape_as select split squeeze swapaxes
swapdims t tensor_split transpose unbind unflatten unfold unsqueeze view_as
""".split()
ORDERED = "amax amin max min sort topk".split()
COMPARED = "eq ge gt le lt ne greater greater_equal less less_equal not_equal".split()


def wrapped(first: Any, result: Any) -> Any:
    """What a function gave for the integers, as quantized tensors; indices and other things as they are."""
    if isinstance(result, Tensor):
        return first.with_values(result) if result.dtype is first._inner_values.dtype else result
    if isinstance(result, tuple | list):
        parts = [wrapped(first, each) for each in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def of_integers(name: str) -> Any:
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        call = input._inner_values.__getitem__ if name == "getitem" else getattr(input._inner_values, name)
        return wrapped(input, call(*args, **kwargs))

    return function


def of_numbers(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        return getattr(weft, name)(*map(numbers_of, args), **{key: numbers_of(each) for key, each in kwargs.items()})

    return function


def numbers_of(value: Any) -> Any:
    return value.dequantize() if isinstance(value, QuantizedTensor) else value


FUNCTIONS.update({name: of_integers(name) for name in (*PLACES, *ORDERED)})
FUNCTIONS.update({name: of_numbers(name) for name in COMPARED})


def integers_for(like: Any, value: Any) -> Any:
    """Numbers as integers of a quantized tensor's scale and zero point."""
    if not isinstance(value, Tensor):
        value = weft.tensor(value, dtype=dtypes.float32, device=like.device)
    numbers = numbers_of(value).to(dtypes.float32)
    return quantize_per_tensor(numbers, like._scale, like._zero_point, like._quantized_dtype)._inner_values


def expect_quantized(name: str, tensors: Any) -> None:
    """Refuse tensors that are not quantized, or of several dtypes.

    Raises
    ------
    RuntimeError
        If there are any.
    """
    if not all(isinstance(each, QuantizedTensor) and each.dtype is tensors[0].dtype for each in tensors):
        raise RuntimeError(f"{name}: expected quantized tensors of one dtype, got {[each.dtype for each in tensors]}")


@implements("index")
def index(input: Any, indices: Any) -> Any:
    """The elements at places along some dimensions."""
    return input.with_values(input._inner_values[tuple(slice(None) if each is None else each for each in indices)])


@implements("view")
def view(input: Any, *shape: Any) -> Any:
    """Another shape, of the same integers."""
    if len(shape) == 1 and isinstance(shape[0], dtypes.dtype):
        raise NotImplementedError(f"view: a dtype is not there for {QuantizedTensor._described}")
    return input.with_values(input._inner_values.view(*shape))


@implements("to")
def to(input: Any, *args: Any, **kwargs: Any) -> Any:
    """On another device, or a copy; another dtype is refused."""
    found = input._inner_values.to(*args, **kwargs)
    if found.dtype is not input._inner_values.dtype:
        raise RuntimeError("to: a quantized tensor keeps its dtype; take dequantize() of it")
    return input if found is input._inner_values else input.with_values(found)


@implements("cat concat concatenate")
def cat(tensors: Any, dim: int = 0) -> Any:
    """Tensors one after the other, by the scale and zero point of the first."""
    expect_quantized("cat", tensors)
    return tensors[0].with_values(weft.cat([integers_of(tensors[0], each) for each in tensors], dim))


@implements("stack")
def stack(tensors: Any, dim: int = 0) -> Any:
    """Tensors along a new dimension, by the scale and zero point of the first."""
    expect_quantized("stack", tensors)
    return tensors[0].with_values(weft.stack([integers_of(tensors[0], each) for each in tensors], dim))


def integers_of(first: Any, other: Any) -> Any:
    """The integers of a quantized tensor, rounded again where its scale or zero point is another than the first's."""
    alike = (first._scale, first._zero_point) == (other._scale, other._zero_point)
    return other._inner_values if alike else integers_for(first, other)


@implements("equal")
def equal(input: Any, other: Any) -> bool:
    """Whether both are quantized alike and have the same integers."""
    if not (isinstance(input, QuantizedTensor) and isinstance(other, QuantizedTensor)):
        return False
    parts = [(each.dtype, each._scale, each._zero_point) for each in (input, other)]
    return parts[0] == parts[1] and weft.equal(input._inner_values, other._inner_values)


@implements("relu")
def relu(input: Any) -> Any:
    """What is below 0 becomes 0."""
    return input.with_values(input._inner_values.clamp(min=input._zero_point))


@implements("clamp clip")
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """Elements within limits, which are rounded."""
    ends = [None if end is None else integers_for(input, end).item() for end in (min, max)]
    return input.with_values(input._inner_values.clamp(*ends))


@implements("fill_")
def fill_(input: Any, value: Any) -> Any:
    """Write one number."""
    input._inner_values.copy_(integers_for(input, value))
    return input


@implements("copy_")
def copy_(input: Any, src: Any, non_blocking: bool = False) -> Any:
    """Write numbers, which are rounded; of a quantized tensor the integers, which keep their scale and zero point."""
    if not isinstance(src, QuantizedTensor):
        input._inner_values.copy_(integers_for(input, src))
        return input
    expect_quantized("copy_", (input, src))
    input._inner_values.copy_(src._inner_values)
    input._scale, input._zero_point = src._scale, src._zero_point
    return input


@implements("masked_fill")
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """One number where a mask is true."""
    return input.with_values(input._inner_values.masked_fill(mask, integers_for(input, value).item()))


@implements("full_like")
def full_like(input: Any, fill_value: Any, **options: Any) -> Any:
    """The same number at each place."""
    return input.with_values(weft.empty_like(input._inner_values, **options)).fill_(fill_value)


@implements("empty_like")
def empty_like(input: Any, **options: Any) -> Any:
    """A tensor of the same size that is not filled."""
    return input.with_values(weft.empty_like(input._inner_values, **options))


@implements("stride")
def stride(input: Any, dim: int | None = None) -> Any:
    """The strides of the integers."""
    return input._inner_values.stride() if dim is None else input._inner_values.stride(dim)


@implements("is_contiguous")
def is_contiguous(input: Any, **options: Any) -> bool:
    """Whether the integers are."""
    return input._inner_values.is_contiguous(**options)  # type: ignore[no-any-return]


@implements("data_ptr")
def data_ptr(input: Any) -> int:
    """The address of the integers."""
    return input._inner_values.data_ptr()  # type: ignore[no-any-return]


@implements("numpy __array__")
def numpy(input: Any, *args: Any, **kwargs: Any) -> Any:
    """Refuse: NumPy has no such dtype.

    Raises
    ------
    TypeError
        Always.
    """
    raise TypeError(
        f"numpy: Got unsupported ScalarType {input.dtype.scalar_type_name}; take dequantize() or int_repr()"
    )
