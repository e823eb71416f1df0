"""What the processor can do."""

import platform

import numpy


def get_cpu_capability() -> str:
    """The widest vector instructions that NumPy found on the processor, by PyTorch's words for them.

    Returns
    -------
    str
        ``"AVX512"``, ``"AVX2"``, ``"NO AVX"``, or ``"DEFAULT"`` for a processor of another family.
    """
    extensions = numpy.show_config(mode="dicts")["SIMD Extensions"]
    features = {*extensions.get("baseline", ()), *extensions.get("found", ())}  # by name, or by level of x86-64
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "i686"):
        return "DEFAULT"
    if features & {"AVX512_SKX", "X86_V4"}:
        return "AVX512"
    return "AVX2" if features & {"AVX2", "X86_V3"} else "NO AVX"
