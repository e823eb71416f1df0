"""Targets of a graph's nodes: ops by their names."""

from __future__ import annotations

from functools import cache
from typing import Any

from weft.library import get_op

__all__ = ["OpFunction", "op_function", "sym_size"]


class OpFunction:
    """An op as the target of a node; it is called with the op's named arguments.

    Attributes
    ----------
    name : str
        With its namespace, ``"nn::linear"``.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.__module__, _, self.__name__ = name.partition("::")
        self.__qualname__ = self.__name__

    @property
    def op(self) -> Any:
        """What `weft.library.get_op` finds under the name."""
        return get_op(self.name)

    def __call__(self, /, **args: Any) -> Any:
        if self.name == "core::view":  # graphs have no copies for the sake of how a value lies in memory
            return args["input"].reshape(args["shape"])
        return self.op(**args)

    def __repr__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: Any) -> OpFunction:
        return self

    def __reduce__(self) -> Any:
        return op_function, (self.name,)


@cache
def op_function(name: str) -> OpFunction:
    """The target for an op; one for each name."""
    return OpFunction(name)


def sym_size(input: Any, dim: int) -> int:
    """The size of a tensor's dimension, where it may be another one in the next call."""
    return int(input.shape[dim])
