"""Modules that watch tensors, to choose by what scale they may be quantized."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from weft import Tensor, dtype
from weft.nn.module import Module

__all__ = ["ObserverBase"]


class Prepared:
    """A class with some of its arguments: calling it makes an object, with more of them.

    Parameters
    ----------
    make : callable
    computed : dict of str to callable, optional
        Arguments that are computed for each object anew.
    """

    def __init__(self, make: Callable[..., Any], computed: dict[str, Callable[[], Any]] | None = None) -> None:
        self.make = make
        self.computed = computed or {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        computed = {name: compute() for name, compute in self.computed.items() if name not in kwargs}
        return self.make(*args, **computed, **kwargs)

    def __repr__(self) -> str:
        return f"{self.make!r}{self.computed!r}"

    def with_args(self, **kwargs: Any) -> Prepared:
        """Return the class with further arguments."""
        return Prepared(partial(self.make, **kwargs), self.computed)

    def with_callable_args(self, **kwargs: Callable[[], Any]) -> Prepared:
        """Return the class with further arguments, computed for each object by what is given here."""
        return Prepared(self.make, self.computed | kwargs)


class ObserverBase(ABC, Module):
    """What all observers are: `forward` looks at a tensor, `calculate_qparams` tells the scale and the zero point.

    Parameters
    ----------
    dtype : dtype
        Of the numbers that are wanted.
    is_dynamic : bool
        Whether the tensors are quantized when they are used, each by its own scale.
    """

    def __init__(self, dtype: dtype, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Look at a tensor, and return it."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return the scale and the zero point for what was seen."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> Prepared:
        """Return the class with some of its arguments."""
        return Prepared(partial(cls, **kwargs))

    @classmethod
    def with_callable_args(cls, **kwargs: Callable[[], Any]) -> Prepared:
        """Return the class with some of its arguments, computed for each object by what is given here."""
        return Prepared(cls, kwargs)
