"""Programs of views, writes through them, and gradients."""

from __future__ import annotations

import itertools
import math
from typing import Any

from . import choices, interpreter


def start(random: Any, run: Any) -> None:
    """One or two leaves; mostly a copy of them to write to."""
    for _ in range(random.randint(1, 2)):
        dtype = random.choice(["float32", "float64", "float32", "complex64", "int64"])
        size = choices.shape(random, 3, 1, random.random() < 0.2)
        text = choices.tensor(random, size, dtype)
        grad = dtype != "int64" and random.random() < 0.7
        run.run(f"{run.name()} = {text}{'.requires_grad_()' if grad else ''}")
        if grad and random.random() < 0.8:
            last = f"x{run.count - 1}"
            run.run(f"{run.name()} = {last}{random.choice([' * 1', '.clone()', ' * 2'])}")


def line(random: Any, run: Any) -> str:
    if random.random() < 0.12:
        return backward(random, run)
    tensors = {name: each for name, each in run.tensors.items() if each.ndim <= 6}
    name = choices.pick(random, tensors) or "x0"
    tensor = run.tensors[name]
    what = random.choice(
        [
            "view",
            "view",
            "view",
            "write",
            "write",
            "write",
            "value",
            "mode",
            "in place",
        ]
    )
    return MAKERS[what](random, run, name, tensor)


def finish(random: Any, run: Any) -> None:
    """Gradients of all that has some."""
    run.run(backward(random, run))


def backward(random: Any, run: Any) -> str:
    losses = [
        f"({name} * torch.arange(1, {each.numel() + 1}).reshape({tuple(each.shape)})).sum().abs()"
        for name, each in run.tensors.items()
        if each.requires_grad and interpreter.asked(each, "is_leaf") is False
    ]
    if not losses:
        return f"{run.name()} = 0"
    if random.random() < 0.3:
        losses = [random.choice(losses)]
    return f"({' + '.join(losses)}).backward(retain_graph={random.random() < 0.5})"


def view(random: Any, run: Any, name: str, tensor: Any) -> str:
    text = make_view(random, name, tensor)
    return f"{run.name()} = {text}"


def make_view(random: Any, name: str, tensor: Any) -> str:
    ndim, size = tensor.ndim, tuple(tensor.shape)
    dim = random.randint(-ndim, ndim - 1) if ndim else 0
    other = random.randint(-ndim, ndim - 1) if ndim else 0
    n = size[dim] if ndim else 1
    start_at = random.randint(0, n)
    kind = random.choice(VIEWS)
    if kind == "as_strided":
        total = 1 + sum((s - 1) * k for s, k in zip(size, tensor.stride())) if tensor.numel() else 0
        rows = random.randint(0, min(3, total))
        stride = random.randint(1, max(1, total // max(rows, 1)))
        if random.random() < 0.5:
            return f"{name}.as_strided(({rows},), ({stride},))"
        return f"{name}.as_strided(({min(2, total)}, {1}), ({1}, {1}), {tensor.storage_offset()})"
    if kind == "unfold":
        window = random.randint(0, n)
        return f"{name}.unfold({dim}, {window}, {random.randint(1, 3)})"
    if kind == "view":
        order = list(size)
        if random.random() < 0.5:
            order = [math.prod(size)] if tensor.numel() else [0]
        elif ndim > 1:
            order = [size[0] * size[1], *size[2:]]
        return (
            f"{name}.{random.choice(['view', 'reshape'])}({', '.join(map(str, order))}{',' if not order else ''})"
            if order
            else f"{name}.reshape(())"
        )
    if kind == "expand":
        lead = random.choice([(), (2,)])
        return f"{name}.expand({(*lead, *(3 if s == 1 and random.random() < 0.7 else s for s in size))})"
    if kind == "permute":
        order = list(range(ndim))
        random.shuffle(order)
        return f"{name}.permute({tuple(order)})"
    if kind == "split":
        pick = random.choice([0, -1, 1])
        how = random.choice(
            [
                f"split({random.randint(1, 3)}, {dim})",
                f"chunk(2, {dim})",
                f"unbind({dim})",
                f"tensor_split(2, {dim})",
                f"split([{start_at}, {n - start_at}], {dim})",
            ]
        )
        return f"{name}.{how}[{pick}]"
    if kind == "index":
        parts = [
            random.choice(
                [
                    str(random.randint(-s, s - 1)) if s else ":",
                    ":",
                    f"{random.randint(0, s)}:",
                    "::2",
                    "None",
                    f":{random.randint(-s, s)}",
                ]
            )
            for s in size
        ]
        return f"{name}[{', '.join(parts) or '...'}]"
    return kind.format(
        name=name,
        dim=dim,
        other=other,
        start=start_at,
        length=random.randint(0, n - start_at),
        offset=random.randint(-1, 1),
        position=random.randint(-n, n - 1) if n else 0,
    )


VIEWS = [
    "as_strided", "unfold", "view", "view", "expand", "permute", "split", "split", "index", "index",
    "{name}.transpose({dim}, {other})", "{name}.t()", "{name}.T", "{name}.mT", "{name}.squeeze()",
    "{name}.squeeze({dim})", "{name}.unsqueeze({dim})", "{name}.diagonal({offset})",
    "{name}.diagonal({offset}, {dim}, {other})", "{name}.select({dim}, {position})",
    "{name}.narrow({dim}, {start}, {length})", "{name}.detach()", "{name}.flatten()", "{name}.view_as({name})",
    "{name}.movedim({dim}, {other})", "{name}.swapaxes({dim}, {other})", "{name}.unflatten({dim}, (-1, 1))",
    "{name}.real", "{name}.imag", "torch.view_as_real({name})", "torch.view_as_complex({name})",
    "{name}.expand_as({name})", "{name}.data", "{name}.ravel()", "torch.atleast_2d({name})", "{name}.contiguous()",
    "{name}.resolve_conj()", "torch.broadcast_to({name}, {name}.shape)", "torch.hsplit({name}, 1)[0]",
    "torch.real({name})",
]  # fmt: skip


def write(random: Any, run: Any, name: str, tensor: Any) -> str:
    """A write into a tensor, or into a view of it that has no name."""
    target = name if random.random() < 0.6 else make_view(random, name, tensor)
    other = choices.pick(random, run.tensors)
    same = choices.tensor(random, tuple(tensor.shape), str(tensor.dtype).split(".")[-1], False)
    operand = random.choice([other, same, choices.number(random), choices.number(random), "2", "3"])
    text = random.choice(WRITES)
    if target != name and "[" in text:
        target = name
    if "copy_" in text and operand == "1j":  # PyTorch warns, and takes the real part
        operand = "2"
    if "lerp_" in text and operand not in (other, same):
        operand = same
    if "conj_physical_" in text or "masked_fill_" in text:
        target = name if 0 not in tensor.stride() else f"{name}.clone()"
    if "unfold" in target or "as_strided" in target or overlaps(tensor):
        target = f"{name}.clone()"  # what a write to elements that share memory leaves is not defined
    return text.format(target=target, operand=operand, position=random.randint(0, 1))


def overlaps(tensor: Any) -> bool:
    """Whether elements of a tensor lie in the same place, other than by `expand`, which is looked at."""
    dims = [range(0, size * stride, stride) for size, stride in zip(tensor.shape, tensor.stride()) if stride]
    places = [sum(steps) for steps in itertools.product(*dims)]
    return len(set(places)) < len(places)


WRITES = [
    "{target}.add_({operand})", "{target}.mul_({operand})", "{target}.sub_({operand})", "{target}.div_({operand})",
    "{target}.copy_({operand})", "{target}.zero_()", "{target}.fill_({operand})", "{target}.neg_()",
    "{target}.sigmoid_()", "{target}.pow_(2)", "{target}.clamp_(min=0)", "{target}.sin_()",
    "{target}[{position}] = {operand}", "{target}[...] = {operand}", "{target}[..., 0] = {operand}",
    "{target}[{position}:] *= {operand}", "{target}[..., ::2] += {operand}", "{target}[[{position}]] = {operand}",
    "{target}.masked_fill_({target}.abs() > 1, {operand})", "{target}.addcmul_({target}, {target})",
    "{target}.sigmoid_()", "{target}.relu_()", "{target}.lerp_({operand}, 0.5)", "{target}.cumsum_(0)",
    "{target}.abs_()", "{target}.tril_()", "{target}.conj_physical_()",
]  # fmt: skip


def value(random: Any, run: Any, name: str, tensor: Any) -> str:
    """A tensor of its own, made of others."""
    other = choices.pick(random, run.tensors)
    text = random.choice(
        [
            "{name} * {other}",
            "{name} + {other}",
            "{name} * 2",
            "{name}.sum()",
            "{name}.clone()",
            "{name}.sin()",
            "{name}.sum({dim})",
            "torch.cat([{name}, {name}])",
            "{name}.to(torch.float64)",
            "{name}.abs()",
            "torch.stack([{name}, {name}])",
            "{name}.detach().clone()",
            "{name} ** 2",
            "{name}.mean()",
            "torch.zeros_like({name})",
            "torch.empty_like({name}).zero_()",
            "{name}.new_ones({name}.shape)",
        ]
    )
    return f"{run.name()} = " + text.format(name=name, other=other, dim=random.randint(-1, 0))


def mode(random: Any, run: Any, name: str, tensor: Any) -> str:
    """Views and writes where no gradients are recorded."""
    inner = random.choice([view, write, value])(random, run, name, tensor)
    context = random.choice(
        ["torch.no_grad()", "torch.no_grad()", "torch.enable_grad()", "torch.set_grad_enabled(False)"]
    )
    return f"with {context}: {inner}"


def same_memory(one: Any, other: Any) -> bool:
    return bool(one.untyped_storage()._cdata == other.untyped_storage()._cdata)


def in_place(random: Any, run: Any, name: str, tensor: Any) -> str:
    """What changes the tensor itself: its geometry, or whether it requires grad."""
    dim, other = random.randint(-max(tensor.ndim, 1), max(tensor.ndim, 1) - 1), 0
    memory = [name for name, each in run.tensors.items() if same_memory(each, tensor)]
    if len(memory) > 1 or tensor.requires_grad:  # weft makes a view's history again of its base, as that lies now
        return f"{name}.retain_grad()"
    text = random.choice(
        [
            "{name}.t_()",
            "{name}.squeeze_()",
            "{name}.unsqueeze_({dim})",
            "{name}.transpose_({dim}, {other})",
            "{name}.requires_grad_()",
            "{name}.retain_grad()",
            "{name}.squeeze_({dim})",
            "{name}.swapaxes_({dim}, {other})",
            "{name}.grad = None",
        ]
    )
    return text.format(name=name, dim=dim, other=other)


MAKERS = {"view": view, "write": write, "value": value, "mode": mode, "in place": in_place}
