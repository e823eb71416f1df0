"""Replacing a pattern in a graph by another."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from weft.fx._symbolic_trace import symbolic_trace
from weft.fx.graph import Graph
from weft.fx.graph_module import GraphModule, _copy_attr
from weft.fx.node import Node
from weft.nn import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place where a pattern was found.

    Attributes
    ----------
    anchor : Node
        The last node of the match.
    nodes_map : dict
        From the nodes of the pattern to those of the graph.
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place where a pattern was replaced, with the nodes that were put there."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node] = field(default_factory=list)


def replace_pattern(
    gm: GraphModule, pattern: Callable[..., Any] | GraphModule, replacement: Callable[..., Any] | GraphModule
) -> list[Match]:
    """Replace every occurrence of a pattern by something else.

    Parameters
    ----------
    gm : GraphModule
        Changed in place.
    pattern, replacement : callable or GraphModule
        Both with the same parameters, which stand for any value. They are traced.

    Returns
    -------
    list of Match
        The places that were replaced, which do not overlap.

    Examples
    --------
    >>> traced = weft.fx.symbolic_trace(lambda x, y: weft.relu(x + y) * 2)
    >>> found = replace_pattern(traced, lambda a, b: weft.relu(a + b), lambda a, b: weft.maximum(a, b))
    >>> len(found)
    1
    >>> print(traced.code.strip())
    def forward(self, x, y):
        maximum = weft.maximum(x, y);  x = y = None
        mul = maximum * 2;  maximum = None
        return mul
    """
    return [Match(each.anchor, each.nodes_map) for each in replace(gm, pattern, replacement, None, False)]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[[Match, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    **kwargs: Any,
) -> list[ReplacedPatterns]:
    """`replace_pattern` where functions agree to it.

    Parameters
    ----------
    gm, pattern, replacement
        As there.
    match_filters : list of callable, optional
        Each is given the match, the graph and the pattern's graph; all must return True.
    ignore_literals : bool
        Constants in the pattern stand for any constant.
    """
    return replace(gm, pattern, replacement, match_filters, ignore_literals)


def replace(
    gm: GraphModule, pattern: Any, replacement: Any, filters: Any, ignore_literals: bool
) -> list[ReplacedPatterns]:
    pattern_graph, replacement_graph = graph_of(pattern), graph_of(replacement)
    if isinstance(replacement, Module):
        take_over_modules(gm, replacement)
    changed: dict[Node, Node] = {}  # what was replaced, for matches whose inputs it was
    found = matches_of(gm.graph, pattern_graph, ignore_literals)
    accepted = [each for each in found if all(accepts(each, gm.graph, pattern_graph) for accepts in filters or ())]
    done = [put_in(gm.graph, match, pattern_graph, replacement_graph, changed) for match in accepted]
    gm.recompile()
    return done


def graph_of(pattern: Any) -> Graph:
    if isinstance(pattern, Graph):
        return pattern
    return pattern.graph if isinstance(pattern, GraphModule) else symbolic_trace(pattern).graph


# Finding ----------------------------------------------------------------------------------------------------


def matches_of(graph: Graph, pattern: Graph, ignore_literals: bool) -> list[Match]:
    """The places where the pattern is, from first to last, without those that overlap an earlier one."""
    returned = [node for node in pattern.output_node().all_input_nodes if node.op != "placeholder"]
    if not returned:
        raise ValueError("replace_pattern: the pattern computes nothing, so that it would be everywhere")
    found: list[Match] = []
    taken: set[Node] = set()
    for node in graph.nodes:
        nodes_map: dict[Node, Node] = {}
        if not matches(returned[-1], node, nodes_map, ignore_literals):
            continue
        if not all(find_other(each, graph, nodes_map, ignore_literals) for each in returned[:-1]):
            continue
        inner = {found for part, found in nodes_map.items() if part.op != "placeholder"}
        if inner & taken or not is_closed(pattern, returned, nodes_map, inner):
            continue
        taken |= inner
        found.append(Match(node, nodes_map))
    return found


def find_other(part: Node, graph: Graph, nodes_map: dict[Node, Node], ignore_literals: bool) -> bool:
    """Find another value that the pattern returns, which must fit to what was found so far."""
    if part in nodes_map:
        return True
    for node in graph.nodes:
        trial = dict(nodes_map)
        if matches(part, node, trial, ignore_literals):
            nodes_map.update(trial)
            return True
    return False


def is_closed(pattern: Graph, returned: list[Node], nodes_map: dict[Node, Node], inner: set[Node]) -> bool:
    """Whether nothing outside of the match uses what the pattern keeps to itself."""
    kept = (part for part in nodes_map if part.op != "placeholder" and part not in returned)
    return all(user in inner for part in kept for user in nodes_map[part].users)


def matches(part: Any, node: Any, nodes_map: dict[Node, Node], ignore_literals: bool) -> bool:
    """Whether a node does what a node of the pattern does, and its arguments too; notes which is which."""
    if part in nodes_map:
        return nodes_map[part] is node
    if part.op == "placeholder":
        nodes_map[part] = node
        return True
    if part.op != node.op or node.op == "placeholder" or not same_target(part, node):
        return False
    if len(part.args) != len(node.args) or part.kwargs.keys() != node.kwargs.keys():
        return False
    nodes_map[part] = node
    pairs = [*zip(part.args, node.args), *((part.kwargs[key], node.kwargs[key]) for key in part.kwargs)]
    if all(same_argument(left, right, nodes_map, ignore_literals) for left, right in pairs):
        return True
    nodes_map.pop(part, None)
    return False


def same_target(part: Node, node: Node) -> bool:
    """Whether two nodes call the same; modules, if they are of one class."""
    if part.op != "call_module":
        return bool(part.target == node.target)
    owners = part.graph.owning_module, node.graph.owning_module
    if None in owners:
        return bool(part.target == node.target)
    return type(owners[0].get_submodule(part.target)) is type(owners[1].get_submodule(node.target))


def same_argument(left: Any, right: Any, nodes_map: dict[Node, Node], ignore_literals: bool) -> bool:
    if isinstance(left, Node):
        if isinstance(right, Node):
            return matches(left, right, nodes_map, ignore_literals)
        if left.op != "placeholder":
            return False
        if left in nodes_map:
            return bool(nodes_map[left] == right)
        nodes_map[left] = right  # a constant for a parameter of the pattern
        return True
    if isinstance(right, Node):
        return False
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        return len(left) == len(right) and all(
            same_argument(a, b, nodes_map, ignore_literals) for a, b in zip(left, right)
        )
    return ignore_literals or (type(left) is type(right) and bool(left == right))


# Replacing --------------------------------------------------------------------------------------------------


def put_in(
    graph: Graph, match: Match, pattern: Graph, replacement: Graph, changed: dict[Node, Node]
) -> ReplacedPatterns:
    """Put the replacement in the place of one match."""
    parameters = [node for node in pattern.nodes if node.op == "placeholder"]
    others = [node for node in replacement.nodes if node.op == "placeholder"]
    if len(parameters) != len(others):
        raise ValueError(
            f"replace_pattern: the pattern has {len(parameters)} parameters and the replacement {len(others)}"
        )
    val_map: dict[Node, Any] = {}
    for parameter, other in zip(parameters, others):
        value = match.nodes_map.get(parameter)
        val_map[other] = changed.get(value, value) if isinstance(value, Node) else value
    before = set(graph.nodes)
    with graph.inserting_before(first_user(graph, pattern, match)):
        result = graph.graph_copy(replacement, val_map)
    made = [node for node in graph.nodes if node not in before]
    old = pattern.output_node().args[0]
    olds, news = (old, result) if isinstance(old, tuple | list) else ((old,), (result,))
    for part, new in zip(olds, news):
        found = match.nodes_map[part]
        found.replace_all_uses_with(new)
        changed[found] = new
    for part in reversed(pattern.nodes):
        node = match.nodes_map.get(part)
        if part.op not in ("placeholder", "output") and isinstance(node, Node) and not node.users:
            graph.erase_node(node)
    return ReplacedPatterns(match.anchor, match.nodes_map, made)


def first_user(graph: Graph, pattern: Graph, match: Match) -> Node:
    """Where the replacement goes: before the first node that uses what the match returns."""
    returned = [match.nodes_map[part] for part in pattern.output_node().all_input_nodes]
    users = {user for node in returned for user in node.users}
    return next((node for node in graph.nodes if node in users), match.anchor.next)


def take_over_modules(gm: GraphModule, replacement: Module) -> None:
    """Give the module what the replacement's nodes name, if it has nothing of the name."""
    graph = getattr(replacement, "graph", None) or symbolic_trace(replacement).graph
    for node in graph.nodes:
        if node.op in ("call_module", "get_attr"):
            try:
                gm.get_submodule(node.target) if node.op == "call_module" else gm.get_parameter(node.target)
            except AttributeError:
                _copy_attr(copy.deepcopy(replacement), gm, node.target)
