"""A tensor that carries its mask with it.

It is a subclass that overrides ``__torch_function__``, and defining one puts a check on every public function: so this
module is imported when one of its names is first asked for, and not with `weft.masked`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft import masked
from weft._dtypes.dtypes import bool_
from weft._engine.tensor import TensorBase
from weft._interception.torch_function import flatten, unmasked
from weft._tensor.base import Tensor
from weft._tensor.subclasses import as_subclass
from weft.masked._masks import dims_of
from weft.ops.views import broadcast_to

# What is done with each element; two masked operands must have the same mask.
ELEMENTWISE = frozenset(
    """
    abs absolute acos acosh add angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh
    bfloat16 bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bool byte ceil char
    clamp clip clone conj_physical contiguous cos cosh deg2rad detach digamma div divide double eq erf erfc erfinv exp
    exp2 expm1 fix float floor floor_divide fmax fmin fmod frac ge greater greater_equal gt half i0 int isnan ldexp le
    less less_equal lgamma log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor
    logit long lt maximum minimum mul multiply nan_to_num ne neg negative nextafter not_equal positive pow rad2deg real
    reciprocal relu remainder round rsqrt rsub sgn short sigmoid sign signbit sin sinc sinh sqrt square sub subtract
    tan tanh to true_divide trunc type where xlogy
    """.split()
)
# What only moves elements is done to the mask as well.
MOVES = frozenset(
    """
    __getitem__ getitem cat chunk concat concatenate diagonal expand expand_as flatten flip gather index_select movedim
    moveaxis mT T H narrow permute ravel repeat reshape roll select split squeeze stack swapaxes swapdims t
    take_along_dim tile transpose unbind unflatten unfold unsqueeze view
    """.split()
)
REDUCTIONS = frozenset("amax amin argmax argmin logsumexp mean norm prod std sum var".split())
NORMALIZATIONS = frozenset("cumprod cumsum log_softmax softmax".split())
# What speaks of the tensor, and not of its elements.
QUERIES = frozenset(
    """
    __hash__ __len__ backward data_ptr dim element_size get_device is_complex is_contiguous is_floating_point is_signed
    is_tensor ndimension nelement numel register_hook requires_grad_ retain_grad size storage_offset stride
    """.split()
)
plain_grad: Any = vars(Tensor)["grad"]


class MaskedTensor(Tensor):
    """A tensor of which a mask says which elements are there.

    What is done with each element keeps the mask, what moves elements moves the mask with them, and reductions are
    those of `weft.masked`: their results are there where any element was. Whatever else is refused: take
    `get_data` or `to_tensor`.

    Parameters
    ----------
    data : Tensor
        Is copied.
    mask : Tensor of bool, of the same shape
        True where an element is there.
    requires_grad : bool

    Raises
    ------
    TypeError
        If the mask is not of bool, or one of them is no plain tensor.
    ValueError
        If their shapes differ.

    Examples
    --------
    >>> x = weft.masked.MaskedTensor(weft.tensor([1.0, 2.0, 4.0]), weft.tensor([True, False, True]))
    >>> x * 2
    MaskedTensor(
      [  2.0000,       --,   8.0000]
    )
    >>> x.mean()
    MaskedTensor(  2.5000, True)
    """

    _masked_mask: Any

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        made = masked_by(data, mask, lambda data: data.detach().clone())
        return made.requires_grad_(requires_grad) if requires_grad else made

    def get_data(self) -> Any:
        """All elements, those that are not there as well; gradients go back to this tensor."""
        return unmasked([self], Tensor.expand_as, (self, self), {})

    def get_mask(self) -> Any:
        """Where elements are."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Any:
        """The elements, with one value in the place of those that are not there."""
        return self.get_data().masked_fill(~self._masked_mask, value)

    @property
    def grad(self) -> Any:
        """The gradient, with the same mask."""
        found = plain_grad.__get__(self)
        return found if found is None or isinstance(found, MaskedTensor) else carrying(found, self._masked_mask)

    @grad.setter
    def grad(self, value: Any) -> None:
        plain_grad.__set__(self, value)

    @grad.deleter
    def grad(self) -> None:
        plain_grad.__delete__(self)

    def __repr__(self) -> str:  # type: ignore[override]
        if not self.ndim:
            return f"MaskedTensor({element_text(*one(self))}, {self._masked_mask.item()})"
        lines = rows_text(self.get_data().detach(), self._masked_mask, "  ")
        return f"MaskedTensor(\n{lines}\n)"

    __str__ = __repr__

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = func.__name__, kwargs or {}
        plain = name.rstrip("_") if name.endswith("_") and not name.startswith("__") else name
        if plain in ELEMENTWISE:
            return elementwise(func, name, args, kwargs)
        if name in MOVES:
            return moved(func, args, kwargs)
        if name in REDUCTIONS or name in NORMALIZATIONS:
            return over_dims(name, args, kwargs)
        if name in ("all", "any"):
            return truth(func, name == "all", args, kwargs)
        if name in QUERIES:
            return unmasked(flatten(args), func, args, kwargs)
        raise TypeError(
            f"{name}: not implemented for MaskedTensor; take its elements with .get_data() or .to_tensor(value), and "
            "put the mask back with weft.masked.as_masked_tensor"
        )


def carrying(data: Any, mask: Any) -> Any:
    """A tensor's memory and history as a MaskedTensor."""
    made = as_subclass(data, MaskedTensor)
    made._masked_mask = mask
    return made


def masked_by(data: Any, mask: Any, change: Callable[[Any], Any]) -> Any:
    """A MaskedTensor of what ``change`` makes of the data, after checks."""
    for name, value in (("data", data), ("mask", mask)):
        if not isinstance(value, TensorBase) or isinstance(value, MaskedTensor):
            raise TypeError(f"masked_tensor: {name} must be a Tensor, not {type(value).__name__}")
    if mask.dtype is not bool_:
        raise TypeError(f"masked_tensor: mask must have dtype bool, got {mask.dtype}; convert it with .bool()")
    if data.shape != mask.shape:
        raise ValueError(f"masked_tensor: data {list(data.shape)} and mask {list(mask.shape)} must have the same shape")
    return carrying(change(data), mask.detach().clone())


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> Any:
    """A copy of a tensor with a mask: a leaf, to which no gradients pass from here; see `MaskedTensor`."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> Any:
    """A tensor with a mask, through which gradients go back to the tensor; see `MaskedTensor`.

    Examples
    --------
    >>> x = weft.tensor([1.0, 2.0, 4.0], requires_grad=True)
    >>> weft.masked.as_masked_tensor(x, weft.tensor([True, False, True])).sum().to_tensor(0).backward()
    >>> x.grad
    tensor([1., 0., 1.])
    """
    return masked_by(data, mask, lambda data: data.clone())


def is_masked_tensor(obj: Any) -> bool:
    """Whether an object is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


# Operations


def elementwise(func: Any, name: str, args: Any, kwargs: Any) -> Any:
    """A function of each element: of operands with one mask, which the result has."""
    operands = [each for each in flatten((*args, *kwargs.values())) if isinstance(each, MaskedTensor)]
    mask = operands[0]._masked_mask
    for each in operands[1:]:
        if each._masked_mask is not mask and not (
            each._masked_mask.shape == mask.shape and (each._masked_mask == mask).all()
        ):
            raise ValueError(f"{name}: input masks must match; multiply them, or take the data of one of the tensors")
    result = unmasked(operands, func, args, kwargs)
    if isinstance(result, MaskedTensor):  # it was changed in place
        return result
    return carrying(result, mask if mask.shape == result.shape else broadcast_to(mask, result.shape))


def moved(func: Any, args: Any, kwargs: Any) -> Any:
    """A function that only moves elements, of the data and of the mask."""
    operands = flatten((*args, *kwargs.values()))
    data = unmasked(operands, func, args, kwargs)
    mask = func(*masks_of(args), **dict(zip(kwargs, masks_of(tuple(kwargs.values())))))
    if isinstance(data, (tuple, list)):
        return type(data)(carrying(*each) for each in zip(data, mask))
    return carrying(data, mask)


def masks_of(value: Any) -> Any:
    """The same arguments, with the masks in the place of the tensors that have one."""
    if isinstance(value, MaskedTensor):
        return value._masked_mask
    return type(value)(masks_of(each) for each in value) if type(value) in (tuple, list) else value


def over_dims(name: str, args: Any, kwargs: Any) -> Any:
    """A reduction or normalization: that of `weft.masked`, with PyTorch's order of arguments."""
    input, *rest = args
    orders = {"norm": ("ord", "dim", "keepdim"), "var": ("dim", "unbiased", "keepdim")}
    orders["std"] = orders["var"]
    given = dict(zip(orders.get(name, ("dim", "keepdim")), rest)) | kwargs
    if "p" in given:
        given["ord"] = given.pop("p")
    mask = input._masked_mask
    result = getattr(masked, name)(input.get_data(), mask=mask, **given)
    if name in NORMALIZATIONS:
        return carrying(result, mask)
    if name.startswith("arg"):
        result = result.long()
    dims = dims_of(name, given.get("dim"), input)
    return carrying(result, mask.any(dims, given.get("keepdim", False)) if dims else mask)


def truth(func: Any, of_nothing: bool, args: Any, kwargs: Any) -> Any:
    """Whether all, or any, of the elements that are there are true."""
    input, *rest = args
    mask = input._masked_mask
    return carrying(
        func(input.get_data().bool().masked_fill(~mask, of_nothing), *rest, **kwargs), mask.any(*rest, **kwargs)
    )


# Text


def one(tensor: Any) -> tuple[Any, Any]:
    """A 0-d tensor's element, and whether it is there."""
    return tensor.get_data().item(), tensor._masked_mask.item()


def element_text(value: Any, there: bool) -> str:
    if not there:
        return "--"
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def rows_text(data: Any, mask: Any, indent: str) -> str:
    """Nested rows, one in a line."""
    if data.ndim == 1:
        texts = [element_text(*pair) for pair in zip(data.tolist(), mask.tolist())]
        return f"{indent}[{', '.join(text.rjust(8) if text == '--' else text for text in texts)}]"
    inner = ",\n".join(rows_text(*pair, indent + "  ") for pair in zip(data, mask))
    return f"{indent}[\n{inner}\n{indent}]"
