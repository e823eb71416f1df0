"""Damaged and hostile files: each is made of its kind, a seed and a number, always the same.

An honest file is taken, and its bytes, its archive's fields, its pickle's opcodes or its header are changed; or one is
made around a pickle that does harm.
"""

from __future__ import annotations

import io
import json
import pickletools
import struct
import zipfile
from pathlib import Path
from random import Random
from typing import Any

from files_pickles import ATTACKS, changed

KINDS = ("pt", "legacy", "safetensors")
CHECKPOINTS = Path(__file__).parents[2] / "packages" / "core" / "tests" / "checkpoints"
SIGNATURES = (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07")
FIELDS = (0, 1, 2, 3, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 40, (1 << 64) - 1)


def honest(w: Any) -> dict[str, list[bytes]]:
    """Files of each kind that the library, and PyTorch, wrote."""
    values = _values(w)

    def saved(value: Any, **options: Any) -> bytes:
        file = io.BytesIO()
        w.save(value, file, **options)
        return file.getvalue()

    archives = [saved(value, pickle_protocol=protocol) for value in values for protocol in (2, 4)]
    archives += [(CHECKPOINTS / f"{name}.pt").read_bytes() for name in ("dtypes", "nested", "parameters")]
    old = [saved(value, _use_new_zipfile_serialization=False) for value in values]
    old.append((CHECKPOINTS / "before_1_6.pt").read_bytes())
    tensors = {name: tensor.contiguous().clone() for name, tensor in values[0].items()}
    named = w.serialization.safetensors.save(tensors, {"made": "for a test", "of": "weft"})
    few = w.serialization.safetensors.save({"a": w.ones(2), "b": w.arange(3), "empty": w.empty(0, 2)})
    return {"pt": archives, "legacy": old, "safetensors": [named, few]}


def _values(w: Any) -> list[Any]:
    base = w.arange(24, dtype=w.float32).reshape(2, 3, 4)
    names = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 bfloat16 uint16 uint32 uint64".split()
    tensors = {name: w.tensor([[0, 1], [2, 3]]).to(getattr(w, name)) for name in names}
    views = {"base": base, "view": base.transpose(0, 2)[1:], "row": base[1, 1], "wide": w.ones(1).expand(9)}
    sparse = w.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    model = w.nn.Sequential(w.nn.Linear(3, 4), w.nn.BatchNorm1d(4), w.nn.Linear(4, 2))
    optimizer = w.optim.Adam(model.parameters())
    model(w.ones(2, 3)).sum().backward()
    optimizer.step()
    plain = [
        1,
        2.5,
        None,
        True,
        "text",
        b"bytes",
        bytearray(b"array"),
        1 << 80,
        2j,
        {1, 2},
        frozenset([3]),
        {"a": (1,)},
    ]
    checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "random": w.get_rng_state()}
    return [tensors, {**views, "sparse": sparse, "plain": plain, "size": w.Size([1, 2])}, checkpoint]


def file_of(kind: str, seed: int, number: int, bases: dict[str, list[bytes]]) -> tuple[str, bytes]:
    """The ``number``-th file of a seed, and how it was made."""
    random = Random(f"{kind} {seed} {number}")
    ways = {"pt": ARCHIVES, "legacy": OLD, "safetensors": HEADERS}[kind]
    way = random.choice((*ways, *ways, bytes_changed))
    return way.__name__, way(random, random.choice(bases[kind]))


def bytes_changed(random: Random, data: bytes) -> bytes:
    """Bits, ranges and numbers, anywhere."""
    content = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 5, 20))):
        if len(content) < 16:
            break
        start = random.randrange(len(content))
        end = min(start + random.choice((1, 2, 8, 100, 5000)), len(content))
        change = random.randrange(9)
        if change < 2:
            content[start] ^= 1 << random.randrange(8)
        elif change == 2:
            del content[start:]
        elif change == 3:
            del content[start:end]
        elif change == 4:
            content[start:end] = bytes(end - start)
        elif change == 5:
            content[start:start] = content[start:end]
        elif change == 6:
            other = random.randrange(len(content))
            content[start:end] = content[other : other + end - start]
        elif change == 7:
            width = random.choice("BHLQ")
            content[start : start + struct.calcsize(width)] = field(random, width)
        else:
            content[start:end] = random.randbytes(end - start)
    return bytes(content)


def field(random: Random, width: str) -> bytes:
    """A number that sizes and positions are often wrong by."""
    mask = (1 << 8 * struct.calcsize("<" + width)) - 1
    return struct.pack("<" + width, random.choice((*FIELDS, random.randrange(5000))) & mask)


# Archives ------------------------------------------------------------------------------------------------


def records_of(data: bytes) -> tuple[str, dict[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = {entry: archive.read(entry) for entry in archive.namelist()}
    folder = next(entry for entry in content if entry.endswith("/data.pkl")).removesuffix("data.pkl")
    return folder, {entry.removeprefix(folder): record for entry, record in content.items()}


def archive_of(records: dict[str, bytes], folder: str = "archive/", method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for record, content in records.items():
            archive.writestr(folder + record, content)
    return file.getvalue()


def headers_changed(random: Random, data: bytes) -> bytes:
    """Fields of the archive's own headers."""
    content = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 6))):
        signature = random.choice(SIGNATURES)
        places = [at for at in range(len(content) - 60) if content[at : at + 4] == signature]
        if places:
            start, width = random.choice(places) + random.randrange(4, 56), random.choice("BHLQ")
            content[start : start + struct.calcsize("<" + width)] = field(random, width)
    return bytes(content)


def opcodes_changed(random: Random, data: bytes) -> bytes:
    """The pickle's opcodes, in a whole archive with the right checksums."""
    folder, records = records_of(data)
    records["data.pkl"] = changed(random, records["data.pkl"])
    return archive_of(records, folder)


def pickle_bytes_changed(random: Random, data: bytes) -> bytes:
    folder, records = records_of(data)
    records["data.pkl"] = bytes_changed(random, records["data.pkl"])
    return archive_of(records, folder)


def records_changed(random: Random, data: bytes) -> bytes:
    """Records exchanged, cut, dropped, doubled, compressed or renamed."""
    folder, records = records_of(data)
    for _ in range(random.choice((1, 1, 3))):
        one, other = random.choice(list(records)), random.choice(list(records))
        change = random.randrange(6)
        if change == 0:
            records[one], records[other] = records[other], records[one]
        elif change == 1:
            records[one] = records[one][: random.randrange(len(records[one]) + 1)]
        elif change == 2 and len(records) > 1:
            del records[one]
        elif change == 3:
            records[one] += random.randbytes(random.choice((1, 8, 1000)))
        elif change == 4:
            records[random.choice(("constants.pkl", "byteorder", "data/9", "../../x", "/x"))] = records[one]
        else:
            records["byteorder"] = random.choice((b"big", b"little", b"", b"middle"))
    return archive_of(records, folder, random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))


def harmful(random: Random, data: bytes) -> bytes:
    """A pickle that does harm."""
    pickled = random.choice(ATTACKS)(random)
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    return archive_of({"data.pkl": pickled, "data/0": bytes(16), "data/1": bytes(32)}, method=method)


def bomb(random: Random, data: bytes) -> bytes:
    """Much in little: zeros compressed, records that overlap, entries by the thousand, sizes that are lies."""
    size = random.choice((1 << 20, 1 << 22, 1 << 24, 1 << 24, 1 << 27))
    records = {"data.pkl": b"\x80\x02N.", "data/0": bytes(size)}
    if random.random() < 0.5:
        records["data.pkl"] = b"\x80\x02" + random.choice((b"]", b"}", b"(", b"N", b")", b"\x8f")) * (size // 8) + b"."
    if random.random() < 0.3:
        return archive_of({**records, **{f"data/{i}": b"" for i in range(random.choice((100, 5000)))}}, "a/", 8)
    content = bytearray(archive_of(records, "a/", zipfile.ZIP_DEFLATED))
    if random.random() < 0.5:
        directory = content.index(b"PK\x01\x02")
        place = directory + random.choice((16, 20, 24, 28, 42))
        content[place : place + 4] = field(random, "L")
    return bytes(content)


# The old format ------------------------------------------------------------------------------------------


def old_harmful(random: Random, data: bytes) -> bytes:
    """A pickle that does harm, after a header that is right, and before storages that may be."""
    header, _, keys, content = old_parts(data)
    if random.random() < 0.5:
        keys, content = b"\x80\x02]q\x00U\x010a.", struct.pack("<q", 4) + bytes(16)
    return header + random.choice(ATTACKS)(random) + keys + content


def old_changed(random: Random, data: bytes) -> bytes:
    """One of the parts with other opcodes or bytes."""
    parts = list(old_parts(data))
    place = random.randrange(4)
    opcodes = place in (1, 2) and random.random() < 0.7
    parts[place] = changed(random, parts[place]) if opcodes else bytes_changed(random, parts[place])
    if random.random() < 0.2:
        parts[2] = random.choice(ATTACKS)(random)
    return b"".join(parts)


def old_parts(data: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """Header, pickle, keys of the storages, and their contents."""
    ends, position = [], 0
    for _ in range(5):
        *_, last = pickletools.genops(data[position:])
        assert last[2] is not None
        position += last[2] + 1
        ends.append(position)
    return data[: ends[2]], data[ends[2] : ends[3]], data[ends[3] : ends[4]], data[ends[4] :]


def tar_changed(random: Random, data: bytes) -> bytes:
    """The format of PyTorch's first months: other bytes, or a pickle that does harm."""
    content = (CHECKPOINTS / "first_months.tar").read_bytes()
    if random.random() < 0.5:
        return bytes_changed(random, content)
    start = content.index(b"pickle\0")
    pickled = random.choice((*ATTACKS, lambda random: changed(random, data_of(content, start))))(random)
    header = bytearray(content[start : start + 512])
    header[124:136] = b"%011o\0" % len(pickled)
    return content[:start] + header + pickled + bytes(-len(pickled) % 512 + 1024)


def data_of(content: bytes, start: int) -> bytes:
    """The content of the tar archive's member whose header is there."""
    return content[start + 512 : start + 512 + int(content[start + 124 : start + 135], 8)]


# Headers of safetensors files ----------------------------------------------------------------------------


def json_changed(random: Random, data: bytes) -> bytes:
    """Values of the header exchanged for others, with the right length before it."""
    (length,) = struct.unpack("<Q", data[:8])
    header, content = json.loads(data[8 : 8 + length]), data[8 + length :]
    for _ in range(random.choice((1, 1, 2, 4))):
        entry = random.choice(list(header))
        change = random.randrange(5)
        if change == 0:
            header[entry] = strange(random)
        elif change == 1:
            header[random.choice(("x", "", "__metadata__", "a" * 5000, "\u0000"))] = header.pop(entry)
        elif change == 2:
            header["again"] = header[entry]
        elif isinstance(header[entry], dict) and header[entry]:
            part = random.choice(list(header[entry]))
            numbers = header[entry][part]
            if change == 3 or not isinstance(numbers, list) or not numbers:
                header[entry][part] = strange(random)
            else:
                numbers[random.randrange(len(numbers))] = strange(random)
        if not header:
            break
    return with_header(json.dumps(header).encode(), content)


def strange(random: Random) -> Any:
    nested: list[Any] = []
    for _ in range(random.choice((1, 500))):
        nested = [nested]
    numbers = (*FIELDS, -1, -(1 << 63), 10**400, 1.5, 1e308, float("nan"), float("inf"))
    texts = ("", "F32", "BF16", "F8_E4M3", "I64", "os.system", "\ud800", "a" * 10_000)
    return random.choice(
        (None, True, [], {}, nested, random.choice(numbers), random.choice(texts), [random.choice(FIELDS)] * 2)
    )


def with_header(header: bytes, content: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header + content


def header_attacks(random: Random, data: bytes) -> bytes:
    """Headers that no writer writes."""
    depth = random.choice((100, 10_000, 300_000))
    described = b'{"dtype":"F32","shape":[%b],"data_offsets":[%b]}'
    many = b",".join(b'"%d":' % i + described % (b"0", b"0,0") for i in range(random.choice((10, 3000))))
    header = random.choice(
        (
            b"[" * depth,
            b'{"a":' * depth,
            b'{"a":' + b"[" * depth + b"]" * depth + b"}",
            b'{"a":' + b"9" * depth + b"}",
            b"{" + many + b"}",
            b"{" + many + b"," + many + b"}",
            b'{"a":' + described % (b"4611686018427387904,4", b"0,0") + b"}",
            b'{"a":' + described % (b"0,9223372036854775807,9223372036854775807", b"0,0") + b"}",
            b'{"a":' + described % (b",".join([b"1"] * 100), b"0,4") + b"}",
            b'{"a":' + described % (b",".join([b"1"] * 60_000), b"0,4") + b"}",
            b'{"a":' + described % (b"1", b"0,4") + b',"b":' + described % (b"1", b"0,4") + b"}",
            b'{"a":' + described % (b"1", b"4,0") + b"}",
            b'{"__metadata__":' + b"[" * depth + b"]" * depth + b"}",
            b"",
            b" " * depth,
            b"null",
            b"\xff\xfe{}",
            b"NaN",
        )
    )
    content = random.choice((b"", bytes(4), bytes(16)))
    if random.random() < 0.2:
        return field(random, "Q") + header + content
    return with_header(header, content)


ARCHIVES = (
    headers_changed,
    opcodes_changed,
    opcodes_changed,
    pickle_bytes_changed,
    records_changed,
    harmful,
    harmful,
    bomb,
)
OLD = (old_changed, old_changed, old_harmful, old_harmful, tar_changed)
HEADERS = (json_changed, json_changed, header_attacks)
