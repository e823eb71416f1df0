"""Backward: visits the recorded nodes, newest first, and adds up the gradients of the leaves.

A node's sequence number is larger than that of every node it leads to, so that a heap of them is a
topological order. The pass is iterative: depth is limited by memory alone. All that a pass knows
lives in it, so that a hook, or another thread, may run one of its own over the same graph.
"""

from __future__ import annotations

import contextvars
import threading
from functools import partial
from heapq import heappop, heappush
from typing import Any, Final, Optional

from weft._engine.dispatch import OpNode, PairNode, PlannedNode, edge_of, extra_of
from weft._engine.tensor import Node, TensorBase, intercept, is_collision, local, run_elsewhere, set_grad, state

PASSES_ON_ONE_STACK: Final = 20  # Python allows 1,000 frames, of which a pass and the backward that calls it take 10


def run_apart(function: Any) -> None:
    """Run a function in another thread, with the settings of this one, which waits for it."""
    settings = vars(local)
    context = contextvars.copy_context()
    raised: list[BaseException] = []

    def run() -> None:
        vars(local).update(settings)
        try:
            context.run(function)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="backward inside of backward")
    thread.start()
    thread.join()
    if len(raised) != 0:
        raise raised[0]


class Leaf:
    """The gradient that a pass has collected for one leaf."""

    def __init__(self, tensor: TensorBase, grad: TensorBase, owned: bool) -> None:
        self.tensor = tensor
        self.grad: TensorBase = grad
        self.owned = owned  # nobody else refers to grad: it may become .grad without a copy


class BackwardPass:
    """One backward pass.

    Parameters
    ----------
    add : callable
        The sum of two gradients.
    keep_graph, create_graph : bool
        As in PyTorch.
    captures : dict or None
        For `autograd.grad` and ``backward(inputs=...)``: what is asked for. Keys are the id of a leaf or
        (node, output index); values are overwritten with the gradient. None: every leaf accumulates.
    needed : dict or None
        With captures: the nodes that lead to one of them, each with a flag for every edge.
    accumulates : bool
        With captures: leaves among them accumulate, as in ``backward(inputs=...)``.
    """

    def __init__(
        self,
        add: Any,
        keep_graph: bool,
        create_graph: bool,
        captures: Any,
        needed: Optional[dict[Node, Any]],
        accumulates: bool = False,
    ) -> None:
        self.add: Any = add
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.captures: Optional[dict[Any, Any]] = captures
        self.needed = needed
        self.accumulates = accumulates
        # Nodes that wait for their turn, and what has arrived at them. The next one to visit, if it is known, is kept
        # beside them: in a chain it always is, and nothing is looked up.
        self.pending: dict[Node, Any] = {}
        self.heap: list[tuple[int, Node]] = []
        self.youngest: Optional[Node] = None
        self.arrived: Any = None
        self.notes: dict[Any, Any] = {}  # what hooks keep for the time of the pass
        self.leaves: dict[int, Leaf] = {}
        self.depth = 0  # how many passes this one is inside of
        self.uses: Optional[dict[int, int]] = None  # gradients still to come of leaves whose hooks wait for the last
        self.complete: Optional[CompleteLeaves] = None
        self.roots: list[Any] = []
        self.callbacks: Any = None  # functions to call when all gradients are there
        # Who looks on, or asks for some gradients alone, wants each node visited the long way, which notes it.
        self.long_way = captures is not None or state.intercepting != 0
        self.node: Any = None  # the node or leaf that is visited
        state.passes += 1
        self.number = state.passes

    def wait(self, node: Node, arrived: Any) -> None:
        """Visit a node that something has arrived at for the first time when its turn comes."""
        known = self.youngest
        if known is None:
            if len(self.heap) == 0 or -self.heap[0][0] < node._sequence:
                self.youngest = node
                self.arrived = arrived
                return
        elif known._sequence < node._sequence:
            self.youngest = node
            arrived, self.arrived = self.arrived, arrived
            node = known
        self.pending[node] = arrived
        heappush(self.heap, (-node._sequence, node))

    def send(self, edge: Any, index: int, grad: Any, owned: bool) -> None:
        """Add a gradient to what has arrived at an edge: a leaf, or an output of a node."""
        if not isinstance(edge, Node):
            leaf = self.leaves.get(id(edge))
            if leaf is None:
                self.leaves[id(edge)] = Leaf(edge, grad, owned)
            else:
                leaf.grad = self.add(leaf.grad, grad)
                leaf.owned = True
            return
        if edge._extra is None or edge._extra.outputs == 0:
            self.send_on(edge, grad)
            return
        arrived = self.arrived if edge is self.youngest else self.pending.get(edge)
        if arrived is None:
            arrived = [None] * edge._extra.outputs
            self.wait(edge, arrived)
        arrived[index] = grad if arrived[index] is None else self.add(arrived[index], grad)

    def send_on(self, node: Node, grad: TensorBase) -> None:
        """Add a gradient to what has arrived at a node of one output."""
        if node is self.youngest:
            self.arrived = self.add(self.arrived, grad)
        elif len(self.pending) == 0 or node not in self.pending:
            self.wait(node, grad)
        else:
            self.pending[node] = self.add(self.pending[node], grad)

    def touch(self, node: Node) -> None:
        """Visit a node although a custom function had no gradient for it: others above may want to know of zeros."""
        if node is self.youngest or node in self.pending:
            return
        extra = extra_of(node)  # with which it is visited the long way
        if not isinstance(self.add, partial):
            self.add = partial(sum_of_defined, self.add)
        self.wait(node, None if extra.outputs == 0 else [None] * extra.outputs)

    def run(self) -> None:
        """Visit nodes until none is left, then hand the leaves their gradients."""
        outer = local.backward_pass
        if outer is not None and self.goes_apart(outer):
            return
        enabled = local.grad_enabled
        saved_hooks = local.saved_hooks
        try:
            local.backward_pass = self
            set_grad(self.create_graph)
            heap = self.heap
            while True:
                node = self.youngest
                if node is not None:
                    arrived = self.arrived
                    self.youngest = None
                    self.arrived = None
                elif len(heap) != 0:
                    node = heappop(heap)[1]
                    arrived = self.pending.pop(node)
                else:
                    break
                if node._extra is not None or self.long_way:
                    if not self.visit(node, arrived):
                        continue
                elif isinstance(node, PairNode):
                    self.distribute_pair(node, arrived)
                elif isinstance(node, OpNode) and node.plan.calls is not None:
                    self.distribute_calls(node, node.plan.calls, arrived)
                else:
                    self.propagate(node, node.apply([arrived], None), arrived, None)
                if not self.keep_graph:
                    node.free()
            for leaf in list(self.leaves.values()):
                self.finish(leaf)
            if self.callbacks is not None:
                for callback in self.callbacks:  # which may add others
                    callback()
        finally:
            local.backward_pass = outer  # an interrupt comes with a call: before any, what it may not leave behind
            if enabled and not local.grad_enabled:  # as `set_grad`
                local.grad_enabled = True
                with state.lock:
                    state.unrecorded -= 1
            set_grad(enabled)
            if local.saved_hooks is not saved_hooks:  # something in the graph entered hooks, or left them
                intercept(len(saved_hooks) - len(local.saved_hooks))
                local.saved_hooks = saved_hooks

    def goes_apart(self, outer: Any) -> bool:
        """Run in a thread of its own, if too many passes are inside of each other for the stack of this one."""
        if self.depth == 0:
            self.depth = outer.depth + 1
            if self.depth % PASSES_ON_ONE_STACK == 0:
                run_apart(self.run)
                return True
        return False

    def visit(self, node: Node, arrived: Any) -> bool:
        """Apply a node with several outputs, hooks or a trace, or in a pass that captures; False: only passed."""
        self.node = node
        extra = node._extra
        grads: list[Any] = [arrived] if extra is None or extra.outputs == 0 else arrived
        watch: Any = None if extra is None else extra.watch
        if watch is not None:
            watch.before(node, grads)
        needed: Any = None
        if self.captures is not None:
            for index in range(len(grads)):
                if (node, index) in self.captures:
                    self.captures[(node, index)] = grads[index]
            assert self.needed is not None
            needed = self.needed.get(node)
            if needed is None:
                return False
        if grads[0] is None and isinstance(node, PlannedNode) and not any_defined(grads):
            results = [None] * len(node.edges())  # of an operation; a custom function is asked
        elif watch is not None:
            results = watch.apply(node, grads, needed)
        elif needed is None or True in needed:
            results = node.apply(grads, needed)
        else:
            return False
        self.propagate(node, results, grads[0], needed)
        return True

    def distribute_pair(self, node: PairNode, incoming: Any) -> None:
        """Compute and send the gradients of an op on two tensors."""
        node.check()
        edge = node.first_edge
        if edge is not None:
            grad: Optional[TensorBase] = node.first_gradient(incoming)
            if grad is not None:
                self.accumulate_edge(node, 0, edge, grad, grad is not incoming and grad._version_counter is None)
        edge = node.second_edge
        if edge is not None:
            grad = node.second_gradient(incoming)
            if grad is not None:
                self.accumulate_edge(node, 1, edge, grad, grad is not incoming and grad._version_counter is None)

    def distribute_calls(self, node: OpNode, calls: tuple[Any, ...], incoming: Any) -> None:
        """Compute and send gradients that are each a function of what came in, and of one saved value or none."""
        saved = node.saved_values()
        for position, (function, pick) in enumerate(calls):
            grad: Optional[TensorBase] = function(incoming) if pick < 0 else function(incoming, saved[pick])
            edge = node._edges[position]
            if grad is not None and edge is not None:
                self.accumulate_edge(node, position, edge, grad, grad is not incoming and grad._version_counter is None)

    def propagate(self, node: Node, results: Any, incoming: Any, needed: Any) -> None:
        """Send each gradient along its edge."""
        position = -1
        for edge in node.edges():
            position += 1
            grad = results[position]
            if edge is None or (needed is not None and not needed[position]):
                continue
            if grad is None:
                if isinstance(edge, Node):
                    self.touch(edge)
                elif self.uses is not None:
                    self.count_down(node, edge)
                continue
            self.accumulate_edge(node, position, edge, grad, is_owned(node, grad, incoming, results, position))

    def accumulate_edge(self, node: Node, position: int, edge: Any, grad: TensorBase, owned: bool) -> None:
        """Send a gradient along an edge of a node, in the shape that the edge wants."""
        if isinstance(edge, Node):
            if edge._extra is None:
                if grad._array.shape != edge._shape:
                    grad = fit(node, position, grad, edge._shape)
                self.send_on(edge, grad)
                return
            index = 0 if node._extra is None or node._extra.indices is None else node._extra.indices[position]
            shape = edge._shape if edge._extra.outputs == 0 else edge._shape[index]
            if grad._array.shape != shape:
                grad = fit(node, position, grad, shape)
            self.send(edge, index, grad, False)
            return
        tensor: TensorBase = edge
        shape = tensor._array.shape
        if grad._array.shape != shape:
            grad = fit(node, position, grad, shape)
        leaf = self.leaves.get(id(tensor))
        if leaf is None:
            self.leaves[id(tensor)] = Leaf(tensor, grad, owned)
            if tensor._extra is not None and self.uses is None and self.captures is None:
                hooks = tensor._extra.hooks
                if hooks is not None and hooks.wants_last():
                    self.uses = self.count_uses(node, position)
        elif (
            leaf.owned
            and not self.create_graph
            and leaf.grad._key is grad._key
            and grad._key.plain
            and (state.intercepting == 0)
        ):
            total = leaf.grad._array
            run = state.run
            try:
                run(grad._key.accumulate, total, grad._array, total)
            except RuntimeError as error:
                if not is_collision(error):
                    raise
                run_elsewhere(grad._key.accumulate, total, grad._array, total)
        else:
            leaf.grad = self.add(leaf.grad, grad)
            leaf.owned = True
        if self.uses is not None:
            self.count_down(node, tensor)

    def count_uses(self, node: Node, position: int) -> dict[int, int]:
        """How many gradients are still to come, this one included, of each leaf whose hooks wait for the last."""
        uses: dict[int, int] = {}
        stack: list[Any] = list(self.pending)
        seen: set[Any] = set(stack)
        if self.youngest is not None and self.youngest not in seen:
            stack.append(self.youngest)
            seen.add(self.youngest)
        edges: Any = node.edges()
        edges = edges[min(position, len(edges) - 1) :]  # a PairNode of one edge calls it the second, if it is
        while True:
            for edge in edges:
                if isinstance(edge, Node):
                    if edge not in seen:
                        seen.add(edge)
                        stack.append(edge)
                elif edge is not None and edge._extra is not None:
                    hooks = edge._extra.hooks
                    if hooks is not None and hooks.wants_last():
                        uses[id(edge)] = uses.get(id(edge), 0) + 1
            if len(stack) == 0:
                return uses
            edges = stack.pop().edges()

    def count_down(self, node: Node, tensor: TensorBase) -> None:
        """Finish a leaf next, after this node, if nothing more will arrive at it."""
        assert self.uses is not None
        left = self.uses.get(id(tensor), 0)
        if left > 1:
            self.uses[id(tensor)] = left - 1
        elif left == 1:
            del self.uses[id(tensor)]
            leaf = self.leaves.pop(id(tensor), None)
            if leaf is None:
                return
            if self.complete is None:
                self.complete = CompleteLeaves(self, node._sequence)
                self.wait(self.complete, self.complete)
            self.complete.leaves.append(leaf)

    def finish(self, leaf: Leaf) -> None:
        """Run a leaf's hooks, then capture or accumulate."""
        tensor = leaf.tensor
        self.node = tensor
        hooks = None if tensor._extra is None else tensor._extra.hooks
        grad: TensorBase = leaf.grad
        if hooks is not None:
            changed = hooks.before_leaf(grad)
            if changed is not grad:
                grad = changed
                leaf.owned = False
        if self.captures is not None:
            key = id(tensor)
            if key not in self.captures:
                return
            self.captures[key] = grad
            if not self.accumulates:
                return
        if tensor._extra is not None and tensor._extra.grad_dtype is not None:
            grad = state.as_grad_dtype(tensor, grad)
        base = tensor._view_base
        if not tensor._requires_grad or (base is not None and base._requires_grad):
            return  # a view that was made where nothing is recorded requires grad because its base does: nobody asked
        if hooks is not None:
            changed = hooks.before_accumulating(grad)
            if changed is not grad:
                grad = changed
                leaf.owned = False
        before = tensor._grad
        with state.accumulating:  # another thread may have found no gradient, or the same one, just before
            accumulate(tensor, grad, leaf.owned, self.create_graph, self.add)
        if hooks is not None:
            hooks.after_leaf(tensor, tensor._grad if before is None else grad)


class CompleteLeaves(Node):
    """Leaves whose last gradient came from the node before: optimizers in backward, and exchanges of gradients, begin.

    It waits for its turn like a recorded node, so that the loop over these asks for nothing else.
    """

    __slots__ = ("backward_pass", "leaves")

    backward_pass: BackwardPass
    leaves: list[Leaf]

    def __init__(self, backward_pass: BackwardPass, sequence: int) -> None:
        self._edges = ()
        self._shape = ()
        self._extra = None
        self._sequence = sequence
        self.backward_pass = backward_pass
        self.leaves = []

    def apply(self, grads: list[Any], needed: Any) -> Any:
        """Hand the leaves their gradients."""
        self.backward_pass.complete = None
        for leaf in self.leaves:
            self.backward_pass.finish(leaf)
        return ()


def sum_of_defined(add: Any, first: Any, second: Any) -> Any:
    """The sum of two gradients, of which the first may be none at all."""
    return second if first is None else add(first, second)


def any_defined(grads: list[Any]) -> bool:
    for grad in grads:
        if grad is not None:
            return True
    return False


def fit(node: Node, position: int, grad: Any, shape: tuple[int, ...]) -> Any:
    """Sum a gradient over the dimensions that broadcasting had added or stretched."""
    got = grad._array.shape
    lead = len(got) - len(shape)
    for size, wanted in zip(got[lead:] if lead >= 0 else got, shape):
        if lead < 0 or (wanted != size and wanted != 1):
            raise RuntimeError(
                f"Function {node.label()} returned an invalid gradient at index {position} - got {list(got)} but "
                f"expected shape compatible with {list(shape)}"
            )
    return state.sum_to_size(grad, shape)


def is_owned(node: Node, grad: Any, incoming: Any, results: Any, position: int) -> bool:
    """Whether a gradient was made by the node that returned it, and given to one edge only."""
    if not isinstance(node, PlannedNode) or grad is incoming or grad._version_counter is not None:
        return False
    if node.gives_each_once:
        return True
    for other in range(len(results)):
        if other != position and results[other] is grad:
            return False
    return True


def accumulate(tensor: TensorBase, grad: TensorBase, owned: bool, create_graph: bool, add: Any) -> None:
    """Add to ``tensor.grad``: in place, so that who holds it sees the sum, unless the sum is recorded."""
    present = tensor._grad
    if present is None:
        if owned and grad._array.strides == tensor._array.strides:
            if not create_graph:
                grad._view_base = None  # nobody else has the tensor that it was a view of
            tensor._grad = grad
        else:
            tensor._grad = state.recorded_copy(grad) if create_graph else state.clone_like(grad, tensor)
    elif create_graph:
        tensor._grad = add(present, grad)
    elif not state.add_inplace(present, grad):
        tensor._grad = state.add_(present, grad)


def backward_from(root: TensorBase, seed: object) -> bool:
    """Backward of one tensor in the way of most programs; False, and nothing is done, where it has to be looked at.

    The seed is a gradient like the tensor, or None for a tensor without dimensions.
    """
    key = root._key
    if not key.fast_path or not root._requires_grad or not key.is_real_float:
        return False
    if seed is None:
        if root._array.ndim != 0:
            return False
        seed = state.ones_like(root)
    elif not isinstance(seed, TensorBase) or seed._key is not key or seed._array.shape != root._array.shape:
        return False
    backward_pass = BackwardPass(state.plus, False, False, None, None)
    edge = edge_of(root)
    backward_pass.roots = [edge]
    backward_pass.send(edge, 0 if root._extra is None else root._extra.output_index, seed, False)
    backward_pass.run()
    return True


def find_needed(roots: list[Any], targets: dict[Any, Any], accumulates: bool) -> dict[Node, Any]:
    """Which nodes lead to a target, with a flag for each of their edges; the pass visits no others.

    Where leaves accumulate, nodes that are targets are visited too, for their hooks.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[Node] = [root for root in roots if isinstance(root, Node)]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        order.append(node)
        for edge in node.edges():
            if isinstance(edge, Node):
                stack.append(edge)
    order.sort(key=sequence_of)
    targeted: set[Any] = set()
    for key in targets:
        if isinstance(key, tuple):
            targeted.add(key[0])
    needed: dict[Node, Any] = {}
    for node in order:
        flags: list[bool] = []
        useful = False
        for edge in node.edges():
            if isinstance(edge, Node):
                leads = edge in needed or edge in targeted
            else:
                leads = edge is not None and id(edge) in targets
            flags.append(leads)
            useful = useful or leads
        if useful or (accumulates and node in targeted):
            needed[node] = flags
    return needed


def sequence_of(node: Node) -> int:
    return node._sequence
