"""The CPU by the names that other devices' modules have, so that programs need not tell them apart."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "get_capabilities",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


class Stream:
    """Stands for a queue of work; what runs on the CPU is done when the call returns."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Do nothing: the other stream's work is done."""

    def record_event(self) -> None:
        """Do nothing: the work is done."""

    def synchronize(self) -> None:
        """Do nothing: the work is done."""


class Event:
    """Stands for a mark in a queue of work, which is reached as soon as it is made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take what other devices' events take."""

    def record(self, stream: Any = None) -> None:
        """Do nothing: the work is done."""

    def wait(self, stream: Any = None) -> None:
        """Do nothing: the work is done."""

    def synchronize(self) -> None:
        """Do nothing: the work is done."""

    def query(self) -> bool:
        """True: the work is done."""
        return True


class StreamContext:
    """Makes a stream the current one for a block."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        global _current
        self.before = _current
        if self.stream is not None:
            _current = self.stream

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        global _current
        _current = self.before


_current = Stream()


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def synchronize(device: Any = None) -> None:
    """Do nothing: what was called is done."""


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def device_count() -> int:
    """1."""
    return 1


def set_device(device: Any) -> None:
    """Do nothing: there is one."""


def current_stream(device: Any = None) -> Stream:
    """The stream that `stream` set, or the one that is always there."""
    return _current


def stream(stream: Stream) -> StreamContext:
    """Make a stream the current one for a ``with`` block."""
    return StreamContext(stream)


# Where Linux's names of a processor's features and those of `get_capabilities` differ.
_FEATURES = {
    "pni": "sse3", "abm": "lzcnt", "bmi1": "bmi", "fma": "fma3", "sha_ni": "sha", "avx512f": "avx512_f",
    "avx512cd": "avx512_cd", "avx512dq": "avx512_dq", "avx512bw": "avx512_bw", "avx512vl": "avx512_vl",
    "avx512ifma": "avx512_ifma", "avx512vbmi": "avx512_vbmi", "asimd": "neon", "asimdhp": "fp16_arith",
    "asimddp": "dot",
}  # fmt: skip
_X86 = (
    "sse sse2 sse3 ssse3 sse4_1 sse4_2 sse4a avx avx2 avx_vnni avx512_f avx512_cd avx512_dq avx512_bw avx512_vl "
    "avx512_ifma avx512_vbmi avx512_vbmi2 avx512_bitalg avx512_vpopcntdq avx512_vnni avx512_bf16 avx512_fp16 "
    "avx512_vp2intersect amx_bf16 amx_tile amx_int8 amx_fp16 fma3 fma4 f16c bmi bmi2 popcnt lzcnt aes sha clflush "
    "clflushopt clwb"
)
_ARM = "neon fp16_arith bf16 i8mm dot sve sve2 atomics crc32 aes sha1 sha2 pmull"


@cache
def get_capabilities() -> Mapping[str, Any]:
    """What the processor can do, by the names that PyTorch gives its features.

    Returns
    -------
    mapping of str to bool or str
        ``"architecture"``, such as ``"x86_64"``; on Linux also each feature that is asked for in programs: ``"avx2"``,
        ``"avx512_vnni"``, ``"amx_tile"``, ``"sve"``. What is not known is not there.

    Examples
    --------
    >>> "architecture" in get_capabilities()
    True
    """
    architecture = platform.machine()
    found: dict[str, Any] = {"architecture": architecture}
    flags = _flags(Path("/proc/cpuinfo"))
    if flags:
        names = _X86 if architecture in ("x86_64", "AMD64", "i686") else _ARM
        found |= {name: name in flags for name in names.split()}
    return MappingProxyType(found)


def _flags(path: Path) -> set[str]:
    """The features of the first processor that Linux lists, by the names of `get_capabilities`."""
    if not path.exists():
        return set()
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return {_FEATURES.get(flag, flag) for flag in value.split()}
    return set()


def _is_avx2_supported() -> bool:
    """Whether the processor has AVX2; PyTorch's test classes ask."""
    return bool(get_capabilities().get("avx2", False))


def _is_avx512_supported() -> bool:
    """Whether the processor has AVX-512."""
    return bool(get_capabilities().get("avx512_f", False))


def _is_avx512_bf16_supported() -> bool:
    """Whether the processor has AVX-512's products of bfloat16."""
    return bool(get_capabilities().get("avx512_bf16", False))


def _is_vnni_supported() -> bool:
    """Whether the processor has AVX-512's products of bytes."""
    return bool(get_capabilities().get("avx512_vnni", False))


def _is_amx_tile_supported() -> bool:
    """Whether the processor multiplies tiles."""
    return bool(get_capabilities().get("amx_tile", False))


def _is_amx_fp16_supported() -> bool:
    """Whether the processor multiplies tiles of float16."""
    return bool(get_capabilities().get("amx_fp16", False))


def __getattr__(name: str) -> Any:
    """``weft.cpu.amp``."""
    if name == "amp":
        return importlib.import_module("weft.cpu.amp")
    raise AttributeError(f"module 'weft.cpu' has no attribute {name!r}")
