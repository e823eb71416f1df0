"""``cupy.ElementwiseKernel``: the same CUDA C++ compiled for the host, where one thread is every thread.

A loop goes over the elements; raw arrays are held to their sizes. What it does not show: launches, races, and what a
GPU's functions round otherwise.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy

from cupy_stand_in.array import ndarray, unwrap
from cupy_stand_in.events import note

C_TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}
PRELUDE = """
#include <math.h>
#define __device__
template <typename T> T atomicAdd(T* place, T value) { T before = *place; *place += value; return before; }
template <typename T> struct Raw {  // what CuPy passes for a raw array
    T* data;
    long long count;
    long long* outside;
    T& operator[](long long place) const {
        static T nothing;
        if (place >= 0 && place < count) return data[place];
        if (!*outside) *outside = place < 0 ? place : place + 1;
        return nothing = T();
    }
};
"""


class Parameter(NamedTuple):
    """A parameter of a kernel, ``raw T x``."""

    raw: bool
    kind: str
    name: str


def parameters(text: str) -> list[Parameter]:
    """Those that a kernel's signature lists."""
    found = []
    for each in text.split(","):
        *raw, kind, name = each.split()
        if raw not in ([], ["raw"]) or not re.fullmatch(r"[A-Za-z]\w*", name) or name in ("i", "n"):
            raise ValueError(f"wrong parameter of a kernel: {each}")
        if kind not in C_TYPES and not re.fullmatch("[A-Z]", kind):
            raise ValueError(f"wrong type of a kernel's parameter: {each}")
        found.append(Parameter(bool(raw), kind, name))
    return found


class ElementwiseKernel:
    """A kernel whose threads each compute one element of the results."""

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        **kwargs: Any,
    ) -> None:
        if kwargs or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise NotImplementedError(f"the stand-in has no kernels with {kwargs or name}")
        self.inputs, self.outputs = parameters(in_params), parameters(out_params)
        self.name, self.operation, self.preamble = name, operation, preamble

    def __call__(self, *args: Any, size: int | None = None) -> Any:
        note("call", self.name)
        params = self.inputs + self.outputs
        if len(args) not in (len(self.inputs), len(params)):
            raise TypeError(f"Wrong number of arguments for {self.name!r}")
        kinds = self.kinds(args)
        shape = self.shape(args, size)
        given = list(args) + [self.new(each, kinds, shape) for each in self.outputs if len(args) == len(self.inputs)]
        held, sizes = [], []
        for each, value in zip(params, given):
            held.append(self.as_passed(each, value, kinds[each.kind], shape))
            sizes.append(held[-1].size)
        addresses = (ctypes.c_void_p * len(held))(*[each.ctypes.data for each in held])
        outside = ctypes.c_longlong(0)
        run = compiled(self.source(kinds))
        run(math.prod(shape), addresses, (ctypes.c_longlong * len(sizes))(*sizes), ctypes.byref(outside))
        if outside.value:
            raise IndexError(f"{self.name} reads or writes outside of an array")
        for value, passed in list(zip(given, held))[len(self.inputs) :]:
            unwrap(value)[...] = passed.reshape(value.shape)
        results = tuple(given[len(self.inputs) :])
        return results[0] if len(results) == 1 else results

    def kinds(self, args: Any) -> dict[str, str]:
        """The dtype of each type variable, which arrays decide, and that of each named type."""
        found: dict[str, str] = {each.kind: each.kind for each in self.inputs + self.outputs if len(each.kind) > 1}
        for each, value in zip(self.inputs + self.outputs, args):
            if isinstance(value, ndarray):
                if found.setdefault(each.kind, value.dtype.name) != value.dtype.name:
                    raise TypeError(f"Type is mismatched. {each.name} {value.dtype} {found[each.kind]}")
            elif isinstance(value, numpy.ndarray) or type(value) not in (bool, int, float) or each.raw:
                raise TypeError(f"Unsupported type {type(value)}")
            elif len(each.kind) == 1:
                raise NotImplementedError(f"the stand-in has no numbers for {each.name}, whose type arrays decide")
        if unknown := [each for each in found.values() if each not in C_TYPES]:
            raise NotImplementedError(f"the stand-in compiles nothing for {', '.join(unknown)}")
        return found

    def shape(self, args: Any, size: int | None) -> tuple[int, ...]:
        """That of the results: what the arrays that are not raw broadcast to."""
        shapes = [
            value.shape
            for each, value in zip(self.inputs + self.outputs, args)
            if isinstance(value, ndarray) and not each.raw
        ]
        if size is not None:
            if shapes:
                raise ValueError("Specified 'size' can be used only if all of the ndarray are 'raw'.")
            return (size,)
        if not shapes:
            raise ValueError("Loop size is undecided.")
        found = numpy.broadcast_shapes(*shapes)
        for each, value in list(zip(self.inputs + self.outputs, args))[len(self.inputs) :]:
            if not each.raw and value.shape != found:
                raise ValueError("Out shape is mismatched")
        return found

    def new(self, each: Parameter, kinds: dict[str, str], shape: tuple[int, ...]) -> ndarray:
        """The array of a result that was not given."""
        if each.raw:
            raise ValueError("Output array size is Undecided")
        return ndarray(shape, kinds[each.kind])

    def as_passed(self, each: Parameter, value: Any, kind: str, shape: tuple[int, ...]) -> numpy.ndarray:
        """An argument as the loop reads it: an array of the loop's shape, a raw one of its own, one number."""
        if not isinstance(value, ndarray):
            return numpy.array([value], kind)
        host = unwrap(value)
        return numpy.array(host if each.raw else numpy.broadcast_to(host, shape), order="C").reshape(-1)

    def source(self, kinds: dict[str, str]) -> str:
        """The loop."""
        lines = [f"typedef {C_TYPES[kind]} {name};" for name, kind in kinds.items() if len(name) == 1]
        lines += [
            self.preamble,
            'extern "C" void run(long long all, void** at, long long* sizes, long long* outside) {',
        ]
        inside = []
        for place, each in enumerate(self.inputs + self.outputs):
            kind = C_TYPES.get(each.kind, each.kind)
            if each.raw:
                lines.append(f"Raw<{kind}> {each.name} = {{({kind}*)at[{place}], sizes[{place}], outside}};")
            else:
                inside.append(f"{kind}& {each.name} = (({kind}*)at[{place}])[sizes[{place}] == 1 ? 0 : i];")
        lines += ["for (long long i = 0; i < all; ++i) {", *inside, self.operation, ";", "}", "}"]
        return PRELUDE + "\n".join(lines)


@cache
def compiled(source: str) -> Any:
    """The function of a C++ source, which is compiled once on a machine."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:24]
    owner = getattr(os, "getuid", lambda: 0)()
    folder = Path(tempfile.gettempdir()) / f"cupy-stand-in-{owner}"
    folder.mkdir(mode=0o700, exist_ok=True)
    library = folder / f"{digest}.so"
    if not library.exists():
        compiler = shutil.which(os.environ.get("CXX", "c++")) or shutil.which("g++") or shutil.which("clang++")
        if compiler is None:
            raise NotImplementedError("the stand-in runs kernels by a C++ compiler; there is none (c++, g++, clang++)")
        with tempfile.TemporaryDirectory(dir=folder) as made:
            text = Path(made) / "kernel.cpp"
            text.write_text(source, encoding="utf-8")
            target = Path(made) / "kernel.so"
            command = [compiler, "-O1", "-w", "-shared", "-fPIC", "-ffp-contract=off", str(text), "-o", str(target)]
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode:
                raise RuntimeError(f"nvrtc: error\n{result.stderr}")
            target.replace(library)
    return ctypes.CDLL(str(library)).run
