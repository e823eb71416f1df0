"""Custom functions as interceptors see them: forward and backward of a `Function` are one op each.

What forward keeps for backward is part of its result, as pairs of names and values: what was saved, and the attributes
of ``ctx``. It is an argument of backward, so that both can be run again on other tensors.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from weft._engine.tensor import Node, TensorBase, next_sequence
from weft._interception.interceptors import Operation, intercepted
from weft.autograd.grad_mode import no_grad

__all__ = ["FunctionOperation", "WithSaved", "new_function_node"]

Context = tuple[tuple[str, Any], ...]


def new_function_node(cls: Any) -> Any:
    """A node, which is the ctx of one call, of a `Function`'s class of nodes."""
    node = Node.__new__(cls)
    node._edges = ()
    node._extra = None
    node._shape = None
    node._sequence = next_sequence()
    return node


class WithSaved:
    """A ctx with other saved tensors."""

    def __init__(self, ctx: Any, saved: Any) -> None:
        self.__dict__["_ctx"] = ctx
        self.__dict__["saved_tensors"] = tuple(saved)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_ctx"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_ctx"], name, value)


class FunctionOperation(Operation):
    """The forward of a `Function`: its result is a pair of what forward returns and what ctx keeps.

    Parameters
    ----------
    function : type
        The `Function`.
    name, backward : str
        The names of the two ops.
    signature : callable
        Whose parameters name the arguments: forward, without ctx.
    """

    def __init__(self, function: Any, name: str, backward: str, signature: Any) -> None:
        super().__init__(name, partial(run_again, function), signature)
        self.backward = Operation(backward, partial(run_backward_again, function))

    def run_forward(self, node: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run forward for a node, seen by this thread's interceptors, whose answer may stand in its stead."""

        def run() -> Any:
            returned = node._function._run_forward(node, args, kwargs)
            return returned, context_of(node, node._to_save)

        returned, context = intercepted(self, self.named(args, kwargs), run)
        set_context(node, context)
        return returned

    def run_backward(self, node: Any, grads: list[Any], saved: tuple[Any, ...]) -> Any:
        """The same for backward, and what forward saved."""
        args = {"grad_outputs": tuple(grads), "context": context_of(node, saved)}
        return intercepted(self.backward, args, lambda: node._function._run_backward(WithSaved(node, saved), grads))


def context_of(node: Any, saved: tuple[Any, ...]) -> Context:
    """What a ctx keeps, by names."""
    attributes = {name: value for name, value in vars(node).items() if name not in type(node)._own}
    return tuple({"saved_tensors": saved, "needs_input_grad": node.needs_input_grad, **attributes}.items())


def set_context(node: Any, context: Context) -> None:
    """Let a ctx keep what another did."""
    for name, value in context:
        setattr(node, "_to_save" if name == "saved_tensors" else name, value)


def run_again(function: Any, *args: Any, **kwargs: Any) -> tuple[Any, Context]:
    """Forward by itself, which keeps what the gradients of all tensors need."""
    node = new_function_node(function._node_class)
    node.needs_input_grad = tuple(isinstance(each, TensorBase) for each in args)
    with no_grad():
        returned = function._run_forward(node, args, kwargs)
    return returned, context_of(node, node._to_save)


def run_backward_again(function: Any, grad_outputs: tuple[Any, ...], context: Context) -> Any:
    """Backward by itself, for what forward kept."""
    node = new_function_node(function._node_class)
    set_context(node, context)
    return function._run_backward(WithSaved(node, node._to_save), grad_outputs)
