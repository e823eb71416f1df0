"""Programs of operands of all dtypes: tensors with and without dimensions, and Python's numbers."""

from __future__ import annotations

from typing import Any

from . import choices

VERSIONS = False  # not compared


def start(random: Any, run: Any) -> None:
    """A few tensors of any dtype, some without dimensions."""
    size = random.choice([(3,), (2, 2), (1,)])
    for _ in range(3):
        shape = random.choice([size, size, (), (1,)])
        dtype = random.choice(choices.DTYPES)
        run.run(f"{run.name()} = {choices.tensor(random, shape, dtype)}")


def line(random: Any, run: Any) -> str:
    tensors = {name: each for name, each in run.tensors.items() if each.numel() <= 64}
    name, other = (choices.pick(random, tensors) for _ in range(2))
    operand = random.choice([other, other, choices.number(random), f"torch.tensor({choices.number(random)})"])
    dtype = f"torch.{random.choice(choices.DTYPES)}"
    form = random.choice(FORMS)
    if tensors[str(name)].is_complex() and ("type" in form or "to(" in form or "copy_" in form):
        form = FORMS[0]  # which part of an infinite complex number is nan is open, and a conversion would show it
    text = form.format(
        x=name, y=operand, z=choices.pick(random, tensors), n=choices.number(random), dtype=dtype,
        op=random.choice(OPERATORS), compare=random.choice(COMPARISONS), binary=random.choice(BINARY),
        unary=random.choice(UNARY), reduction=random.choice(REDUCTIONS), mode=random.choice(MODES),
    )  # fmt: skip
    changes = "=" in form.split("(")[0] or "_(" in form.split("{x}.")[-1].split("(")[0] + "("
    return text if changes else f"{run.name()} = {text}"


OPERATORS = [
    "+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>",
]  # fmt: skip
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
BINARY = [
    "add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "pow", "float_power", "maximum",
    "minimum", "fmax", "fmin", "atan2", "hypot", "copysign", "xlogy", "logaddexp", "bitwise_and", "bitwise_or",
    "bitwise_xor", "logical_and", "logical_or", "logical_xor", "eq", "ne", "lt", "le", "gt", "ge", "gcd", "lcm",
    "nextafter", "heaviside", "ldexp", "bitwise_left_shift", "bitwise_right_shift", "rsub", "result_type", "can_cast",
    "isclose",
]  # fmt: skip
UNARY = [
    "abs", "neg", "exp", "sqrt", "sin", "log", "sigmoid", "tanh", "ceil", "floor", "round", "trunc", "sign", "sgn",
    "reciprocal", "rsqrt", "square", "isnan", "isfinite", "logical_not", "bitwise_not", "relu", "erf", "expm1",
    "log1p", "positive", "real", "angle", "frac", "isinf", "signbit", "nan_to_num", "deg2rad", "exp2", "log2", "atan",
    "digamma", "sinc", "softmax_", "conj_physical", "isreal", "isneginf",
]  # fmt: skip
UNARY.remove("softmax_")
REDUCTIONS = [
    "sum", "prod", "mean", "cumsum", "cumprod", "nansum", "nanmean", "logsumexp", "softmax", "log_softmax", "norm",
    "amax", "amin", "argmax", "any", "all", "var", "std", "median", "mode", "count_nonzero", "max", "sort",
    "logcumsumexp",
]  # fmt: skip
MODES = ["'trunc'", "'floor'", "None"]
FORMS = [
    "{x} {op} {y}", "{x} {op} {y}", "{n} {op} {x}", "{x} {op}= {y}", "{x} {op}= {y}", "{x} {compare} {y}",
    "{n} {compare} {x}", "torch.{binary}({x}, {y})", "torch.{binary}({x}, {y})", "torch.{binary}({x}, {y})",
    "{x}.{binary}_({y})", "torch.{unary}({x})", "torch.{unary}({x})", "{x}.{unary}_()", "{x}.{reduction}(0)",
    "{x}.{reduction}(0, dtype={dtype})", "{x}.sum(dtype={dtype})", "{x}.cumsum(0, dtype={dtype})",
    "{x}.prod(dtype={dtype})", "{x}.sum()", "{x}.mean()", "{x}.prod()", "{x}.std()", "{x}.max()", "{x}.all()",
    "{x}.argmax()", "torch.where({x} > 0, {y}, {z})", "torch.where({z} > 0, {n}, {x})",
    "torch.cat([{x}.reshape(-1), {z}.reshape(-1)])", "torch.stack([{x}, {z}])", "torch.clamp({x}, {n}, 3)",
    "torch.clamp({x}, min={n})", "torch.clamp({x}, {y}, {z})", "{x}.clamp_(max={n})",
    "torch.div({x}, {y}, rounding_mode={mode})", "{x}.div_({y}, rounding_mode={mode})",
    "torch.add({x}, {y}, alpha={n})", "{x}.add_({y}, alpha={n})", "torch.sub({x}, {y}, alpha={n})",
    "torch.addcmul({x}, {x}, {z}, value={n})", "torch.addcdiv({x}, {z}, {z}, value={n})", "torch.lerp({x}, {z}, {n})",
    "{x}.to({dtype})", "{x}.copy_({z})", "{x}.fill_({n})", "torch.full((2,), {n})", "torch.full_like({x}, {n})",
    "torch.full((2,), {n}, dtype={dtype})", "torch.tensor([{n}, 1])", "torch.as_tensor({n})",
    "torch.linspace(0, {n}, 3)", "torch.result_type({x}, {y})", "torch.promote_types({x}.dtype, {dtype})",
    "torch.can_cast({x}.dtype, {dtype})", "torch.zeros_like({x}, dtype={dtype})", "{x}.new_full((2,), {n})",
    "{x}.masked_fill({x} > 0, {n})", "torch.pow({n}, {x})", "torch.pow({x}, {n})", "{x}.pow_({n})",
    "torch.float_power({x}, {n})", "torch.dot({x}.reshape(-1), {z}.reshape(-1))",
    "torch.outer({x}.reshape(-1), {z}.reshape(-1))", "{x}.reshape(-1, 1) @ {z}.reshape(1, -1)", "{x}.type_as({z})",
    "torch.maximum({x}, {z})", "{x}.type({dtype})", "torch.equal({x}, {z})",
    "torch.addmm({x}, {x}.reshape(-1, 1), {z}.reshape(1, -1))", "torch.fmod({x}, {n})", "torch.remainder({n}, {x})",
    "torch.bitwise_and({x}, {n})", "abs({x})", "-{x}", "~{x}", "torch.complex({x}, {z})",
    "torch.searchsorted({x}.reshape(-1).sort()[0], {z})",
]  # fmt: skip
