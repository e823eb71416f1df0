"""Files that ask for much by little, each of a kind, by name: memory, time, names and addresses that are not theirs.

Each of `ATTACKS` returns the kind of file and its content. All are some megabytes at most: what loading may take is in
proportion to that.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from files import CHECKPOINTS, archive_of, with_header
from files_pickles import END, HEAD, name, number, storage, text

ATTACKS: dict[str, Callable[[], tuple[str, Any]]] = {}
VIEW = name(("torch._utils", "_rebuild_tensor_v2"))
CONJUGATED = b"}" + text("conj") + b"\x88s"


def attack(make: Callable[[], Any]) -> Callable[[], Any]:
    """Enter an attack by its name; bytes are a zip archive's ``data.pkl``."""
    ATTACKS[make.__name__] = lambda: made if type(made := make()) is tuple else ("pt", archive(made))
    return make


def archive(pickled: bytes, records: dict[str, bytes] | None = None, method: int = zipfile.ZIP_STORED) -> bytes:
    return archive_of(
        {"data.pkl": HEAD + pickled + END, **({"data/0": bytes(16)} if records is None else records)}, method=method
    )


def remembered(value: bytes, place: int) -> bytes:
    """Opcodes that leave nothing on the stack, and the value in the memo."""
    return value + b"q" + bytes([place]) + b"0"


def view(count: int, kind: str = "FloatStorage", size: tuple[int, ...] = (1,), stride: tuple[int, ...] = (1,),
         metadata: bytes = b"", key: str = "0") -> bytes:  # fmt: skip
    """The arguments of a view of a storage, as a tuple."""
    numbers = b"".join(b"(" + b"".join(map(number, each)) + b"t" for each in (size, stride))
    return b"(" + storage(count, key, kind) + b"K\x00" + numbers + b"\x89N" + metadata + b"t"


def integers(keys: Any) -> bytes:
    return b"".join(b"J" + struct.pack("<i", key) for key in keys)


# Memory --------------------------------------------------------------------------------------------------


@attack
def conjugated_copies_of_one_compressed_storage() -> Any:
    count = 3 << 20
    calls = remembered(VIEW, 0) + remembered(view(count, "ComplexFloatStorage", (count,), (1,), CONJUGATED), 1)
    return "pt", archive(
        calls + b"](" + b"h\x00h\x01R" * 200 + b"e", {"data/0": bytes(8 * count)}, zipfile.ZIP_DEFLATED
    )


@attack
def conjugated_copies_of_an_expanded_number() -> Any:
    return VIEW + view(2, "ComplexFloatStorage", (1 << 40,), (0,), CONJUGATED) + b"R"


@attack
def negated_copies_of_an_expanded_number_before_1_6() -> Any:
    metadata = b"}" + text("neg") + b"\x88s"
    return "legacy", legacy(VIEW + view(4, size=(1 << 36,), stride=(0,), metadata=metadata) + b"R")


@attack
def parameters_of_an_expanded_conjugate() -> Any:
    wide = VIEW + view(2, "ComplexFloatStorage", (1 << 40,), (0,), CONJUGATED) + b"R"
    return name(("torch._utils", "_rebuild_parameter")) + wide + b"\x88N\x87R"


@attack
def sparse_coordinates_of_an_expanded_negative() -> Any:
    indices = VIEW + view(2, "LongStorage", (2, 1 << 30), (0, 0), b"}" + text("neg") + b"\x88s") + b"R"
    values = VIEW + view(4, size=(1 << 30,), stride=(0,), key="1") + b"R"
    return "pt", archive(sparse(indices + values), {"data/0": bytes(16), "data/1": bytes(16)})


@attack
def dicts_by_the_million() -> Any:
    return b"](" + b"}K\x01Ns" * 1_500_000 + b"e"


@attack
def empty_containers_by_the_million() -> Any:
    return b"(" + b"]}" * 3_750_000 + b"t"


@attack
def sets_by_the_million() -> Any:
    return b"\x80\x04(" + b"\x8f" * 4_000_000 + b"t"


@attack
def marks_by_the_million() -> Any:
    return b"(" * 7_000_000


@attack
def nested_tuples_by_the_million() -> Any:
    return b")" + b"\x85" * 7_000_000


@attack
def ordered_dicts_by_the_million() -> Any:
    return remembered(name(("collections", "OrderedDict")), 0) + b"(" + b"h\x00)R" * 1_500_000 + b"t"


@attack
def copies_of_a_remembered_dict() -> Any:
    content = b"}(" + b"".join(text(str(i)) + b"N" for i in range(20_000)) + b"u"
    calls = remembered(name(("collections", "OrderedDict")), 0) + remembered(content + b"\x85", 1)
    return calls + b"](" + b"h\x00h\x01R" * 100_000 + b"e"


@attack
def copies_of_a_remembered_array() -> Any:
    calls = remembered(name(("numpy._core.multiarray", "_reconstruct")), 0)
    calls += remembered(name(("numpy", "ndarray")) + b"K\x00\x85C\x01b\x87", 1)
    kind = name(("numpy", "dtype")) + text("u1") + b"\x89\x88\x87R"
    data = b"B" + struct.pack("<I", 1 << 20) + bytes(1 << 20)
    calls += remembered(b"(K\x01" + number(1 << 20) + b"\x85" + kind + b"\x89" + data + b"t", 2)
    return calls + b"](" + b"h\x00h\x01Rh\x02b" * 5000 + b"e"


@attack
def texts_of_remembered_bytes() -> Any:
    calls = remembered(name(("_codecs", "encode")), 0) + remembered(text("ä" * 500_000) + text("latin1") + b"\x86", 1)
    return calls + b"](" + b"h\x00h\x01R" * 20_000 + b"e"


@attack
def numbers_of_memo_entries_far_apart() -> Any:
    return b"N" + b"".join(b"r" + struct.pack("<I", 900 * i) for i in range(1, 400_000))


@attack
def a_text_of_four_gigabytes() -> Any:
    return b"X\xff\xff\xff\xff" + b"a" * 1000


@attack
def a_bytearray_of_many_gigabytes() -> Any:
    return b"\x80\x05\x96" + struct.pack("<Q", 1 << 40)


@attack
def a_compressed_pickle_of_empty_lists() -> Any:
    return "pt", archive(b"(" + b"]" * (32 << 20) + b"t", method=zipfile.ZIP_DEFLATED)


@attack
def compressed_records_of_zeros() -> Any:
    records = {f"data/{i}": bytes(16 << 20) for i in range(3)}
    calls = b"](" + b"".join(storage(4 << 20, str(i)) for i in range(3)) + b"e"
    return "pt", archive(calls, records, zipfile.ZIP_DEFLATED)


@attack
def a_compressed_byte_order() -> Any:
    records = {"data.pkl": b"\x80\x02N.", "byteorder": bytes(64 << 20)}
    return "pt", archive_of(records, method=zipfile.ZIP_DEFLATED)


@attack
def records_that_overlap() -> Any:
    """All entries of the directory lead to one record."""
    content = bytearray(archive(b"](" + b"".join(storage(1 << 20, str(i)) for i in range(50)) + b"e",
                                {"data/0": bytes(4 << 20)}))  # fmt: skip
    directory = content.index(b"PK\x01\x02")
    (count, size, start) = struct.unpack_from("<H2L", content, len(content) - 12)
    entries = bytes(content[directory : directory + size])
    last = entries.rindex(b"PK\x01\x02")
    more = b"".join(entries[last:].replace(b"data/0", b"data/%d" % i) for i in range(10))
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count + 10, count + 10, size + len(more), start, 0)
    return "pt", bytes(content[:directory]) + entries + more + end


@attack
def a_directory_of_empty_records() -> Any:
    return "pt", archive(b"N", {f"data/{i}": b"" for i in range(20_000)})


@attack
def extra_fields_by_the_thousand() -> Any:
    """Python's `zipfile` takes a time that grows with the square of their number."""
    content = archive(b"N", {})
    directory = content.index(b"PK\x01\x02")
    end = content.rindex(b"PK\x05\x06")
    fields = struct.pack("<2H", 7, 0) * 16_000
    entry = struct.pack("<4s4H4s3L5H2L", b"PK\1\2", 20, 20, 0, 0, bytes(4), 0, 0, 0, 9, len(fields), 0, 0, 0, 0, 0)
    entries = content[directory:end] + (entry + b"archive/x" + fields) * 100
    last = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 102, 102, len(entries), directory, 0)
    return "pt", content[:directory] + entries + last


@attack
def zeros_by_gzip() -> Any:
    return "gzip", gzip.compress(legacy(VIEW + view(1 << 24, size=(1 << 24,)) + b"R", bytes(4 << 24)))


@attack
def an_archive_by_bz2() -> Any:
    return "bz2", bz2.compress(archive(storage(16 << 20), {"data/0": bytes(64 << 20)}))


@attack
def an_archive_by_lzma() -> Any:
    return "lzma", lzma.compress(archive(storage(16 << 20), {"data/0": bytes(64 << 20)}), preset=0)


# Time ----------------------------------------------------------------------------------------------------


@attack
def repeated_sparse_coordinates() -> Any:
    count = 500_000_000
    parts = VIEW + view(4, "LongStorage", (2, count), (0, 0)) + b"R" + VIEW + view(4, size=(count,), stride=(0,)) + b"R"
    return "pt", archive(sparse(parts), {"data/0": bytes(32), "data/1": bytes(16)})


def sparse(parts: bytes, times: int = 1) -> bytes:
    layout = name(("torch.serialization", "_get_layout")) + text("torch.sparse_coo") + b"\x85R"
    calls = remembered(name(("torch._utils", "_rebuild_sparse_tensor")), 0)
    calls += remembered(layout + b"(" + parts + b"K\x09K\x09\x86\x88t\x86", 1)
    return calls + b"](" + b"h\x00h\x01R" * times + b"e"


@attack
def one_sparse_tensor_again_and_again() -> Any:
    indices = VIEW + view(200_000, "LongStorage", (2, 100_000), (100_000, 1)) + b"R"
    values = VIEW + view(100_000, "FloatStorage", (100_000,), key="1") + b"R"
    records = {"data/0": bytes(1_600_000), "data/1": bytes(400_000)}
    return "pt", archive(sparse(indices + values, 5000), records)


@attack
def small_tensors_by_the_hundred_thousand() -> Any:
    return remembered(VIEW, 0) + remembered(view(4), 1) + b"](" + b"h\x00h\x01R" * 380_000 + b"e"


@attack
def small_tensors_that_are_dropped() -> Any:
    return remembered(VIEW, 0) + remembered(view(4), 1) + b"h\x00h\x01R0" * 300_000 + b"N"


@attack
def parameters_by_the_hundred_thousand() -> Any:
    calls = remembered(name(("torch._utils", "_rebuild_parameter")), 0)
    calls += remembered(VIEW + view(4) + b"R\x88N\x87", 1)
    return calls + b"](" + b"h\x00h\x01R" * 380_000 + b"e"


@attack
def meta_tensors_by_the_hundred_thousand() -> Any:
    calls = remembered(name(("torch._utils", "_rebuild_meta_tensor_no_storage")), 0)
    calls += remembered(b"(" + name(("torch", "float32")) + number(1 << 40) + b"\x85K\x01\x85\x89t", 1)
    return calls + b"](" + b"h\x00h\x01R" * 200_000 + b"e"


@attack
def storages_by_the_million() -> Any:
    return remembered(storage()[:-1], 0) + b"](" + b"h\x00Q" * 1_000_000 + b"e"


@attack
def devices_by_the_hundred_thousand() -> Any:
    calls = b"".join(b"h\x00" + text(f"a{i}") + b"\x85R0" for i in range(200_000))
    return remembered(name(("torch", "device")), 0) + calls + b"N"


@attack
def integer_keys_that_follow_each_other_in_the_table() -> Any:
    """Half of a table is filled along the path of the last part of a search, which the other keys then walk."""
    size = 1 << 17
    path, place = [], 0
    for _ in range(size * 3 // 10):
        path.append(place)
        place = (5 * place + 1) & (size - 1)
    taken, keys, key = set(path), [], size
    while len(keys) < 6_000:
        key += 1
        perturb, place = key, key & (size - 1)
        while place in taken and perturb:
            perturb >>= 5
            place = (5 * place + perturb + 1) & (size - 1)
        if not perturb and place in taken:
            keys.append(key)
    return b"}(" + b"".join(integers([key]) + b"N" for key in [*path, *keys]) + b"u"


@attack
def integer_items_of_a_set_that_follow_each_other() -> Any:
    size = 1 << 19
    path, place = [], 0
    for _ in range(30_000):
        path += range(place, min(place + 10, size))
        place = (5 * place + 1) & (size - 1)
    far = [(1 << 19) * i for i in range(1, 4000)]
    return b"\x80\x04\x8f(" + integers(dict.fromkeys([*path, *far])) + b"\x90"


@attack
def one_key_with_the_hash_of_many_set_again_and_again() -> Any:
    modulus = (1 << 61) - 1
    keys = b"".join(number(i * modulus) + b"N" for i in range(1, 99))
    last = remembered(number(99 * modulus), 0)
    return b"}(" + keys + b"u" + last + b"h\x00Ns" * 500_000


@attack
def tuples_with_one_hash() -> Any:
    modulus = (1 << 61) - 1
    long = b"K\x01" * 900
    keys = b"".join(b"(" + long + number(i * modulus) + b"tN" for i in range(1, 1000))
    return b"}(" + keys + b"u"


@attack
def an_integer_of_megabytes_as_a_size() -> Any:
    calls = remembered(number(1 << 4_000_000), 0) + remembered(VIEW, 1)
    calls += remembered(b"(" + storage() + b"K\x00(" + b"h\x00" * 64 + b"t(" + b"h\x00" * 64 + b"t\x89Nt", 2)
    return calls + b"h\x01h\x02R" * 1000


@attack
def a_range_between_integers_of_megabytes() -> Any:
    return name(("builtins", "range")) + b"K\x00" + number(1 << 16_000_000) + number(1 << 8_000_000) + b"\x87R"


@attack
def an_integer_of_megabytes_in_text() -> Any:
    return b"I" + b"9" * 5_000_000 + b"\n"


@attack
def a_float_of_megabytes_in_text() -> Any:
    return b"F" + b"9" * 5_000_000 + b"\n"


@attack
def a_tensor_in_place_of_a_list() -> Any:
    """Iterating would make as many tensors as it has rows."""
    wide = VIEW + view(4, size=(1 << 40,), stride=(0,)) + b"R"
    return name(("collections", "OrderedDict")) + b"](" + wide + b"e\x85R"


@attack
def a_tensor_in_place_of_arguments() -> Any:
    wide = VIEW + view(4, size=(1 << 40,), stride=(0,)) + b"R"
    kind = name(("torch", "Tensor"))
    return name(("torch._tensor", "_rebuild_from_type_v2")) + b"(" + VIEW + kind + wide + b"}tR"


@attack
def a_tensor_in_place_of_a_state() -> Any:
    wide = VIEW + view(4, size=(1 << 40,), stride=(0,)) + b"R"
    return (
        name(("numpy._core.multiarray", "_reconstruct"))
        + name(("numpy", "ndarray"))
        + b"K\x00\x85C\x01b\x87R"
        + wide
        + b"b"
    )


# Depth ---------------------------------------------------------------------------------------------------


@attack
def tensors_with_tensors_as_attributes() -> Any:
    calls = remembered(name(("torch._tensor", "_rebuild_from_type_v2")), 0) + remembered(VIEW, 1)
    calls += remembered(name(("torch", "Tensor")), 2) + remembered(view(4), 3) + remembered(text("a"), 4)
    return calls + b"N" + b"q\x050h\x00(h\x01h\x02h\x03}h\x04h\x05stR" * 50_000


@attack
def a_tuple_as_the_key_of_a_tar_storage() -> Any:
    content = (CHECKPOINTS / "first_months.tar").read_bytes()
    deep = HEAD + b"K\x01."
    deep += HEAD + b"(" + b")" + b"\x85" * 1_000_000 + text("cpu") + name(("torch", "FloatStorage")) + b"t."
    start = content.index(b"storages\0")
    header = bytearray(content[start : start + 512])
    header[124:136] = b"%011o\0" % len(deep)
    rest = content[content.index(b"tensors\0", start) :]
    return "legacy", content[:start] + bytes(header) + deep + bytes(-len(deep) % 512) + rest


@attack
def parts_of_tar_storages_with_deep_keys() -> Any:
    content = (CHECKPOINTS / "first_months.tar").read_bytes()
    deep = b")" + b"\x85" * 1_000_000
    parts = HEAD + b"K\x00." + HEAD + b"](" + b"(" + deep + deep + b"K\x00K\x00te" + b"."
    start = content.index(b"storages\0")
    header = bytearray(content[start : start + 512])
    header[124:136] = b"%011o\0" % len(parts)
    rest = content[content.index(b"tensors\0", start) :]
    return "legacy", content[:start] + bytes(header) + parts + bytes(-len(parts) % 512) + rest


# Names, and memory that is not the file's ----------------------------------------------------------------


def addressed() -> bytes:
    """A state by which NumPy would read 64 bytes from address 4096."""
    interface = b"}(" + text("data") + number(4096) + b"\x89\x86" + text("shape") + b"K\x40\x85"
    return b"}" + text("__array_interface__") + interface + text("typestr") + text("|u1") + text("version") + b"K\x03us"


def with_state(state: bytes) -> bytes:
    parts = VIEW + name(("torch", "Tensor")) + view(4) + state
    return name(("torch._tensor", "_rebuild_from_type_v2")) + b"(" + parts + b"tR"


@attack
def an_address_in_the_state_of_a_tensor() -> Any:
    return with_state(addressed())


@attack
def an_address_in_the_slots_of_a_tensor() -> Any:
    return with_state(b"N" + addressed() + b"\x86")


@attack
def an_address_in_the_state_of_a_parameter() -> Any:
    call = name(("torch._utils", "_rebuild_parameter_with_state"))
    return call + b"(" + VIEW + view(4) + b"R\x88N" + addressed() + b"tR"


@attack
def an_address_in_the_state_of_a_dict() -> Any:
    return name(("collections", "OrderedDict")) + b")R" + addressed() + b"b"


@attack
def an_address_in_the_state_of_a_storage() -> Any:
    return storage() + addressed() + b"b"


@attack
def coordinates_in_the_state_of_a_sparse_parameter() -> Any:
    parts = VIEW + view(2, "LongStorage", (2, 1), (1, 1)) + b"R" + VIEW + view(4, key="1") + b"R"
    layout = name(("torch.serialization", "_get_layout")) + text("torch.sparse_coo") + b"\x85R"
    made = name(("torch._utils", "_rebuild_sparse_tensor")) + layout + b"(" + parts + b"K\x09K\x09\x86\x88t\x86R"
    state = b"}" + text("_sparse_indices") + b"K\x01s"
    pickled = name(("torch._utils", "_rebuild_parameter_with_state")) + b"(" + made + b"\x89N" + state + b"tR"
    return "pt", archive(pickled, {"data/0": bytes(16), "data/1": bytes(16)})


@attack
def a_view_of_bytes_as_no_dtype() -> Any:
    call = name(("torch._utils", "_rebuild_tensor_v3"))
    kind = name(("numpy", "dtype")) + text("f8") + b"\x89\x88\x87R"
    return call + b"(" + storage(16, "0", "FloatStorage") + b"K\x00K\x02\x85K\x01\x85\x89N" + kind + b"tR"


# Other formats -------------------------------------------------------------------------------------------


def legacy(pickled: bytes, content: bytes = bytes(16)) -> bytes:
    head = HEAD + number(0x1950A86A20F9469CFC6C) + END + HEAD + number(1001) + END + HEAD + b"}" + END
    keys = HEAD + b"](" + text("0") + b"e" + END
    return head + HEAD + pickled + END + keys + struct.pack("<q", len(content) // 4) + content


@attack
def small_tensors_before_1_6() -> Any:
    return "legacy", legacy(remembered(VIEW, 0) + remembered(view(4), 1) + b"](" + b"h\x00h\x01R" * 380_000 + b"e")


@attack
def dicts_before_1_6() -> Any:
    return "legacy", legacy(storage() + b"0](" + b"}K\x01Ns" * 1_500_000 + b"e")


@attack
def a_header_of_safetensors_with_empty_lists() -> Any:
    return "safetensors", with_header(b'{"a":[' + b",".join([b"[]"] * 1_500_000) + b"]}", b"")


@attack
def a_header_of_safetensors_with_small_tables() -> Any:
    return "safetensors", with_header(b'{"a":[' + b",".join([b'{"":0}'] * 600_000) + b"]}", b"")


@attack
def small_safetensors() -> Any:
    described = {str(i): {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(30_000)}
    return "safetensors", with_header(json.dumps(described).encode(), b"")


def opened(kind: str, content: bytes) -> Any:
    """The file as a program would open it."""
    opens: dict[str, Any] = {"gzip": gzip.GzipFile, "bz2": bz2.BZ2File, "lzma": lzma.LZMAFile}
    return (
        opens[kind](filename=io.BytesIO(content))
        if kind in ("bz2", "lzma")
        else gzip.GzipFile(fileobj=io.BytesIO(content))
    )


HERE = Path(__file__).parent
