"""Nested containers as flat lists of their leaves, and back: what function transforms do to arguments and results.

A container is a value whose type is registered: how it is taken apart into children and a context (what it is besides
them, compared with ``==``), and how it is made of both. All other values are leaves, None too.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import types
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, runtime_checkable

from weft._tensor.size import Size

__all__ = [
    "Context",
    "DumpableContext",
    "FlattenFunc",
    "FromDumpableContextFn",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "SequenceKey",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFunc",
    "key_get",
    "keystr",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dict",
    "treespec_dumps",
    "treespec_leaf",
    "treespec_loads",
    "treespec_pprint",
    "treespec_tuple",
]

Context = Any
PyTree = Any
DumpableContext = Any
T = TypeVar("T")
FlattenFunc = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFunc = Callable[[Iterable[Any], Context], PyTree]
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
IsLeaf = Callable[[Any], bool] | None

NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"
DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1
STANDARD_DICT_TYPES: frozenset[type] = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES: frozenset[Any] = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})


# Where a child stands in its container


@runtime_checkable
class KeyEntry(Protocol):
    """Where a child stands in its container."""

    def __hash__(self) -> int: ...
    def __eq__(self, other: object) -> bool: ...
    def __str__(self) -> str: ...
    def get(self, parent: Any) -> Any:
        """The child of a container."""


KeyPath = tuple[KeyEntry, ...]
FlattenWithKeysFunc = Callable[[PyTree], tuple[list[tuple[KeyEntry, Any]], Any]]


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """Where a child stands in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The child of a sequence."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """Where a child stands in a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The child of a mapping."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """Which attribute a child is."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The child of an object."""
        return getattr(obj, self.name)


# Containers by their types


class NodeDef(NamedTuple):
    """How the containers of a type are taken apart and made."""

    type: Any
    flatten_fn: FlattenFunc
    unflatten_fn: UnflattenFunc
    flatten_with_keys_fn: FlattenWithKeysFunc | None = None


class _SerializeNodeDef(NamedTuple):
    typ: Any
    serialized_type_name: str
    to_dumpable_context: ToDumpableContextFn | None
    from_dumpable_context: FromDumpableContextFn | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, _SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()


def register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFunc | None = None,
) -> None:
    """Make a type a container.

    Parameters
    ----------
    cls : type
    flatten_fn : callable
        Returns the children, and what else the container is (its context, compared with ``==``).
    unflatten_fn : callable
        Makes a container from children and context.
    serialized_type_name : str, optional
        What `treespec_dumps` writes for it.
    to_dumpable_context, from_dumpable_context : callable, optional
        From a context to what JSON has, and back; both or neither.
    flatten_with_keys_fn : callable, optional
        As ``flatten_fn``, with pairs of a key and a child, for functions of paths.

    Raises
    ------
    ValueError
        If it is one already, or one of the functions for contexts is missing.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls!r} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered: a context that "
            "is written has to be read again"
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    name = serialized_type_name or NO_SERIALIZED_TYPE_NAME_FOUND
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, name, to_dumpable_context, from_dumpable_context)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


_private_register_pytree_node = register_pytree_node


def _register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    to_str_fn: Any = None,
    maybe_from_str_fn: Any = None,
    **options: Any,
) -> None:
    """`register_pytree_node` under its older name, for libraries that were written for it."""
    warnings.warn(
        "torch.utils._pytree._register_pytree_node is deprecated. "
        "Please use torch.utils._pytree.register_pytree_node instead.",
        FutureWarning,
        stacklevel=2,
    )
    if to_str_fn is not None or maybe_from_str_fn is not None:
        warnings.warn(
            "`to_str_fn` and `maybe_from_str_fn` is deprecated. Please use `to_dumpable_context` and "
            "`from_dumpable_context` instead.",
            FutureWarning,
            stacklevel=2,
        )
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls: type[Any]) -> None:
    """Make a type one of leaves again."""
    del SUPPORTED_NODES[cls]
    node = SUPPORTED_SERIALIZED_TYPES.pop(cls)
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(node.serialized_type_name, None)
    CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls: type[Any],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Make a data class a container of its fields.

    Parameters
    ----------
    cls : type
    field_names : list of str, optional
        The fields that are children; default: all that the constructor takes.
    drop_field_names : list of str, optional
        Fields that are left out, and have to have a default.
    serialized_type_name : str, optional

    Raises
    ------
    ValueError
        If the names are not those of the fields.
    """
    fields = {each.name: each for each in dataclasses.fields(cls) if each.init}
    dropped = drop_field_names or []
    if field_names is None:
        field_names = [name for name in fields if name not in dropped]
    elif dataclasses.is_dataclass(cls):
        check_fields(cls, fields, field_names, dropped)
    names = list(field_names)

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        there = [name for name in names if getattr(obj, name) is not None]
        return [getattr(obj, name) for name in there], [there, [name for name in names if name not in there]]

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        there, missing = context
        return cls(**dict(zip(there, values)), **dict.fromkeys(missing))

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Any]:
        values, context = flatten(obj)
        return [(GetAttrKey(name), value) for name, value in zip(context[0], values)], context

    register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


def check_fields(cls: Any, fields: Mapping[str, Any], names: list[str], dropped: list[str]) -> None:
    """The fields that are children and those that are left out are the fields of a data class.

    Raises
    ------
    ValueError
        If they are not.
    """
    given, known = {*names, *dropped}, {*fields}
    if given != known:
        raise ValueError(
            f"register_dataclass: field_names of {cls} must be those of its fields: missing "
            f"{sorted(known - given)}, unexpected {sorted(given - known)}"
        )


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The context of a value that is all context."""

    value: Any


def register_constant(cls: type[Any]) -> None:
    """Make the values of a type part of the structure: containers without children, compared by ``==``.

    Raises
    ------
    TypeError
        If the type compares its values by identity, or has no hash of its own.
    """
    if vars(cls).get("__eq__", cls.__eq__) is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if vars(cls).get("__hash__", cls.__hash__) in (None, object.__hash__):
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")
    register_pytree_node(
        cls,
        lambda value: ([], ConstantNode(value)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda value: ([], ConstantNode(value)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type[Any]) -> bool:
    """Whether a type was given to `register_constant`."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class was made by `namedtuple`, or derives from one that was."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "_fields", None), tuple)
        and all(type(field) is str for field in cls._fields)  # type: ignore[attr-defined]
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj: object) -> bool:
    """Whether a value is a named tuple."""
    return is_namedtuple_class(type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def is_namedtuple(obj: object) -> bool:
    """Whether something is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


class structseq(tuple):  # type: ignore[type-arg]
    """The class that stands for those of Python's structure sequences, as ``time.struct_time``: never made."""

    __slots__ = ()
    n_fields: ClassVar[int]
    n_sequence_fields: ClassVar[int]
    n_unnamed_fields: ClassVar[int]

    def __init_subclass__(cls) -> None:
        raise TypeError("type 'structseq' is not an acceptable base type")

    def __new__(cls, sequence: Any, dict: Any = None) -> Any:
        """Refuse.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("structseq stands for other classes, and has no objects")


def is_structseq_class(cls: type) -> bool:
    """Whether a class is one of Python's structure sequences."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, name, None), int) for name in ("n_fields", "n_sequence_fields"))
        and isinstance(getattr(cls, "n_unnamed_fields", None), int)
    )


def is_structseq_instance(obj: object) -> bool:
    """Whether a value is one of Python's structure sequences."""
    return is_structseq_class(type(obj))


def is_structseq(obj: object) -> bool:
    """Whether something is one of Python's structure sequences, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


# The containers of Python


def _tuple_flatten(value: tuple[Any, ...]) -> tuple[list[Any], Context]:
    return list(value), None


def _tuple_unflatten(values: Iterable[Any], context: Context) -> tuple[Any, ...]:
    return tuple(values)


def _list_flatten(value: list[Any]) -> tuple[list[Any], Context]:
    return value, None


def _list_unflatten(values: Iterable[Any], context: Context) -> list[Any]:
    return list(values)


def _sequence_flatten_with_keys(value: Any) -> tuple[list[tuple[Any, Any]], Context]:
    values, context = SUPPORTED_NODES[_get_node_type(value)].flatten_fn(value)
    return [(SequenceKey(number), each) for number, each in enumerate(values)], context


_tuple_flatten_with_keys = _list_flatten_with_keys = _deque_flatten_with_keys = _sequence_flatten_with_keys


def _dict_flatten(value: dict[Any, Any]) -> tuple[list[Any], Context]:
    return list(value.values()), list(value.keys())


def _dict_flatten_with_keys(value: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], Context]:
    return [(MappingKey(key), child) for key, child in value.items()], list(value.keys())


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values))


def _ordereddict_unflatten(values: Iterable[Any], context: Context) -> OrderedDict[Any, Any]:
    return OrderedDict(zip(context, values))


_ordereddict_flatten = _odict_flatten = _dict_flatten
_ordereddict_flatten_with_keys = _dict_flatten_with_keys
_odict_unflatten = _ordereddict_unflatten


def _defaultdict_flatten(value: defaultdict[Any, Any]) -> tuple[list[Any], Context]:
    values, keys = _dict_flatten(value)
    return values, [value.default_factory, keys]


def _defaultdict_flatten_with_keys(value: defaultdict[Any, Any]) -> tuple[list[tuple[Any, Any]], Context]:
    pairs, keys = _dict_flatten_with_keys(value)
    return pairs, [value.default_factory, keys]


def _defaultdict_unflatten(values: Iterable[Any], context: Context) -> defaultdict[Any, Any]:
    factory, keys = context
    return defaultdict(factory, zip(keys, values))


def _defaultdict_serialize(context: Context) -> DumpableContext:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _defaultdict_deserialize(dumped: DumpableContext) -> Context:
    module = importlib.import_module(dumped["default_factory_module"])
    return [getattr(module, dumped["default_factory_name"]), dumped["dict_context"]]


def _deque_flatten(value: deque[Any]) -> tuple[list[Any], Context]:
    return list(value), value.maxlen


def _deque_unflatten(values: Iterable[Any], context: Context) -> deque[Any]:
    return deque(values, maxlen=context)


def _namedtuple_flatten(value: Any) -> tuple[list[Any], Context]:
    return list(value), type(value)


def _namedtuple_flatten_with_keys(value: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(GetAttrKey(name), child) for name, child in zip(value._fields, value)], type(value)


def _namedtuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return context(*values)


def _namedtuple_serialize(context: Context) -> DumpableContext:
    known = SUPPORTED_SERIALIZED_TYPES.get(context)
    if known is None or known.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a "
            "serializated_type_name. Please register it with `_register_namedtuple`."
        )
    return known.serialized_type_name


def _namedtuple_deserialize(dumped: DumpableContext) -> Context:
    found = SERIALIZED_TYPE_TO_PYTHON_TYPE.get(dumped)
    if found is None:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {dumped} because we couldn't find a serializated name."
        )
    return found


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    """Give a class of named tuples, which are containers as they are, a name for `treespec_dumps`."""
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, serialized_type_name, None, None)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def _register_pythons() -> None:
    for cls, flatten, unflatten, with_keys in (
        (tuple, _tuple_flatten, _tuple_unflatten, _sequence_flatten_with_keys),
        (list, _list_flatten, _list_unflatten, _sequence_flatten_with_keys),
        (dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
    ):
        register_pytree_node(
            cls, flatten, unflatten, serialized_type_name=f"builtins.{cls.__name__}", flatten_with_keys_fn=with_keys
        )
    register_pytree_node(
        namedtuple,  # type: ignore[arg-type]
        _namedtuple_flatten,
        _namedtuple_unflatten,
        serialized_type_name="collections.namedtuple",
        to_dumpable_context=_namedtuple_serialize,
        from_dumpable_context=_namedtuple_deserialize,
        flatten_with_keys_fn=_namedtuple_flatten_with_keys,
    )
    register_pytree_node(
        OrderedDict,
        _ordereddict_flatten,
        _ordereddict_unflatten,
        serialized_type_name="collections.OrderedDict",
        flatten_with_keys_fn=_ordereddict_flatten_with_keys,
    )
    register_pytree_node(
        defaultdict,
        _defaultdict_flatten,
        _defaultdict_unflatten,
        serialized_type_name="collections.defaultdict",
        to_dumpable_context=_defaultdict_serialize,
        from_dumpable_context=_defaultdict_deserialize,
        flatten_with_keys_fn=_defaultdict_flatten_with_keys,
    )
    register_pytree_node(
        deque,
        _deque_flatten,
        _deque_unflatten,
        serialized_type_name="collections.deque",
        flatten_with_keys_fn=_sequence_flatten_with_keys,
    )
    register_pytree_node(
        Size,
        _tuple_flatten,
        lambda values, _: Size(values),
        serialized_type_name="torch.Size",
        flatten_with_keys_fn=_sequence_flatten_with_keys,
    )


_register_pythons()


def _get_node_type(tree: Any) -> Any:
    """The type by which a value is taken apart: `namedtuple` for all that it made."""
    kind = type(tree)
    if kind not in SUPPORTED_NODES and is_namedtuple_class(kind):
        return namedtuple
    return kind


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a value is no container, or ``is_leaf`` takes it for none.

    Examples
    --------
    >>> tree_is_leaf(1), tree_is_leaf(None), tree_is_leaf([1]), tree_is_leaf([1], is_leaf=lambda x: True)
    (True, True, False, True)
    """
    if is_leaf is not None and is_leaf(tree):
        return True
    return _get_node_type(tree) not in SUPPORTED_NODES


def _is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """`tree_is_leaf` under its older name."""
    return tree_is_leaf(tree, is_leaf)


# Structures


class TreeSpec:
    """The structure of nested containers.

    Attributes
    ----------
    type : type or None
        The outermost container's; None for a leaf.
    context : object
        What it is besides its children: the keys of a dict.
    children_specs : list of TreeSpec
    num_leaves, num_nodes, num_children : int
    """

    def __init__(self, type: Any, context: Context, children_specs: Iterable[TreeSpec] = ()) -> None:
        self.type = type
        self._context = context
        self._children = list(children_specs)
        self.num_nodes: int = 1 + sum(each.num_nodes for each in self._children)
        self.num_leaves: int = 1 if type is None else sum(each.num_leaves for each in self._children)
        self.num_children: int = len(self._children)

    @property
    def context(self) -> Context:
        """What the container is besides its children."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The structures of the children."""
        return self._children

    def is_leaf(self) -> bool:
        """Whether it is no container."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The structures of the children."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self._children[index]

    def entries(self) -> list[Any]:
        """What names the children: the keys of a mapping, else their numbers."""
        if self.type in STANDARD_DICT_TYPES:
            return list(keys_of(self))
        return list(range(self.num_children))

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of a tree that stand where this structure has leaves.

        Raises
        ------
        ValueError
            If the tree has not this structure above them.
        """
        found: list[PyTree] = []
        self._take(tree, found)
        return found

    def _take(self, tree: PyTree, found: list[PyTree]) -> None:
        if self.type is None:
            found.append(tree)
            return
        kind = _get_node_type(tree)
        of_dicts = self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
        if kind not in SUPPORTED_NODES or (kind is not self.type and not of_dicts):
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if of_dicts:
            children = self._in_order(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if not of_dicts and kind is not deque and context != self._context:
            raise ValueError(
                f"Node context mismatch for custom node type {self.type!r}; expected {self._context!r}, but got "
                f"{context!r}."
            )
        for each, child in zip(self._children, children):
            each._take(child, found)

    def _in_order(self, mapping: Mapping[Any, Any]) -> list[Any]:
        """A mapping's values by this structure's keys."""
        expected = keys_of(self)
        if {*expected} != {*mapping}:
            missing, extra = {*expected} - {*mapping}, {*mapping} - {*expected}
            said = [f"missing key(s): {missing}"] * bool(missing) + [f"extra key(s): {extra}"] * bool(extra)
            raise ValueError(f"Node keys mismatch; {'; '.join(said)}.")
        return [mapping[key] for key in expected]

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """Containers of this structure, with these leaves.

        Raises
        ------
        ValueError
            If there are more or fewer than it holds.
        """
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._make(iter(leaves))

    def _make(self, leaves: Iterator[Any]) -> PyTree:
        if self.type is None:
            return next(leaves)
        children = [each._make(leaves) for each in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self._context)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self._context, self._children) == (other.type, other._context, other._children)

    def __hash__(self) -> int:
        context = self._context
        if self.type in STANDARD_DICT_TYPES:
            context = tuple(keys_of(self))
        hashable = isinstance(context, Hashable) and not isinstance(context, tuple)
        return hash((self.type, context if hashable else None, tuple(self._children)))

    def __repr__(self) -> str:
        return self._shown(0)

    def _shown(self, indent: int) -> str:
        if self.type is None:
            return "*"
        head = f"TreeSpec({self.type.__name__}, {self._context}, ["
        indent += 2
        separator = f",\n{' ' * indent}"
        return f"{head}{separator.join(each._shown(indent) for each in self._children)}])"


class LeafType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TreeSpec) and instance.is_leaf()


class LeafSpec(TreeSpec, metaclass=LeafType):
    """The structure of a leaf; every one is an instance of it."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF_SPEC = LeafSpec()
PyTreeSpec = TreeSpec


def keys_of(spec: TreeSpec) -> list[Any]:
    """The keys of a mapping's structure."""
    found: list[Any] = spec.context[1] if spec.type is defaultdict else spec.context
    return found


def treespec_leaf() -> TreeSpec:
    """The structure of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The structure of a tuple, of those of its elements."""
    children = list(iterable)
    if not all(isinstance(each, TreeSpec) for each in children):
        raise ValueError(f"Expected a tuple of PyTreeSpecs, got: {children!r}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The structure of a dict, of those of its values."""
    children = dict(mapping, **kwargs)
    if not all(isinstance(each, TreeSpec) for each in children.values()):
        raise ValueError(f"Expected a dictionary of TreeSpecs, got: {children!r}.")
    return TreeSpec(dict, list(children), list(children.values()))


def check_spec(treespec: Any) -> None:
    """An argument is a structure.

    Raises
    ------
    TypeError
        If it is none.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")


# Trees


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the structure.

    Examples
    --------
    >>> tree_flatten({"a": 1, "b": (2, [3])})[0]
    [1, 2, 3]
    """
    leaves: list[Any] = []
    return leaves, take_apart(tree, leaves, is_leaf)


def take_apart(tree: Any, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF_SPEC
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [take_apart(each, leaves, is_leaf) for each in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Containers of a structure, with other leaves.

    Raises
    ------
    TypeError
        If the structure is none.
    ValueError
        If the number of leaves differs.
    """
    check_spec(treespec)
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one after the other."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for each in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(each, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves from left to right."""
    return list(tree_iter(tree, is_leaf))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of the arguments of a call."""
    return [leaf for each in (*args, *kwargs.values()) for leaf in tree_iter(each)]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure alone."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """The same structure with a function of each leaf, and of what stands at its place in other trees.

    Raises
    ------
    ValueError
        If another tree has not the structure of the first.

    Examples
    --------
    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(each) for each in rests)]
    return spec.unflatten(map(func, *columns))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call a function with each leaf, and return the tree as it is."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for each in zip(leaves, *(spec.flatten_up_to(each) for each in rests)):
        func(*each)
    return tree


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator: the function of values of some types, or for which a predicate holds; others it returns.

    Raises
    ------
    TypeError
        For what is neither a type, several, nor a function.
    """
    given = type_or_types_or_pred
    if isinstance(given, (type, types.UnionType)) or (
        isinstance(given, tuple) and all(isinstance(each, type) for each in given)
    ):

        def chosen(value: Any) -> bool:
            return isinstance(value, given)

    elif callable(given):
        chosen = given
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def wrapper(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(func)
        def wrapped(value: Any) -> Any:
            return func(value) if chosen(value) else value

        return wrapped

    return wrapper


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """`tree_map` for the leaves of some types, or for which a predicate holds; others stay as they are.

    Examples
    --------
    >>> tree_map_only(int, lambda x: x + 1, [1, "a", 2.5])
    [2, 'a', 2.5]
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """`tree_map_` for the leaves of some types, or for which a predicate holds."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds of each leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds of a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds of each leaf of some types."""
    return all(pred(each) for each in tree_iter(tree, is_leaf) if isinstance(each, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds of a leaf of some types."""
    return any(pred(each) for each in tree_iter(tree, is_leaf) if isinstance(each, type_or_types))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """One value for each leaf of a structure, from a tree that may stop above its leaves; None if it does not fit."""
    check_spec(treespec)
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind = _get_node_type(tree)
    if treespec.is_leaf() or kind is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    found: list[Any] = []
    for each, below in zip(children, treespec.children_specs):
        part = _broadcast_to_and_flatten(each, below, is_leaf)
        if part is None:
            return None
        found.extend(part)
    return found


broadcast_prefix = _broadcast_to_and_flatten


# Paths


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves with the keys that lead to each, and the structure.

    Raises
    ------
    ValueError
        If a container's type was registered without keys.

    Examples
    --------
    >>> [(keystr(path), leaf) for path, leaf in tree_flatten_with_path({"a": [1, 2]})[0]]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return list(_generate_key_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves with the keys that lead to each."""
    return list(_generate_key_paths((), tree, is_leaf))


def _generate_key_paths(key_path: KeyPath, tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield key_path, tree
        return
    kind = _get_node_type(tree)
    with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    for key, child in with_keys(tree)[0]:
        yield from _generate_key_paths((*key_path, key), child, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map` of a function that gets the keys that lead to each leaf first."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [*zip(*pairs)] or [(), ()]
    return spec.unflatten(map(func, *columns, *(spec.flatten_up_to(each) for each in rests)))


def keystr(kp: KeyPath) -> str:
    """Keys as one writes them in Python."""
    return "".join(str(each) for each in kp)


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What stands at the end of keys."""
    for each in kp:
        obj = each.get(obj)
    return obj


# Text


class EnumEncoder(json.JSONEncoder):
    """Writes members of enums, beside what JSON has."""

    def default(self, obj: object) -> Any:
        """What stands for an object."""
        if isinstance(obj, Enum):
            return {"__enum__": True, "fqn": f"{type(obj).__module__}:{type(obj).__qualname__}", "name": obj.name}
        return super().default(obj)


def enum_object_hook(obj: dict[str, Any]) -> Any:
    """The member of an enum that was written, or the dict as it is."""
    if "__enum__" not in obj:
        return obj
    module, _, path = obj["fqn"].partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found[obj["name"]]


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as text, which `treespec_loads` reads.

    Raises
    ------
    TypeError
        If it is none.
    NotImplementedError
        If a container's type was registered without ``serialized_type_name``.
    ValueError
        For another protocol than 1.

    Examples
    --------
    >>> treespec_dumps(tree_structure([1]))[:40]
    '[1, {"type": "builtins.list", "context":'
    """
    check_spec(treespec)
    chosen = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    if chosen != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {chosen}. Available protocols: [1]")
    return json.dumps((chosen, as_json(treespec)), cls=EnumEncoder)


def as_json(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    known = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if known is None or known.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call "
            "with a `serialized_type_name` kwarg."
        )
    if known.to_dumpable_context is not None:
        context = known.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, cls=EnumEncoder)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer "
                "using _register_pytree_node."
            ) from error
    children = [as_json(each) for each in spec.children_specs]
    return {"type": known.serialized_type_name, "context": context, "children_spec": children}


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that a text of `treespec_dumps` says.

    Raises
    ------
    ValueError
        For another protocol than 1.
    NotImplementedError
        If it has a container of a type that is not registered under that name.
    """
    protocol, schema = json.loads(serialized, object_hook=enum_object_hook)
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return of_json(schema)


def of_json(schema: Mapping[str, Any]) -> TreeSpec:
    if schema["type"] is None and schema["context"] is None and not schema["children_spec"]:
        return _LEAF_SPEC
    name = schema["type"]
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    cls = SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    read = SUPPORTED_SERIALIZED_TYPES[cls].from_dumpable_context
    if read is not None:
        context = read(schema["context"])
    else:
        context = json.loads(schema["context"], object_hook=enum_object_hook)
    return TreeSpec(cls, context, [of_json(each) for each in schema["children_spec"]])


class Asterisk(str):
    """What stands for a leaf where a structure is printed as a tree."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure as the tree that it is of, with ``*`` for its leaves.

    Examples
    --------
    >>> treespec_pprint(tree_structure({"a": [1, 2]}))
    "{'a': [*, *]}"
    """
    check_spec(treespec)
    return repr(treespec.unflatten([Asterisk("*")] * treespec.num_leaves))


def pytree_to_str(treespec: TreeSpec) -> str:
    """`treespec_dumps` under its older name."""
    return treespec_dumps(treespec)


def str_to_pytree(serialized: str) -> TreeSpec:
    """`treespec_loads` under its older name."""
    return treespec_loads(serialized)
