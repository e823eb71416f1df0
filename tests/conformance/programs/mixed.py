"""Programs of lines of all kinds: functions of tensors beside views, writes, indices, and the gradients of it all.

What is left out is ill-conditioned, or infinite where others begin: the last digits decide there.
"""

from __future__ import annotations

from typing import Any

from . import choices, indexing, views

VERSIONS = False  # not compared
start, finish = views.start, views.finish


def line(random: Any, run: Any) -> str:
    kind = random.random()
    if kind < 0.3:
        return views.line(random, run)
    if kind < 0.5:
        return indexing.line(random, run)
    names = {name: each for name, each in run.tensors.items() if each.numel() <= 64 and each.ndim <= 5}
    x, y = (choices.pick(random, names) or "x0" for _ in range(2))
    if kind < 0.75:
        return f"{run.name()} = {x}.{random.choice(METHODS)}"
    return f"{run.name()} = torch.{random.choice(FUNCTIONS).format(x=x, y=y)}"


METHODS = [
    "abs()", "neg()", "sin()", "tanh()", "sigmoid()", "square()", "cumsum(0)", "softmax(0)", "log_softmax(-1)",
    "relu()", "sum(0)", "mean(-1)", "amax(0)", "max()", "min()", "std(0)", "var()", "norm()", "logsumexp(0)",
    "sort(0)[0]", "flip(0)", "roll(1)", "tril()", "triu(1)", "cummax(0)[0]", "nansum()", "repeat(2)", "erf()",
    "trunc()", "sgn()", "clamp(-1, 1)", "diff()", "median(0)[0]", "nan_to_num()", "hardshrink(1)",
    "atan()", "diagonal()", "conj()", "flatten()", "norm(1)", "norm(3, 0)", "cov()", "renorm(2, 0, 1)", "rot90()",
    "detach()", "nonzero()", "count_nonzero()", "aminmax()[0]", "diag()", "diag_embed()", "float()",
    "double()", "to(torch.complex64)", "tile(2)", "movedim(0, -1)", "fliplr()", "swapaxes(0, 1)", "argmax()",
    "repeat_interleave(2)", "unbind()[0]", "split(1)[-1]", "cummin(0)[0]", "where(torch.tensor(True), 2)",
]  # fmt: skip
FUNCTIONS = [
    *["mul({x}, {y})", "add({x}, {y})", "sub({x}, {y})", "matmul({x}, {y})"] * 3, "maximum({x}, {y})",
    "where({x}.abs() > 1, {x}, {y})", "cat([{x}, {y}])", "stack([{x}, {y}])", "outer({x}, {y})", "hypot({x}, {y})",
    "lerp({x}, {y}, 0.5)", "addcmul({x}, {y}, {y})", "dot({x}, {y})", "masked_scatter({x}, {x}.abs() > 1, {y})",
    "index_add({x}, 0, torch.tensor([0]), {y}[:1])", "tensordot({x}, {y}, 1)", "fmod({x}, 2)", "clamp({x}, min={y})",
    "broadcast_tensors({x}, {y})[0]", "add({x}, {y}, alpha=2)", "vander({x})", "cartesian_prod({x}, {y})",
    "gather({x}, 0, torch.zeros(1, dtype=torch.int64))", "dstack([{x}, {y}])", "hstack([{x}, {y}])",
    "vstack([{x}, {y}])", "column_stack([{x}, {y}])", "take({x}, torch.tensor([0, -1]))", "trunc({x})",
    "bincount({x}.long().abs())", "cumulative_trapezoid({x})", "combinations({x})", "unique({x})", "nanmean({x})",
    "logical_xor({x}, {y})", "msort({x})", "special.entr({x})", "heaviside({x}, {y})", "frac({x})",
    "func.vmap(torch.sin)({x})", "addmv({x}, {y}, {x})", "addr({x}, {y}, {y})", "dist({x}, {y})",
    "masked_select({x}, {y} > 0)", "diagonal_scatter({x}, {y})", "select_scatter({x}, {y}, 0, 0)", "sinc({x})",
    "bmm({x}, {y})", "view_as_real({x})", "put({x}, torch.tensor([0]), {y}[:1])", "frexp({x})[0]", "rsub({x}, {y})",
    "gcd({x}, {y})", "div({x}, {y}, rounding_mode='floor')", "true_divide({x}, 2)", "linalg.matrix_norm({x})",
    "linalg.matrix_power({x}, 2)", "linalg.cross({x}, {y})", "linalg.multi_dot([{x}, {y}])",
    "nn.functional.gelu({x})", "nn.functional.silu({x})", "nn.functional.softplus({x})", "nn.functional.elu({x})",
    "nn.functional.layer_norm({x}, {x}.shape[-1:])", "nn.functional.one_hot({x}.long().abs())",
    "nn.functional.pad({x}, (1, 0), value=2.0)", "nn.functional.avg_pool1d({x}, 2)", "nn.functional.glu({x})",
    "nn.functional.max_pool1d({x}, 2)", "nn.functional.max_pool2d({x}, 2)", "nn.functional.linear({x}, {y})",
    "nn.functional.interpolate({x}, scale_factor=2)", "nn.functional.conv2d({x}, {y})",
    "nn.functional.pairwise_distance({x}, {y})", "nn.functional.hardtanh({x})", "nn.functional.leaky_relu({x}, -0.5)",
    "nn.functional.threshold({x}, 0, 1)", "nn.functional.group_norm({x}, 1)",
    "nn.functional.rms_norm({x}, {x}.shape[-1:])", "nn.functional.local_response_norm({x}, 2)",
    "nn.functional.selu({x})", "nn.functional.mish({x})",
    "nn.functional.hardswish({x})", "nn.functional.normalize({x}, dim=0)",
]  # fmt: skip
