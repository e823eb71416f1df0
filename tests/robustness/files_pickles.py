"""Pickles that do harm, or would: written opcode by opcode, and made of honest ones by changing their opcodes."""

from __future__ import annotations

import pickle
import pickletools
import struct
from collections.abc import Callable
from random import Random

HARMFUL = (
    ("os", "system"),
    ("posix", "system"),
    ("nt", "system"),
    ("builtins", "eval"),
    ("builtins", "exec"),
    ("__builtin__", "eval"),
    ("builtins", "getattr"),
    ("builtins", "__import__"),
    ("builtins", "open"),
    ("builtins", "setattr"),
    ("subprocess", "Popen"),
    ("importlib", "import_module"),
    ("operator", "attrgetter"),
    ("operator", "methodcaller"),
    ("functools", "partial"),
    ("functools", "reduce"),
    ("copyreg", "_reconstructor"),
    ("copyreg", "__newobj__"),
    ("_pickle", "loads"),
    ("marshal", "loads"),
    ("types", "FunctionType"),
    ("types", "CodeType"),
    ("ctypes", "CDLL"),
    ("webbrowser", "open"),
    ("shutil", "rmtree"),
    ("torch.hub", "load"),
    ("torch", "load"),
    ("torch.serialization", "load"),
    ("torch", "ops.load_library"),
    ("torch.utils.cpp_extension", "load_inline"),
    ("torch.storage", "_load_from_bytes"),
    ("weft", "load"),
    ("weft.serialization._unpicklers", "counterpart"),
    ("numpy", "load"),
    ("numpy.lib._datasource", "open"),
    ("numpy", "frombuffer"),
    ("numpy.testing", "run_module_suite"),
)
ALLOWED = (
    ("torch._utils", "_rebuild_tensor"),
    ("torch._utils", "_rebuild_tensor_v2"),
    ("torch._utils", "_rebuild_tensor_v3"),
    ("torch._utils", "_rebuild_parameter"),
    ("torch._utils", "_rebuild_parameter_with_state"),
    ("torch._utils", "_rebuild_sparse_tensor"),
    ("torch._utils", "_rebuild_meta_tensor_no_storage"),
    ("torch._tensor", "_rebuild_from_type_v2"),
    ("torch.serialization", "_get_layout"),
    ("torch", "Size"),
    ("torch", "device"),
    ("torch", "Tensor"),
    ("torch", "float32"),
    ("torch", "FloatStorage"),
    ("torch.storage", "UntypedStorage"),
    ("torch.nn.parameter", "Parameter"),
    ("collections", "OrderedDict"),
    ("collections", "Counter"),
    ("collections", "defaultdict"),
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("builtins", "bytearray"),
    ("builtins", "complex"),
    ("builtins", "slice"),
    ("builtins", "range"),
    ("builtins", "list"),
    ("builtins", "int"),
    ("_codecs", "encode"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.multiarray", "_reconstruct"),
)
NUMBERS = (-(1 << 63), -(1 << 31), -1, 0, 1, 2, 3, 4, 63, 64, 65, 255, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 32)
HUGE = (1 << 40, (1 << 61) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 64, 1 << 100, 1 << 5000)
HEAD, END = b"\x80\x02", b"."


def text(content: str) -> bytes:
    data = content.encode()
    return b"X" + struct.pack("<L", len(data)) + data


def number(value: object) -> bytes:
    return pickle.dumps(value, 2)[2:-1]


def name(path: tuple[str, str]) -> bytes:
    return b"c" + path[0].encode() + b"\n" + path[1].encode() + b"\n"


def storage(count: int = 4, key: str = "0", kind: str = "FloatStorage", place: str = "cpu") -> bytes:
    return b"(" + text("storage") + name(("torch", kind)) + text(key) + text(place) + number(count) + b"tQ"


def value(random: Random, depth: int = 0) -> bytes:
    """Opcodes that put one value on the stack: of any type, of any size."""
    choice = random.randrange(14 if depth < 3 else 9)
    if choice < 2:
        return number(random.choice(NUMBERS))
    if choice == 2:
        return number(random.choice(HUGE))
    if choice == 3:
        return text(
            random.choice(["", "a", "latin1", "cpu", "cuda:0", "conj", "items", "__class__", "../x", "a" * 1000])
        )
    if choice == 4:
        return random.choice([b"N", b"\x88", b"\x89", b")", b"]", b"}", b"C\x04abcd", b"G\x7f\xf8" + bytes(6)])
    if choice == 5:
        return storage(
            random.choice((*NUMBERS, 4)), random.choice("00001x"), random.choice(("FloatStorage", "LongStorage"))
        )
    if choice == 6:
        return name(random.choice(ALLOWED))
    if choice == 7:
        return name(random.choice(HARMFUL))
    if choice == 8:
        return tensor(random)
    parts = b"".join(value(random, depth + 1) for _ in range(random.randrange(6)))
    if choice in (9, 10):
        return b"(" + parts + b"t"
    if choice == 11:
        return b"](" + parts + b"e"
    return call(random, random.choice(ALLOWED), depth + 1)


def call(random: Random, path: tuple[str, str], depth: int = 0) -> bytes:
    """Call a global with a random number of random arguments."""
    arguments = b"".join(value(random, depth + 1) for _ in range(random.choice((0, 1, 1, 2, 3, 5, 6, 7))))
    return name(path) + b"(" + arguments + b"t" + random.choice((b"R", b"R", b"R", b"\x81", b"}\x92"))


def tensor(random: Random) -> bytes:
    """A view of the storage "0", mostly with a wrong geometry."""
    dims = random.choice((0, 1, 1, 2, 3, 70))

    def numbers() -> bytes:
        chosen = [random.choice((*NUMBERS, *HUGE, 1, 1, 2, 2, 4)) for _ in range(dims + (random.random() < 0.1))]
        return b"(" + b"".join(map(number, chosen)) + b"t"

    offset = number(random.choice((0, 0, 0, *NUMBERS, *HUGE)))
    content = storage() + offset + numbers() + numbers() + random.choice((b"\x88", b"\x89")) + b"N"
    return name(("torch._utils", "_rebuild_tensor_v2")) + b"(" + content + b"tR"


# Attacks -------------------------------------------------------------------------------------------------


def runs_code(random: Random) -> bytes:
    """Call what runs a program, in one of the ways that pickle has."""
    path = random.choice(HARMFUL)
    command = text(random.choice(["touch /tmp/touched", "__import__('os').system('true')", "os"]))
    module, attribute = path[0].encode() + b"\n", path[1].encode() + b"\n"
    return HEAD + random.choice(
        (
            name(path) + command + b"\x85R",
            b"(" + command + b"i" + module + attribute,
            b"(" + name(path) + command + b"o",
            name(path) + command + b"\x85\x81",
            name(path) + command + b"\x85}\x92",
            text(path[0]) + text(path[1]) + b"\x93" + command + b"\x85R",
            name(("collections", "OrderedDict")) + b")R}" + text("__class__") + name(path) + b"sb",
            name(("collections", "defaultdict")) + name(path) + b"\x85R",
            name(("torch._tensor", "_rebuild_from_type_v2")) + b"(" + name(path) + b"N(" + command + b"tNtR",
            name(("builtins", "getattr")) + name(path) + text("__globals__") + b"\x86R",
            name(path) + b"}" + text("__setstate__") + name(path) + b"sb" + command + b"b",
            b"(" + command + command + b"l" + name(path) + b"\x85R",
            name(("torch", "Size")) + name(path) + command + b"\x85R\x85R",
            b"\x82\x01" + command + b"\x85R",
            command + b"Q",
        )
    ) + END  # fmt: skip


def grows(random: Random) -> bytes:
    """Ask for much by little: what is remembered is used over and over."""
    times = random.choice((10, 60, 1000, 20_000))
    return HEAD + random.choice(
        (
            b"]q\x00" + b"(h\x00h\x00l" * times,
            text("a" * 10_000) + b"q\x000(" + b"h\x00" * times + b"t",
            b"K\x01" + b"2\x86" * min(times, 1000),
            b"(" + b"K\x01" * 10_000 + b"tq\x00" + name(("torch", "Size")) + b"q\x010" + b"h\x01h\x00\x85R0" * times,
            b"(" + b"K\x01" * 1000 + b"tq\x00" + name(("builtins", "set")) + b"q\x010" + b"h\x01h\x00\x85R0" * times,
            name(("_codecs", "encode")) + b"q\x000" + text("a" * 30_000) + text("utf-8") + b"\x86q\x010"
            + b"h\x00h\x01R" * times,
            name(("builtins", "bytearray")) + number(random.choice(HUGE)) + b"\x85R",
            name(("torch", "Size")) + name(("builtins", "range")) + number(1 << 40) + b"\x85R\x85R",
            b"(" + b"K\x01" * 1000 + b"tq\x00}" + b"2h\x00K\x01s" * times,
            b"(" + b"}" * times + b"t",
            tensor(random) * min(times, 1000),
        )
    ) + END  # fmt: skip


def nests(random: Random) -> bytes:
    """Go deep: what is freed, hashed, compared or printed recursively would end the interpreter."""
    depth = random.choice((100, 1000, 10_000, 60_000))
    remembered = b"q\x010"
    kind = random.choice(("OrderedDict", "Counter", "defaultdict"))
    attribute = b"h\x00)R}" + text("a") + b"h\x01sb"
    return HEAD + random.choice(
        (
            b"]" * depth + b"a" * (depth - 1),
            b")" + b"\x85" * depth,
            b"(" * depth + b"l" * random.choice((depth, depth - 1)),
            b"N" + (remembered + b"}K\x01h\x01s") * depth,
            b"N" + (remembered + b"}h\x01K\x01s") * 10,
            b"})" + b"\x85" * depth + b"K\x01s",
            name(("builtins", "slice")) + b"q\x000N" + (remembered + b"h\x00NNh\x01\x87R") * depth,
            name(("collections", kind)) + b"q\x000N" + (remembered + b"h\x00)RK\x01h\x01s") * depth,
            name(("collections", "OrderedDict")) + b"q\x000N" + (remembered + attribute) * depth,
            b")" + b"\x85" * depth + b")R",
            b")" + b"\x85" * depth + b"Q",
            name(("builtins", "frozenset")) + b"q\x000)" + (remembered + b"h\x00(h\x01t\x85R") * (depth // 10),
        )
    ) + END  # fmt: skip


def collides(random: Random) -> bytes:
    """Dict keys that all have the same hash, so that n of them take n * n comparisons."""
    count = random.choice((100, 3000, 20_000))
    modulus = (1 << 61) - 1
    keys: Callable[[int], bytes] = random.choice(
        (
            lambda i: number((i + 1) * modulus),
            lambda i: b"(" + number((i + 1) * modulus) + b"t",
            lambda i: name(("builtins", "complex")) + number(float(-1000003 * i)) + number(float(i)) + b"\x86R",
            lambda i: number((1 << 40_000) + i) if i < 30 else b"2",
        )
    )
    return HEAD + b"}(" + b"".join(keys(i) + b"N" for i in range(count)) + b"u" + END


def random_calls(random: Random) -> bytes:
    """Call what may be called with what it does not expect."""
    made = b"".join(call(random, random.choice(ALLOWED)) for _ in range(random.choice((1, 1, 2, 5))))
    return HEAD + made + random.choice((b"", value(random) + b"b", value(random) + value(random) + b"s")) + END


def random_tensors(random: Random) -> bytes:
    return HEAD + b"](" + b"".join(tensor(random) for _ in range(random.choice((1, 1, 1, 3)))) + b"e" + END


ATTACKS = (runs_code, runs_code, grows, nests, collides, random_calls, random_calls, random_tensors, random_tensors)


# Changes of honest pickles -------------------------------------------------------------------------------


def operations(data: bytes) -> list[bytes]:
    starts = [position for _, _, position in pickletools.genops(data) if position is not None]
    ends = [*starts[1:], starts[-1] + 1]
    return [data[start:end] for start, end in zip(starts, ends)]


def changed(random: Random, data: bytes) -> bytes:
    """An honest pickle with some opcodes dropped, doubled, exchanged, or given other arguments."""
    parts = operations(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        place = random.randrange(len(parts))
        change = random.randrange(8)
        if change == 0:
            parts[place] = b""
        elif change == 1:
            parts.insert(place, random.choice(parts))
        elif change == 2:
            other = random.randrange(len(parts))
            parts[place], parts[other] = parts[other], parts[place]
        elif change == 3 and parts[place]:
            parts[place] = bytes([random.randrange(256)]) + parts[place][1:]
        elif change == 4:
            parts[place] = value(random)
        elif change == 5:
            parts.insert(place, value(random))
        elif change == 6 and parts[place][:1] == b"c":
            parts[place] = name(random.choice((*HARMFUL, *ALLOWED)))
        else:
            parts[place] = parts[place][:1] + random.randbytes(max(len(parts[place]) - 1, 0))
    return b"".join(parts)
