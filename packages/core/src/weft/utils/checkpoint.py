"""checkpoint: compute again in backward instead of keeping what forward computed."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from enum import Enum
from typing import Any

from weft._engine.tensor import TensorBase, intercept, local
from weft._interception.autocast import Precision
from weft._tensor.base import Tensor
from weft.autograd import backward
from weft.autograd.function import Function
from weft.autograd.grad_mode import enable_grad
from weft.autograd.graph import saved_tensors_hooks
from weft.random import default_states, fork_rng, restore_states
from weft.utils._pytree import tree_leaves

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]


class CheckpointError(RuntimeError):
    """The second computation differs from the first."""


class StopRecomputation(Exception):
    """All that was saved the first time has been computed again."""


class Switches:
    """What the context managers below set, for all checkpoints in their block; None leaves it to each."""

    early_stop: bool | None = None
    debug: bool | None = None


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """In this block, let the second computation end, or not, as soon as all that backward needs is there.

    By default it does. Set it to False where the end of a function must run again too.
    """
    before = Switches.early_stop
    Switches.early_stop = enable
    try:
        yield
    finally:
        Switches.early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """In this block, let the error of a second computation that differs tell which tensors each of the two saved."""
    before = Switches.debug
    Switches.debug = enabled
    try:
        yield
    finally:
        Switches.debug = before


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """The default of `checkpoint`'s ``context_fn``: two contexts that do nothing."""
    return nullcontext(), nullcontext()


class CheckpointPolicy(Enum):
    """What a policy says of an op's outputs: keep them for backward, or compute them again."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


class SelectiveCheckpointContext:
    """What a policy is told: whether the op runs in the second computation."""

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """A `checkpoint`'s two contexts, for a choice of operators whose results are kept instead of computed again.

    Parameters
    ----------
    policy_fn_or_list : callable or list of OpOverload
        ``policy(ctx, op, *args, **kwargs)`` returns a `CheckpointPolicy`; of a list's operators the results are kept.
        Operators have PyTorch's names, as modes of ``__torch_dispatch__`` see them.
    allow_cache_entry_mutation : bool
        Results that are kept may be written to.

    Raises
    ------
    TypeError
        If it is neither.
    ValueError
        If the list has something else than overloads.

    Examples
    --------
    >>> import functools
    >>> from weft.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> keep_products = functools.partial(create_selective_checkpoint_contexts, [weft.ops.aten.mm.default])
    >>> x = weft.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda x: (x @ x).exp().sum(), x, use_reentrant=False, context_fn=keep_products).backward()
    """
    contexts = importlib.import_module("weft.utils._selective_checkpoint").contexts

    return contexts(policy_fn_or_list, allow_cache_entry_mutation)


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
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
    context_fn : callable
        Returns two context managers: for the first computation, and for the second.
    determinism_check : str
        ``"default"`` compares the shapes and dtypes of what the two save, ``"none"`` does not.
    debug : bool
        Let the error of a difference tell all of them.
    early_stop : bool
        End the second computation with the last tensor that backward needs; see `set_checkpoint_early_stop`.
    preserve_rng_state : bool
        Draw the same random numbers again.

    Raises
    ------
    CheckpointError
        In backward, if the second computation saves other tensors than the first.

    Examples
    --------
    >>> x = weft.ones(2, requires_grad=True)
    >>> weft.utils.checkpoint.checkpoint(weft.exp, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([2.7183, 2.7183])
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"checkpoint: determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    if use_reentrant is None:
        warn_of_default("checkpoint")
    if use_reentrant:
        if context_fn is not noop_context_fn or debug:
            raise ValueError("checkpoint: Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        if kwargs:
            raise ValueError("checkpoint: Unexpected keyword arguments: " + ",".join(kwargs))
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    first, second = context_fn()
    if not local.grad_enabled:
        return function(*args, **kwargs)
    recompute = Recomputation(function, args, kwargs, preserve_rng_state, second)
    recompute.checks = determinism_check == "default"
    recompute.debug = debug if Switches.debug is None else Switches.debug
    recompute.early_stop = early_stop if Switches.early_stop is None else Switches.early_stop
    with saved_tensors_hooks(recompute.pack, recompute.unpack), first:
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


ASKED_TWICE = (
    "checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
    "ctx.saved_tensors in backward, make sure to do so only once."
)
OVERLAPPING = (
    "checkpoint: Performing two backward calls that overlap (i.e. require the same saved tensors) inside of a "
    "GraphExecGroup: leave the block before the second of them"
)


class GraphExecGroup:
    """In this block several backward passes, over parts of one graph that do not overlap, compute it again once.

    Examples
    --------
    >>> from weft.utils.checkpoint import GraphExecGroup, checkpoint
    >>> x = weft.ones(2, requires_grad=True)
    >>> y, z = checkpoint(lambda x: (x.sin(), x.sin().exp()), x, use_reentrant=False)
    >>> with GraphExecGroup():
    ...     _ = weft.autograd.grad(y.sum(), x), weft.autograd.grad(z.sum(), x)
    """

    active: GraphExecGroup | None = None

    def __enter__(self) -> GraphExecGroup:
        if GraphExecGroup.active is not None:
            raise RuntimeError("GraphExecGroup contexts cannot be nested.")
        GraphExecGroup.active = self
        return self

    def __exit__(self, *raised: object) -> None:
        GraphExecGroup.active = None


class Recomputation:
    """Counts what is saved the first time, and finds it in the second."""

    checks = True
    debug = False
    early_stop = True

    def __init__(self, function: Any, args: Any, kwargs: Any, preserve_rng_state: bool, context: Any) -> None:
        self.call = (function, args, kwargs)
        self.rng_states = random_states(args) if preserve_rng_state else {}
        self.context = context
        self.precision = local.precision
        self.shapes: list[Any] = []
        self.again: dict[Any, dict[int, Any]] = {}  # by pass, or group of passes, what it has yet to ask for

    def pack(self, tensor: Any) -> int:
        """Keep a number, and the shape to check the second computation by."""
        self.shapes.append(facts(tensor))
        return len(self.shapes) - 1

    def unpack(self, number: int) -> Any:
        """The tensor that the second computation saved in the same place; each pass computes again, and asks once.

        Raises
        ------
        CheckpointError
            If a pass, or the passes of a `GraphExecGroup`, ask for it twice.
        """
        group = GraphExecGroup.active
        if group is None and local.backward_pass is None:  # somebody looks at a node
            return self.recompute()[number]
        asking = local.backward_pass.number if group is None else group
        if asking not in self.again:
            self.again[asking] = dict(enumerate(self.recompute()))
        found = self.again[asking].pop(number, None)
        if found is None:
            raise CheckpointError(ASKED_TWICE if group is None else OVERLAPPING)
        return found

    def recompute(self) -> list[Any]:
        function, args, kwargs = self.call
        kept: list[Any] = []

        def keep(tensor: Any) -> Any:
            kept.append(tensor.detach() if tensor.requires_grad else tensor)
            if self.early_stop and len(kept) == len(self.shapes):
                raise StopRecomputation
            return tensor

        with (
            same_random_numbers(self.rng_states),
            enable_grad(),
            same_precision(self.precision),
            saved_tensors_hooks(keep, lambda tensor: tensor),
            self.context,
            suppress(StopRecomputation),
        ):
            function(*args, **kwargs)
        self.compare([facts(each) for each in kept])
        return kept

    def compare(self, found: list[Any]) -> None:
        """Raise if the second computation saved other tensors than the first."""
        if len(found) == len(self.shapes) and (found == self.shapes or not self.checks):
            return
        if len(found) > len(self.shapes):
            message = (
                "checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n"
                f"Number of tensors saved during forward: {len(self.shapes)}\n"
                f"Number of tensors saved during recomputation: {len(found)}."
            )
        elif len(found) != len(self.shapes):
            message = (
                "checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.shapes)}\n"
                f"Number of tensors saved during recomputation: {len(found)}."
            )
        else:
            message = (
                "checkpoint: Recomputed values for the following tensors have different metadata than during the "
                "forward pass."
            )
            for place, (before, after) in enumerate(zip(self.shapes, found)):
                if before != after:
                    message += f"\ntensor at position {place}:\nsaved metadata: {before}\nrecomputed metadata: {after}"
        if self.debug:
            message += (
                "\nYou are seeing this error because you passed `debug=True` to checkpoint.\n"
                f"Saved during forward: {self.shapes}\nSaved during recomputation: {found}"
            )
        raise CheckpointError(f"{message}\nThe function must do the same when it is called again")


def warn_of_default(name: str) -> None:
    """Warn that PyTorch's default is another one, and to be changed."""
    warnings.warn(
        f"{name}: the use_reentrant parameter should be passed explicitly. Here it is use_reentrant=False, which is "
        "recommended; PyTorch still takes True",
        UserWarning,
        stacklevel=3,
    )


def random_states(args: Any) -> dict[Any, Any]:
    """The states of all default generators that a function may draw from: those in use, and its arguments' devices'."""
    return default_states(each.device for each in args if isinstance(each, Tensor) and each.device.type != "cpu")


@contextmanager
def same_random_numbers(states: dict[Any, Any]) -> Iterator[None]:
    """In this block the default generators draw as they did from these states on; then they go on as before."""
    with fork_rng([where for where in states if where.type != "cpu"], enabled=bool(states)):
        restore_states(states)
        yield


def facts(tensor: Any) -> dict[str, Any]:
    """What two computations are compared by."""
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


class CheckpointFunction(Function):
    """The function of ``use_reentrant=True``."""

    _is_one_op = False

    @staticmethod
    def forward(ctx: Any, function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        """Compute without recording."""
        check_backward_validity(args)
        ctx.function = function
        ctx.rng_states = random_states(args) if preserve_rng_state else {}
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
        if local.backward_pass.captures is not None:
            raise RuntimeError(
                "checkpoint: with use_reentrant=True torch.utils.checkpoint is incompatible with autograd.grad() and "
                "backward(inputs=...); call backward() without inputs, or pass use_reentrant=False"
            )
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(tensor._requires_grad)
        with same_random_numbers(ctx.rng_states), enable_grad(), same_precision(ctx.precision):
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
    input : Tensor
    use_reentrant : bool
    preserve_rng_state : bool
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("checkpoint_sequential: Unexpected keyword arguments: " + ",".join(kwargs))
    chain = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(chain) // segments

    if use_reentrant is None:
        warn_of_default("checkpoint_sequential")
        use_reentrant = False

    def run(start: int, stop: int) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for each in chain[start:stop]:
                value = each(value)
            return value

        return forward

    start = 0
    for _ in range(segments - 1):
        input = checkpoint(run(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        start += size
    return run(start, len(chain))(input)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if none of the inputs requires grad: with ``use_reentrant=True`` there are no gradients then."""
    if not any(isinstance(each, TensorBase) and each._requires_grad for each in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", UserWarning, stacklevel=2)


def detach_variable(inputs: Any) -> tuple[Any, ...]:
    """The inputs without their histories; each tensor requires grad as before."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"detach_variable: Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}"
        )
    return tuple(
        each.detach().requires_grad_(each.requires_grad) if isinstance(each, Tensor) else each for each in inputs
    )


class DefaultDeviceType:
    """The accelerator of checkpoints whose arguments are all on the CPU: whose random state is kept besides."""

    _default = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Choose it."""
        DefaultDeviceType._default = device

    @staticmethod
    def get_device_type() -> str:
        """Return it."""
        return DefaultDeviceType._default


def _infer_device_type(*args: Any) -> str:
    """The type of the first device beside the CPU that tensors among the arguments are on; the default one if none.

    Containers are looked into. Of several types the first is used, with a warning.
    """
    tensors = [each for each in tree_leaves(args) if isinstance(each, Tensor)]
    kinds = list(dict.fromkeys(each.device.type for each in tensors if each.device.type != "cpu"))
    if len(kinds) > 1:
        warnings.warn(
            "checkpoint: Tensor arguments, excluding CPU tensors, are detected on at least two types of devices. "
            "Device state will only be saved for devices of a single device type, and the remaining devices will be "
            f"ignored. Device types: {sorted(kinds)} first device type: {kinds[0]}",
            UserWarning,
            stacklevel=2,
        )
    if not kinds:
        return DefaultDeviceType.get_device_type()
    return "cuda" if "cuda" in kinds else kinds[0]


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The numbers of the devices, beside the CPU, that tensors among the arguments are on, and their random states."""
    devices = {each.device for each in args if isinstance(each, Tensor) and each.device.type not in ("cpu", "meta")}
    ordered = sorted(devices, key=lambda device: device.index or 0)
    return [device.index or 0 for device in ordered], [_generators(device).get_rng_state(device) for device in ordered]


def set_device_states(devices: list[int], states: list[Any], *, device_type: str | None = None) -> None:
    """Put back what `get_device_states` has returned."""
    kind = device_type or DefaultDeviceType.get_device_type()
    for index, state in zip(devices, states):
        _generators(kind).set_rng_state(state, f"{kind}:{index}")


def _generators(device: Any) -> Any:
    """The module that has the random states of a kind of device: ``weft.cuda``."""
    return importlib.import_module(f"weft.{getattr(device, 'type', device)}")
