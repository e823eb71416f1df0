"""Memory and files of others: buffers, NumPy arrays, DLPack capsules, storages, pickles and damaged checkpoints."""

import datetime
import io
import pickle
import zipfile
from typing import Any

import numpy
from table import bad, hard


def saved(w: Any) -> bytes:
    """A file that weft wrote."""
    file = io.BytesIO()
    w.save({"a": w.arange(6.0), "b": [1, "x"]}, file)
    return file.getvalue()


def load(w: Any, content: bytes, **options: Any) -> Any:
    return w.load(io.BytesIO(content), **options)


def changed(w: Any, name: str, content: Any) -> bytes:
    """A file with one member changed: its bytes given to a function, or left out for None."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(w))) as source, zipfile.ZipFile(file, "w") as target:
        for member in source.namelist():
            data = source.read(member)
            if member.endswith(name):
                if content is None:
                    continue
                data = content(data)
            target.writestr(member, data)
    return file.getvalue()


def pickled(w: Any, data: bytes) -> bytes:
    return changed(w, "data.pkl", lambda _: data)


class BadCapsule:
    """Says that it has DLPack, and gives something else."""

    def __init__(self, gives: Any, where: Any = (1, 0)) -> None:
        self.gives, self.where = gives, where

    def __dlpack__(self, **options: Any) -> Any:
        return self.gives

    def __dlpack_device__(self) -> Any:
        return self.where


def twice(w: Any) -> Any:
    capsule = w.ones(3).__dlpack__()
    w.from_dlpack(capsule)
    return w.from_dlpack(capsule)


class Interface:
    """An array interface to memory that is not there."""

    __array_interface__ = {"data": (8, False), "shape": (2**40,), "typestr": "<f4", "version": 3}


def storage(w: Any) -> Any:
    return w.arange(3.0).untyped_storage()


def read_only(w: Any) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = w.frombuffer(b"\0" * 8, dtype=w.float32)
    return x.add_(1.0)


ROWS = [
    bad("from_numpy of objects", lambda w: w.from_numpy(numpy.array([object()])), TypeError, "from_numpy", "object"),
    bad("from_numpy of text", lambda w: w.from_numpy(numpy.array(["a"])), TypeError, "from_numpy"),
    bad("from_numpy of dates", lambda w: w.from_numpy(numpy.array(["2020-01-01"], "M8[D]")), TypeError, "from_numpy"),
    bad("from_numpy of records", lambda w: w.from_numpy(numpy.zeros(2, [("a", "f4")])), TypeError, "from_numpy"),
    bad("from_numpy of negative strides", lambda w: w.from_numpy(numpy.ones(3)[::-1]), ValueError, "from_numpy",
        "stride"),
    bad("from_numpy of a field's strides",
        lambda w: w.from_numpy(numpy.zeros(2, [("a", "f4"), ("b", "i1")])["a"]), ValueError, "from_numpy", "stride"),
    bad("from_numpy of the other byte order", lambda w: w.from_numpy(numpy.ones(2, ">f4")), ValueError, "from_numpy",
        "byte"),
    bad("from_numpy of None", lambda w: w.from_numpy(None), TypeError, "from_numpy"),
    bad("tensor of an array of objects", lambda w: w.tensor(numpy.array([1, None], object)), TypeError, "object"),
    bad("as_tensor of negative strides", lambda w: w.as_tensor(numpy.ones(3)[::-1]), ValueError, "stride"),
    bad("asarray of an object without a copy", lambda w: w.asarray([1, 2], copy=False), ValueError, "asarray"),
    bad("frombuffer past the end", lambda w: w.frombuffer(bytearray(8), dtype=w.float32, count=3), ValueError,
        "frombuffer|buffer"),
    bad("frombuffer of 2**62", lambda w: w.frombuffer(bytearray(8), dtype=w.float32, count=2**62), ValueError,
        "frombuffer|buffer"),
    bad("frombuffer from past the end", lambda w: w.frombuffer(bytearray(8), dtype=w.float32, offset=9), ValueError,
        "frombuffer|offset"),
    bad("frombuffer from -1", lambda w: w.frombuffer(bytearray(8), dtype=w.float32, offset=-1), ValueError,
        "frombuffer|offset"),
    bad("frombuffer of half an element", lambda w: w.frombuffer(bytearray(7), dtype=w.float32), ValueError,
        "frombuffer|multiple"),
    bad("frombuffer of nothing", lambda w: w.frombuffer(bytearray(), dtype=w.float32), ValueError, "frombuffer|length"),
    bad("frombuffer of a list", lambda w: w.frombuffer([1, 2], dtype=w.float32), ValueError, "frombuffer|buffer"),
    bad("frombuffer of text", lambda w: w.frombuffer("abcd", dtype=w.float32), ValueError, "frombuffer|buffer"),
    bad("frombuffer of a released view",
        lambda w: (lambda v: (v.release(), w.frombuffer(v, dtype=w.uint8)))(memoryview(bytearray(4))), ValueError,
        "frombuffer|released|buffer"),
    bad("frombuffer of a strided view", lambda w: w.frombuffer(memoryview(bytearray(8))[::2], dtype=w.uint8),
        ValueError, "frombuffer|contiguous"),
    bad("frombuffer with a dtype that is none", lambda w: w.frombuffer(bytearray(8), dtype="f4"), TypeError,
        "frombuffer|dtype"),
    bad("a write to read-only memory", read_only, RuntimeError, "add_", "read-only|writable"),
    bad("from_dlpack of an object", lambda w: w.from_dlpack(object()), TypeError, "from_dlpack|dlpack"),
    bad("from_dlpack of what gives no capsule", lambda w: w.from_dlpack(BadCapsule(3)), TypeError, "dlpack|capsule"),
    bad("from_dlpack of another capsule",
        lambda w: w.from_dlpack(BadCapsule(datetime.datetime_CAPI)), BufferError, "dlpack|capsule"),
    bad("from_dlpack of a device that is none", lambda w: w.from_dlpack(BadCapsule(None, (77, 0))), BufferError,
        "dlpack", "77"),
    bad("from_dlpack of a device that is no pair", lambda w: w.from_dlpack(BadCapsule(None, None)), TypeError,
        "dlpack"),
    bad("from_dlpack of a capsule that was used", twice, BufferError, "dlpack", "used"),
    bad("a capsule of a tensor that requires grad", lambda w: w.ones(2, requires_grad=True).__dlpack__(), BufferError,
        "dlpack", "grad"),
    bad("a storage of -1 bytes", lambda w: w.UntypedStorage(-1), RuntimeError, "storage|negative"),
    bad("a storage of 2**62 bytes", lambda w: w.UntypedStorage(2**62), RuntimeError, "memory"),
    bad("a storage's byte past the end", lambda w: storage(w)[12], IndexError, "12|range|bounds"),
    bad("a storage's byte before the start", lambda w: storage(w)[-13], IndexError, "-13|range|bounds"),
    bad("a storage written past the end", lambda w: storage(w).__setitem__(99, 1), IndexError, "99|range|bounds"),
    bad("a storage copied from another size", lambda w: storage(w).copy_(w.UntypedStorage(3)), RuntimeError,
        "copy_|size"),
    bad("a view of a storage past its end", lambda w: w.empty(0).set_(storage(w), 1, (3,), (1,)), RuntimeError,
        "storage"),
    bad("load of nothing", lambda w: load(w, b""), EOFError, "load|empty|input"),
    bad("load of garbage", lambda w: load(w, bytes(range(256))), pickle.UnpicklingError, "load|pickle"),
    bad("load of zeros", lambda w: load(w, b"\0" * 1000), pickle.UnpicklingError, "load|pickle"),
    bad("load of a file cut short", lambda w: load(w, saved(w)[:-50]), RuntimeError, "load|zip|central directory"),
    bad("load of a file's first bytes", lambda w: load(w, saved(w)[:64]), RuntimeError, "load|zip|central directory"),
    bad("load without its pickle", lambda w: load(w, changed(w, "data.pkl", None)), RuntimeError, "data.pkl"),
    bad("load without its data", lambda w: load(w, changed(w, "data/0", None)), RuntimeError, "data/0"),
    bad("load with its data cut short", lambda w: load(w, changed(w, "data/0", lambda data: data[:4])), RuntimeError,
        "load|storage|bytes|size"),
    bad("load of a pickle that is cut short", lambda w: load(w, changed(w, "data.pkl", lambda data: data[:9])),
        pickle.UnpicklingError, "load|pickle|unpickl"),
    bad("load of a pickle that pops from nothing", lambda w: load(w, pickled(w, b"\x80\x020000.")),
        pickle.UnpicklingError, "load|pickle|unpickl"),
    bad("load of a pickle that calls a function",
        lambda w: load(w, pickled(w, b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.")),
        pickle.UnpicklingError, "os.system|posix.system"),
    bad("load of a pickle that asks for eval", lambda w: load(w, pickled(w, b"\x80\x02cbuiltins\neval\n.")),
        pickle.UnpicklingError, "eval"),
    bad("load of a pickle of a million marks", lambda w: load(w, pickled(w, b"\x80\x02" + b"(" * 10**6 + b".")),
        pickle.UnpicklingError, "load|pickle|unpickl"),
    bad("load of a pickle of a million lists", lambda w: load(w, pickled(w, b"\x80\x02" + b"]" * 10**6 + b"a" * 10**6)),
        pickle.UnpicklingError, "load|pickle|unpickl"),
    bad("load of text as long as 2**62", lambda w: load(w, pickled(w, b"\x80\x02X\xff\xff\xff\x7fab.")),
        pickle.UnpicklingError, "load|pickle|unpickl"),
    bad("load of a file that is not there", lambda w: w.load("/no/such/file"), FileNotFoundError, "no/such/file"),
    bad("load of a number", lambda w: w.load(3), AttributeError, "load"),
    bad("load of a folder", lambda w: w.load("/"), IsADirectoryError, "/"),
    bad("load with a place that is none", lambda w: load(w, saved(w), map_location=3.5), TypeError, "map_location"),
    bad("save to a folder that is not there", lambda w: w.save(w.ones(2), "/no/such/file"), RuntimeError,
        "no/such"),
    bad("save to a number", lambda w: w.save(w.ones(2), 3), AttributeError, "save"),
    bad("save of a function made in place", lambda w: w.save(lambda: 1, io.BytesIO()), pickle.PicklingError, "lambda"),
    hard("save and load of what contains itself",
         lambda w: (lambda items: (items.append(items), w.save(items, f := io.BytesIO()), f.seek(0),
                                   (got := w.load(f))[0] is got)[-1])([])),
    hard("load of a file that was written", lambda w: load(w, saved(w))["a"].tolist() == [0, 1, 2, 3, 4, 5]),
]  # fmt: skip
