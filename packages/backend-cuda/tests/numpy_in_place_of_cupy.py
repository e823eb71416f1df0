"""CuPy's interface on NumPy, as far as CUDABackend uses it: arrays of a class of their own, on two devices.

It shows that dispatch, copies and device handling are wired up; what only a GPU can show, it cannot.
"""

import sys
import types

import numpy

current = 0
synchronized = []


class ndarray(numpy.ndarray):
    """An array that says which device it was made on, and does not turn into NumPy's by itself."""

    def __array_finalize__(self, source):
        self.made_on = current


class Device:
    def __init__(self, index=None):
        self.index = current if index is None else index

    def __enter__(self):
        global current
        self.before, current = current, self.index

    def __exit__(self, *exc):
        global current
        current = self.before

    def synchronize(self):
        synchronized.append(self.index)


def set_device(index):
    global current
    current = index


def own(value):
    return numpy.asarray(value).view(ndarray)


def making(function):
    return lambda *args, **options: own(function(*args, **options))


def keeping(function):
    """A function whose results are CuPy's, as views that NumPy returns in its own class are not."""

    def call(*args, **options):
        result = function(*args, **options)
        return own(result) if isinstance(result, numpy.ndarray) else result

    return call


def install():
    """Put it where ``import cupy`` finds it."""
    cupy = types.ModuleType("cupy")
    for name in dir(numpy):
        if not name.startswith("__"):
            value = getattr(numpy, name)
            plain = callable(value) and not isinstance(value, (type, numpy.ufunc))
            setattr(cupy, name, keeping(value) if plain else value)
    cupy.__version__ = "14.2.0"
    cupy.ndarray = ndarray
    cupy.asarray = lambda value, *args: own(numpy.array(value, *args))
    cupy.array = lambda value, *args, **options: own(numpy.array(value, *args, **options))
    cupy.asnumpy = lambda value: numpy.array(value, subok=False)
    tricks = types.SimpleNamespace(as_strided=keeping(numpy.lib.stride_tricks.as_strided))
    cupy.lib = types.SimpleNamespace(stride_tricks=tricks)
    for name in ("empty", "zeros", "ones", "arange", "full"):
        setattr(cupy, name, making(getattr(numpy, name)))
    runtime = types.SimpleNamespace(
        getDeviceCount=lambda: 2,
        getDevice=lambda: current,
        setDevice=set_device,
        getDeviceProperties=lambda index: {"name": b"Stand-in %d" % index},
        CUDARuntimeError=RuntimeError,
    )
    cupy.cuda = types.SimpleNamespace(runtime=runtime, Device=Device)
    sys.modules["cupy"] = cupy
