"""Calls of ops, for the table of exported ops: each op by its name, with a function whose call comes to it.

As in `modules`, a case has inputs for a batch size and a length, both dynamic in the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import weft
import weft.library
import weft.nn.functional as F
from weft.ao.decomposed import dequantize, quantize
from weft.vision.ops import nms, roi_align

Inputs = Callable[[int, int], tuple[Any, ...]]
randn, rand, randint = weft.randn, weft.rand, weft.randint


class Case(NamedTuple):
    """A function of tensors, and its inputs."""

    function: Callable[..., Any]
    inputs: Inputs
    fixed: str = ""


CASES: dict[str, list[Case]] = {}
SIZE_FROM_VALUES = "the size of its result depends on values"
REFUSED: dict[str, tuple[str, Callable[..., Any]]] = {
    "core::item": ("the program reads a value of a tensor", lambda x: x * x.sum().item()),
    "core::unique": (SIZE_FROM_VALUES, lambda x: weft.unique(x)),
}


def case(names: str, function: Callable[..., Any], inputs: Inputs, fixed: str = "") -> None:
    """Declare a call of ops by their full names."""
    for name in names.split():
        CASES.setdefault(name, []).append(Case(function, inputs, fixed))


# Inputs


def real(n: int, length: int) -> tuple[Any, ...]:
    return (2 * randn(n, 3, length),)


def positive(n: int, length: int) -> tuple[Any, ...]:
    return (rand(n, 3, length) + 0.1,)


def unit(n: int, length: int) -> tuple[Any, ...]:
    """Numbers between -1 and 1."""
    return (rand(n, 3, length) * 1.8 - 0.9,)


def above_one(n: int, length: int) -> tuple[Any, ...]:
    return (rand(n, 3, length) + 1.1,)


def integers(n: int, length: int) -> tuple[Any, ...]:
    return (randint(-9, 10, (n, 3, length)),)


def truths(n: int, length: int) -> tuple[Any, ...]:
    return (rand(n, 3, length) < 0.5,)


def aligned_regions(x: Any, **options: Any) -> Any:
    """Features of regions, one of each image, of which some are outside."""
    corners = x[:, :2, 0] * 3
    numbers = weft.arange(x.shape[0], dtype=x.dtype)[:, None]
    return roi_align(x[:, None], weft.cat([numbers, corners, corners + 4], dim=1), (3, 2), **options)


def boxes_of(x: Any) -> Any:
    """A box for each example, some of which overlap."""
    corner = 0.3 * x[:, 1, :2]
    return weft.cat([corner, corner + 1 + x[:, 2, :2].abs()], 1)


def two(inputs: Inputs) -> Inputs:
    return lambda n, length: (*inputs(n, length), *inputs(n, length))


def with_row(n: int, length: int) -> tuple[Any, ...]:
    """Elements, and a row to broadcast."""
    return randn(n, 3, length), randn(length)


def special(n: int, length: int) -> tuple[Any, ...]:
    """With infinities and nan."""
    x = randn(n, 3, length)
    x[:, 0] = math.inf
    x[:, 1] = math.nan
    return (weft.where(x > 1, -x, x),)


def square(n: int, length: int) -> tuple[Any, ...]:
    return (randn(n, length, length),)


def numbered(inputs: Inputs, index: Inputs) -> Inputs:
    """An input and an index."""
    return lambda n, length: (*inputs(n, length), *index(n, length))


def methods(name: str) -> Callable[..., Any]:
    return getattr(weft, name)


# Pointwise

for name in (
    "abs angle asinh atan ceil clone cos deg2rad erf erfc exp2 expm1 floor frac isfinite isinf isnan logical_not neg "
    "ndtr rad2deg relu round sigmoid sign sgn signbit sin sinc sinh square tanh trunc exp cosh"
).split():
    case(f"core::{name}", getattr(weft, name, None) or getattr(weft.special, name), real)
for name in "entr log log10 log1p log2 reciprocal rsqrt sqrt".split():
    case(f"core::{name}", getattr(weft, name, None) or getattr(weft.special, name), positive)
for name in "acos asin atanh erfinv tan".split():
    case(f"core::{name}", methods(name), unit)
case("core::ndtri", weft.special.ndtri, lambda n, length: (rand(n, length),))
case("core::acosh", weft.acosh, above_one)
for name in "isfinite isinf isnan isneginf isposinf nan_to_num".split():
    case(f"core::{name}", methods(name), special)
for name in "isinf isnan isreal isfinite sign neg abs square floor ceil trunc round relu".split():
    case(f"core::{name}", methods(name), integers)
for name in "sqrt exp sin erf".split():
    case(f"core::{name}", lambda x, name=name: getattr(weft, name)(x.abs()), integers)
case("core::round", lambda x: x.round(decimals=2), real)
case("core::round", lambda x: x.round(decimals=-1), lambda n, length: (100 * randn(n, length),))
case("core::logit", lambda x: x.logit(1e-3), lambda n, length: (rand(n, length),))
case("core::logit", weft.logit, lambda n, length: (rand(n, length) * 0.9 + 0.05,))

for name in "add sub mul div maximum minimum eq ne lt le gt ge fmax fmin copysign atan2 hypot logaddexp".split():
    case(f"core::{name}", methods(name), two(real))
    case(f"core::{name}", methods(name), with_row)
for name in "add sub mul div eq ne lt le gt ge maximum minimum".split():
    case(f"core::{name}", methods(name), two(integers))
for name in "add sub mul div eq lt".split():
    case(f"core::{name}", lambda x, name=name: getattr(weft, name)(x, 3), integers)
    case(f"core::{name}", lambda x, name=name: getattr(weft, name)(x, 0.5), integers)
case("core::sub core::reciprocal", lambda x: (1 - x, 2 / (x.abs() + 1)), real)
case("core::logaddexp2", weft.logaddexp2, two(real))
case("core::heaviside", weft.heaviside, two(real))
case("core::ldexp", weft.ldexp, lambda n, length: (randn(n, length), randint(-3, 4, (n, length))))
case("core::xlogy core::xlog1py", lambda x, y: (weft.xlogy(x, y), weft.special.xlog1py(x, y)), two(positive))
case("core::pow", lambda x: (x**2, x**0.5, x**-1.0, 2.0**x), positive)
case("core::pow", weft.pow, two(positive))
case("core::pow", lambda x: x**3, integers)
case("core::add_scaled", lambda x, y: weft.add(x, y, alpha=2.5), two(real))
case(
    "core::addcmul",
    lambda x, y, z: weft.addcmul(x, y, z, value=0.5),
    lambda n, length: (*two(real)(n, length), *real(n, length)),
)
case(
    "core::addcdiv",
    lambda x, y, z: weft.addcdiv(x, y, z, value=0.5),
    lambda n, length: (*two(real)(n, length), *positive(n, length)),
)
case("core::lerp", lambda x, y: (weft.lerp(x, y, 0.3), weft.lerp(x, y, y)), two(real))
case("core::clamp", lambda x: (x.clamp(-0.5, 0.5), x.clamp(min=0.1), x.clamp(max=0.1)), real)
case("core::clamp", lambda x: (x.clamp(-2, 3), x.clamp(min=0)), integers)
case("core::clamp", lambda x, y: (x.clamp(y, y + 1), x.clamp(max=y)), two(real))
case("core::div_floor core::floor_divide", lambda x, y: (weft.div(x, y, rounding_mode="floor"), x // y), two(real))
case("core::div_floor core::floor_divide", lambda x: (weft.div(x, -3, rounding_mode="floor"), x // 4), integers)
case("core::div_trunc", lambda x, y: weft.div(x, y, rounding_mode="trunc"), two(real))
case("core::div_trunc", lambda x: weft.div(x, -3, rounding_mode="trunc"), integers)
case("core::fmod core::remainder", lambda x, y: (weft.fmod(x, y), x % y), two(real))
case("core::fmod core::remainder", lambda x: (weft.fmod(x, 4), x % -4), integers)
for name in "logical_and logical_or logical_xor".split():
    case(f"core::{name}", methods(name), two(truths))
    case(f"core::{name}", methods(name), two(integers))
for name in "bitwise_and bitwise_or bitwise_xor".split():
    case(f"core::{name}", methods(name), two(truths))
    case(f"core::{name}", methods(name), two(integers))
case("core::bitwise_not", weft.bitwise_not, truths)
case("core::bitwise_not", weft.bitwise_not, integers)
case("core::bitwise_left_shift", lambda x: x << 2, integers)
case("core::bitwise_right_shift", lambda x: x >> 2, integers)
case("core::where", lambda x, y: (weft.where(x > 0, x, y), weft.where(x > 0, x, 0.0)), two(real))
case("core::masked_fill", lambda x, y: x.masked_fill(y > 0, -math.inf), two(real))
case("core::convert", lambda x: (x.int(), x.double(), x.bool(), x.half(), x.long().float()), real)
case("core::isin", lambda x: weft.isin(x, weft.tensor([1, 2, 5])), integers)

# Reductions

for name in "sum mean amax amin prod logsumexp all any var std".split():
    function = methods(name)
    if name not in ("logsumexp",):
        case(f"core::{name}", lambda x, f=function: f(x), real)
    if name not in ("all", "any"):
        case(f"core::{name}", lambda x, f=function: f(x, 1), real)
    case(f"core::{name}", lambda x, f=function: f(x, 2, keepdim=True), real)
for name in "sum amax amin all any".split():
    function = methods(name)
    case(f"core::{name}", lambda x, f=function: f(x, 1), integers)
case("core::integer_sum", lambda x: (x.sum(), x.sum((0, 2))), truths)
case("core::prod", lambda x: (x.prod(), x.prod(1)), integers)
case("core::mean core::sum", lambda x: (x.mean((0, 2)), x.sum((1, 2), keepdim=True)), real)
case("core::all core::any", lambda x: (x.all(1), x.any(2)), truths)
for name in "argmax argmin".split():
    function = methods(name)
    case(f"core::{name}", lambda x, f=function: (f(x), f(x, 1), f(x, 2, keepdim=True)), real)
for name in "max min".split():
    function = methods(name)
    case(f"core::{name} core::{name}_all", lambda x, f=function: (f(x), *f(x, 1), *f(x, 2, keepdim=True)), real)
case("core::nonzero", lambda x: (x[x > 0], weft.where(x > 0.5), x[x[:, 0, 0] > 0] * 2), real)
case("core::argwhere", weft.argwhere, integers)
case("vision::nms", lambda x: nms(boxes_of(x), x[:, 0, 0], 0.4), real)
for _options in ({"sampling_ratio": 2}, {"aligned": True}, {"spatial_scale": 0.5, "sampling_ratio": 3}):
    case("vision::roi_align", lambda x, options=_options: aligned_regions(x, **options), real)
case("core::count_nonzero", lambda x: (x.count_nonzero(), x.count_nonzero(1)), integers)
case("core::nansum", lambda x: (weft.nansum(x), weft.nansum(x, 1)), special)
case("core::var", lambda x: (x.var(1, correction=0), x.std((1, 2))), real)
for order in (0, 1, 2, 3.0, math.inf, -math.inf):
    case("core::vector_norm", lambda x, p=order: weft.linalg.vector_norm(x, p, dim=2), real)
case("core::cumsum", lambda x: (x.cumsum(1), x.cumsum(2)), real)
case("core::cumprod", lambda x: (x.cumprod(1), x.cumprod(2)), real)
case("core::cummax core::cummin", lambda x: (*x.cummax(1), *x.cummin(2)), real)
case("core::logcumsumexp", lambda x: x.logcumsumexp(2), real)
case("core::median_of core::median_all", lambda x: (x.median(), *x.median(2)), real)
case("core::kthvalue", lambda x: x.kthvalue(2, 1), real)
case("core::softmax core::log_softmax", lambda x: (x.softmax(1), x.log_softmax(-1)), real)

# Sorting

case("core::sort", lambda x: (*x.sort(1), *x.sort(2, descending=True)), real)
case("core::sort", lambda x: x.argsort(1), lambda n, length: (weft.arange(float(n * length)).reshape(n, length).sin(),))
case("core::topk", lambda x: (*x.topk(2, 1), *x.topk(3, 2, largest=False)), real)
case(
    "core::searchsorted",
    lambda x: weft.searchsorted(weft.tensor([-1.0, 0.0, 0.5, 2.0]), x),
    real,
)
case("core::searchsorted", lambda x, y: weft.searchsorted(x.sort(2).values, y, right=True), two(real))

# Shapes

case("core::view", lambda x: (x.view(x.shape[0], -1), x.flatten(0, 1), x.reshape(-1)), real)
case("core::permute core::transpose", lambda x: (x.permute(2, 0, 1), x.transpose(1, 2), x.mT), real)
case(
    "core::unsqueeze core::squeeze", lambda x: (x.unsqueeze(1), x[:, :1].squeeze(1), x.unsqueeze(-1).squeeze(-1)), real
)
case("core::expand", lambda x: (x.unsqueeze(1).expand(-1, 4, -1, -1), x[:, :1].expand_as(x)), real)
case("core::cat core::stack", lambda x, y: (weft.cat([x, y], 1), weft.stack([x, y], -1)), two(real))
case("core::split core::unbind", lambda x: (*x.split([1, 2], 1), *x.unbind(1), *x.chunk(3, 1)), real)
case("core::getitem", lambda x: (x[:, 1], x[..., 2:], x[:, ::2, 1:-1], x[:, None, -1]), real)
case("core::getitem", lambda x: (x[..., -1], x[..., ::3], x[None, ..., 0], x[:, -2:]), real)
case("core::select core::slice", lambda x: (x.select(1, 2), x.narrow(2, 1, 3)), real)
case("core::flip core::roll", lambda x: (x.flip(1, 2), x.roll(1, 2), x.roll((1, -1), (1, 2)), x.roll(2)), real)
case("core::diagonal", lambda x: (x.diagonal(0, 1, 2), x.diagonal(1, 1, 2), x.diagonal(-1, 2, 1)), square)
case("core::tril core::triu", lambda x: (x.tril(), x.triu(1), x.tril(-1)), square)
case("core::unfold", lambda x: (x.unfold(2, 3, 2), x.unfold(1, 2, 1)), real)
case("core::kron", lambda x: weft.kron(x, weft.ones(2, 2)), lambda n, length: (randn(n, length),))
case("core::block_diag", lambda x: weft.block_diag(x, weft.ones(2, 3)), lambda n, length: (randn(n, length),))

# Indexing

case(
    "core::gather", lambda x, i: x.gather(1, i), lambda n, length: (randn(n, 5, length), randint(0, 5, (n, 3, length)))
)
case(
    "core::index_select",
    lambda x, i: x.index_select(1, i),
    lambda n, length: (randn(n, 5, length), randint(0, 5, (4,))),
)
case(
    "core::index",
    lambda x, i: (x[i], x[:, i], x[..., i, 0]),
    lambda n, length: (randn(n, 5, length), weft.tensor([0, 0, 0])),
)
case(
    "core::index",
    lambda x, i: (x[:, i, i + 1], x[i, :, i]),
    lambda n, length: (randn(n, 5, length), weft.tensor([[0], [0]])),
)
case(
    "core::index_put",
    lambda x, i: (x.index_put((i,), weft.tensor(1.5)), x.index_put((i, i), x[:2, 0], accumulate=True)),
    lambda n, length: (randn(n + 1, 5, length), weft.tensor([0, 1])),
)


def write(x: Any, y: Any) -> Any:
    """Writes in place, to what is seen through several views."""
    made = x.clone()
    made[:, 0] = y[:, 1]
    made[..., 1:-1].relu_()
    made[:, 1:, ::2] = 0.5
    made.transpose(1, 2)[:, -1].mul_(2.0)
    made[x > 1] = 3.0
    return made


case("core::setitem", write, two(real))
case(
    "core::index_add",
    lambda x, i, y: (x.index_add(1, i, y), x.index_add(1, i, y, alpha=2)),
    lambda n, length: (randn(n, 5, length), weft.tensor([0, 2, 2]), randn(n, 3, length)),
)
case(
    "core::scatter",
    lambda x, i, y: (x.scatter(1, i, y), x.scatter(1, i, 0.5), x.scatter_add(1, i, y)),
    lambda n, length: (
        randn(n, 5, length),
        weft.tensor([[[1], [4], [0]]]).expand(n, 3, length).contiguous(),
        randn(n, 3, length),
    ),
)
for way in ("sum", "prod", "amax", "amin", "mean"):
    for included in (True, False):
        case(
            "core::scatter_reduce",
            lambda x, i, y, way=way, included=included: x.scatter_reduce(1, i, y, way, include_self=included),
            lambda n, length: (randn(n, 5, length), randint(0, 5, (n, 3, length)), randn(n, 3, length)),
        )
case("nn::one_hot", lambda x: F.one_hot(x, 5), lambda n, length: (randint(0, 5, (n, length)),))
case(
    "nn::embedding",
    lambda x: F.embedding(x, weft.arange(12.0).view(4, 3)),
    lambda n, length: (randint(0, 4, (n, length)),),
)

# Matrices

case("core::matmul", weft.matmul, lambda n, length: (randn(n, length, 4), randn(n, 4, 5)))
case(
    "core::matmul",
    lambda x, y: (x @ y, x[0, 0] @ y, x[0] @ y[:, 0]),
    lambda n, length: (randn(n, length, 4), randn(4, 5)),
)
case("core::matmul", lambda x: x[:, 0] @ x[0, 0], real)
case("core::matmul", lambda x: x @ x.mT, integers)
case(
    "core::addmm",
    lambda x, y: weft.addmm(weft.ones(5), x, y, beta=0.5, alpha=2),
    lambda n, length: (randn(n, 4), randn(4, 5)),
)
case("core::linalg_cross", lambda x, y: weft.linalg.cross(x, y, dim=1), two(real))
case("core::linalg_det", weft.linalg.det, lambda n, length: (randn(n, 3, 3),))
case(
    "core::int_mm",
    lambda x: weft._int_mm(x, weft.ones(8, 4, dtype=weft.int8)),
    lambda n, length: (randint(-9, 9, (17 + n, 8)).to(weft.int8),),
)

# Creation

case(
    "core::zeros_like core::ones_like core::full_like",
    lambda x: (weft.zeros_like(x), weft.ones_like(x), weft.full_like(x, 2.5)),
    real,
)
case(
    "core::zeros core::ones core::full",
    lambda x: (x + weft.zeros(x.shape[0], 1, 1), weft.ones(x.shape) + x, weft.full(x.shape, 2.5)),
    real,
)
case(
    "core::new_zeros core::new_ones core::new_full",
    lambda x: (x.new_zeros(x.shape), x.new_ones(2, x.shape[2]), x.new_full((3,), 2)),
    real,
)
case("core::arange", lambda x: (x + weft.arange(x.shape[2]), weft.arange(1, 2 * x.shape[0], 2), weft.arange(4.0)), real)
case(
    "core::eye core::linspace",
    lambda x: (weft.eye(3) @ x, x + weft.tensor(0.5), weft.linspace(0, 1, 5)),
    real,
)
case("core::tril core::ones", lambda x: weft.tril(weft.ones(x.shape[2], x.shape[2], dtype=weft.bool)), real)

# weft.nn

for name in "elu gelu hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish silu softplus softsign".split():
    case(f"nn::{name}", getattr(F, name), real)
case("nn::elu", lambda x: (F.celu(x, 0.5), F.selu(x)), real)
case("nn::hardtanh", F.relu6, real)
case("nn::shrink", lambda x: (F.hardshrink(x), F.softshrink(x, 0.3)), real)
case("nn::gelu", lambda x: F.gelu(x, approximate="tanh"), real)
case("nn::threshold nn::glu", lambda x: (F.threshold(x, 0.1, 0.2), F.glu(weft.cat([x, x], 1), 1)), real)
case("nn::prelu", lambda x: F.prelu(x, weft.tensor([0.1, 0.2, 0.3])), real)
case(
    "nn::attention",
    F.scaled_dot_product_attention,
    lambda n, length: (randn(n, 2, length, 4), *[randn(n, 2, 7, 4)] * 2),
)
case(
    "nn::attention",
    lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    lambda n, length: (randn(n, 2, length, 4),),
)
case(
    "nn::attention",
    lambda x, m: F.scaled_dot_product_attention(x, x, x, attn_mask=m > 0, scale=0.3),
    lambda n, length: (randn(n, 2, length, 4), rand(length, length)),
)
case(
    "nn::attention",
    lambda x, m: F.scaled_dot_product_attention(x, x, x, attn_mask=m),
    lambda n, length: (randn(n, 2, length, 4), rand(length, length)),
)
case(
    "nn::linear nn::rms_norm nn::layer_norm",
    lambda x: F.layer_norm(F.rms_norm(F.linear(x, weft.eye(4)), (4,)), (4,)),
    lambda n, length: (randn(n, length, 4),),
)
case("nn::group_norm", lambda x: F.group_norm(x, 3), real)
case("nn::batch_norm_training", lambda x: F.batch_norm(x, None, None, training=True), real)
case(
    "nn::pad_constant nn::pad_inside",
    lambda x: (
        F.pad(x, (1, -1), value=2.0),
        F.pad(x, (2, 1), mode="reflect"),
        F.pad(x, (1, 2), mode="replicate"),
        F.pad(x, (1, 2), mode="circular"),
    ),
    real,
)
case(
    "nn::sample",
    lambda x, g: F.grid_sample(x, g, align_corners=False),
    lambda n, length: (randn(n, 3, length, 5), rand(n, 4, 4, 2) * 2.2 - 1.1),
)
for mode in ("nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        case(
            "nn::sample",
            lambda x, g, m=mode, p=padding: F.grid_sample(x, g, m, p, align_corners=True),
            lambda n, length: (randn(n, 3, length, 5), rand(n, 4, 4, 2) * 2.2 - 1.1),
        )
case(
    "nn::fold nn::unfold",
    lambda x: F.fold(F.unfold(x, (2, 3), padding=1), (6, 5), (2, 3), padding=1),
    lambda n, length: (randn(n, 2, 6, 5),),
)
case(
    "nn::embedding_bag",
    lambda x: F.embedding_bag(x, weft.arange(12.0).view(4, 3), mode="sum"),
    lambda n, length: (randint(0, 4, (n, length)),),
)
for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"):
    op, function = "difference_loss" if "entropy" not in name else name, getattr(F, name)
    case(
        f"nn::{op}",
        lambda x, y, f=function: (f(x, y), f(x, y, reduction="sum"), f(x, y, reduction="none")),
        two(real),
    )
case(
    "nn::binary_cross_entropy",
    lambda x, y: F.binary_cross_entropy(x, y, reduction="none"),
    lambda n, length: (rand(n, length), rand(n, length)),
)
case(
    "nn::cross_entropy nn::nll_loss",
    lambda x, t: (
        F.cross_entropy(x, t),
        F.cross_entropy(x, t, reduction="sum", ignore_index=1),
        F.nll_loss(x, t, reduction="none"),
    ),
    lambda n, length: (randn(n, 5, length), randint(0, 5, (n, length))),
)
case("core::linspace", lambda x: x + weft.linspace(0, 1, x.shape[2]), real)
case("nn::layer_norm", lambda x: F.layer_norm(x, x.shape[1:]), real)
case("core::masked_fill", lambda x: weft.quantile(x, 0.3, dim=1), real)
case("nn::normalized", lambda x: F.batch_norm(x, weft.ones(3), weft.ones(3)), real)
case("nn::avg_pool", lambda x: F.avg_pool1d(x, 2, divisor_override=3), real)

# What functions come to in other cases, or for other tensors: called by their names

calls: dict[str, tuple[Inputs, tuple[Any, ...]]] = {
    "core::alias": (real, ()),
    "core::copy": (two(real), ()),
    "core::fill": (real, (2.5,)),
    "core::integer_prod": (truths, ((0, 1), False)),
    "core::select": (real, (1, 2)),
    "core::slice": (real, (2, 1, -1, 2)),
    "core::sigmoid_backward": (two(unit), ()),
    "core::tanh_backward": (two(unit), ()),
    "core::threshold_backward": (two(real), (0.1,)),
    "nn::channel_affine": (lambda n, length: (randn(n, 3, length), randn(3), randn(3)), ()),
    "nn::elu_backward": (two(real), (0.5, 2.0, 3.0)),
    "nn::gelu_backward": (two(real), ("none",)),
    "nn::hardsigmoid_backward": (two(real), ()),
    "nn::hardswish_backward": (two(real), ()),
    "nn::hardtanh_backward": (two(real), (-1.0, 0.5)),
    "nn::leaky_relu_backward": (two(real), (0.1,)),
    "nn::logsigmoid_backward": (two(real), ()),
    "nn::mish_backward": (two(real), ()),
    "nn::shrink_backward": (two(real), (0.5,)),
    "nn::silu_backward": (two(real), ()),
    "nn::softplus_backward": (two(real), (1.0, 20.0)),
    "nn::softsign_backward": (two(real), ()),
}
for name, (inputs, rest) in calls.items():
    case(name, lambda *tensors, name=name, rest=rest: weft.library.get_op(name)(*tensors, *rest), inputs)
case(
    "core::scatter_product",
    lambda x, i, y: x.scatter(1, i, y, reduce="multiply"),
    lambda n, length: (randn(n, 5, length), randint(0, 5, (n, 3, length)), randn(n, 3, length)),
)
case(
    "core::empty core::new_empty",
    lambda x: (weft.empty(3) * 0, x.new_empty(2) * 0),
    real,
)

# Rounding to integers and back: by one scale, and by one for each channel

ONE = weft.tensor(0.25), weft.tensor(3, dtype=weft.uint8)
EACH = weft.tensor([0.25, 0.5, 2.0]), weft.zeros(3, dtype=weft.int8)
case("quantized_decomposed::quantize", lambda x: quantize.op(x, *ONE, None), real)
case("quantized_decomposed::quantize", lambda x: quantize.op(x, *EACH, 1), real)
case("quantized_decomposed::dequantize", lambda x: dequantize.op(x.to(weft.uint8), *ONE, None), positive)
case("quantized_decomposed::dequantize", lambda x: dequantize.op(x.to(weft.int8), EACH[0], None, 1), integers)
case("quantized_decomposed::dequantize", lambda x: dequantize.op(x.to(weft.int32), EACH[0], None, 1), integers)

# Transforms: complex numbers are pairs in the file

case("core::fft_r2c", lambda x: spectrum(weft.fft.rfft(x)), real)
case(
    "core::fft_c2c", lambda x: spectrum(weft.fft.fft(weft.view_as_complex(x))), lambda n, length: (randn(n, length, 2),)
)
case(
    "core::fft_c2c",
    lambda x: weft.fft.ifft(weft.view_as_complex(x)).abs(),
    lambda n, length: (randn(n, length, 2),),
    "length",
)
case("core::fft_r2c", lambda x: weft.fft.rfft2(x, norm="ortho").real, real, "length")
case("core::fft_c2r", lambda x: weft.fft.irfft(weft.fft.rfft(x, dim=1) * 2, 3, dim=1), real)
case("core::fft_c2r", lambda x: weft.fft.irfft2(weft.fft.rfft2(x, dim=(1, 2)), (3, 8), dim=(1, 2)), real, "length")


def spectrum(found: Any) -> Any:
    """The power and the parts of a transform, and of its product with itself."""
    product = found * found.conj() - found
    return found.abs().square(), weft.view_as_real(product), found.imag
