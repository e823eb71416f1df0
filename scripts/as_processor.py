#!/usr/bin/env python3
"""Run Python as a processor with fewer instructions than this one would run it: ``as_processor.py avx2 -m pytest``.

NumPy, Numba and oneDNN each choose their code by what the processor has, and each can be told of less: ``avx2`` is one
without AVX-512, ``sse`` one without AVX2. Kernels compiled so are kept apart from the others, in a folder of their own
under ``.kernels`` beside the checkout's sources, or where ``WEFT_PROCESSOR_KERNELS`` says.

Standard library only, so that it runs in any environment.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASE = "+64bit,+cmov,+cx16,+cx8,+fxsr,+mmx,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3"
BEYOND_AVX2 = "X86_V4 AVX512_ICL AVX512_SPR"  # NumPy's names: it warns of those that it does not know
PROCESSORS = {
    "avx2": {
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": f"{BASE},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": BEYOND_AVX2,
    },
    "sse": {
        "NUMBA_CPU_NAME": "nehalem",
        "NUMBA_CPU_FEATURES": BASE,
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "NPY_DISABLE_CPU_FEATURES": f"X86_V3 {BEYOND_AVX2}",
    },
}


def settings(name):
    """The environment variables that make a process run as a processor of this name, and where it keeps kernels."""
    folder = os.environ.get("WEFT_PROCESSOR_KERNELS", ROOT / ".kernels")
    return {**PROCESSORS[name], "NUMBA_CACHE_DIR": str(Path(folder) / name)}


def main(arguments):
    """Run Python with these arguments, the first of which is the processor; its exit status."""
    if not arguments or arguments[0] not in PROCESSORS:
        sys.exit(f"usage: as_processor.py {'|'.join(PROCESSORS)} [arguments of python]")
    name, *rest = arguments
    return subprocess.call([sys.executable, *rest], env={**os.environ, **settings(name)})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
