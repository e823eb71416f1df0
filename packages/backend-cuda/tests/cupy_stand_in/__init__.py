"""CuPy's interface on the CPU, as strict as CuPy: what would break on a first run with a GPU breaks here, without one.

`install` puts a module in the place of ``cupy`` (and of ``cupyx.scipy``'s modules). NumPy and SciPy compute. Which
names there are, how each function may be called, and which dtypes each ufunc has loops for is in ``interface.json``,
made from the real wheel by ``scripts/make_cupy_interface.py``. Enforced besides, since CuPy's source has it so: only
add and multiply have ``reduce`` and ``accumulate``; ufuncs take ``out``, ``dtype`` and ``casting`` alone; NumPy's
arrays do not mix in; arrays of two devices do not; reductions give arrays without dimensions; positions out of range
wrap around; there is no float8. `record` tells, of what ran inside, every call, wait and upload.

Not shown: CuPy's kernels, rounding, speed, races between streams, limits of CuPy's functions that their parameters do
not tell.

- `interface`: the table, and the modules made from it.
- `array`, `indices`: ``cupy.ndarray``.
- `ufuncs`, `functions`: what is called.
- `solvers`: ``cupy.linalg`` over cuSOLVER and its ``info``.
- `kernels`: CUDA C++, compiled for the host.
- `cuda`: devices, streams, memory.
- `events`: what is recorded.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

import numpy

from cupy_stand_in import cuda, interface, solvers
from cupy_stand_in.array import ndarray
from cupy_stand_in.events import Event, record
from cupy_stand_in.functions import Function
from cupy_stand_in.kernels import ElementwiseKernel
from cupy_stand_in.ufuncs import ufunc

__all__ = ["Event", "Module", "install", "record"]


class Module(types.ModuleType):
    """A module of CuPy's: the names of the table, each made when it is first asked for.

    Parameters
    ----------
    path : str
        Its name, ``"cupy.linalg"``.
    implementation : module
        Where functions of the same names compute.
    """

    def __init__(self, path: str, implementation: Any) -> None:
        super().__init__(path)
        self._path, self._implementation = path, implementation
        interface.modules[path] = sys.modules[path] = self

    def __getattr__(self, name: str) -> Any:
        table = interface.TABLE[self._path]
        if name not in table:
            raise AttributeError(f"module {self._path!r} has no attribute {name!r}")
        found = self.made(name, table[name], getattr(self._implementation, name, None))
        setattr(self, name, found)
        return found

    def made(self, name: str, described: str | None, implementation: Any) -> Any:
        """What stands under a name."""
        path = f"{self._path}.{name}"
        if described is not None and described.startswith("ufunc "):
            return ufunc(name, described, implementation)
        if described == "module":
            if path in interface.TABLE:
                return interface.modules.get(path) or Module(path, implementation)
            interface.TABLE[path] = {}  # it is there; what is in it, the table does not tell
            return Module(path, implementation)
        if described in ("type", "value"):
            if implementation is None:
                raise NotImplementedError(f"the stand-in has no {path}")
            return implementation
        return Function(path, described, implementation)


SCIPY = ("special", "linalg", "fft", "sparse", "sparse.linalg", "signal", "ndimage")


def install() -> Any:
    """Put the stand-in where ``import cupy`` and ``import cupyx.scipy.special`` find it."""
    module = Module("cupy", numpy)
    module.__version__ = interface.TABLE["version"]
    module.ndarray = ndarray
    module._where = choice
    module.ElementwiseKernel = ElementwiseKernel
    module.get_default_memory_pool = lambda: cuda.pool
    module.cuda = device_module()
    module.linalg, module.fft = Module("cupy.linalg", numpy.linalg), Module("cupy.fft", numpy.fft)
    module.lib = types.ModuleType("cupy.lib")
    module.lib.stride_tricks = Module("cupy.lib.stride_tricks", numpy.lib.stride_tricks)
    cupyx = Module("cupyx", None)
    cupyx.empty_pinned = cuda.empty_pinned
    sys.modules["cupyx.scipy"] = cupyx.scipy = types.ModuleType("cupyx.scipy")
    for name in SCIPY:
        path = f"cupyx.scipy.{name}"
        parent, _, last = path.rpartition(".")
        setattr(sys.modules[parent], last, Module(path, importlib.import_module(f"scipy.{name}")))
    solvers.install(module, cupyx)
    return module


choice = ufunc(
    "where",
    "ufunc 3 1 ???->? ?bb->b ?BB->B ?hh->h ?HH->H ?ii->i ?II->I ?ll->l ?LL->L ?qq->q ?QQ->Q ?ee->e ?ff->f "
    "?dd->d ?FF->F ?DD->D",
    numpy.where,
)


def device_module() -> types.ModuleType:
    """``cupy.cuda``, whose names must be CuPy's."""
    made = types.ModuleType("cupy.cuda")
    for name, value in vars(cuda).items():
        if name in interface.TABLE["cupy.cuda"]:
            setattr(made, name, value)
    made.memory = types.SimpleNamespace(OutOfMemoryError=cuda.OutOfMemoryError)
    for name in ("runtime", "device", "nvtx"):
        absent = vars(getattr(cuda, name)).keys() - interface.TABLE[f"cupy.cuda.{name}"].keys()
        if absent:
            raise AttributeError(f"cupy.cuda.{name} has no {', '.join(absent)}")
    sys.modules["cupy.cuda"] = made
    return made
