"""A weft device that computes on NumPy and counts the functions it calls: ``weft.ones(3, device="traced")``."""

from collections import Counter

import numpy

from weft.backend import ArrayNamespaceBackend
from weft.plugins import hookimpl

calls = Counter()


class Traced:
    """A function of NumPy that counts its calls; what else it has (``numpy.add.reduce``) is NumPy's own."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *args, **kwargs):
        calls[self.function.__name__] += 1
        return self.function(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self.function, name)


class TracedNumPy:
    """NumPy's namespace, with every function traced."""

    def __getattr__(self, name):
        value = getattr(numpy, name)
        return Traced(value) if callable(value) and not isinstance(value, type) else value


class TracedBackend(ArrayNamespaceBackend):
    """The device "traced". Its arrays are NumPy's, but its memory is its own: copies to and from the CPU are copies."""

    def __init__(self):
        super().__init__("traced", TracedNumPy())

    def from_numpy(self, array, index):
        return array.copy()

    def to_numpy(self, array):
        return array.copy()


@hookimpl
def weft_backend(device):
    return TracedBackend()
