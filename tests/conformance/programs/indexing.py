"""Programs that read and write by index."""

from __future__ import annotations

import math
from typing import Any

import torch

from . import choices


def start(random: Any, run: Any) -> None:
    for _ in range(random.randint(1, 2)):
        dtype = random.choice(["float32", "int64", "float32", "bool", "complex64", "uint8", "float16", "bfloat16"])
        run.run(f"{run.name()} = {choices.tensor(random, choices.shape(random), dtype)}")


def line(random: Any, run: Any) -> str:
    name = choices.pick(random, run.tensors)
    what = random.choice(
        [
            "read",
            "read",
            "read",
            "write",
            "write",
            "write",
            "add",
            "along",
            "along",
            "mask",
            "put",
        ]
    )
    return MAKERS[what](random, run, name, run.tensors[name])


def read(random: Any, run: Any, name: str, tensor: Any) -> str:
    return f"{run.name()} = {name}[{index(random, tensor.shape)}]"


def write(random: Any, run: Any, name: str, tensor: Any) -> str:
    where = index(random, tensor.shape)
    return f"{name}[{where}] = {value(random, run, name, where, tensor)}"


def add(random: Any, run: Any, name: str, tensor: Any) -> str:
    where = index(random, tensor.shape)
    return f"{name}[{where}] {random.choice(['+=', '*=', '-='])} {value(random, run, name, where, tensor)}"


def value(random: Any, run: Any, name: str, where: str, tensor: Any) -> str:
    """What to write: a number, a list, or a tensor of about the right shape."""
    kind = random.choice(["number", "number", "tensor", "tensor", "tensor", "other dtype", "other"])
    if kind == "number":
        return choices.number(random)
    if kind == "other":
        return choices.pick(random, run.tensors, lambda each: each.numel() > 1) or "1"
    try:
        space = {**run.spaces[0], "places": torch.arange(tensor.numel()).reshape(tensor.shape)}
        exec(f"found = places[{where}]", space)
        size = tuple(space["found"].shape)
        if space["found"].unique().numel() < space["found"].numel():
            return choices.number(random)  # which of several values for one place stays is not defined
    except Exception:
        size = choices.shape(random)
    if random.random() < 0.4:
        size = tuple(1 if random.random() < 0.5 else n for n in size)[random.randint(0, len(size)) :]
    elif random.random() < 0.1:
        size = (1, *size)
    elif random.random() < 0.1:
        size = choices.shape(random)
    dtype = str(tensor.dtype).split(".")[-1]
    if kind == "list":
        return repr([random.randint(-3, 3) for _ in range(size[-1] if size else 1)])
    if kind == "array":
        return f"numpy.arange({math.prod(size)}.0).reshape({size})"
    return choices.tensor(random, size, random.choice(choices.DTYPES) if kind == "other dtype" else dtype)


def index(random: Any, size: Any) -> str:
    """An index of a tensor of this size, as it stands between the brackets."""
    size = tuple(size)
    parts = []
    dim = 0
    target = random.randint(0, len(size)) if random.random() < 0.95 else len(size) + 1
    while dim < target:
        rest = size[dim:] or (2,)
        text, taken = part(random, rest, math.prod(size) > 0)
        parts.append(text)
        dim += taken
    if random.random() < 0.15:
        parts.insert(random.randint(0, len(parts)), "...")
    if not parts:
        return random.choice(["...", "None", "()", ":", "True", "[]"])
    if len(parts) == 1 and random.random() < 0.9:
        return parts[0]
    if random.random() < 0.12 and not any(":" in each for each in parts):
        return f"[{', '.join(parts)}]"
    return ", ".join(parts) + ("," if len(parts) == 1 else "")


def part(random: Any, size: tuple[int, ...], wild: bool) -> tuple[str, int]:
    """One part of an index, and how many dimensions it takes."""
    n = size[0]
    kind = random.choice(PARTS)
    if kind == "int":
        return str(position(random, n, wild)), 1
    if kind == "slice":
        ends = [random.choice(["", str(random.randint(-n - 1, n + 1))]) for _ in range(2)]
        step = random.choice(["", "", ":2", ":3", ":1"]) if random.random() < 0.97 else random.choice([":-1", ":0"])
        return f"{ends[0]}:{ends[1]}{step}", 1
    if kind == "slice object":
        return f"slice({random.choice(['None', '0', '1', '-1'])}, {random.choice(['None', '2', '-1'])})", 1
    if kind in ("None", "True", "False"):
        return kind, 0
    if kind == "mask":
        taken = random.randint(1, min(2, len(size)))
        bools = nested(random, size[:taken], lambda: random.random() < 0.6)
        if random.random() < 0.05:
            bools = [True, False]
        form = random.choice(
            [
                "torch.tensor({}, dtype=torch.bool)",
                "torch.tensor({}, dtype=torch.bool)",
                "{}",
                "numpy.array({}, dtype=bool)",
                "torch.tensor({}, dtype=torch.uint8)",
            ]
        )
        # of an array's masks PyTorch counts one dimension where there is an ellipsis; weft counts all
        if (taken > 1 and form.startswith("numpy")) or (form == "{}" and (not bools or taken > 1)):
            form = "torch.tensor({}, dtype=torch.bool)"
        return form.format(bools), taken
    if kind == "0-d":
        where = position(random, n, wild)
        form = random.choice(
            [
                "torch.tensor({})",
                "torch.tensor({}, dtype=torch.int32)",
                "numpy.int64({})",
                "numpy.array({})",
                "torch.tensor({}, dtype=torch.int16)",
            ]
        )
        return form.format(where), 1
    if kind == "0-d mask":
        return f"torch.tensor({random.random() < 0.5})", 0
    if kind == "range":
        return f"range({random.randint(0, n)})", 1
    lengths = choices.shape(random, 2, 1, random.random() < 0.3)
    if random.random() < 0.5:
        lengths = random.choice([(2,), (1,), (2, 1)])
    values = nested(random, lengths, lambda: position(random, n, wild))
    if kind == "list":
        return repr(
            values
            if len(lengths) == 1 or random.random() < 0.3
            else nested(random, lengths[:1], lambda: position(random, n, wild))
        ), 1
    dtype = (
        random.choice(["int64", "int64", "int64", "int32", "int64", "int16", "int8"])
        if random.random() < 0.98
        else "float32"
    )
    if kind == "array":
        return f"numpy.array({values}, dtype=numpy.{'int64' if dtype == 'float32' else dtype})", 1
    return f"torch.tensor({values}, dtype=torch.{dtype})", 1


PARTS = [
    *["int", "slice", "tensor"] * 4, "slice object", "None", "True", "False", "mask", "mask", "0-d", "0-d mask",
    "range", "list", "list", "array",
]  # fmt: skip


def position(random: Any, size: int, wild: bool = True) -> int:
    """A position along a dimension; with ``wild`` one in thirty is out of range.

    Without elements PyTorch looks at no position, weft at all of them.
    """
    if wild and (random.random() < 0.03 or not size):
        return int(random.randint(-size - 2, size + 1))
    return int(random.randint(-size, size - 1)) if size else 0


def nested(random: Any, size: tuple[int, ...], make: Any) -> Any:
    if not size:
        return make()
    return [nested(random, size[1:], make) for _ in range(size[0])]


def along(random: Any, run: Any, name: str, tensor: Any) -> str:
    """An op with an index along one dimension."""
    ndim = tensor.ndim
    dim = random.randint(-max(ndim, 1), max(ndim, 1) - 1) if random.random() < 0.97 else ndim + 1
    size = list(tensor.shape)
    n = size[dim] if size and dim < ndim else 1
    count = random.randint(0, 4)
    index_dtype = (
        random.choice(["int64", "int64", "int64", "int32", "int16", "uint8"]) if random.random() < 0.2 else "int64"
    )

    def positions(shape: Any) -> str:
        low = 0 if random.random() < 0.97 or not tensor.numel() else -1
        values = nested(random, tuple(shape), lambda: random.randint(low, max(n - 1, 0)))
        return f"torch.tensor({values}, dtype=torch.{index_dtype}).reshape({tuple(shape)})"

    spread = [
        random.randint(0 if random.random() < 0.2 else 1, max(s, 1)) if random.random() < 0.3 else s for s in size
    ]
    if size and dim < ndim:
        spread[dim] = random.randint(0, 4)
    slices = list(size)
    if size and dim < ndim:
        slices[dim] = count
    dtype = str(tensor.dtype).split(".")[-1] if random.random() < 0.9 else random.choice(choices.DTYPES)
    vector = positions([count]) if random.random() < 0.95 else positions([])
    source = choices.tensor(random, tuple(slices), dtype)
    whole = choices.tensor(random, tuple(spread), dtype)
    text = random.choice(ALONG)
    new = f"{run.name()} = " if (text.startswith("{name}.") and "_(" not in text) or text.startswith("torch") else ""
    # which of several writes to one place stays is not defined: such lines have distinct positions
    if "distinct" in text:
        text = text.replace("distinct ", "")
        order = list(range(n))
        random.shuffle(order)
        vector = f"torch.tensor({order[:count]}, dtype=torch.{index_dtype})"
        slices = list(size)
        if size and dim < ndim:
            slices[dim] = len(order[:count])
        source = choices.tensor(random, tuple(slices), dtype)
        if size and dim < ndim:
            spread[dim] = min(spread[dim], n)
        rows = f"torch.arange({n}).flip(0)[:{spread[dim] if size and dim < ndim else 1}]"
        view = [1] * ndim
        if size and dim < ndim:
            view[dim] = -1
        whole = choices.tensor(random, tuple(spread), dtype)
        along_index = f"{rows}.reshape({view}).expand({spread})" if math.prod(spread) or True else rows
    else:
        along_index = positions(spread)
    return new + text.format(
        name=name, dim=dim, vector=vector, source=source, whole=whole, along=along_index, number=choices.number(random)
    )


ALONG = [
    "{name}.index_select({dim}, {vector})", "{name}.gather({dim}, {along})",
    "torch.take_along_dim({name}, {along}, {dim})", "{name}.take({vector})",
    "{name}.index_add_({dim}, {vector}, {source})", "{name}.index_add({dim}, {vector}, {source}, alpha={number})",
    "distinct {name}.index_copy_({dim}, {vector}, {source})", "{name}.index_fill_({dim}, {vector}, {number})",
    "{name}.index_fill({dim}, {vector}, torch.tensor({number}))", "distinct {name}.scatter_({dim}, {along}, {whole})",
    "{name}.scatter({dim}, {along}, {number})", "{name}.scatter_add_({dim}, {along}, {whole})",
    "{name}.scatter_reduce_({dim}, {along}, {whole}, 'sum')",
    "{name}.scatter_reduce({dim}, {along}, {whole}, 'amax', include_self=False)",
    "{name}.index_reduce_({dim}, {vector}, {source}, 'prod')", "{name}.select({dim}, 0)",
    "{name}.narrow({dim}, 0, 1)", "{name}.unbind({dim})", "{name}.nonzero()", "{name}.argwhere()",
]  # fmt: skip


def mask(random: Any, run: Any, name: str, tensor: Any) -> str:
    size = tuple(tensor.shape)
    if random.random() < 0.4:
        size = tuple(1 if random.random() < 0.5 else n for n in size)[random.randint(0, len(size)) :]
    where = choices.tensor(random, size, "bool" if random.random() < 0.9 else random.choice(choices.DTYPES))
    dtype = str(tensor.dtype).split(".")[-1] if random.random() < 0.85 else random.choice(choices.DTYPES)
    source = choices.tensor(random, (random.choice([0, *[8 * max(tensor.numel(), 1)] * 5]),), dtype)
    text = random.choice(MASKED)
    new = f"{run.name()} = " if "_(" not in text.replace("masked_", "masked").replace("index_", "index") else ""
    return new + text.format(name=name, mask=where, source=source, number=choices.number(random))


MASKED = [
    "{name}.masked_fill_({mask}, {number})",
    "{name}.masked_fill({mask}, {number})",
    "{name}.masked_fill({mask}, torch.tensor({number}))",
    "{name}.masked_select({mask})",
    "{name}.masked_scatter_({mask}, {source})",
    "{name}.masked_scatter({mask}, {source})",
    "torch.where({mask}, {name}, {number})",
    "{name}.where({mask}, {source})",
]


def put(random: Any, run: Any, name: str, tensor: Any) -> str:
    """index_put and put, with accumulation where positions may repeat."""
    dtype = str(tensor.dtype).split(".")[-1] if random.random() < 0.85 else random.choice(choices.DTYPES)
    if random.random() < 0.4:
        count = random.randint(0, 4)
        n = tensor.numel()
        places = [random.randint(-n, n - 1) for _ in range(count if n else 0)]
        count = len(places)
        index_dtype = "int64" if random.random() < 0.9 else "int32"
        source = choices.tensor(random, (count,), dtype)
        return f"{name}.put_(torch.tensor({places}, dtype=torch.{index_dtype}), {source}, True)"
    used = random.randint(1, max(tensor.ndim, 1))
    wild = tensor.numel() > 0
    shape = random.choice([(2,), (3,), (1,), (2, 2), ()])
    indices = []
    for dim in range(used):
        n = tensor.shape[dim] if tensor.ndim else 1
        if random.random() < 0.01:
            indices.append("None")
        else:
            values = nested(random, shape, lambda: position(random, n, wild))  # noqa: B023
            indices.append(f"torch.tensor({values}, dtype=torch.{random.choice(['int64', 'int64', 'int64', 'int32'])})")
    rest = tuple(tensor.shape[used:])
    source = choices.tensor(random, random.choice([(), (), (*shape, *rest), rest]), dtype)
    text = random.choice(["{}.index_put_(({},), {}, True)", "{}.index_put_([{}], {}, accumulate=True)"])
    return text.format(name, ", ".join(indices), source)


MAKERS = {"read": read, "write": write, "add": add, "along": along, "mask": mask, "put": put}
