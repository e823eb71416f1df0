"""What happens while a profiler runs, as spans of time that lie in each other.

The kernels of all ops are replaced by ones that note when they began and ended, and put back afterwards. So a call
takes the same way through the engine as it does otherwise, and costs nothing when there is no profiler.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any

from weft._engine.dispatch_keys import KernelBySize
from weft._engine.tensor import state, watch
from weft._errors import is_own
from weft._interception import profiling
from weft._interception.profiling import copies
from weft.ops._registry import registry
from weft.profiler._names import floating_point_operations, public_name

__all__ = ["Recorder", "Span"]

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the folder of weft's core


class Span:
    """A time between two moments of one thread.

    Attributes
    ----------
    start, end : int
        Nanoseconds; ``end`` is 0 while it runs.
    parent : Span or None
        The one that it lies in.
    scope : int
        0: an op; 1: a step of backward; 7: a range of the user's or of a module, an optimizer, a data loader.
    memory : int
        Bytes of the arrays that were made in it and not inside a span of its own, less those that were freed.
    copies : int
        How often its kernel copied an argument to have it contiguous.
    """

    __slots__ = ("copies", "end", "flops", "memory", "name", "parent", "scope", "shapes", "stack", "start", "thread")

    def __init__(self, name: str, scope: int, thread: int, parent: Span | None) -> None:
        self.name = name
        self.scope = scope
        self.thread = thread
        self.parent = parent
        self.shapes: list[Any] = []
        self.stack: list[str] = []
        self.memory = 0
        self.copies = 0
        self.flops = 0
        self.end = 0
        self.start = perf_counter_ns()


class Recorder:
    """Collects the spans of all threads between `start` and `stop`.

    Parameters
    ----------
    shapes, memory, stacks, flops, modules : bool
        What to note besides times.
    """

    def __init__(self, *, shapes: bool, memory: bool, stacks: bool, flops: bool, modules: bool) -> None:
        self.shapes = shapes
        self.memory = memory
        self.stacks = stacks
        self.flops = flops
        self.modules = modules
        self.spans: list[Span] = []
        self.open: dict[int, list[Span]] = {}  # by thread, the innermost last
        self.owners: dict[int, Any] = {}  # weak references to the arrays that own memory, by their id
        self.handles: list[Any] = []
        self.pairs: dict[int, tuple[Any, Any]] = {}  # the kernels of ops that have two, by the id of the measured ones
        self.numbers: dict[str, dict[int, int]] = {}  # of the modules of a class, in the order of their calls

    def start(self) -> None:
        """Begin.

        Raises
        ------
        RuntimeError
            If another profiler runs.
        """
        if profiling.recorder is not None:
            raise RuntimeError("profile: Profiler is already enabled; end the one that runs before starting another")
        profiling.recorder = self
        for op in state.ops:
            for index, kernel in enumerate(op.kernels):
                if kernel is not None:
                    op.kernels[index] = self.watch(op.name, kernel)
        for key in state.known_keys:
            key.accumulate = self.watch("core::add", key.accumulate)
        watch(1)
        if self.modules:
            self.watch_modules()

    def stop(self) -> None:
        """End, and put everything back."""
        if profiling.recorder is not self:
            return
        profiling.recorder = None
        watch(-1)
        for op in state.ops:
            for index, kernel in enumerate(op.kernels):
                if kernel is not None:
                    op.kernels[index] = self.original(kernel)
        for key in state.known_keys:
            key.accumulate = self.original(key.accumulate)
        for handle in self.handles:
            handle.remove()
        self.owners.clear()
        self.pairs.clear()
        now = perf_counter_ns()
        for span in self.spans:
            span.end = span.end or now
        self.open.clear()

    # Spans

    def begin(self, name: str, scope: int) -> Span:
        """Begin a span of this thread."""
        thread = threading.get_ident()
        running = self.open.get(thread)
        if running is None:
            running = self.open.setdefault(thread, [])
        span = Span(name, scope, thread, running[-1] if running else None)
        if self.stacks:
            span.stack = stack()
        running.append(span)
        self.spans.append(span)
        return span

    def finish(self, span: Span) -> None:
        """End a span, and those in it that an exception left open."""
        span.end = perf_counter_ns()
        running = self.open.get(span.thread)
        if running is None or span not in running:
            return  # it outlived the profiler
        while running.pop() is not span:
            pass

    @contextmanager
    def span(self, name: str, scope: int = 7) -> Iterator[None]:
        """A span around a block."""
        span = self.begin(name, scope)
        try:
            yield
        finally:
            self.finish(span)

    def watch(self, name: str, kernel: Any) -> Any:
        """A kernel with a span around each call."""
        if isinstance(kernel, KernelBySize):
            both = KernelBySize(self.watch(name, kernel.small), self.watch(name, kernel.large), kernel.least)
            self.pairs[id(both)] = both, kernel
            return both
        declared = registry.get(name)
        most = 1000 if declared is None else len(declared.arguments)

        def measured(*args: Any, **options: Any) -> Any:
            copied = copies.count
            inplace = len(args) > most  # the last one is where the result goes
            span = self.begin(public_name(name, args) + "_" * inplace, 0)
            if self.shapes:
                span.shapes = [shape_of(each) for each in args]
            try:
                result = kernel(*args, **options)
                if self.flops:
                    span.flops = floating_point_operations(span.name, args, result)
                if self.memory:
                    self.take_stock(span, args, result)
                return result
            finally:
                self.finish(span)
                span.copies = copies.count - copied

        measured.watched = kernel  # type: ignore[attr-defined]
        return measured

    def original(self, kernel: Any) -> Any:
        """What was given to `watch`."""
        if isinstance(kernel, KernelBySize):
            return self.pairs.get(id(kernel), (None, kernel))[1]
        return getattr(kernel, "watched", kernel)

    def apply_node(self, node: Any, grads: list[Any], needed: Any) -> Any:
        """A step of backward, in a span."""
        span = self.begin(node.label(), 1)
        try:
            return node.apply(grads, needed)
        finally:
            self.finish(span)

    def watch_modules(self) -> None:
        """A span around each call of a module."""
        if not profiling.module_hooks:
            return
        before, after = profiling.module_hooks
        spans: list[Span] = []

        def enter(module: Any, args: Any) -> None:
            kind = type(module).__name__
            numbers = self.numbers.setdefault(kind, {})
            number = numbers.setdefault(id(module), len(numbers))
            spans.append(self.begin(f"nn.Module: {kind}_{number}", 7))

        def leave(module: Any, args: Any, output: Any) -> None:
            if spans:
                self.finish(spans.pop())

        self.handles += [before(enter), after(leave, always_call=True)]

    # Memory

    def take_stock(self, span: Span, args: Any, result: Any) -> None:
        """Note the memory of arrays that a kernel made; what its arguments had before is not counted when freed."""
        for array in arrays_in(args):
            self.own(array, counts=False)
        for array in arrays_in((result,)):
            span.memory += self.own(array, counts=True)

    def own(self, array: Any, counts: bool) -> int:
        """Watch the memory of an array; how many bytes it is, if it was not known."""
        while hasattr(getattr(array, "base", None), "base"):
            array = array.base
        if id(array) in self.owners or not hasattr(array, "nbytes"):
            return 0
        size, key = array.nbytes if counts else 0, id(array)
        try:
            self.owners[key] = weakref.ref(array, lambda reference: self.freed(key, size))
        except TypeError:  # arrays of a library that has no weak references
            return 0
        return int(size)

    def freed(self, key: int, size: int) -> None:
        """Note that memory was freed, in the span that runs or beside all."""
        if self.owners.pop(key, None) is None or not size or profiling.recorder is not self:
            return
        running = self.open.get(threading.get_ident())
        if running:
            running[-1].memory -= size
            return
        span = self.begin("[memory]", 7)
        span.memory = -size
        self.finish(span)


def arrays_in(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from arrays_in(value)
        elif hasattr(value, "strides"):
            yield value


def shape_of(value: Any) -> list[Any]:
    """The shape of an array, those of a list of them, or nothing."""
    if hasattr(value, "shape"):
        return list(value.shape)
    if isinstance(value, (list, tuple)):
        return [list(each.shape) for each in value if hasattr(each, "shape")]
    return []


def stack() -> list[str]:
    """The calls that led here, the innermost first, without weft's own."""
    lines: list[str] = []
    frame: Any = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(HERE) and not is_own(frame):
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines
