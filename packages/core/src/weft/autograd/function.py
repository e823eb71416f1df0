"""Function: operations whose gradient the user writes."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from weft._engine.dispatch import (
    SavedOutput,
    check_unchanged,
    edge_of,
    extra_of,
    freed,
    make,
    set_output_index,
    unpack_output,
)
from weft._engine.tensor import DETACHED, Node, TensorBase, Version, local, next_sequence, state
from weft._errors import warn_caller
from weft._interception.interceptors import is_watched
from weft._interception.transforms import innermost, settled
from weft._tensor.base import fresh_extra
from weft.autograd._function_operations import FunctionOperation, new_function_node
from weft.autograd._nodes import SavedTensor
from weft.autograd._packing import pack_value
from weft.autograd.anomaly_mode import attach_trace
from weft.autograd.grad_mode import no_grad
from weft.autograd.hooks import output_index
from weft.ops._inplace import bump, check_writable, rebase_history

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "NestedIOFunction", "once_differentiable"]


class FunctionCtx:
    """What forward and backward of a `Function` share: its ``ctx`` argument."""

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for backward; call it once, in forward or setup_context.

        Anything else is an error once the call is recorded: keep that as an attribute of ctx.
        """
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for ``jvp``, where they are ``ctx.saved_tensors``."""
        for each in tensors:
            if each is not None and not isinstance(each, TensorBase):
                raise TypeError(
                    f"save_for_forward can only save variables, but argument is of type {type(each).__name__}; keep "
                    "other values as attributes of ctx"
                )
        self._for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Say which inputs forward has changed in place; they must be returned."""
        refuse_others("mark_dirty can only accept variables", tensors)
        self._dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say which outputs have no gradient."""
        refuse_others("mark_non_differentiable only accepts variable arguments", tensors)
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (the default) or None for outputs without gradient."""
        if not isinstance(value, bool):
            raise TypeError(f"set_materialize_grads(): argument 'value' must be bool, not {type(value).__name__}")
        self._materialize_grads = value


def refuse_others(what: str, values: tuple[Any, ...]) -> None:
    """All values are tensors.

    Raises
    ------
    RuntimeError
        If one is not.
    """
    for number, each in enumerate(values):
        if not isinstance(each, TensorBase):
            raise RuntimeError(f"{what}, but argument {number} is of type {type(each).__name__}")


class FunctionNode(Node, FunctionCtx):
    """The node of a custom function, and its ctx."""

    _function: Any = None
    _outputs: Any  # the shape and key of each output, None for those that are no tensors
    _tensor_arguments: Any  # the key of each argument, None for those that are no tensors
    _to_save: tuple[Any, ...] = ()
    _for_forward: tuple[Any, ...] = ()
    _dirty_tensors: tuple[Any, ...] = ()
    _non_differentiable: tuple[Any, ...] = ()
    _materialize_grads = True
    _materialize_non_diff_grads = True
    _left_out: tuple[int, ...] = ()  # outputs without gradient, for which backward gets None
    needs_input_grad: tuple[bool, ...] = ()
    _is_read = False  # what was saved has been given away
    _kept: Any  # once it is recorded: see `_keep`
    _own: frozenset[str]  # names of attributes that are not the user's

    def label(self) -> str:
        return type(self).__name__

    def _keep(self, outputs: list[Any]) -> None:
        """Turn what was to be saved into saved values: outputs without their history."""
        kept: list[Any] = []
        for tensor in self._to_save:
            if tensor is None:
                kept.append(None)
                continue
            if not isinstance(tensor, TensorBase):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {len(kept)} is of type "
                    f"{type(tensor).__name__}; keep other values as attributes of ctx"
                )
            counter = tensor._version_counter
            if counter is not None and counter.inference:
                raise RuntimeError(
                    f"{self.label()}: Inference tensors cannot be saved for backward. To work around you can make a "
                    "clone to get a normal tensor and use it in autograd."
                )
            index = next((n for n, each in enumerate(outputs) if each is tensor), None)
            if tensor._version_counter is None:
                tensor._version_counter = Version(0)
            if index is not None and tensor._node is self:
                wrapped = None if tensor._extra is None else tensor._extra.wrapped
                kept.append(SavedOutput(tensor._array, tensor._key, tensor._version_counter, index, wrapped))
            else:
                kept.append((tensor, tensor._version_counter.value))
        self._kept = kept
        self._to_save = ()
        if local.saved_hooks:
            self._kept = [pack_value(each[0] if isinstance(each, tuple) else each) for each in kept]

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that forward saved, checked to be unchanged."""
        kept = self.__dict__.get("_kept", [])
        if kept is None:
            raise freed(self)
        if self._is_read:
            raise RuntimeError(
                f"{self.label()}: saved_tensors can only be accessed once, since clear_saved_tensors_on_access is set; "
                "keep what it returned"
            )
        found = tuple(self._unkept(each) for each in kept)
        if self._function is not None and self._function.clear_saved_tensors_on_access:
            self._kept, self._is_read = [], True
        return found

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The older name of ``saved_tensors``."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        if self.__dict__.get("_kept", []) is None:
            raise freed(self)
        return tuple(SavedTensor(self, place) for place in range(len(self.__dict__.get("_kept", []))))

    def _unkept(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, SavedOutput):
            return unpack_output(self, value)
        if not isinstance(value, tuple) or len(value) != 2:  # packed by hooks
            packed: Any = value
            return packed.restore(self)
        tensor, version = value
        found = tensor._version_counter.value
        if found % DETACHED != version % DETACHED or (found != version and local.grad_enabled):
            check_unchanged(self, tensor, version, found)  # without a history it will do where none is recorded
        return tensor

    def apply(self, grads: list[Any], needed: Any) -> Any:
        """Run the user's backward and check what it returns."""
        grads = list(grads)
        if self._materialize_grads:
            grads = [
                state.zeros(*self._outputs[n])
                if grad is None and self._outputs[n] is not None and n not in self._left_out
                else grad
                for n, grad in enumerate(grads)
            ]
        function = self._function
        if (
            state.intercepting
            and is_seen(function)
            and not local.grad_enabled
            and self.__dict__.get("_kept") is not None
        ):
            returned = operation_of(function).run_backward(self, grads, self.saved_tensors)
        else:
            returned = function._run_backward(self, grads)
        if not isinstance(returned, tuple):
            returned = tuple(returned) if isinstance(returned, list) else (returned,)
        return self._gradients_of_tensors(returned)

    def _gradients_of_tensors(self, returned: tuple[Any, ...]) -> list[Any]:
        """The gradients of the tensor arguments among those of all.

        Raises
        ------
        RuntimeError
            For a wrong number, or a gradient of something that is no tensor.
        """
        expected = len(self._tensor_arguments)
        if len(returned) > expected and all(each is None for each in returned[expected:]):
            returned = returned[:expected]
        if len(returned) != expected:
            raise RuntimeError(
                f"function {self.label()} returned an incorrect number of gradients (expected {expected}, got "
                f"{len(returned)})"
            )
        results: list[Any] = []
        for position, (key, grad) in enumerate(zip(self._tensor_arguments, returned)):
            if key is None:
                if grad is not None:
                    raise RuntimeError(
                        f"function {self.label()} returned a gradient different than None at position "
                        f"{position + 1}, but "
                        "the corresponding forward input was not a Variable"
                    )
                continue
            if grad is not None and not isinstance(grad, TensorBase):
                raise RuntimeError(
                    f"{self.label()}: expected Variable or None (got {type(grad).__name__}) as gradient {position + 1}"
                )
            if grad is not None and grad._key.dtype is not key.dtype and key.is_differentiable:
                edge: Any = self._edges[len(results)] if self._edges else None
                if isinstance(edge, Node) or edge is None or edge._extra is None or edge._extra.grad_dtype is None:
                    grad = grad.to(key.dtype)  # type: ignore[attr-defined]
            results.append(grad)
        return results

    def free(self) -> None:
        self._kept = None


FunctionNode._own = frozenset(FunctionNode.__annotations__)


BackwardCFunction = FunctionNode


class FunctionMeta(type):
    """Makes the class of a Function's nodes, which bears its name."""

    def __init__(cls, name: str, bases: Any, attributes: Any) -> None:
        super().__init__(name, bases, attributes)
        cls._node_class = cls._backward_cls = type(f"{name}Backward", (FunctionNode,), {"_function": cls})


class Function(metaclass=FunctionMeta):
    """An operation with a gradient of the user's own.

    Derive from it, write static methods ``forward(ctx, *args)`` and ``backward(ctx, *grad_outputs)`` (or
    ``forward(*args)`` with ``setup_context(ctx, inputs, output)``), and call ``apply``.

    Examples
    --------
    >>> class Exp(weft.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         y, = ctx.saved_tensors
    ...         return grad * y
    >>> x = weft.zeros(1, requires_grad=True)
    >>> Exp.apply(x).backward()
    >>> x.grad
    tensor([1.])
    """

    _node_class: Any
    _backward_cls: Any
    generate_vmap_rule = False
    clear_saved_tensors_on_access = False  # let go of what was saved when backward reads it, which it may once
    _is_one_op = True  # for interceptors; otherwise they see the ops in it
    _operation: Any = None  # which it is

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self).__name__} should not be instantiated. Methods on autograd functions are all static, so "
            "you should invoke them on the class itself. Instantiating an autograd function will raise an error in a "
            "future version.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: the call was PyTorch's before `apply` was.

        Raises
        ------
        RuntimeError
            Always.
        """
        raise RuntimeError(
            f"{type(self).__name__}: Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method, and call apply of the class"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result. Must be overridden."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep what backward needs, where forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradient of each argument of forward, from those of its outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangent of each output of forward, from those of its arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Forward on a batch: returns the outputs and the dimensions in which they have the examples."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap static method or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def _run_forward(cls, ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The user's forward."""
        if cls.setup_context is Function.setup_context:
            return cls.forward(ctx, *args, **kwargs)
        returned = cls.forward(*args, **kwargs)
        cls.setup_context(ctx, args, returned)
        return returned

    @classmethod
    def _run_backward(cls, ctx: Any, grads: Any) -> Any:
        """The user's backward, by whichever of its names.

        Raises
        ------
        RuntimeError
            If both are there.
        """
        if cls.backward is not Function.backward and cls.vjp is not Function.vjp:
            raise RuntimeError(
                f"{cls.__name__}: Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        return (cls.backward if cls.backward is not Function.backward else cls.vjp)(ctx, *grads)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and record it if an argument requires grad."""
        if cls.setup_context is not Function.setup_context:
            args = with_defaults(cls.forward, args)
        if any(isinstance(each, TensorBase) and each._key.wrapped for each in args):
            args = tuple(settled(each) if isinstance(each, TensorBase) else each for each in args)
            level = innermost([each for each in args if isinstance(each, TensorBase)])
            if level is not None:
                return level.apply_function(cls, args, kwargs)
        node = new_function_node(cls._node_class)
        recorded = local.grad_enabled and any(isinstance(each, TensorBase) and each._requires_grad for each in args)
        node.needs_input_grad = tuple(isinstance(each, TensorBase) and each._requires_grad for each in args)
        node._tensor_arguments = [each._key if isinstance(each, TensorBase) else None for each in args]
        with no_grad():
            if state.intercepting and is_seen(cls):
                returned = operation_of(cls).run_forward(node, args, kwargs)
            else:
                returned = cls._run_forward(node, args, kwargs)
        many = isinstance(returned, (tuple, list))
        outputs = list(returned) if many else [returned]
        made = attach_history(node, list(args), outputs, recorded)
        if recorded:
            node._keep([each for each in made if isinstance(each, TensorBase)])
        else:
            node._to_save = ()
        node._for_forward = ()
        node._dirty_tensors = node._non_differentiable = ()  # outputs: with them the node would hold itself
        return tuple(made) if many else made[0]


def with_defaults(forward: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a forward with the defaults of those that were not given: setup_context gets all of them."""
    function = getattr(forward, "__func__", forward)
    defaults = getattr(function, "__defaults__", None)
    if not defaults:
        return args
    missing = function.__code__.co_argcount - inspect.ismethod(forward) - len(args)
    return args if missing <= 0 else (*args, *defaults[-missing:])


def is_seen(cls: Any) -> bool:
    """Whether interceptors see a call of the function as one op, and not the ops in it."""
    if not cls._is_one_op or not is_watched() or local.levels:
        return False
    return not local.interceptors[-1].sees_inside_functions


def operation_of(cls: Any) -> Any:
    """The ops that a function is for interceptors, by its name."""
    if "_operation" not in vars(cls):
        takes_ctx = cls.setup_context is Function.setup_context
        signature = functools.partial(cls.forward, None) if takes_ctx else cls.forward
        name = f"autograd::{cls.__name__}"
        cls._operation = FunctionOperation(cls, name, f"{name}Backward", signature)
    return cls._operation


def attach_history(node: Any, args: list[Any], outputs: list[Any], recorded: bool) -> list[Any]:
    """The outputs with the node as their history; inputs among them become views or are rewritten."""
    inputs = [each for each in args if isinstance(each, TensorBase)]
    if recorded:
        node._edges = tuple(edge_of(each) for each in inputs)
        extra_of(node).indices = tuple(output_index(each) for each in inputs)
        node._sequence = next_sequence()
    node._dirty_tensors = tuple(each for each in node._dirty_tensors if is_in(each, inputs) or not_an_input(node, each))
    for each in node._dirty_tensors:
        if not any(each is output for output in outputs):
            raise RuntimeError(
                f"{node.label()}: Some elements marked as dirty during the forward method were not returned as "
                "output. The "
                "inputs that are modified inplace must all be outputs of the Function."
            )
    made: list[Any] = []
    described: list[Any] = []
    settled: dict[int, Any] = {}
    for index, output in enumerate(outputs):
        if not isinstance(output, TensorBase):
            made.append(output)
            described.append(None)
            continue
        tensor = settled.get(id(output))
        if tensor is None:
            tensor = settle(node, output, inputs, recorded, len(outputs))
            settled[id(output)] = tensor
        if local.grad_enabled and tensor._view_base is not None and not is_in(output, node._dirty_tensors):
            fresh_extra(tensor).made_by = len(outputs)
        if recorded and tensor._key.is_differentiable and not is_in(output, node._non_differentiable):
            give_history(node, tensor, index, is_in(output, node._dirty_tensors))
        made.append(tensor)
        described.append((tensor._array.shape, tensor._key))
    if recorded:
        node._outputs = described
        if not node._materialize_non_diff_grads:
            node._left_out = tuple(n for n, each in enumerate(outputs) if is_in(each, node._non_differentiable))
        several = len(described) != 1
        shapes = [None if each is None else each[0] for each in described]
        node._shape = shapes if several else shapes[0]
        extra_of(node).outputs = len(shapes) if several else 0
        if state.anomaly:
            attach_trace(tuple(made))
    return made


def not_an_input(node: Any, tensor: Any) -> bool:
    """Warn of a tensor that is marked as dirty though forward has made it; False, since nothing is to be done.

    Raises
    ------
    RuntimeError
        For a view.
    """
    if tensor._view_base is not None:
        raise RuntimeError(
            f"{node.label()}: mark_dirty received a tensor that was not an input. A view of what forward has made is "
            "returned as it is"
        )
    warn_caller(
        f"{node.label()}: Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there "
        "is no need to pass it to mark_dirty()."
    )
    return False


def give_history(node: Any, tensor: Any, index: int, dirty: bool) -> None:
    """Make the node what made an output; a view that forward wrote to passes it on to its base."""
    if not dirty:
        tensor._requires_grad, tensor._node = True, node
        set_output_index(tensor, index)
        return
    result = make(tensor._array, tensor._key)
    result._requires_grad, result._node = True, node
    set_output_index(result, index)
    rebase_history(tensor, result)


def is_in(tensor: Any, tensors: Any) -> bool:
    return any(each is tensor for each in tensors)


def settle(node: Any, output: Any, inputs: list[Any], recorded: bool, count: int) -> Any:
    """An output that may get the node as its history."""
    if is_in(output, node._dirty_tensors):
        if recorded:
            check_writable(node.label(), output, True)
            if output._view_base is not None and count != 1:
                raise RuntimeError(
                    f"{node.label()}: your Function modifies inplace an input that is a view of another Tensor: it "
                    f"must return only one output, and returned {count}. Write to a clone() instead"
                )
        bump(output, node.label())
        return output
    if is_in(output, inputs) or output._requires_grad:
        with no_grad():  # a view that must not be written to where that is recorded: its gradient is the user's
            return output.view_as(output)
    return output


class InplaceFunction(Function):
    """A `Function` that may be told to work in place, by its older name.

    Parameters
    ----------
    inplace : bool
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """A `Function` by the name of one that took nested lists of tensors: it is not offered, and says so.

    Raises
    ------
    RuntimeError
        By ``apply``: flatten the arguments and use `Function`.
    """

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Refuse."""
        raise RuntimeError(f"{cls.__name__}: NestedIOFunction is not offered; flatten the arguments and use Function")


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """For a backward that cannot be differentiated itself: second derivatives raise an error."""

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            results = backward(ctx, *grads)
        if not local.grad_enabled or not any(isinstance(g, TensorBase) and g._requires_grad for g in grads):
            return results
        many = isinstance(results, tuple)
        marked = Error.apply(TWICE, *[unknown(each) for each in (results if many else (results,))])
        return marked if many else marked[0]

    return wrapper


def unknown(value: Any) -> Any:
    """A tensor as one that depends on something, nobody knows how."""
    if not isinstance(value, TensorBase):
        return value
    tensor: Any = value
    return tensor.detach().requires_grad_() if tensor._key.is_differentiable else tensor


class Error(Function):
    """The identity of some tensors, whose gradient is an error with a message of the caller's."""

    _is_one_op = False

    @staticmethod
    def forward(ctx: Any, message: str, *values: Any) -> Any:
        """The tensors themselves."""
        ctx.message = message
        ctx._edge_pattern = [int(isinstance(each, TensorBase)) for each in values]
        return tuple(each.detach() if isinstance(each, TensorBase) else each for each in values)  # type: ignore[attr-defined]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Refuse."""
        raise RuntimeError(ctx.message)


Error._node_class.__name__ = "Error"
TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"
