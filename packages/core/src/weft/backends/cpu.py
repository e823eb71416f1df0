"""What the processor can do."""


def get_cpu_capability() -> str:
    """The widest vector instructions that NumPy found on the processor, by PyTorch's words for them.

    Returns
    -------
    str
        ``"AVX512"``, ``"AVX2"``, ``"NO AVX"``, or ``"DEFAULT"`` for a processor of another family.
    """
    import platform

    import numpy

    core = getattr(numpy, "_core", None) or numpy.core
    features = core._multiarray_umath.__cpu_features__
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "i686"):
        return "DEFAULT"
    if features.get("AVX512F") and features.get("AVX512_SKX"):
        return "AVX512"
    return "AVX2" if features.get("AVX2") else "NO AVX"
