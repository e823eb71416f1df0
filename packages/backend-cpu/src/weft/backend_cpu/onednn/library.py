"""oneDNN's shared library: found, loaded, its functions declared; what they return is checked.

It is looked for in this order: the file that the environment variable ``WEFT_ONEDNN`` names, the file that the
distribution ``onednn-cpu-gomp`` has installed, and ``libdnnl.so.3`` of the system.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import c_char, c_float, c_int, c_int64, c_size_t, c_uint, c_void_p
from functools import cache
from typing import Any

from weft.backend_cpu.libraries import tell_broken

__all__ = ["UnsupportedError", "call", "load", "make", "version"]

DISTRIBUTION = "onednn-cpu-gomp"
FILE = "libdnnl.so.3"
MAJOR = 3  # handles to memory descriptors, which version 2 did not have
RUNTIMES = (1, 2)  # sequential and OpenMP; the others want a pool of threads to be handed in

STATUS = {
    1: "out of memory",
    2: "invalid arguments",
    3: "not implemented",
    4: "no further implementation",
    5: "it failed while running",
    6: "not required",
}
UNSUPPORTED = (2, 3, 4)

NEW = ctypes.POINTER(c_void_p)  # where a function writes the handle of what it makes
SIZES = ctypes.POINTER(c_int64)

# Without these ctypes would pass every integer as 32 bits, and cut handles.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "dnnl_engine_create": (NEW, c_int, c_size_t),
    "dnnl_stream_create": (NEW, c_void_p, c_uint),
    "dnnl_stream_destroy": (c_void_p,),
    "dnnl_get_effective_cpu_isa": (),
    "dnnl_memory_desc_create_with_strides": (NEW, c_int, SIZES, c_int, SIZES),
    "dnnl_memory_desc_create_with_tag": (NEW, c_int, SIZES, c_int, c_int),
    "dnnl_memory_desc_equal": (c_void_p, c_void_p),
    "dnnl_memory_desc_get_size": (c_void_p,),
    "dnnl_memory_desc_destroy": (c_void_p,),
    "dnnl_memory_create": (NEW, c_void_p, c_void_p, c_void_p),
    "dnnl_memory_set_data_handle": (c_void_p, c_void_p),
    "dnnl_memory_destroy": (c_void_p,),
    "dnnl_primitive_attr_create": (NEW,),
    "dnnl_primitive_attr_set_scratchpad_mode": (c_void_p, c_int),
    "dnnl_primitive_attr_set_post_ops": (c_void_p, c_void_p),
    "dnnl_primitive_attr_set_scales_mask": (c_void_p, c_int, c_int),
    "dnnl_primitive_attr_destroy": (c_void_p,),
    "dnnl_post_ops_create": (NEW,),
    "dnnl_post_ops_append_eltwise": (c_void_p, c_int, c_float, c_float),
    "dnnl_post_ops_destroy": (c_void_p,),
    "dnnl_primitive_desc_query_md": (c_void_p, c_int, c_int),
    "dnnl_primitive_desc_query": (c_void_p, c_int, c_int, ctypes.POINTER(ctypes.c_char_p)),
    "dnnl_primitive_desc_destroy": (c_void_p,),
    "dnnl_primitive_create": (NEW, c_void_p),
    "dnnl_primitive_execute": (c_void_p, c_void_p, c_int, c_void_p),
    "dnnl_primitive_destroy": (c_void_p,),
    "dnnl_reorder_primitive_desc_create": (NEW, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
    "dnnl_sgemm": (
        *(c_char, c_char, c_int64, c_int64, c_int64, c_float),
        *(c_void_p, c_int64, c_void_p, c_int64, c_float, c_void_p, c_int64),
    ),
    "dnnl_matmul_primitive_desc_create": (NEW, *(c_void_p,) * 6),
    "dnnl_convolution_forward_primitive_desc_create": (
        *(NEW, c_void_p, c_int, c_int, c_void_p, c_void_p, c_void_p, c_void_p),
        *(SIZES, SIZES, SIZES, SIZES, c_void_p),
    ),
    "dnnl_convolution_backward_data_primitive_desc_create": (
        *(NEW, c_void_p, c_int, c_void_p, c_void_p, c_void_p),
        *(SIZES, SIZES, SIZES, SIZES, c_void_p, c_void_p),
    ),
    "dnnl_convolution_backward_weights_primitive_desc_create": (
        *(NEW, c_void_p, c_int, c_void_p, c_void_p, c_void_p, c_void_p),
        *(SIZES, SIZES, SIZES, SIZES, c_void_p, c_void_p),
    ),
    "dnnl_pooling_forward_primitive_desc_create": (
        *(NEW, c_void_p, c_int, c_int, c_void_p, c_void_p),
        *(SIZES, SIZES, SIZES, SIZES, SIZES, c_void_p),
    ),
    "dnnl_pooling_backward_primitive_desc_create": (
        *(NEW, c_void_p, c_int, c_void_p, c_void_p),
        *(SIZES, SIZES, SIZES, SIZES, SIZES, c_void_p, c_void_p),
    ),
}
RESULTS = {"dnnl_memory_desc_get_size": c_size_t, "dnnl_primitive_desc_query_md": c_void_p}


class Version(ctypes.Structure):
    """What ``dnnl_version`` points to."""

    _fields_ = [
        ("major", c_int),
        ("minor", c_int),
        ("patch", c_int),
        ("hash", ctypes.c_char_p),
        ("cpu_runtime", c_uint),
        ("gpu_runtime", c_uint),
    ]


class UnsupportedError(RuntimeError):
    """The library has no implementation for such shapes, layouts or dtypes."""


@cache
def load() -> ctypes.CDLL | None:
    """The library with its functions declared; None where there is none, or none of a version that fits."""
    for path in candidates():
        try:
            found = ctypes.CDLL(path)
            of = version_of(found)
            if of.major != MAJOR or of.cpu_runtime not in RUNTIMES:
                raise OSError(f"{path}: version {of.major} with runtime {of.cpu_runtime}, which is another one")
            for name, arguments in FUNCTIONS.items():
                function = getattr(found, name)
                function.argtypes = arguments
                function.restype = RESULTS.get(name, c_int)
        except (OSError, AttributeError) as error:  # no such file, it cannot be loaded, or a function is missing
            if os.path.exists(path):
                tell_broken("onednn", error)
            continue
        return found
    return None


def candidates() -> list[str]:
    """Where the library may be."""
    chosen = os.environ.get("WEFT_ONEDNN")
    if chosen:
        return [chosen]
    installed = installed_file()
    return [FILE] if installed is None else [installed, FILE]


def installed_file() -> str | None:
    """The library's path by the list of files of the distribution that has it."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        files = distribution(DISTRIBUTION).files or ()
    except PackageNotFoundError:
        return None
    return next((str(file.locate()) for file in files if file.name == FILE), None)


def version_of(found: ctypes.CDLL) -> Version:
    """What a library says of itself."""
    found.dnnl_version.argtypes = ()
    found.dnnl_version.restype = ctypes.POINTER(Version)
    pointed: Version = found.dnnl_version().contents
    return pointed


def version() -> str:
    """The library's version, ``"3.2.0"``; empty without it."""
    found = load()
    if found is None:
        return ""
    of = version_of(found)
    return f"{of.major}.{of.minor}.{of.patch}"


def call(name: str, *args: Any) -> None:
    """Call one of the library's functions that return a status.

    Raises
    ------
    UnsupportedError
        If the library cannot do what is asked for.
    MemoryError, RuntimeError
        If it failed.
    """
    status = getattr(load(), name)(*args)
    if status:
        raise failure(name, status)


def failure(name: str, status: int) -> Exception:
    """The exception for a status that is not 0."""
    message = f"{name}: oneDNN says: {STATUS.get(status, f'status {status}')}"
    kind: type[Exception] = UnsupportedError if status in UNSUPPORTED else MemoryError if status == 1 else RuntimeError
    return kind(message)


def make(name: str, *args: Any) -> int:
    """Call a function that makes something, and return its handle."""
    handle = c_void_p()
    call(name, ctypes.byref(handle), *args)
    return handle.value or 0
