"""NumPy's names for arrays without memory: what kernels get as ``xp``."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy

from weft._meta import linear_algebra as linear_algebra  # for its rules
from weft._meta import ufuncs
from weft._meta.array import MetaArray, protocols
from weft._meta.functions import rule_of, rules


def members(prefix: str) -> SimpleNamespace:
    """The rules of a submodule."""
    named = {name.removeprefix(prefix): each for name, each in rules.items() if name.startswith(prefix)}
    return SimpleNamespace(**named)


def make_namespace() -> ModuleType:
    """NumPy's names, with the rules in place of the functions. A name is found when it is first used.

    The ufuncs are NumPy's own, which come back by ``__array_ufunc__``.
    """
    module: Any = ModuleType("weft.meta", numpy.__doc__)
    module.ndarray = MetaArray
    module.linalg = members("linalg.")
    module.linalg.LinAlgError = numpy.linalg.LinAlgError
    module.fft = members("fft.")
    module.lib = SimpleNamespace(stride_tricks=members("lib.stride_tricks."))

    def find(name: str) -> Any:
        value = rules.get(name)
        if value is None:
            value = getattr(numpy, name)
        setattr(module, name, value)
        return value

    module.__getattr__ = find
    found: ModuleType = module
    return found


namespace = make_namespace()
protocols.ufunc, protocols.function, protocols.method = ufuncs.run, rule_of, namespace.__getattr__
