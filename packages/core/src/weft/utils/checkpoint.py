"""checkpoint: compute again in backward instead of keeping what forward computed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from weft._engine.tensor import TensorBase, intercept, local
from weft._precision import Precision
from weft.autograd import backward
from weft.autograd.function import Function
from weft.autograd.grad_mode import enable_grad
from weft.autograd.graph import saved_tensors_hooks
from weft.random import fork_rng, get_rng_state, set_rng_state

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential"]


class CheckpointError(RuntimeError):
    """The second computation differs from the first."""


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    determinism_check: str = "default",
    **kwargs: Any,
) -> Any:
    """Call a function without keeping its intermediate results; backward computes them again.

    Parameters
    ----------
    function : callable
        Must do the same the second time.
    use_reentrant : bool
        True runs a backward pass inside the backward pass (and takes no keyword arguments); False, the better
        choice and the default, makes up the saved tensors when the first of them is asked for.
    preserve_rng_state : bool
        Draw the same random numbers again.

    Examples
    --------
    >>> x = weft.ones(2, requires_grad=True)
    >>> weft.utils.checkpoint.checkpoint(weft.exp, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([2.7183, 2.7183])
    """
    if use_reentrant:
        if kwargs:
            raise ValueError("checkpoint: Unexpected keyword arguments: " + ",".join(kwargs))
        return Reentrant.apply(function, preserve_rng_state, *args)
    recompute = Recomputation(function, args, kwargs, preserve_rng_state)
    with saved_tensors_hooks(recompute.pack, recompute.unpack):
        return function(*args, **kwargs)


@contextmanager
def same_precision(precision: Any) -> Iterator[None]:
    """Compute under the `autocast` that was active in the forward pass, in place of the one that is now."""
    before = local.precision
    if precision is before:
        yield
        return
    # What it cast then belongs to another graph: nothing is taken from its cache.
    local.precision = None if precision is None else Precision(precision.dtypes, None)
    intercept(1)
    try:
        yield
    finally:
        local.precision = before
        intercept(-1)


class Recomputation:
    """Counts what is saved the first time, and finds it in the second."""

    def __init__(self, function: Any, args: Any, kwargs: Any, preserve_rng_state: bool) -> None:
        self.call = (function, args, kwargs)
        self.rng_state = get_rng_state() if preserve_rng_state else None
        self.precision = local.precision
        self.shapes: list[Any] = []
        self.again: dict[int, Any] = {}

    def pack(self, tensor: Any) -> int:
        """Keep a number, and the shape to check the second computation by."""
        self.shapes.append((tuple(tensor.shape), tensor.dtype))
        return len(self.shapes) - 1

    def unpack(self, number: int) -> Any:
        """The tensor that the second computation saved in the same place; asked for again, it is computed again."""
        if number not in self.again:
            self.again = dict(enumerate(self.recompute()))
        return self.again.pop(number)

    def recompute(self) -> list[Any]:
        function, args, kwargs = self.call
        kept: list[Any] = []

        def keep(tensor: Any) -> Any:
            kept.append(tensor.detach())
            return tensor

        with (
            fork_rng(enabled=self.rng_state is not None),
            enable_grad(),
            same_precision(self.precision),
            saved_tensors_hooks(keep, lambda tensor: tensor),
        ):
            if self.rng_state is not None:
                set_rng_state(self.rng_state)
            function(*args, **kwargs)
        found = [(tuple(each.shape), each.dtype) for each in kept]
        if found != self.shapes:
            raise CheckpointError(
                "checkpoint: A different number of tensors was saved during the original forward and recomputation, or "
                f"their shapes differ. Saved during forward: {len(self.shapes)}; during recomputation: {len(found)}. "
                "The "
                "function must do the same when it is called again"
            )
        return kept


class Reentrant(Function):
    """The function of ``use_reentrant=True``."""

    @staticmethod
    def forward(ctx: Any, function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        """Compute without recording."""
        if not any(isinstance(each, TensorBase) and each._requires_grad for each in args):
            warnings.warn(
                "None of the inputs have requires_grad=True. Gradients will be None", UserWarning, stacklevel=3
            )
        ctx.function = function
        ctx.rng_state = get_rng_state() if preserve_rng_state else None
        ctx.precision = local.precision
        ctx.places = [n for n, each in enumerate(args) if isinstance(each, TensorBase)]
        ctx.others = [None if isinstance(each, TensorBase) else each for each in args]
        ctx.save_for_backward(*[args[n] for n in ctx.places])
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Compute again, recorded, and differentiate that.

        Raises
        ------
        RuntimeError
            In a pass for some inputs only: the one inside accumulates into all leaves.
        """
        if local.walk.captures is not None:
            raise RuntimeError(
                "checkpoint: with use_reentrant=True it is incompatible with autograd.grad() and backward(inputs=...); "
                "call backward() without inputs, or pass use_reentrant=False"
            )
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(tensor._requires_grad)
        with fork_rng(enabled=ctx.rng_state is not None), enable_grad(), same_precision(ctx.precision):
            if ctx.rng_state is not None:
                set_rng_state(ctx.rng_state)
            outputs = ctx.function(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(out, grad) for out, grad in zip(outputs, grads) if isinstance(out, TensorBase) and out._requires_grad]
        if not pairs:
            raise RuntimeError("checkpoint: none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([out for out, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *[each._grad if isinstance(each, TensorBase) else None for each in args])


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Call functions one after the other, in checkpointed segments; the last segment is kept as it is.

    Parameters
    ----------
    functions : Sequential module or list of callables
    segments : int
        How many parts of about equal length.
    """
    chain = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(chain) // segments

    def run(start: int, stop: int) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for each in chain[start:stop]:
                value = each(value)
            return value

        return forward

    start = 0
    for _ in range(segments - 1):
        input = checkpoint(run(start, start + size), input, use_reentrant=use_reentrant, **kwargs)
        start += size
    return run(start, len(chain))(input)
