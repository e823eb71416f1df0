"""TensorBase: the fields of a tensor and its history, without any behaviour.

The public ``weft.Tensor`` is an ordinary Python subclass, so that attributes, weak references and
subclassing work also where this module is compiled. What few tensors or nodes have is in a record of
its own, so that making one writes few fields.
"""

from __future__ import annotations

import _thread
import contextvars
from typing import Any, Final, Optional

import numpy

from weft._engine.dispatch_keys import DispatchKey

try:
    from mypy_extensions import mypyc_attr
except ImportError:  # it says something to mypyc alone, and comes with it

    def mypyc_attr(**options: Any) -> Any:  # type: ignore[misc]
        return lambda decorated: decorated


class Version:
    """Counts the in-place writes to memory; a tensor and its views share one.

    Attributes
    ----------
    value : int
    writer : str
        The operation that wrote last, for the error that says so.
    inference : bool
        The memory was made in inference mode: it is never recorded.
    views : list or None
        Weak references to views of tensors that do not require grad: a recorded write may change that. Never empty.
    views_limit : int
        How many of them there may be before the dead ones are dropped.
    """

    def __init__(self, value: int) -> None:
        self.value = value
        self.writer = ""
        self.inference = False
        self.views: Optional[list[Any]] = None
        self.views_limit = 8


DETACHED: Final = 1 << 32  # what a version grows by when its tensor loses its history; fewer writes are counted


@mypyc_attr(allow_interpreted_subclasses=True)
class Node:
    """One recorded operation: how gradients of its outputs become gradients of its inputs.

    The names begin with an underscore since a custom function's context is its node, where users put
    names of their own (``ctx.shape``).

    Attributes
    ----------
    _edges : tuple
        For each tensor input: the node that made it, the tensor itself if it is a leaf that requires
        grad, or None. A node never holds an input that it does not save.
    _shape : tuple of int, or list of them for several outputs
        What a gradient that arrives must have; the walk sums over broadcast dimensions to get there.
    _sequence : int
        Larger for a younger node; backward visits the largest first.
    _extra : NodeExtra or None
        What few nodes have.
    """

    __slots__ = ("_edges", "_extra", "_sequence", "_shape")

    _edges: tuple[Any, ...]
    _extra: Optional[NodeExtra]
    _sequence: int
    _shape: Any

    def label(self) -> str:
        """The name that users read, ``MulBackward0``."""
        return type(self).__name__

    def edges(self) -> tuple[Any, ...]:
        """Where the gradients go: see ``_edges``, which few kinds of nodes do without."""
        return self._edges

    def apply(self, grads: list[Any], needed: Any) -> Any:
        """Gradients of the inputs, one for each edge."""
        raise NotImplementedError(f"{self.label()}: no gradient is defined")

    def free(self) -> None:
        """Let go of what was saved."""


class NodeExtra:
    """What few nodes have.

    Attributes
    ----------
    indices : tuple of int or None
        Which output of its node each edge leads to; None when all lead to the first.
    outputs : int
        How many outputs the operation returned as a tuple; 0 if it returned a tensor.
    unpack : callable or None
        Gives back what saved-tensor hooks packed.
    watch : object or None
        Hooks on the node or its outputs, and where it was recorded (anomaly mode).
    keys : dict or None
        The dispatch keys of outputs by their index, where a user looked at the node.
    """

    def __init__(self) -> None:
        self.indices: Optional[tuple[int, ...]] = None
        self.outputs = 0
        self.unpack: Any = None
        self.watch: Any = None
        self.keys: Any = None


class Operators:
    """The functions behind the operators that programs use most; set when the ops are declared."""

    def __init__(self) -> None:
        self.add: Any = None
        self.radd: Any = None
        self.sub: Any = None
        self.rsub: Any = None
        self.mul: Any = None
        self.rmul: Any = None
        self.truediv: Any = None
        self.rtruediv: Any = None
        self.matmul: Any = None
        self.eq: Any = None
        self.ne: Any = None
        self.lt: Any = None
        self.le: Any = None
        self.gt: Any = None
        self.ge: Any = None


operators: Final = Operators()


@mypyc_attr(allow_interpreted_subclasses=True)
class TensorBase:
    """The fields of a tensor.

    Attributes
    ----------
    _array : the backend's array; views share its memory.
    _key : DispatchKey
    _requires_grad : bool
    _node : Node or None
        What made it; None for a leaf.
    _grad : TensorBase or None
    _version_counter : Version or None
        None until the first view or in-place write. A tensor that has none is the first output of
        its node, is no view and was never written to: the fast path asks only this.
    _extra : Extra or None
        What few tensors have: hooks, the number of the output.
    _view_base : TensorBase or None
        For a view, the tensor that is no view itself. Only then there are:
    _view_fn : tuple
        How it comes from its base; see `dispatch.replay`.
    _view_version : int
        The version that its history is of.
    """

    __slots__ = (
        "_array",
        "_extra",
        "_grad",
        "_node",
        "_requires_grad",
        "_version_counter",
        "_view_base",
        "_view_fn",
        "_view_version",
        "_key",
    )

    _array: Any
    _key: DispatchKey
    _requires_grad: bool
    _node: Optional[Node]
    _grad: Optional[TensorBase]
    _version_counter: Optional[Version]
    _extra: Optional[Extra]
    _view_base: Optional[TensorBase]
    _view_fn: tuple[Any, ...]
    _view_version: int

    def __new__(cls) -> TensorBase:
        """Make one of a subclass, whose own ``__new__`` takes data. Compiled, it is called as a function in C is."""
        return super().__new__(cls)

    # Compiled, these are slots of the type, which Python calls without looking a method up. Interpreted, they would
    # cost a frame, and `install` puts the functions themselves on the public class instead.

    def __add__(self, other: object) -> Any:
        return operators.add(self, other)

    def __radd__(self, other: object) -> Any:
        return operators.radd(self, other)

    def __sub__(self, other: object) -> Any:
        return operators.sub(self, other)

    def __rsub__(self, other: object) -> Any:
        return operators.rsub(self, other)

    def __mul__(self, other: object) -> Any:
        return operators.mul(self, other)

    def __rmul__(self, other: object) -> Any:
        return operators.rmul(self, other)

    def __truediv__(self, other: object) -> Any:
        return operators.truediv(self, other)

    def __rtruediv__(self, other: object) -> Any:
        return operators.rtruediv(self, other)

    def __matmul__(self, other: object) -> Any:
        return operators.matmul(self, other)

    def __eq__(self, other: object) -> Any:
        return operators.eq(self, other)

    def __ne__(self, other: object) -> Any:
        return operators.ne(self, other)

    def __lt__(self, other: object) -> Any:
        return operators.lt(self, other)

    def __le__(self, other: object) -> Any:
        return operators.le(self, other)

    def __gt__(self, other: object) -> Any:
        return operators.gt(self, other)

    def __ge__(self, other: object) -> Any:
        return operators.ge(self, other)


def blank(tensor_class: Any) -> TensorBase:
    """A tensor whose fields are still to be set."""
    return TensorBase.__new__(tensor_class)


class Extra:
    """What few tensors have: hooks, which output of their node they are."""

    def __init__(self) -> None:
        self.hooks: Any = None
        self.output_index = 0
        self.wrapped: Any = None  # what a function transform knows of the tensor (_levels.py)
        self.is_detached = False  # had a history, and lost it to detach_()
        self.made_by = 0  # of a view that a custom function returned: with how many outputs
        self.grad_dtype: Any = None  # of a leaf: the dtype of its gradient, if it is not its own; False: any


is_quiet: Final[Any] = contextvars.ContextVar("is_quiet", default=False)  # true in the contexts that kernels run in


class State:
    """What every op reads. Per-thread settings are in `local`; ``intercepting`` counts the threads
    in which something (a mode, anomaly detection, inference mode) wants to see each call, so that
    the fast path asks one integer.
    """

    def __init__(self) -> None:
        self.intercepting = 0
        self.watching = 0  # profilers and counters that have replaced kernels
        # Of a new tensor that names no dtype and no device, on the CPU; None where it must be asked for.
        self.new_key: Optional[DispatchKey] = None
        self.placed = 0  # device contexts that are open, in all threads
        self.unrecorded = 0  # threads in which operations are not recorded
        self.ufunc: Any = numpy.ufunc
        self.lock = _thread.allocate_lock()
        self.accumulating: Any = _thread.RLock()  # held while a leaf's gradient is added to
        self.known_keys: list[DispatchKey] = []
        self.key_count = 16  # how many dispatch keys there are on the devices in use; each op has a kernel for each
        self.ops: list[Any] = []
        # The youngest node's number. One statement adds to it: threads are not switched inside one that calls nothing.
        self.sequence = 0
        self.passes = 0  # how many backward passes there were
        self.anomaly = ""  # "trace" or "nan" in anomaly mode, of all threads
        self.tensor_class: Any = TensorBase
        # NumPy's floating-point warnings are a context variable: kernels run in a context of their
        # own where they are off, and the user's settings stay as they are. All threads share it, until two of them
        # want to enter it at a time; see `separate_threads`.
        self.context = contextvars.copy_context()
        self.context.run(numpy.seterr, all="ignore")
        self.context.run(is_quiet.set, True)
        self.unused_context = self.context.copy()  # never entered, hence as it was made: others are copies of it
        self.run: Any = self.context.run
        self.run_one: Any = self.context.run  # for a kernel of one argument, and of two
        self.run_two: Any = self.context.run
        self.is_shared = True
        self.rebinding: list[Any] = []  # called where these have changed, by closures that keep one
        # Set when the ops are declared, since the engine imports none of them.
        self.clone: Any = None
        self.clone_like: Any = None
        self.recorded_copy: Any = None
        self.as_grad_dtype: Any = None
        self.add_: Any = None
        self.add_inplace: Any = None  # says whether it did
        self.plus: Any = None
        self.ones_like: Any = None
        self.sum_to_size: Any = None
        self.zeros: Any = None
        self.key_of: Any = None


@mypyc_attr(native_class=False)  # a native class would not have the memory that its base needs
class Local(_thread._local):  # threading.local, by the name under which mypyc finds it
    """Settings of a thread."""

    grad_enabled = True
    grad_wanted = False  # what is_grad_enabled says in inference mode, where nothing is recorded all the same
    inference = False
    backward_pass: Any = None  # the backward pass that runs in this thread
    node: Any = None  # the node with hooks that it applies
    saved_hooks: Any = ()  # (pack, unpack) of what is saved for backward, the innermost last
    saved_hooks_refused = ""
    modes: Any = ()  # of __torch_function__, the innermost last
    precision: Any = None  # of autocast
    autocast_dtypes: Any = {}  # noqa: RUF012  # replaced, never changed: half types that were set, by type of device
    plain_only = False  # subclasses are not asked
    devices: Any = ()
    interceptors: Any = ()  # that see each op, the innermost last
    levels: Any = ()  # the function transforms that run, the innermost last
    context: Any = None  # in which kernels run, once threads have contexts of their own
    run: Any = None  # its method


state: Final = State()
local: Final = Local()


def run_quietly(function: Any, *args: Any) -> Any:
    """Call a function without NumPy's floating-point warnings, also while another thread is in a kernel."""
    run = state.run
    try:
        return run(function, *args)
    except RuntimeError as error:
        if not is_collision(error):
            raise
    return run_elsewhere(function, *args)


def is_collision(error: BaseException) -> bool:
    """Whether an exception says that a context of ours is entered already, so that the function was not called.

    A context is named by its address, hence no exception of a kernel's, or of another's context, is taken for it.
    """
    message = str(error)
    if type(error) is not RuntimeError or not message.startswith("cannot enter context"):
        return False
    own = local.context
    return repr(state.context) in message or (own is not None and repr(own) in message)


def run_elsewhere(function: Any, *args: Any) -> Any:
    """Call a function that `state.run` refused, since another thread is in the context, or a kernel that calls this."""
    if not is_quiet.get():
        separate_threads()
        try:
            return run_here(function, *args)
        except RuntimeError as error:
            if not is_collision(error):
                raise
    return state.unused_context.copy().run(function, *args)


def separate_threads() -> None:
    """Have each thread run kernels in a context of its own from now on: one thread alone need not look for it."""
    if state.is_shared:
        state.run = run_here
        state.run_one = run_one_here
        state.run_two = run_two_here
        for rebind in state.rebinding:
            rebind()
        state.is_shared = False


def run_here(function: Any, *args: Any) -> Any:
    """Call a function in the context of this thread."""
    run = local.run
    if run is None:
        run = own_context()
    return run(function, *args)


def run_one_here(function: Any, arg: Any) -> Any:
    """The same for one argument: a tuple of them would take as long as the rest."""
    run = local.run
    if run is None:
        run = own_context()
    return run(function, arg)


def run_two_here(function: Any, first: Any, second: Any) -> Any:
    """The same for two."""
    run = local.run
    if run is None:
        run = own_context()
    return run(function, first, second)


def own_context() -> Any:
    """Give this thread a context for kernels."""
    context = state.unused_context.copy()
    local.context = context
    run = context.run
    local.run = run
    return run


def set_grad(enabled: bool) -> None:
    """Record operations of this thread or not. The fast path asks its thread only if some thread does not."""
    if local.inference:
        local.grad_wanted, enabled = enabled, False
    if enabled == local.grad_enabled:
        return
    # An interrupt may come between: then the count is a thread too high, which costs time alone.
    if enabled:
        local.grad_enabled = True
        with state.lock:
            state.unrecorded -= 1
    else:
        with state.lock:
            state.unrecorded += 1
        local.grad_enabled = False


def intercept(more: int) -> None:
    """Count a mode that wants to see each call (1) or that ended (-1)."""
    with state.lock:
        state.intercepting += more
        refresh_keys()


def watch(more: int) -> None:
    """Count something that replaces kernels to see them run (1) or that ended (-1): all ops go through theirs then."""
    with state.lock:
        state.watching += more
        refresh_keys()


def refresh_keys() -> None:
    for key in state.known_keys:
        key.fast_path = key.plain and state.intercepting == 0
        key.fast_views = key.fast_path and key.has_views and state.watching == 0


def next_sequence() -> int:
    """The number of a new node, larger than that of every node before it."""
    state.sequence += 1
    return state.sequence


def install(tensor_class: Any, name: str, function: Any) -> None:
    """Make a function an operator of tensors."""
    slot = name.strip("_")
    if is_compiled and hasattr(operators, slot):
        setattr(operators, slot, function)
    else:
        setattr(tensor_class, name, function)


is_compiled: bool = not hasattr(install, "__code__")

if not is_compiled:
    delattr(TensorBase, "__new__")
    globals()["blank"] = object.__new__  # it does the same without a frame of Python
