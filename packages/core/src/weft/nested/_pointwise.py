"""Functions of each element of nested tensors, and those that treat all places of the ragged dimension alike."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft._tensor.base import Tensor
from weft.nested._jagged import (
    FUNCTIONS,
    component_numbers,
    implements,
    is_jagged,
    made,
    packed,
    places_within,
)

__all__ = ["from_padded", "to_padded"]

NAMES = """
__abs__ __add__ __and__ __eq__ __floordiv__ __ge__ __gt__ __invert__ __le__ __lt__ __mod__ __mul__ __ne__ __neg__
__or__ __pos__ __pow__ __radd__ __rand__ __rdiv__ __rfloordiv__ __rmod__ __rmul__ __ror__ __rpow__ __rsub__
__rtruediv__ __rxor__ __sub__ __truediv__ __xor__
abs absolute acos acosh add addcdiv addcmul alpha_dropout angle asin asinh atan atan2 atanh bfloat16 bernoulli
bitwise_and bitwise_not bitwise_or bitwise_xor bool byte ceil celu char clamp clamp_max clamp_min clip clone conj
conj_physical copysign cos cosh cpu cuda deg2rad detach digamma div divide double dropout elu empty_like eq erf erfc
erfinv exp exp2 expm1 fill_ float float_power floor floor_divide fmax fmin fmod frac full_like ge gelu greater
greater_equal gt half hardshrink hardsigmoid hardswish hardtanh heaviside hypot int isclose isfinite isinf isnan
isneginf isposinf ldexp leaky_relu le lerp less less_equal lgamma log log10 log1p log2 logaddexp logical_and
logical_not logical_or logical_xor logit logsigmoid long lt masked_fill maximum minimum mish mul multiply nan_to_num ne
neg negative not_equal ones_like pin_memory positive pow rad2deg rand_like randint_like randn_like real reciprocal relu
relu6 remainder round rrelu rsqrt rsub selu sgn short sigmoid sign signbit silu sin sinc sinh softplus softshrink
softsign sqrt square sub subtract tan tanh tanhshrink threshold to true_divide trunc type where xlogy zeros_like
""".split()
IN_PLACE = """
__iadd__ __iand__ __ifloordiv__ __imul__ __ior__ __ipow__ __isub__ __itruediv__ __ixor__ abs_ add_ addcdiv_ addcmul_
bernoulli_ ceil_ clamp_ clamp_max_ clamp_min_ copy_ cos_ div_ divide_ dropout_ elu_ erf_ exp_ fill_ floor_
floor_divide_ leaky_relu_ log_ masked_fill_ mul_ multiply_ neg_ normal_ pow_ reciprocal_ relu_ remainder_ round_
rsqrt_ sigmoid_ sin_ sqrt_ sub_ subtract_ tanh_ trunc_ uniform_ zero_ requires_grad_
""".split()


def same_structure(first: Any, other: Any) -> bool:
    """Whether two nested tensors have components of the same lengths, for sure."""
    return (
        first._nested_offsets is other._nested_offsets
        and first._nested_lengths is other._nested_lengths
        and first._ragged_idx == other._ragged_idx
    )


def spread(first: Any, other: Any) -> Any:
    """A dense operand for the values of a nested one: it broadcasts against the padded form of that."""
    ragged = first._ragged_idx
    if other.ndim <= first.ndim - ragged - 1 or other.ndim == 0:
        return other
    if other.ndim > first.ndim:
        raise RuntimeError(
            f"cannot broadcast a dense tensor of shape {tuple(other.shape)} to a nested one of shape {first.shape}"
        )
    other = other.reshape((1,) * (first.ndim - other.ndim) + tuple(other.shape)).movedim(ragged, 1)
    batch, length = other.shape[:2]
    if batch not in (1, len(first)) or length not in (1, first._max_seqlen):
        raise RuntimeError(
            f"cannot broadcast a dense tensor to a nested one of shape {first.shape}: its batch dimension has size "
            f"{batch}, and it has {length} elements where the longest component has {first._max_seqlen}"
        )
    group = component_numbers(first) if batch > 1 else weft.zeros_like(component_numbers(first))
    place = places_within(first) if length > 1 else weft.zeros_like(group)
    return other[group, place].movedim(0, ragged - 1)


def values_for(first: Any, argument: Any) -> Any:
    """What the values of a nested tensor are combined with."""
    if is_jagged(argument):
        if not same_structure(first, argument):
            raise RuntimeError(
                f"cannot call a pointwise function with nested tensors of shapes {tuple(first.shape)} and "
                f"{tuple(argument.shape)}: give both the same offsets, with nested_tensor_from_jagged"
            )
        return argument._inner_values
    return spread(first, argument) if isinstance(argument, Tensor) else argument


def pointwise(name: str) -> Any:
    """A function of the values, by its name on Tensor or in ``weft``, or in ``nn.functional``."""

    def function(*args: Any, **kwargs: Any) -> Any:
        first = next(each for each in (*args, *kwargs.values()) if is_jagged(each))
        if first._nested_lengths is not None and any(isinstance(each, Tensor) and not is_jagged(each) for each in args):
            args = tuple(packed(each) if is_jagged(each) else each for each in args)
            first = next(each for each in args if is_jagged(each))
        args = tuple(values_for(first, each) for each in args)
        kwargs = {key: values_for(first, each) for key, each in kwargs.items()}
        return first.with_values(called(name, *args, **kwargs))

    return function


def called(name: str, *args: Any, **kwargs: Any) -> Any:
    """A function by its name, of dense tensors."""
    if "inplace" in kwargs:  # which Tensor's functions do not have
        return getattr(weft.nn.functional, name)(*args, **kwargs)
    found = getattr(Tensor, name, None) if isinstance(args[0], Tensor) and name != "where" else None
    found = found or getattr(weft, name, None) or getattr(weft.nn.functional, name)
    return found(*args, **kwargs)


def in_place(name: str) -> Any:
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        getattr(input._inner_values, name)(*(values_for(input, each) for each in args), **kwargs)
        return input

    return function


FUNCTIONS.update({name: pointwise(name) for name in NAMES})
FUNCTIONS.update({name: in_place(name) for name in IN_PLACE})
FUNCTIONS.update(dict.fromkeys(("is_conj", "is_neg", "is_inference"), lambda input: False))
FUNCTIONS.update(dict.fromkeys(("resolve_conj", "resolve_neg"), lambda input: input))


def of_functional(name: str) -> Any:
    """A function of nn.functional, in which Tensor has another of the same name."""

    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        return input.with_values(getattr(weft.nn.functional, name)(input._inner_values, *args, **kwargs))

    return function


FUNCTIONS.update(
    {name: of_functional(name) for name in ("dropout", "alpha_dropout", "relu6", "threshold", "logsigmoid")}
)


# Padding


def to_padded(input: Any, padding: Any, length: int | None = None) -> Any:
    """A dense tensor (batch, ..., longest component, ...) with padding behind shorter components."""
    input = packed(input)
    ragged = input._ragged_idx
    values = input._inner_values.movedim(ragged - 1, 0)
    length = input._max_seqlen if length is None else length
    size = (len(input), length, *values.shape[1:])
    dense = values.new_full((len(input) * length, *values.shape[1:]), padding)
    place = component_numbers(input) * length + places_within(input)
    return dense.index_copy(0, place, values).reshape(size).movedim(1, ragged)


def from_padded(dense: Any, like: Any, ragged_idx: int) -> Any:
    """The components of a nested tensor's lengths at the beginning of each row of a dense one."""
    like = packed(like)
    rows = dense.movedim(ragged_idx, 1)
    values = rows[component_numbers(like), places_within(like)].movedim(0, ragged_idx - 1)
    return made(values, like._nested_offsets, None, ragged_idx, like._nested_limits)


@implements("to_padded_tensor")
def to_padded_tensor(input: Any, padding: float, output_size: Any = None) -> Any:
    """The components in a dense tensor, with padding behind shorter ones."""
    dense = to_padded(input, padding)
    if output_size is None:
        return dense
    if len(output_size) != dense.ndim or any(wanted < size for wanted, size in zip(output_size, dense.shape)):
        raise RuntimeError(
            f"to_padded_tensor: output_size {tuple(output_size)} must have {dense.ndim} sizes, none less than those of "
            f"the padded tensor, {tuple(dense.shape)}"
        )
    result = dense.new_full(tuple(output_size), padding)
    result[tuple(slice(size) for size in dense.shape)] = dense
    return result


# Normalizations


@implements("softmax")
def softmax(input: Any, dim: int, *args: Any, **kwargs: Any) -> Any:
    return normalized("softmax", input, dim, *args, **kwargs)


@implements("log_softmax")
def log_softmax(input: Any, dim: int, *args: Any, **kwargs: Any) -> Any:
    return normalized("log_softmax", input, dim, *args, **kwargs)


def normalized(name: str, input: Any, dim: int, *args: Any, **kwargs: Any) -> Any:
    """Softmax within each component; along the ragged dimension in its padded form."""
    kwargs.pop("_stacklevel", None)
    dtype = kwargs.pop("dtype", args[-1] if args else None)
    dtype = None if isinstance(dtype, int) else dtype
    dim = dim + input.ndim if dim < 0 else dim
    if dim == 0:
        raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension for NestedTensor")
    if dim != input._ragged_idx:
        return input.with_values(getattr(input._inner_values, name)(dim - 1, dtype=dtype))
    dense = getattr(to_padded(input, -math.inf), name)(dim, dtype=dtype)
    return from_padded(dense, input, dim)


@implements("layer_norm")
def layer_norm(input: Any, normalized_shape: Any, *args: Any, **kwargs: Any) -> Any:
    return of_last_dims("layer_norm", input, normalized_shape, *args, **kwargs)


@implements("rms_norm")
def rms_norm(input: Any, normalized_shape: Any, *args: Any, **kwargs: Any) -> Any:
    return of_last_dims("rms_norm", input, normalized_shape, *args, **kwargs)


def of_last_dims(name: str, input: Any, normalized_shape: Any, *args: Any, **kwargs: Any) -> Any:
    count = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    if count >= input.ndim - input._ragged_idx:
        raise RuntimeError(f"{name}(): normalizing over the ragged dimension is not supported for nested tensors")
    normalize = getattr(weft.nn.functional, name)
    return input.with_values(normalize(input._inner_values, normalized_shape, *args, **kwargs))


@implements("embedding")
def embedding(input: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
    """Rows of a table for nested indices."""
    return input.with_values(weft.nn.functional.embedding(input._inner_values, weight, *args, **kwargs))
