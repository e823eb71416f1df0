"""Results that can be differentiated: the backward of a captured function is a list of its own, for its first node.

Where a recorded function returns tensors with a history, the graph behind them is cut off at what was there before: the
tensors that the program gets hang on one node, `CompiledFunction`, whose edges lead where those of the graph led out,
one for each, in the order in which a backward pass follows them. So the sums of gradients that come to one leaf by
several ways are the same, to the last bit. When the program differentiates, the node runs the graph that it hides, and
that is recorded: gradients that come in are the arguments, those that leave are the results, and what both lists share
are arrays that the first one made.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from weft._engine.dispatch import PlannedNode, check_unchanged, edge_of, extra_of, freed, make, set_output_index
from weft._engine.tensor import Node, TensorBase, Version, local, next_sequence
from weft.autograd._backward import backward_pass
from weft.autograd._nodes import GradientEdge
from weft.compiler._guards import Refused, mode_now

__all__ = [
    "CompiledFunction",
    "Graph",
    "Way",
    "check_versions",
    "kind_of_pass",
    "output_like",
    "tensors_saved",
    "versions_of",
    "with_history",
]

# From the node, the gradients of the outputs, which edges are asked for, and whether the graph is kept and recorded.
Apply = Callable[[Node, list[Any], Any, bool, bool], list[Any]]


class Way(NamedTuple):
    """Where a graph leads out of a function: to a leaf, or to the history of one of its arguments.

    ``argument`` is its place among them; -1 for a leaf that the function has from elsewhere.
    """

    argument: int
    leaf: Any

    def edge(self, arguments: Sequence[Any]) -> tuple[Any, int]:
        """The edge to it, with the number of the output that the argument is."""
        tensor = self.leaf if self.argument < 0 else arguments[self.argument]
        return edge_of(tensor), 0 if tensor._extra is None else tensor._extra.output_index


class CompiledFunction(PlannedNode):
    """The node of all results of a captured function."""

    __slots__ = ("run", "saves")

    gives_each_once = True  # where two edges get one, its writes are counted

    def __init__(self, run: Apply, saves: bool, ways: Sequence[Way], arguments: Sequence[Any]) -> None:
        self.run: Apply | None = run
        self.saves = saves  # something, which a pass that does not keep the graph lets go of
        edges = [way.edge(arguments) for way in ways]
        self._edges = tuple(edge for edge, _ in edges)
        self._extra = None
        self._sequence = next_sequence()
        if any(index for _, index in edges):
            extra_of(self).indices = tuple(index for _, index in edges)

    def label(self) -> str:
        return "CompiledFunctionBackward"

    def apply(self, grads: list[Any], needed: Any) -> Any:
        if self.run is None:
            raise freed(self)
        for each in grads[1:]:
            if each is not None and each._version_counter is None:
                each._version_counter = Version(0)  # so that nobody who is sent it takes it for his own
        outer = local.backward_pass
        return self.run(self, grads, needed, outer.keep_graph, outer.create_graph)

    def free(self) -> None:
        if self.saves:
            self.run = None


def with_history(node: CompiledFunction, outputs: Sequence[Any]) -> None:
    """Hang tensors on a node, as its outputs."""
    shapes = [each._array.shape for each in outputs]
    several = len(outputs) > 1
    node._shape = shapes if several else shapes[0]
    if several:
        extra_of(node).outputs = len(outputs)
    for place, each in enumerate(outputs):
        each._requires_grad, each._node = True, node
        set_output_index(each, place)


class Ending(Node):
    """The end of a graph that was cut off: gradients go on to where the graph had led."""

    __slots__ = ()

    def __init__(self, edge: Any, index: int, shape: tuple[int, ...]) -> None:
        self._edges = (edge,)
        self._extra = None
        self._shape = shape
        self._sequence = next_sequence()
        if index:
            extra_of(self).indices = (index,)

    def apply(self, grads: list[Any], needed: Any) -> Any:
        return grads


class Graph:
    """The graph behind the results of a function that has run, cut off at what was there before.

    Parameters
    ----------
    outputs : list of Tensor
        Results with a history.
    arguments : list of Tensor
    start : int
        The number of the last node that was there before.

    Attributes
    ----------
    ways : list of Way
        Where it leads out, in the order of a backward pass.

    Raises
    ------
    Refused
        If it leads to the history of a tensor that is no argument.
    """

    def __init__(self, outputs: list[Any], arguments: list[Any], start: int) -> None:
        self.outputs = outputs
        self.endings: list[Ending] = []
        self.ways: list[Way] = []
        places = {}
        for place in range(len(arguments)):
            edge, index = Way(place, None).edge(arguments)
            places[id(edge), index] = place
        self.nodes = sorted(nodes_since(outputs, start), key=lambda node: -node._sequence)
        self.roots = [GradientEdge(*Way(-1, each).edge(())) for each in outputs]  # as they are before any write
        for node in self.nodes:
            edges = list(node.edges())
            for position, edge in enumerate(edges):
                if edge is not None and not (isinstance(edge, Node) and edge._sequence > start):
                    edges[position] = self.end(node, position, edge, places, arguments)
            replace_edges(node, tuple(edges))

    def end(self, node: Any, position: int, edge: Any, places: dict[Any, int], arguments: list[Any]) -> Ending:
        indices = None if node._extra is None else node._extra.indices
        index = 0 if indices is None or not isinstance(edge, Node) else indices[position]
        place = places.get((id(edge), index), -1)
        if place < 0 and isinstance(edge, Node):
            raise Refused("it takes a tensor with a history from elsewhere than its arguments")
        shape = (edge if place < 0 else arguments[place])._array.shape
        self.endings.append(Ending(edge, index, shape))
        self.ways.append(Way(place, edge if place < 0 else None))
        return self.endings[-1]

    def differentiate(self, grads: list[Any], needed: Any, keep: bool, create: bool) -> list[Any]:
        """The gradients for the ways out, for those of the outputs; None where there are none."""
        asked = [each for place, each in enumerate(self.endings) if needed is None or needed[place]]
        captures: dict[Any, Any] = {(each, 0): None for each in asked}
        given = [place for place, grad in enumerate(grads) if grad is not None]
        roots, seeds = [self.roots[place] for place in given], [grads[place] for place in given]
        backward_pass(roots, seeds, keep, create, captures)
        return [captures.get((each, 0)) for each in self.endings]


def nodes_since(outputs: list[Any], start: int) -> set[Node]:
    """The nodes behind some tensors that are younger than another."""
    seen: set[Node] = set()
    stack = [edge_of(each) for each in outputs]
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and node not in seen and node._sequence > start:
            seen.add(node)
            stack += node.edges()
    return seen


def replace_edges(node: Any, edges: tuple[Any, ...]) -> None:
    """Give a node other edges."""
    if not hasattr(node, "first_edge"):
        node._edges = edges
    elif len(edges) == 2:
        node.first_edge, node.second_edge = edges
    elif node.plan.pattern[0]:
        (node.first_edge,) = edges
    else:
        (node.second_edge,) = edges


def tensors_saved(nodes: Sequence[Node]) -> list[Any]:
    """The tensors that some nodes hold, in whatever containers."""
    found: list[Any] = []
    stack: list[Any] = list(nodes)
    seen = set(map(id, nodes))
    while stack:
        for each in gc.get_referents(stack.pop()):
            if id(each) in seen or isinstance(each, (type, Node)):
                continue
            seen.add(id(each))
            if isinstance(each, TensorBase):
                found.append(each)
            elif isinstance(each, (tuple, list, dict)):
                stack.append(each)
    return found


def kind_of_pass(grads: list[Any], needed: Any) -> tuple[Any, ...]:
    """What must be the same of a backward pass for a replay of its list."""
    kinds = tuple(None if each is None else (each._key, each._array.shape, each._array.strides) for each in grads)
    return kinds, None if needed is None else tuple(map(bool, needed)), mode_now()


def versions_of(tensors: Sequence[Any]) -> list[tuple[Any, int]]:
    """The counts of writes of some tensors now."""
    return [(each, 0 if each._version_counter is None else each._version_counter.value) for each in tensors]


def check_versions(node: Node, versions: list[tuple[Any, int]]) -> None:
    """Raise the error for a tensor that was written to since."""
    for tensor, expected in versions:
        counter = tensor._version_counter
        if counter is not None and counter.value != expected:
            check_unchanged(node, tensor, expected, counter.value)


def output_like(array: Any, key: Any) -> Any:
    """A tensor whose writes are counted."""
    made = make(array, key)
    made._version_counter = Version(0)
    return made
