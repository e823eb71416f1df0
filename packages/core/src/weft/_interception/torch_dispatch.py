"""``__torch_dispatch__``: modes, and tensor subclasses, that see each operator below autograd, by PyTorch's names.

A mode is an interceptor. What it is shown of an op of weft's is in the table of `weft.ops._aten_lowering`: the
overloads of ``weft.ops.aten`` that the op is made of there. While the mode is asked nothing is recorded; the op's own
history is given to what it returns. An overload that a mode calls goes to the next mode, then to the first subclass
among its arguments, and then to the function itself.

Subclasses that define ``__torch_dispatch__`` have keys off the fast path, as those with ``__torch_function__`` have: so
ops come to `Declaration.dispatch`, which asks here. Other functions show themselves to `Subclasses`, an interceptor
that is there while a public function runs that was given such a tensor.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from weft._engine.dispatch import extra_of, link_view, record, record_many
from weft._engine.methods import TensorMethods
from weft._engine.tensor import Extra, TensorBase, intercept, local, set_grad, state
from weft._interception.interceptors import Interceptor, intercepted, is_watched

__all__ = [
    "ModeInterceptor",
    "above_autograd",
    "below_autograd",
    "asked_about",
    "call_overload",
    "classes",
    "dispatching",
    "lower",
    "position",
    "run_subclass",
    "unwatched",
    "without_modes",
    "without_subclasses",
]


class Position(threading.local):
    """Where this thread is: what is called below autograd goes to the next mode, not through autograd again."""

    below = False
    subclasses = True  # whether they are asked


position = Position()
classes: list[type] = []
"""The subclasses of `Tensor` that define ``__torch_dispatch__``; without one, nobody looks for their tensors."""


@contextmanager
def below_autograd() -> Iterator[None]:
    """Nothing is recorded, and overloads are given to whoever is next."""
    before, recorded = position.below, local.grad_enabled
    position.below = True
    set_grad(False)
    try:
        yield
    finally:
        position.below = before
        set_grad(recorded)


@contextmanager
def above_autograd() -> Iterator[None]:
    """As it is outside of all modes: what is called is recorded, where gradients are enabled."""
    before, position.below = position.below, False
    try:
        yield
    finally:
        position.below = before


@contextmanager
def without_subclasses() -> Iterator[None]:
    """Subclasses are not asked."""
    before, position.subclasses = position.subclasses, False
    try:
        yield
    finally:
        position.subclasses = before


@contextmanager
def unwatched() -> Iterator[None]:
    """Nobody sees what runs here: stand-ins of arguments."""
    before = local.interceptors
    local.interceptors = ()
    try:
        yield
    finally:
        local.interceptors = before


@contextmanager
def without_modes() -> Iterator[list[Any]]:
    """No mode and no subclass is asked; gives the modes that would be."""
    before = local.interceptors
    modes = [each.mode for each in before if isinstance(each, ModeInterceptor)]
    local.interceptors = tuple(each for each in before if not isinstance(each, (ModeInterceptor, Subclasses)))
    try:
        yield modes
    finally:
        local.interceptors = before


class ModeInterceptor(Interceptor):
    """Shows ops to a mode of ``__torch_dispatch__``."""

    sees_inside_functions = True

    def __init__(self, mode: Any) -> None:
        self.mode = mode

    def instead(self, op: Any, args: dict[str, Any]) -> Any:
        """What the mode makes of the overloads that stand for the op."""
        stack = local.interceptors
        local.interceptors = (*stack, self)  # which has been taken off while it is asked
        try:
            return lower(op, args)
        finally:
            local.interceptors = stack

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the mode makes of an overload.

        Raises
        ------
        TypeError
            If it is not implemented there, nor by the subclasses among the arguments.
        """
        stack = local.interceptors
        local.interceptors = stack[:-1]
        types = dispatching((*args, *kwargs.values()))
        try:
            rule = func.overloadpacket.torch_dispatch_rules.get(type(self.mode))
            handle = self.mode.__torch_dispatch__ if rule is None else partial(rule, self.mode)
            result = handle(func, tuple(types), args, kwargs)
            if result is NotImplemented and types:
                result = call_subclass(types, func, args, kwargs)
        finally:
            local.interceptors = stack
        if result is NotImplemented:
            raise not_implemented(func, [type(self.mode)])
        return result


class Subclasses(Interceptor):
    """Shows what is no declared op to the subclasses among its arguments; below all modes."""

    def instead(self, op: Any, args: dict[str, Any]) -> Any:
        """What they make of it; nothing is changed where there are none.

        They see what a custom `Function` is made of, and not the function.
        """
        if op.name.startswith("autograd::") or not dispatching(args.values()):
            return NotImplemented
        return lower(op, args)


subclasses = Subclasses()


@contextmanager
def asked_about() -> Iterator[None]:
    """While a public function runs that was given tensors of such subclasses: what is no op is shown to them."""
    stack = local.interceptors
    if subclasses in stack:
        yield
        return
    local.interceptors = (subclasses, *stack)
    intercept(1)
    try:
        yield
    finally:
        local.interceptors = stack
        intercept(-1)


def not_implemented(func: Any, asked: Iterable[Any]) -> TypeError:
    return TypeError(
        f"Multiple dispatch failed for '{func}'; all __torch_dispatch__ handlers returned NotImplemented: "
        f"{', '.join(each.__name__ for each in asked)}"
    )


def dispatching(args: Iterable[Any]) -> list[Any]:
    """The types among arguments (and in lists of them) that define ``__torch_dispatch__``; subclasses first."""
    if not classes or not position.subclasses:
        return []
    found: list[Any] = []
    for arg in args:
        for each in arg if type(arg) in (list, tuple) else (arg,):
            kind = type(each)
            if isinstance(each, TensorBase) and kind._dispatches and kind not in found:  # type: ignore[attr-defined]
                found.append(kind)
    if len(found) > 1:
        found.sort(key=lambda kind: -len(kind.__mro__))
    return found


def call_subclass(types: list[Any], func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the first subclass that wants to makes of an overload.

    Raises
    ------
    TypeError
        If none does.
    """
    with below_autograd():
        for each in types:
            rule = func.overloadpacket.torch_dispatch_rules.get(each)
            handle = each.__torch_dispatch__ if rule is None else partial(rule, each)
            result = handle(func, tuple(types), args, kwargs)
            if result is not NotImplemented:
                return result
    raise not_implemented(func, types)


def call_overload(func: Any, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of an overload: of the next mode, of a subclass, or of the function that computes it."""
    if position.below:
        if state.intercepting and local.interceptors:
            mode = local.interceptors[-1]
            if isinstance(mode, ModeInterceptor):
                return mode.call(func, args, kwargs)
        types = dispatching((*args, *kwargs.values()))
        if types:
            return call_subclass(types, func, args, kwargs)
    result = run(*args, **kwargs)
    return tuple(result) if isinstance(result, tuple) else result  # without names, as in PyTorch


def lower(op: Any, args: dict[str, Any]) -> Any:
    """Run an op as the overloads that stand for it, and give the result the op's own history."""
    lowering = importlib.import_module("weft.ops._aten_lowering")  # when a mode first asks: it is long
    decomposition = lowering.decompositions.get(op.name)
    if decomposition is not None and not position.below:
        return decomposition(**args)
    recorded = local.grad_enabled
    with below_autograd():
        result = lowering.shown_as(op, args)
    arguments = getattr(op, "arguments", None)
    if arguments is None:
        return result
    return with_history(op.op, result, tuple(args[name] for name in arguments), recorded)


def with_history(op: Any, result: Any, args: tuple[Any, ...], recorded: bool) -> Any:
    """A result that was made without the op itself, as a result of the op."""
    mask = 0
    for place in op.positions:
        arg = args[place]
        for each in arg if isinstance(arg, (list, tuple)) else (arg,):
            if isinstance(each, TensorBase) and each._requires_grad:
                mask |= 1 << place
    if isinstance(result, (tuple, list)):
        outputs = [own(each, args) for each in result]
        if mask and recorded:
            record_many(op, outputs, args, mask)
            keep_subclasses(outputs)
        if op.is_view:
            for index, output in enumerate(outputs):
                link(output, args, op, index)
        return tuple(outputs)
    if not isinstance(result, TensorBase):
        return result
    out = own(result, args)
    if mask and recorded:
        record(op, out, args, mask)
        keep_subclasses([out])
    if op.is_view:
        link(out, args, op, -1)
    return out


def own(result: Any, args: tuple[Any, ...]) -> Any:
    """A result that may be given a history: another tensor where it is an argument, or has one."""
    if not isinstance(result, TensorBase) or not (result._requires_grad or any(result is each for each in args)):
        return result
    return bare(result)


def bare(tensor: Any) -> Any:
    """The tensor again, without its history; of its class, with what a subclass keeps in it."""
    made = TensorMethods.__new__(type(tensor))
    made._array, made._key = tensor._array, tensor._key
    made._requires_grad, made._node, made._grad = False, None, None
    made._version_counter, made._extra, made._view_base = tensor._version_counter, None, None
    made.__dict__.update(tensor.__dict__)
    return made


def link(out: Any, args: tuple[Any, ...], op: Any, index: int) -> None:
    """Make a tensor the view that the op says it is, unless it lies in memory of its own."""
    if not isinstance(out, TensorBase) or type(out)._dispatches or type(args[0])._dispatches:  # type: ignore[attr-defined]
        return
    if state.intercepting and out._array is not args[0]._array:
        out._view_base = None
    link_view(out, args, op, index)


class SavedSubclass:
    """A saved output that is of a subclass: it is kept as it is, but for its history."""

    def __init__(self, tensor: Any, index: int) -> None:
        self.tensor = tensor
        self.index = index


def keep_subclasses(outputs: list[Any]) -> None:
    """Have the node of some outputs save those of subclasses themselves, since its own way keeps arrays alone."""
    node = next((each._node for each in outputs if each._node is not None), None)
    if node is None or not node.plan.saves_output or not any(type(each)._dispatches for each in outputs):
        return
    last = node.saved[-1]
    kept = last if isinstance(last, list) else [last]
    saved = [SavedSubclass(bare(outputs[each.index]), each.index) for each in kept]
    node.saved = (*node.saved[:-1], saved if isinstance(last, list) else saved[0])
    extra_of(node).unpack = unpack_subclasses


def unpack_subclasses(node: Any, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """The saved values of a node, with outputs that have their history again."""
    last = saved[-1]
    if isinstance(last, list):
        return (*saved[:-1], [restored(node, each) for each in last])
    return (*saved[:-1], restored(node, last))


def restored(node: Any, saved: SavedSubclass) -> Any:
    """A saved output with its history."""
    made = bare(saved.tensor)
    if made._key.is_differentiable:
        made._requires_grad, made._node = True, node
        if saved.index:
            made._extra = Extra()
            made._extra.output_index = saved.index
    return made


def run_subclass(declaration: Any, args: tuple[Any, ...]) -> Any:
    """An op with tensors of such subclasses among its arguments."""
    named = declaration.named(args)
    if is_watched():
        return intercepted(declaration, named, lambda: lower(declaration, named))
    return lower(declaration, named)
