"""Ops on corresponding elements."""

from __future__ import annotations

import weft
from weft.distributed.tensor._dispatch import Call, R, Strategy, rule
from weft.distributed.tensor._rules.placing import everywhere, moved, terms
from weft.distributed.tensor.placement_types import Placement, Shard

LINEAR = "neg positive clone _to_copy alias detach lift_fresh contiguous conj _conj real imag view_as resolve_conj"
OTHERS = """
abs absolute acos acosh addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not
bitwise_or bitwise_right_shift bitwise_xor ceil celu clamp clamp_max clamp_min clip copysign cos cosh deg2rad digamma
elu elu_backward eq erf erfc erfinv exp exp2 expm1 fill float_power floor floor_divide fmax fmin fmod frac ge gelu
gelu_backward glu_jvp gt hardshrink hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh
hardtanh_backward heaviside hypot i0 igamma isclose isfinite isinf isnan isneginf isposinf ldexp le leaky_relu
leaky_relu_backward lerp lgamma log log10 log1p log2 log_sigmoid_forward logaddexp logaddexp2 logical_and logical_not
logical_or logical_xor logit lt masked_fill maximum minimum mish mish_backward mvlgamma nan_to_num ne nextafter
polygamma pow rad2deg reciprocal relu relu6 remainder round rsqrt selu sgn sigmoid sigmoid_backward sign signbit silu
silu_backward sin sinc sinh softplus softplus_backward softshrink special_entr sqrt square tan tanh tanh_backward
threshold threshold_backward true_divide trunc where xlogy zero copy nan_to_num mish_backward logsigmoid_backward
softsign softsign_backward shrink_backward _prelu_kernel binary_cross_entropy_with_logits to_sparse_dense
native_dropout_backward add_scaled
"""


def divided(call: Call, dim: int) -> list[Strategy]:
    """Along a dimension of the result as one of the tensors is; those that are broadcast along it are whole."""
    shapes = [tuple(each.shape) for each in call.tensors]
    shape = shapes[0] if call.is_inplace else tuple(weft.broadcast_shapes(*shapes))
    found: list[Strategy] = []
    for index in range(len(call.tensors)):
        now = call.at(index, dim)
        if not isinstance(now, Shard):
            continue
        at = now.dim + len(shape) - len(shapes[index])
        if shapes[index][now.dim] != shape[at]:
            continue
        inputs: list[Placement] = []
        for other in shapes:
            own = at - len(shape) + len(other)
            inputs.append(moved(now, own) if own >= 0 and other[own] == shape[at] else R)
        found.append(Strategy(moved(now, at), tuple(inputs)))
    return found


@rule(
    *[
        f"{space}.{name}{end}"
        for space in ("aten", "core", "nn")
        for name in f"{OTHERS} {LINEAR} mul".split()
        for end in ("", "_")
    ]
)
def pointwise(call: Call, dim: int) -> list[Strategy]:
    return [everywhere(call), *divided(call, dim)]


@rule(*[f"aten.{name}{end}" for name in LINEAR.split() for end in ("", "_")])
def linear(call: Call, dim: int) -> list[Strategy]:
    return [*pointwise(call, dim), *(Strategy(each, (each,)) for each in terms(call, dim, linear=False))]


@rule("aten.mul", "aten.mul_")
def product(call: Call, dim: int) -> list[Strategy]:
    """One factor may be a sum of terms."""
    found = pointwise(call, dim)
    for each in terms(call, dim):
        for index in range(len(call.tensors)):
            found.append(Strategy(each, tuple(each if at == index else R for at in range(len(call.tensors)))))
    return found


@rule("aten.div", "aten.div_")
def quotient(call: Call, dim: int) -> list[Strategy]:
    found = pointwise(call, dim)
    if "rounding_mode" not in call.kwargs and isinstance(call.args[0], weft.Tensor):
        rest = (R,) * (len(call.tensors) - 1)
        found += [Strategy(each, (each, *rest)) for each in terms(call, dim)]
    return found


@rule("aten.add", "aten.add_", "aten.sub", "aten.sub_")
def total(call: Call, dim: int) -> list[Strategy]:
    """Both may be sums of terms, of the same shape."""
    found = pointwise(call, dim)
    if len(call.tensors) == 2:
        found += [Strategy(each, (each, each)) for each in terms(call, dim)]
    return found


@rule("aten.copy_")
def copied(call: Call, dim: int) -> list[Strategy]:
    """The target stays as it is."""
    found = pointwise(call, dim)
    return [*found, *(Strategy(each, (each, each)) for each in terms(call, dim, linear=False))]


@rule("aten.zero_", "aten.zeros_like")
def zeros(call: Call, dim: int) -> list[Strategy]:
    return linear(call, dim)
