"""Inputs to try each op with: what the suites run, and where the author of an op adds their own.

A pointwise op needs none: its samples follow from the number of its arguments. For any other op::

    from weft.testing import call, samples

    @samples("sparkle::glow")
    def _(make):
        yield call(make(3, 4), dim=1)
        yield call(make(0, 4))

Portions name the module that declares those of their functions: ``SAMPLES`` in `weft._portions`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from typing import Any

import weft
from weft._lazy import portions
from weft.autograd.gradcheck import described
from weft.ops._families import all_functions
from weft.ops._registry import registry
from weft.testing._creation import make_tensor

all_functions()  # so that the registry has all of core's ops, also those that nobody has asked for yet
__all__ = ["Make", "call", "function_of", "naming_sample", "sample_inputs", "sample_names", "samples"]

Call = tuple[tuple[Any, ...], dict[str, Any]]
Generator = Callable[["Make"], Iterable[Call]]

_generators: dict[str, Generator] = {}


class Make:
    """Makes the tensors of a sample, of one dtype, on the CPU.

    Called with a shape, it draws numbers from [low, high), by default [-2, 2), where most functions are neither
    undefined nor huge.
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __call__(self, *shape: int, low: float = -2, high: float = 2, dtype: Any = None) -> Any:
        """Draw a tensor; ``dtype`` for one that is not of the sample's dtype."""
        dtype = self.dtype if dtype is None else dtype
        if dtype is weft.bool or not dtype.is_signed:
            low, high = 0, max(high, 2)
        return make_tensor(*shape, dtype=dtype, device="cpu", low=low, high=high)

    def index(self, *shape: int, below: int) -> Any:
        """Draw indices in [0, below)."""
        return make_tensor(*shape, dtype=weft.int64, device="cpu", low=0, high=below)

    def mask(self, *shape: int) -> Any:
        """Draw a mask."""
        return make_tensor(*shape, dtype=weft.bool, device="cpu")

    def distinct(self, *shape: int) -> Any:
        """Make a shuffled range, for ops whose choice among equal elements is their own."""
        count = 1
        for size in shape:
            count *= size
        return weft.randperm(count).reshape(shape).to(self.dtype)


def call(*args: Any, **kwargs: Any) -> Call:
    """Write a sample as the call that it is."""
    return args, kwargs


def samples(*names: str) -> Callable[[Generator], Generator]:
    """Declare the samples of functions: a generator of `call`, given a `Make`.

    Parameters
    ----------
    *names : str
        Full names of ops, ``"sparkle::glow"``, or of functions in weft, ``"var"`` and ``"nn.functional.linear"``.
    """

    def declare(generator: Generator) -> Generator:
        for name in names:
            _generators[name] = generator
        return generator

    return declare


@cache
def load_portions() -> None:
    """Let portions declare the samples of their functions."""
    for each in portions():
        if hasattr(each, "SAMPLES"):
            importlib.import_module(each.SAMPLES)


def sample_names() -> list[str]:
    """Names of all functions with samples, declared or derived, those of installed portions among them."""
    load_portions()
    return [name for name, declaration in registry.items() if declaration.promotes] + [
        name for name in _generators if name not in registry or not registry[name].promotes
    ]


def function_of(name: str) -> Callable[..., Any]:
    """The function whose samples these are.

    Examples
    --------
    >>> function_of("core::exp").__name__
    'exp'
    """
    function: Callable[..., Any] = registry[name].function if "::" in name else attrgetter(name)(weft)
    return function


def sample_inputs(name: str, dtype: Any) -> Iterator[Call]:
    """Make the samples of a function, the same ones each time.

    Parameters
    ----------
    name : str
        As in `sample_names`.
    dtype : weft.dtype
        Of those arguments that may have any.
    """
    weft.manual_seed(0)
    yield from _generators[name](Make(dtype)) if name in _generators else _pointwise(name, Make(dtype))


@contextmanager
def naming_sample(name: str, dtype: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
    """Add the function, the dtype and the sample to an exception of the block.

    Examples
    --------
    >>> with naming_sample("core::exp", weft.float64, (weft.ones(2, 3),), {}):
    ...     raise AssertionError("its gradient is wrong")
    Traceback (most recent call last):
    AssertionError: its gradient is wrong
    core::exp, float64: exp(float32[2, 3])
    """
    try:
        yield
    except Exception as error:
        given = [*map(described, args), *[f"{key}={described(value)}" for key, value in kwargs.items()]]
        error.add_note(f"{name}, {dtype.name}: {function_of(name).__name__}({', '.join(given)})")
        raise


def _pointwise(name: str, make: Make) -> Iterator[Call]:
    """Equal shapes, broadcast ones, 0-d, empty, strided, and a Python number."""
    count = len(registry[name].arguments)
    shapes: list[list[tuple[int, ...]]] = [
        [(3, 4)] * count,
        [()] * count,
        [(0, 3)] * count,
        [(2, 1, 4), (3, 1), (1,)][:count],
    ]
    for each in shapes:
        yield call(*[make(*shape) for shape in each])
    yield call(*[make(3, 4, low=0.1, high=0.9) for _ in range(count)])  # inside every function's domain
    yield call(*[make(4, 6).T[::2] for _ in range(count)])
    if count == 2:
        yield call(make(3, 4), 2)
