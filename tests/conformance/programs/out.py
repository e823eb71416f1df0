"""Programs of functions with ``out=``: layouts, sizes, dtypes, and results in the memory of operands."""

from __future__ import annotations

from typing import Any

from . import choices

VERSIONS = False  # not compared


def start(random: Any, run: Any) -> None:
    """Operands, and results to write to in some layouts, sizes and dtypes."""
    size = random.choice([(3,), (2, 3), (3, 3), (1, 3), (2, 2, 2), (0,), (2, 0)])
    dtype = random.choice(["float32", "float64", "int64", "float32", "bool", "complex64", "uint8", "bfloat16"])
    for _ in range(2):
        run.run(f"{run.name()} = {choices.tensor(random, size, dtype)}")
    for _ in range(2):
        shape = random.choice([size, size, size[1:], (0,), (*size[:-1], 1), (4, 4), ()])
        other = dtype if random.random() < 0.7 else random.choice(choices.DTYPES)
        run.run(f"{run.name()} = {choices.tensor(random, shape, other)}")


def line(random: Any, run: Any) -> str:
    names = {name: each for name, each in run.tensors.items() if each.numel() <= 64}
    x, y = (choices.pick(random, names) for _ in range(2))
    ndim = names[x].ndim
    out = target(random, names)
    if random.random() < 0.06:
        return (
            f"{out} = {choices.tensor(random, choices.shape(random, 3), random.choice(choices.DTYPES))}"
            if out in names
            else f"{out}.zero_()"
        )
    zeros = ", ".join("0" for _ in range(random.randint(0, 2)))
    text = random.choice(CALLS).format(
        x=x,
        y=random.choice([y, y, y, "2", "1.5"]),
        t=y,
        dim=random.randint(-max(ndim, 1), max(ndim, 1) - 1),
        keep=random.random() < 0.4,
        out=out,
        apart=choices.pick(random, apart(names, x)),
        second=random.choice(["torch.zeros(0, dtype=torch.int64)", f"torch.zeros({x}.shape, dtype=torch.int64)"]),
        binary=random.choice(BINARY),
        unary=random.choice(UNARY),
        reduction=random.choice(REDUCTIONS),
        index=f"torch.tensor([{zeros}], dtype=torch.int64)",
        dtype=f"torch.{random.choice(choices.DTYPES)}",
    )
    if out not in alone(names) and resizes(text, out, run):  # PyTorch writes beside the view, where memory is left
        text = text.replace(f"={out}", f"={choices.pick(random, alone(names)) or 'torch.zeros(2)'}")
    return f"{run.name()} = {text}"


def alone(names: Any) -> Any:
    """The tensors of which there is no other view among the variables."""
    return {
        name: one
        for name, one in names.items()
        if all(one is other or not same_memory(one, other) for other in names.values())
    }


def same_memory(one: Any, other: Any) -> bool:
    return bool(one.untyped_storage()._cdata == other.untyped_storage()._cdata)


def resizes(text: str, out: str, run: Any) -> bool:
    """Whether a call gives its result to a view of another size."""
    try:
        space = dict(run.spaces[0])
        exec(f"found, out = {text.split(', out=')[0]}), {out}", space)
        found = space["found"]
        return bool((found if hasattr(found, "shape") else found[0]).shape != space["out"].shape)
    except Exception:
        return True


def apart(names: Any, operand: str) -> Any:
    """The tensors that have memory of their own: PyTorch crashes where two results, or one and an operand, share it."""
    found = {name: each for name, each in alone(names).items() if not same_memory(each, names[operand])}
    return found or {"torch.zeros(2)": names[operand].new_zeros(2)}


def target(random: Any, names: Any) -> str:
    """What is written to: a tensor, or a view of one."""
    name = choices.pick(random, names)
    tensor = names[name]
    forms = ["{}"] * 6
    if tensor.ndim > 1:
        forms += ["{}.t()" if tensor.ndim == 2 else "{}.transpose(0, 1)", "{}[0]", "{}[..., 0]", "{}[:, :2]"]
    if tensor.ndim:
        forms += ["{}[1:]", "{}[::2]", "{}[:0]", "{}.expand(2, *{}.shape)", "{}.view(-1)", "{}.unsqueeze(0)"]
    return str(random.choice(forms)).replace("{}", name)


BINARY = [
    "add", "sub", "mul", "div", "remainder", "fmod", "pow", "maximum", "minimum", "atan2", "eq", "lt", "logical_and",
    "bitwise_and", "floor_divide", "true_divide", "xlogy", "copysign", "hypot", "ge", "fmax", "float_power", "gcd",
    "ne",
]  # fmt: skip
UNARY = [
    "abs", "neg", "exp", "sqrt", "sin", "sigmoid", "tanh", "floor", "round", "sign", "reciprocal", "square",
    "isposinf", "logical_not", "bitwise_not", "log1p", "trunc", "frac", "rsqrt", "angle", "sgn", "signbit",
    "nan_to_num", "cos", "erf",
]  # fmt: skip
REDUCTIONS = [
    "sum", "prod", "mean", "amax", "amin", "argmax", "argmin", "all", "any", "logsumexp", "var", "std", "cumsum",
    "cumprod", "softmax",
]  # fmt: skip
CALLS = [
    *["torch.{binary}({x}, {y}, out={out})", "torch.{unary}({x}, out={out})"] * 6,
    *["torch.{reduction}({x}, {dim}, out={apart})"] * 3, "torch.sum({x}, {dim}, {keep}, out={apart})",
    "torch.sum({x}, {dim}, dtype={dtype}, out={apart})", "torch.cumsum({x}, {dim}, dtype={dtype}, out={apart})",
    "torch.cat([{x}, {t}], {dim}, out={out})", "torch.stack([{x}, {t}], {dim}, out={out})",
    "torch.where({x} > 0, {x}, {t}, out={out})", "torch.clamp({x}, 0, 1, out={out})",
    "torch.clamp({x}, min={t}, out={out})", "torch.add({x}, {t}, alpha=2, out={out})",
    "torch.addcmul({x}, {x}, {t}, out={out})", "torch.lerp({x}, {t}, 0.5, out={out})",
    "torch.index_select({x}, {dim}, {index}, out={out})", "torch.take({x}, {index}, out={out})",
    "torch.gather({x}, 0, {t}.long().clamp(0, 0), out={out})", "torch.masked_select({x}, {x} > 0, out={out})",
    "torch.nonzero({x}, out={out})", "torch.sort({x}, {dim}, out=({apart}, {second}))",
    "torch.max({x}, {dim}, out=({apart}, {second}))", "torch.min({x}, {dim}, {keep}, out=({apart}, {second}))",
    "torch.tril({x}, out={out})", "torch.diag({x}, out={out})", "torch.zeros(2, 3, out={out})",
    "torch.ones({x}.shape, out={out})", "torch.full((3,), 2, out={out})", "torch.eye(2, out={out})",
    "torch.dot({x}, {t}, out={out})", "torch.mm({x}, {t}, out={out})", "torch.mv({x}, {t}, out={out})",
    "torch.matmul({x}, {t}, out={out})", "torch.outer({x}, {t}, out={out})", "torch.bmm({x}, {t}, out={out})",
    "torch.addmm({x}, {x}, {t}, out={out})", "torch.norm({x}, 2, {dim}, out={out})",
    "torch.div({x}, {y}, rounding_mode='floor', out={out})", "torch.aminmax({x}, dim={dim}, out=({apart}, {second}))",
    "torch.frexp({x}, out=({apart}, {second}))", "torch.bucketize({x}, {t}.reshape(-1).sort()[0], out={out})",
    "torch.logcumsumexp({x}, {dim}, out={out})", "torch.cummax({x}, {dim}, out=({apart}, {second}))",
    "torch.complex({x}, {t}, out={out})", "torch.polar({x}, {t}, out={out})", "torch.squeeze_copy({x}, out={out})",
    "torch.permute_copy({x}, tuple(range({x}.ndim))[::-1], out={out})",
    "torch.scatter({x}, 0, {t}.long().clamp(0, 0), {x}, out={out})", "torch.renorm({x}, 2, 0, 1, out={out})",
    "torch.inner({x}, {t}, out={out})",
]  # fmt: skip
