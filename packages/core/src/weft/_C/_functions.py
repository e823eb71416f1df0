"""Functions on the graph itself, by PyTorch's names: PyTorch's own tests put them between other operations."""

from __future__ import annotations

from typing import Any

from weft._engine.tensor import TensorBase
from weft.autograd._nodes import AccumulateGrad as AccumulateGrad
from weft.autograd.function import Error, Function

__all__ = ["AccumulateGrad", "DelayedError", "UndefinedGrad"]


class DelayedError:
    """The identity of some tensors, whose gradient is an error.

    Parameters
    ----------
    msg : str
        Of the `RuntimeError` that backward raises.
    num_inputs : int
        How many tensors it is called with.
    """

    _is_node = True

    def __init__(self, msg: str, num_inputs: int) -> None:
        self.msg = msg
        self.num_inputs = num_inputs

    def __call__(self, *tensors: Any) -> Any:
        """The tensors, with that history; of one tensor not in a tuple."""
        if len(tensors) != self.num_inputs:
            raise TypeError(f"DelayedError: expected {self.num_inputs} tensors, got {len(tensors)}")
        marked = Error.apply(self.msg, *tensors)
        return marked[0] if len(marked) == 1 else marked


class _Undefined(Function):
    """The identity of some tensors, with no gradient: not even zeros."""

    _is_one_op = False

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> tuple[Any, ...]:
        """The tensors themselves."""
        return tuple(each.detach() if isinstance(each, TensorBase) else each for each in tensors)  # type: ignore[attr-defined]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[None, ...]:
        """Nothing for each."""
        return (None,) * len(grads)


class UndefinedGrad:
    """The identity of tensors, whose gradient is undefined: what comes before sees None, or makes zeros of it."""

    _is_node = True

    def __call__(self, *tensors: Any) -> Any:
        """The tensors, with that history; of one tensor not in a tuple."""
        marked = _Undefined.apply(*tensors)
        return marked[0] if len(marked) == 1 else marked
