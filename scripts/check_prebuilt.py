"""Fail unless the weft that this Python imports has prebuilt kernels, and no Numba to compile others."""

import importlib.util

from weft.backend_cpu.compiled import prebuilt

if prebuilt.library() is None:
    raise SystemExit("check_prebuilt: no kernels are prebuilt, or for another source")
if importlib.util.find_spec("numba"):
    raise SystemExit("check_prebuilt: Numba is installed")
print(f"prebuilt: {prebuilt.describe()}")
