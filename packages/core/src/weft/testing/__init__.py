"""For tests of programs, ops and plugins: comparison, random inputs, suites for backends and engines."""

from importlib import import_module
from typing import Any

from weft.testing._comparison import assert_allclose, assert_close
from weft.testing._creation import make_tensor
from weft.testing._samples import call, samples
from weft.testing.backend_suite import BackendSuite, checks

__all__ = ["BackendSuite", "assert_allclose", "assert_close", "call", "checks", "make_tensor", "samples"]


def __getattr__(name: str) -> Any:
    if name != "CommunicatorSuite":  # of weft-distributed, where that is installed
        raise AttributeError(f"module 'weft.testing' has no attribute {name!r}")
    try:
        return import_module("weft.distributed.communicators.suite").CommunicatorSuite
    except ModuleNotFoundError as error:
        raise AttributeError("weft.testing.CommunicatorSuite: install it with: pip install weft-distributed") from error
