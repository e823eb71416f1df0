"""Nested containers as flat lists of their leaves, and back: what function transforms do to arguments and results."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Context",
    "MappingKey",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]

Context = Any  # what a container is besides its children


@dataclass(frozen=True)
class MappingKey:
    """Where a child stands in a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


# For each type of container (`namedtuple` stands for all that it made): its children and what else it is, and how it is
# made from them.
_nodes: dict[Any, tuple[Callable[[Any], tuple[list[Any], Any]], Callable[[Any, Any], Any]]] = {}


def register_pytree_node(cls: Any, flatten_fn: Any, unflatten_fn: Any, **names: Any) -> None:
    """Make a type a container.

    Parameters
    ----------
    cls : type
    flatten_fn : callable
        Returns the children, and what else the container is (its context, compared with ``==``).
    unflatten_fn : callable
        Makes a container from children and context.

    Raises
    ------
    ValueError
        If it is one already.
    """
    if cls in _nodes:
        raise ValueError(f"register_pytree_node: {cls} is already registered as a pytree node")
    _nodes[cls] = flatten_fn, unflatten_fn


register_pytree_node(list, lambda value: (value, None), lambda children, _: list(children))
register_pytree_node(tuple, lambda value: (list(value), None), lambda children, _: tuple(children))


def _dict_flatten(value: Any) -> tuple[list[Any], list[Any]]:
    return list(value.values()), list(value)


def _dict_unflatten(children: Any, keys: Any) -> dict[Any, Any]:
    return dict(zip(keys, children))


def _dict_flatten_with_keys(value: Any) -> tuple[list[tuple[MappingKey, Any]], list[Any]]:
    return [(MappingKey(key), child) for key, child in value.items()], list(value)


register_pytree_node(dict, _dict_flatten, _dict_unflatten)
register_pytree_node(
    OrderedDict,
    lambda value: (list(value.values()), list(value)),
    lambda children, keys: OrderedDict(zip(keys, children)),
)
register_pytree_node(
    defaultdict,
    lambda value: (list(value.values()), [value.default_factory, list(value)]),
    lambda children, context: defaultdict(context[0], zip(context[1], children)),
)
register_pytree_node(deque, lambda value: (list(value), value.maxlen), lambda children, size: deque(children, size))
register_pytree_node(
    namedtuple,
    lambda value: (list(value), type(value)),
    lambda children, cls: cls(*children),
)


def node_type(value: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The type by which a value is taken apart; None for a leaf."""
    if is_leaf is not None and is_leaf(value):
        return None
    if type(value) in _nodes:
        return type(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return namedtuple
    return None


class TreeSpec:
    """The structure of nested containers.

    Attributes
    ----------
    type : type or None
        The outermost container's; None for a leaf.
    context : object
        What it is besides its children: the keys of a dict.
    children_specs : list of TreeSpec
    num_leaves : int
    """

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type = type
        self.context = context
        self.children_specs = children_specs
        self.num_leaves: int = sum(each.num_leaves for each in children_specs) if type is not None else 1

    def is_leaf(self) -> bool:
        """Whether it is no container."""
        return self.type is None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and (
            (self.type, self.context, self.children_specs) == (other.type, other.context, other.children_specs)
        )

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context}, {self.children_specs})"


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the structure.

    Examples
    --------
    >>> tree_flatten({"a": 1, "b": (2, [3])})[0]
    [1, 2, 3]
    """
    leaves: list[Any] = []
    return leaves, take_apart(tree, leaves, is_leaf)


def take_apart(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    kind = node_type(tree, is_leaf)
    if kind is None:
        leaves.append(tree)
        return TreeSpec(None, None, [])
    children, context = _nodes[kind][0](tree)
    return TreeSpec(kind, context, [take_apart(each, leaves, is_leaf) for each in children])


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> Any:
    """Containers of a structure, with other leaves.

    Raises
    ------
    TypeError
        If the structure is none.
    ValueError
        If the number of leaves differs.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten: expected a TreeSpec as 'treespec', got {type(treespec).__name__}")
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten: {len(leaves)} leaves were given for a structure of {treespec.num_leaves} leaves"
        )
    return put_together(iter(leaves), treespec)


def put_together(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    return _nodes[spec.type][1]([put_together(leaves, each) for each in spec.children_specs], spec.context)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure alone."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The same structure with a function of each leaf (and of those at its place in other trees)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_flatten(each, is_leaf)[0] for each in rests]
    return tree_unflatten([func(*each) for each in zip(leaves, *others)], spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Call a function with each leaf, and return the tree as it is."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(cls: Any, func: Callable[[Any], Any], tree: Any) -> Any:
    """`tree_map` for the leaves of some types; others stay as they are."""
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, cls) else leaf, tree)


def tree_all(predicate: Callable[[Any], bool], tree: Any) -> bool:
    """Whether something holds of each leaf."""
    return all(map(predicate, tree_leaves(tree)))


def tree_any(predicate: Callable[[Any], bool], tree: Any) -> bool:
    """Whether something holds of a leaf."""
    return any(map(predicate, tree_leaves(tree)))


def broadcast_prefix(prefix: Any, spec: TreeSpec) -> list[Any] | None:
    """One value for each leaf of a structure, from a tree that may stop above its leaves; None if it does not fit."""
    if spec.type is None or node_type(prefix) is None:
        return None if spec.type is None and node_type(prefix) is not None else [prefix] * spec.num_leaves
    children, context = _nodes[node_type(prefix)][0](prefix)
    if node_type(prefix) is not spec.type or context != spec.context or len(children) != len(spec.children_specs):
        return None
    found: list[Any] = []
    for each, below in zip(children, spec.children_specs):
        part = broadcast_prefix(each, below)
        if part is None:
            return None
        found.extend(part)
    return found
