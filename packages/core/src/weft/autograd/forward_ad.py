"""Forward mode: directional derivatives that are computed along with the values.

Examples
--------
>>> import weft.autograd.forward_ad as forward_ad
>>> with forward_ad.dual_level():
...     x = forward_ad.make_dual(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 0.0]))
...     forward_ad.unpack_dual(x * x)
UnpackedDualTensor(primal=tensor([1., 4.]), tangent=tensor([2., 0.]))
"""

from __future__ import annotations

from typing import Any, NamedTuple

from weft._engine.dispatch import apply_view_fn, edge_of, extra_of
from weft._engine.tensor import Node, TensorBase, local, next_sequence, state
from weft._interception.transforms import Level, Wrapped, keep_call, lowered, record_of, settled, twin, wrap
from weft.autograd._function_levels import push_call
from weft.autograd._pushforward import push_forward
from weft.autograd.hooks import output_index

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A value, and its directional derivative (None: it is no dual tensor)."""

    primal: Any
    tangent: Any


class DualLevel(Level):
    """Forward mode: each tensor of this level has a tangent."""

    def dual(self, primal: Any, tangent: Any) -> Any:
        """A tensor of this level."""
        return wrap(Wrapped(self, primal, tangent=tangent))

    def tangent(self, tensor: Any) -> Any:
        """The tangent of a tensor of this level; None for others."""
        return record_of(tensor).tangent if isinstance(tensor, TensorBase) and self.holds(tensor) else None

    def apply_function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return push_call(self, function, args, kwargs)

    def run(self, declaration: Any, args: tuple[Any, ...]) -> Any:
        """Run the op on the values, and its derivative on the tangents."""
        op = declaration.op
        values = lowered(self, declaration, args)
        result = op(*values)
        tangents: dict[int, Any] = {}
        for position in op.positions:
            arg = args[position]
            if position == op.sequence_position and arg is not None:
                group = [self.tangent(each) for each in arg]
                if any(each is not None for each in group):
                    tangents[position] = group
            elif self.tangent(arg) is not None:
                tangents[position] = self.tangent(arg)
        outputs = result if isinstance(result, tuple) else (result,)
        derivatives = push_forward(declaration, values, tangents, outputs)
        if all(each is None for each in derivatives):
            return result
        made = [
            self.dual(out, out.new_zeros(out.shape) if tangent is None else tangent)
            if out._key.is_differentiable
            else out
            for out, tangent in zip(outputs, derivatives)
        ]
        # A history of dual tensors, beside that of their values: the gradients that backward finds have tangents.
        keep_call(op, made, args, isinstance(result, tuple))
        return tuple(made) if isinstance(result, tuple) else made[0]

    def recorded_dual(self, value: Any, tangent: Any) -> Any:
        """A dual tensor with the history of its value."""
        made = self.dual(value, tangent)
        self.record_source(made, value)
        return made

    def record_source(self, made: Any, value: Any) -> None:
        """Let backward go on from a dual tensor to a value that requires grad."""
        if value._requires_grad and local.grad_enabled:
            made._node, made._requires_grad = DualSource(self, value), True

    def adopt(self, tensor: Any, source: Any) -> Wrapped:
        tangent = self.tangent(source)
        like = tensor if tangent is None else tangent  # which another level may hold, as the batches of a Jacobian
        return Wrapped(self, twin(tensor), tangent=like.new_zeros(tensor.shape))

    def apply_view_fn(self, base: Wrapped, view_fn: Any) -> Wrapped:
        return Wrapped(self, apply_view_fn(view_fn, base.value), tangent=apply_view_fn(view_fn, base.tangent))

    def write(self, target: Wrapped, source: Any) -> None:
        target.value.copy_(self.below(source))
        tangent = self.tangent(source)
        assert target.tangent is not None
        if tangent is None:
            target.tangent.zero_()
        else:
            target.tangent.copy_(tangent)


class dual_level:
    """Context manager: inside of it tensors may have tangents; on leaving they are gone."""

    def __enter__(self) -> int:
        self.level = DualLevel()
        self.level.__enter__()
        return depth_of(self.level)

    def __exit__(self, *exc: object) -> None:
        self.level.__exit__(*exc)


def enter_dual_level() -> int:
    """Begin a level of forward mode, as `dual_level` does."""
    level = DualLevel()
    level.__enter__()
    return depth_of(level)


def depth_of(level: DualLevel) -> int:
    """How many levels of forward mode a level is inside of: its number for programs."""
    return [each for each in local.levels if isinstance(each, DualLevel)].index(level)


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level that `enter_dual_level` began."""
    found = current_level("exit_dual_level", level)
    found.__exit__(None, None, None)


def current_level(name: str, number: int | None = None) -> DualLevel:
    """The innermost level of forward mode, or that of a number.

    Raises
    ------
    RuntimeError
        If there is none.
    """
    levels = [level for level in local.levels if isinstance(level, DualLevel)]
    wanted = len(levels) - 1 if number in (None, -1) else number
    if wanted is not None and 0 <= wanted < len(levels):
        return levels[wanted]
    raise RuntimeError(
        f"{name}: Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() "
        "first, or use `with forward_ad.dual_level():`"
    )


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A tensor with a tangent: what is computed from it has a directional derivative.

    Parameters
    ----------
    tensor, tangent : Tensor, of the same shape, dtype and device
        Floating or complex.

    Raises
    ------
    RuntimeError
        Outside of a level; if the shapes or dtypes differ, or the tensor has a tangent at this level already.
    ValueError
        For a dtype that has no derivatives.
    TypeError
        If either is no tensor.
    """
    found = current_level("make_dual", level)
    for name, each in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(each, TensorBase):
            raise TypeError(f"make_dual: argument '{name}' must be Tensor, not {type(each).__name__}")
        if not each._key.is_differentiable:
            word = "primal" if name == "tensor" else name
            raise ValueError(f"make_dual: Expected {word} to be floating point or complex, but got: {each._key.dtype}")
    if tensor._array.shape != tangent._array.shape:
        raise RuntimeError(
            "make_dual: Trying to set a forward gradient that has a different size than that of the original Tensor, "
            f"this is not supported. Tensor is of size {list(tensor._array.shape)} while the given forward gradient is "
            f"of size {list(tangent._array.shape)}."
        )
    if tensor._key.dtype is not tangent._key.dtype or tensor._key.device is not tangent._key.device:
        raise RuntimeError(
            f"make_dual: the tangent is {tangent._key.dtype} on {tangent._key.device}, but the tensor "
            f"{tensor._key.dtype} on {tensor._key.device}; they must be equal"
        )
    if found.holds(tensor):
        raise RuntimeError(
            "make_dual: Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
            f"{depth_of(found)} is not supported; unpack_dual(...) it first"
        )
    if not same_layout(tensor, tangent):
        tangent = state.clone(tangent)  # what is written to the dual tensor is written to its tangent
    made = found.dual(tensor.view_as(tensor), tangent)  # type: ignore[attr-defined]
    found.record_source(made, tensor)
    return made


def same_layout(tensor: Any, tangent: Any) -> bool:
    """Whether a tangent lies in memory as the tensor does, and nothing else lies in that memory."""
    if tensor._key.wrapped or tangent._key.wrapped:
        return True
    one, other = tensor._array, tangent._array
    base = getattr(other, "base", None)
    alone = base is None or getattr(base, "nbytes", None) == other.nbytes
    return one.strides == other.strides and tangent._view_base is None and alone


class DualSource(Node):
    """From the history of dual tensors into that of their values."""

    def __init__(self, level: DualLevel, tensor: Any) -> None:
        self._level = level
        self._edges = (edge_of(tensor),)
        self._shape = tensor._array.shape
        self._sequence = next_sequence()
        self._extra = None
        if output_index(tensor):
            extra_of(self).indices = (output_index(tensor),)  # type: ignore[arg-type]

    def label(self) -> str:
        return "MakeDualBackward0"

    def apply(self, grads: list[Any], needed: Any) -> Any:
        """The gradient of the value."""
        return [None if each is None else self._level.below(each) for each in grads]


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a tensor; the tangent is None if it has none.

    Raises
    ------
    TypeError
        If it is no tensor.
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"unpack_dual: argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    tensor = settled(tensor)
    levels = [each for each in local.levels if isinstance(each, DualLevel)]
    wanted = len(levels) - 1 if level in (None, -1) else level
    if wanted is None or not 0 <= wanted < len(levels) or not levels[wanted].holds(tensor):
        return UnpackedDualTensor(tensor, None)
    found = record_of(tensor)
    return UnpackedDualTensor(found.value, found.tangent)


def __getattr__(name: str) -> Any:
    if name != "_current_level":
        raise AttributeError(f"module 'weft.autograd.forward_ad' has no attribute {name!r}")
    return sum(isinstance(level, DualLevel) for level in local.levels) - 1  # -1: outside of all levels
