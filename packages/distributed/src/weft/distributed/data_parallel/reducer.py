"""`Reducer`: exchanges the gradients of a backward pass between processes, while the pass goes on."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy

import weft
from weft.distributed._collectives import all_gather, all_reduce, broadcast
from weft.distributed.data_parallel.buckets import Bucket, GradBucket, assign_to_buckets

__all__ = ["Reducer"]

Hook = Callable[[Any, GradBucket], Any]


class Reducer:
    """Takes the mean of gradients over the processes of a group.

    Parameters
    ----------
    names, parameters : sequences
        In the same order in all processes.
    sparse : sequence of bool
        Which parameters have sparse gradients.
    group : ProcessGroup
    limits : sequence of int
        Bytes of the buckets, see `assign_to_buckets`.
    find_unused : bool
        Look in each graph for parameters that take no part in it.
    as_view : bool
        Gradients are views of their buckets.
    is_static : bool
        The graph of each step is that of the first.
    skip_unused : bool
        Do not exchange buckets of which no parameter takes part.
    dtype : dtype, optional
        In which gradients are exchanged.
    """

    def __init__(
        self,
        names: Sequence[str],
        parameters: Sequence[Any],
        sparse: Sequence[bool],
        group: Any,
        limits: Sequence[int],
        find_unused: bool = False,
        as_view: bool = False,
        is_static: bool = False,
        skip_unused: bool = False,
        dtype: Any = None,
    ) -> None:
        self.names = list(names)
        self.parameters = list(parameters)
        self.sparse = list(sparse)
        self.group = group
        self.limits = limits
        self.find_unused = find_unused
        self.as_view = as_view
        self.is_static = is_static
        self.skip_unused = skip_unused
        self.dtype = dtype
        self.hook: Hook | None = None
        self.hook_state: Any = None
        self.divisor: float = group.size()
        self.has_rebuilt = False
        self.iterations = 0
        self._index = {id(parameter): index for index, parameter in enumerate(self.parameters)}
        self._expects = False  # a forward has announced a backward pass whose gradients are exchanged
        self._begun = False  # some gradients of that pass have come
        self._order: list[int] = []  # in which gradients came in the first pass
        self._arrivals: list[int] | None = None  # of a static graph: how often a gradient of each parameter comes
        self._left: list[int] = []
        self._marked = bytearray(len(self.parameters))
        self._used = weft.zeros(len(self.parameters), dtype=weft.int32)
        self._unused: list[int] = []
        self._next = 0
        self._handles: list[Any] = []
        self.buckets: list[Bucket] = []  # none in a world of one, unless a hook wants to see gradients
        if group.size() > 1:
            self.watch_gradients()

    def _make_buckets(self, assigned: list[list[int]]) -> None:
        self.buckets = [
            Bucket(
                number,
                indices,
                [self.parameters[index] for index in indices],
                [self.names[index] for index in indices],
                self.dtype,
                self.sparse[indices[0]],
            )
            for number, indices in enumerate(assigned)
        ]
        self._places = [(self.buckets[0], 0)] * len(self.parameters)
        for bucket in self.buckets:
            for position, index in enumerate(bucket.indices):
                self._places[index] = (bucket, position)

    # Hooks of parameters

    def watch_gradients(self) -> None:
        """Have the engine tell of each complete gradient; the hooks go with this object."""
        if self._handles:
            return
        last = len(self.parameters) - 1  # gradients come in about the reverse order
        assigned = assign_to_buckets(self.parameters[::-1], self.limits, self.sparse[::-1])
        self._make_buckets([[last - position for position in bucket] for bucket in assigned])
        reducer = weakref.ref(self)  # a parameter does not keep the exchange of its gradients alive
        for index, parameter in enumerate(self.parameters):
            hook = partial(tell, reducer, index)
            self._handles.append(parameter.register_post_accumulate_grad_hook(hook))
        weakref.finalize(self, remove_all, self._handles)

    def _remove_autograd_hooks(self) -> None:
        remove_all(self._handles)

    @property
    def wants_outputs(self) -> bool:
        """Whether `prepare_for_backward` looks at the outputs."""
        return self.find_unused or (self.is_static and self._arrivals is None)

    # Before a backward pass

    def prepare_for_forward(self) -> None:
        """Count a step."""
        self.iterations += 1

    def prepare_for_backward(self, outputs: Sequence[Any]) -> None:
        """Expect the gradients of a backward pass from some outputs.

        Raises
        ------
        RuntimeError
            If gradients of the pass before did not come.
        """
        if not self._handles:
            return
        self._check_reducer_finalized()
        self._expects = True
        self._next = 0
        self._marked = bytearray(len(self.parameters))
        for bucket in self.buckets:
            bucket.reset()
        self._unused = []
        if self.is_static:
            self._prepare_static(outputs)
        elif self.find_unused:
            used = leaves_of(outputs)
            self._unused = [index for index, each in enumerate(self.parameters) if id(each) not in used]

    def _prepare_static(self, outputs: Sequence[Any]) -> None:
        """In the first pass count how often each gradient comes; the exchange begins when all have."""
        if self._arrivals is None:
            self._left = [0] * len(self.parameters)
            count = partial(self._end_first_pass, [False])
            for output in outputs:
                if output.requires_grad:
                    output.register_hook(lambda grad: weft.autograd.Variable._execution_engine.queue_callback(count))
        else:
            self._left = list(self._arrivals)
            self._unused = [index for index, arrivals in enumerate(self._arrivals) if arrivals == 0]

    def _end_first_pass(self, is_done: list[bool]) -> None:
        if is_done[0]:
            return
        is_done[0] = True
        self._arrivals = list(self._left)
        self._begun = True
        for index, arrivals in enumerate(self._arrivals):
            self._mark(index, is_used=arrivals > 0)

    def _check_reducer_finalized(self) -> None:
        """Raise RuntimeError if a backward pass has begun and not brought all gradients."""
        if not self._begun:
            return
        missing = [index for index, marked in enumerate(self._marked) if not marked]
        names = ", ".join(self.names[index] for index in missing)
        advice = (
            ""
            if self.find_unused
            else (" If that is as it should be, pass find_unused_parameters=True to DistributedDataParallel.")
        )
        raise RuntimeError(
            "Expected to have finished reduction in the prior iteration before starting a new one. This error "
            "indicates that your module has parameters that were not used in producing loss, or that an output of "
            f"forward took no part in it.{advice} Parameters which did not receive grad for rank {self.group.rank()}: "
            f"{names}. Parameter indices which did not receive grad for rank {self.group.rank()}: "
            f"{' '.join(map(str, missing))}"
        )

    # In a backward pass

    def gradient_ready(self, index: int) -> None:
        """Take the gradient of a parameter, and begin the exchange of buckets that are complete."""
        if self.find_unused or self.is_static:
            self._used[index] = 1
        if not self._expects:
            return
        if not self.has_rebuilt:
            self._order.append(index)
        if self.is_static:
            if self._arrivals is None:
                self._left[index] += 1
                return
            self._left[index] -= 1
            if self._left[index] > 0:
                return
        if self._marked[index]:
            raise RuntimeError(
                f"Expected to mark a variable ready only once: {self.names[index]} (parameter {index}) got a second "
                "gradient in one backward pass. It is shared by several backward passes inside of each other "
                "(reentrant checkpoints of one layer), or forward was called outside of the wrapper. Use "
                "use_reentrant=False, or static_graph=True if the graph is the same in each step"
            )
        if not self._begun:
            self._begun = True
            for unused in self._unused:
                if unused != index:
                    self._mark(unused, is_used=False)
        self._mark(index, is_used=True)

    def _mark(self, index: int, is_used: bool) -> None:
        self._marked[index] = 1
        bucket, position = self._places[index]
        self._fill(bucket, position, self.parameters[index].grad)
        bucket.pending -= 1
        if bucket.pending == 0:
            self._launch_complete()

    def _fill(self, bucket: Bucket, position: int, grad: Any) -> None:
        """Put a gradient into its bucket, divided unless a hook does that; zeros for none."""
        if bucket.is_sparse:
            bucket.sparse_grad = grad
            return
        view = bucket.views[position]
        if grad is None:
            view.detach().zero_()
        elif grad.layout != weft.strided:
            raise RuntimeError(
                f"DistributedDataParallel: the gradient of {bucket.names[position]} is sparse, and its module is "
                "no Embedding(sparse=True) nor EmbeddingBag(sparse=True), which have buckets of their own"
            )
        elif self.hook is None and grad.dtype is view.dtype and not grad.is_complex():
            # One pass over memory, without the cost of an operation. A device's array library takes NumPy's call.
            array = view._array
            numpy.multiply(grad._array, array.dtype.type(1.0 / self.divisor), out=array)
        else:
            with weft.no_grad():
                if grad is not view:
                    view.copy_(grad)
                if self.hook is None:
                    view.mul_(1.0 / self.divisor)

    def _launch_complete(self) -> None:
        """Begin the exchange of all buckets that are complete, in their order, which is that of all processes."""
        while self._next < len(self.buckets) and self.buckets[self._next].pending == 0:
            bucket = self.buckets[self._next]
            self._next += 1
            if self._next == len(self.buckets):
                weft.autograd.Variable._execution_engine.queue_callback(self._finish)
            self._launch(bucket, is_last=self._next == len(self.buckets))

    def _launch(self, bucket: Bucket, is_last: bool) -> None:
        if self.skip_unused and self._unused and set(bucket.indices) <= set(self._unused):
            bucket.is_wanted = False
        elif self.hook is not None:
            bucket.work = self.hook(self.hook_state, GradBucket(bucket, len(self.buckets)))
        elif bucket.is_sparse:
            bucket.sparse_grad = self._exchange_sparse(bucket)
        elif not is_last:  # nothing is left to be done meanwhile: the last one is exchanged by this thread
            bucket.work = all_reduce(bucket.flat, group=self.group, async_op=True)

    def _exchange_sparse(self, bucket: Bucket) -> Any:
        """The mean of sparse gradients: all their indices and values, added where indices are equal."""
        grad, parameter = bucket.sparse_grad, bucket.parameters[0]
        if grad is None:
            indices = weft.zeros((1, 0), dtype=weft.int64, device=parameter.device)
            values = weft.zeros((0, *parameter.shape[1:]), dtype=parameter.dtype, device=parameter.device)
        else:
            grad = grad.coalesce()
            indices, values = grad.indices(), grad.values()
        counts = gather_sizes(values.shape[0], self.group, parameter.device)
        found_indices = gather_rows(indices.T.contiguous(), counts, self.group)
        found_values = gather_rows(values / self.divisor, counts, self.group)
        return weft.sparse_coo_tensor(found_indices.T, found_values, parameter.shape).coalesce()

    # At its end

    def _finish(self) -> None:
        """Wait for all exchanges, and give the parameters their gradients."""
        for number, bucket in enumerate(self.buckets):
            if not bucket.is_wanted:
                continue
            if self.hook is not None:
                self._take_result(bucket, bucket.work.wait())
            elif bucket.work is not None:
                bucket.work.wait()
            elif not bucket.is_sparse:
                assert number == len(self.buckets) - 1
                all_reduce(bucket.flat, group=self.group)
            bucket.work = None
        used = self._used_anywhere()
        with weft.no_grad():
            for bucket in self.buckets:
                if bucket.is_wanted:
                    self._hand_out(bucket, used)
        self._expects = self._begun = False
        self._used.zero_()

    def _used_anywhere(self) -> Any:
        """Which parameters took part in some process since the last exchange; None: all."""
        if not self.find_unused and not (self.is_static and self._unused):
            return None
        total = self._used.to(self.parameters[0].device)
        all_reduce(total, group=self.group)
        return total.tolist()

    def _take_result(self, bucket: Bucket, result: Any) -> None:
        """Put what a communication hook's future has into the bucket."""
        found = result[0] if isinstance(result, (list, tuple)) else result
        if bucket.is_sparse:
            bucket.sparse_grad = found
        elif found is not bucket.flat:
            with weft.no_grad():
                bucket.flat.copy_(found.reshape(-1))

    def _hand_out(self, bucket: Bucket, used: list[int] | None) -> None:
        for position, index in enumerate(bucket.indices):
            if used is not None and not used[index]:
                continue
            parameter = self.parameters[index]
            if bucket.is_sparse:
                parameter.grad = bucket.sparse_grad
                continue
            view = bucket.views[position]
            if self.as_view and view.dtype is parameter.dtype:
                if parameter.grad is not view:
                    parameter.grad = view
            elif parameter.grad is None:
                parameter.grad = view.to(parameter.dtype, copy=True)
            else:
                parameter.grad.copy_(view)

    # Buckets by the order that was seen

    def _rebuild_buckets(self) -> bool:
        """Divide the parameters anew, in the order in which the first process saw their gradients; whether it did."""
        ready = (self.is_static or not self.find_unused) and not self.has_rebuilt
        if not ready or len(set(self._order)) != len(self.parameters) or self._expects:
            return False
        self.has_rebuilt = True
        order = weft.tensor(list(dict.fromkeys(self._order)), device=self.parameters[0].device)
        broadcast(order, group_src=0, group=self.group)
        seen = order.tolist()
        tensors, sparse = [self.parameters[index] for index in seen], [self.sparse[index] for index in seen]
        assigned = [[seen[each] for each in bucket] for bucket in assign_to_buckets(tensors, self.limits, sparse)]
        if assigned != [bucket.indices for bucket in self.buckets]:
            self._make_buckets(assigned)
        return True

    # What a process does that has no more inputs, while others go on: see `weft.distributed.algorithms.join`

    def exchange_zeros(self) -> None:
        """Take part in the exchange of one backward pass, and add nothing to its gradients."""
        self._check_reducer_finalized()
        self._expects = self._begun = True
        for bucket in self.buckets:
            bucket.reset()
            bucket.flat.zero_()
            bucket.pending = 0
            self._launch(bucket, is_last=False)
        used = self._used_anywhere()
        for bucket in self.buckets:
            if bucket.work is not None:
                self._take_result(bucket, bucket.work.wait()) if self.hook is not None else bucket.work.wait()
            self._hand_out(bucket, used)  # for an optimizer that keeps a part of the state in this process
        self._expects = self._begun = False

    def used_names(self) -> list[str]:
        """The parameters that took part since the last exchange."""
        return [name for name, used in zip(self.names, self._used.tolist()) if used]


def tell(reducer: weakref.ref[Reducer], index: int, parameter: Any) -> None:
    """Tell a reducer that is still there of a complete gradient."""
    found = reducer()
    if found is not None:
        found.gradient_ready(index)


def remove_all(handles: list[Any]) -> None:
    """Take hooks off."""
    for handle in handles:
        handle.remove()
    handles.clear()


def leaves_of(outputs: Sequence[Any]) -> set[int]:
    """The ids of the leaves that lead to some outputs."""
    found: set[int] = set()
    stack: list[Any] = []
    for output in outputs:
        if output.grad_fn is not None:
            stack.append(output.grad_fn)
        elif output.requires_grad:
            found.add(id(output))
    seen = set(stack)
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is None or node in seen:
                continue
            if hasattr(node, "variable"):
                found.add(id(node.variable))
            else:
                seen.add(node)
                stack.append(node)
    return found


def gather_sizes(count: int, group: Any, device: Any) -> list[int]:
    """What number each process has."""
    found = [weft.zeros(1, dtype=weft.int64, device=device) for _ in range(group.size())]
    all_gather(found, weft.tensor([count], device=device), group=group)
    return [int(each.item()) for each in found]


def gather_rows(rows: Any, counts: Sequence[int], group: Any) -> Any:
    """The rows of all processes, which have different numbers of them: padded to the largest, then cut."""
    padded = weft.zeros((max(counts), *rows.shape[1:]), dtype=rows.dtype, device=rows.device)
    padded[: rows.shape[0]] = rows
    found = [weft.empty_like(padded) for _ in counts]
    if padded.numel():
        all_gather(found, padded, group=group)
    return weft.cat([each[:count] for each, count in zip(found, counts)])
