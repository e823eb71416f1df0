"""torchvision beside PyTorch for the CPU: the oracle of weft.vision's tests.

The wheel of the package index is built for PyTorch with CUDA: its libraries ask for two of CUDA's, and for one variable
in them. A C compiler makes those, empty. What the libraries call is found when it is called, and on tensors of the CPU
none of it is CUDA's. Where there is no compiler, `operators.py` has torchvision's operators in plain tensor code.
"""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

STUBS = {
    "libc10_cuda.so": "char _ZN3c104cuda20CUDACachingAllocator9allocatorE[4096];",
    "libtorch_cuda.so": "int empty;",
}


def load_stubs(compiler: str) -> None:
    """Make the two libraries and load them: the loader then finds them by their names."""
    with tempfile.TemporaryDirectory() as folder:
        for name, code in STUBS.items():
            library = Path(folder, name)
            options = ["-shared", "-fPIC", f"-Wl,-soname,{name}", "-x", "c", "-", "-o", str(library)]
            subprocess.run([compiler, *options], input=code.encode(), check=True)
            ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)


def load_lazily(path: str) -> None:
    """`torch.ops.load_library`, but functions are looked up when they are called."""
    loader = ctypes.CDLL(None)
    loader.dlopen.restype, loader.dlopen.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
    loader.dlerror.restype = ctypes.c_char_p
    if not loader.dlopen(os.fsencode(path), os.RTLD_LAZY):
        raise OSError(loader.dlerror().decode())


compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
if compiler and not hasattr(torch.ops.torchvision, "nms"):
    load_stubs(compiler)
    given, torch.ops.load_library = torch.ops.load_library, load_lazily
    try:
        import torchvision as torchvision
    finally:
        torch.ops.load_library = given
else:
    sys.path.append(str(Path(__file__).parent))
    import operators

    operators.register()
    import torchvision as torchvision

    for module in [module for name, module in sys.modules.items() if name.startswith("torchvision.")]:
        if hasattr(module, "_has_ops"):
            module._has_ops = lambda: True
