"""`weft.utils._pytree`: containers as lists of their leaves (transformers, peft, diffusers, lightning, tensordict)."""

import dataclasses
import json
import time
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import weft
from weft.utils import _pytree as pytree

Point = namedtuple("Point", "x y")
TREES = [
    {"b": 1, "a": [2, (3, None)]},
    OrderedDict(z=1, y=[2]),
    defaultdict(list, q=[1]),
    deque([1, 2], maxlen=3),
    Point(1, [2]),
    weft.Size([2, 3]),
    3,
    [],
]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: type(tree).__name__)
def test_a_tree_is_made_again_of_its_leaves(tree):
    leaves, spec = pytree.tree_flatten(tree)
    made = pytree.tree_unflatten(leaves, spec)
    assert made == tree
    assert type(made) is type(tree)
    assert leaves == pytree.tree_leaves(tree) == list(pytree.tree_iter(tree))
    assert spec == pytree.tree_structure(tree)
    assert hash(spec) == hash(pytree.tree_structure(tree))
    assert spec.num_leaves == len(leaves)


@pytest.mark.parametrize(
    "tree", [tree for tree in TREES if not isinstance(tree, Point)], ids=lambda tree: type(tree).__name__
)
def test_structures_are_written_and_read(tree):
    spec = pytree.tree_structure(tree)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


def test_a_written_structure_has_pytorchs_form():
    text = pytree.treespec_dumps(pytree.tree_structure({"a": [1]}))
    assert json.loads(text) == [
        1,
        {
            "type": "builtins.dict",
            "context": '["a"]',
            "children_spec": [
                {
                    "type": "builtins.list",
                    "context": "null",
                    "children_spec": [{"type": None, "context": None, "children_spec": []}],
                }
            ],
        },
    ]


def test_a_structure_is_printed_as_pytorch_prints_it():
    spec = pytree.tree_structure({"a": [1, (2, 3)], "b": None})
    assert (
        repr(spec)
        == "TreeSpec(dict, ['a', 'b'], [TreeSpec(list, None, [*,\n    TreeSpec(tuple, None, [*,\n      *])]),\n  *])"
    )
    assert pytree.treespec_pprint(spec) == "{'a': [*, (*, *)], 'b': *}"


def test_other_trees_go_along_by_keys_and_not_by_their_order():
    assert pytree.tree_map(lambda x, y: x + y, {"a": 1, "b": 2}, {"b": 10, "a": 20}) == {"a": 21, "b": 12}
    assert pytree.tree_map(lambda x, y: (x, y), [1], [[2, 3]]) == [(1, [2, 3])]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ([1, 2], [1, 2, 3], "Node arity mismatch; expected 2, but got 3"),
        ([1], (1,), "Node type mismatch; expected <class 'list'>, but got <class 'tuple'>"),
        ({"a": 1}, {"b": 2}, "missing key.*'a'.*extra key.*'b'"),
    ],
)
def test_trees_of_other_structures_are_refused(first, second, said):
    with pytest.raises(ValueError, match=said):
        pytree.tree_map(lambda x, y: x, first, second)


def test_leaves_of_some_types_alone():
    tree = {"a": 1, "b": 1.5, "c": "x"}
    assert pytree.tree_map_only((int, str), lambda x: x * 2, tree) == {"a": 2, "b": 1.5, "c": "xx"}
    assert pytree.tree_map_only(lambda x: x == 1.5, lambda x: 0, tree)["b"] == 0
    seen = []
    assert pytree.tree_map_only_(int, seen.append, tree) is tree
    assert seen == [1]
    assert pytree.tree_all_only(int, lambda x: x == 1, tree)
    assert not pytree.tree_any_only(str, lambda x: x == "y", tree)
    assert pytree.tree_all(lambda x: x, tree)
    assert not pytree.tree_any(lambda x: x == 7, tree)
    with pytest.raises(TypeError, match="must be a type, a tuple of types, or a callable"):
        pytree.tree_map_only(3, lambda x: x, tree)


def test_paths_lead_to_leaves():
    tree = {"a": [1, Point(2, 3)], "b": (4,)}
    pairs, spec = pytree.tree_flatten_with_path(tree)
    assert [(pytree.keystr(path), leaf) for path, leaf in pairs] == [
        ("['a'][0]", 1),
        ("['a'][1].x", 2),
        ("['a'][1].y", 3),
        ("['b'][0]", 4),
    ]
    assert all(pytree.key_get(tree, path) == leaf for path, leaf in pairs)
    assert spec == pytree.tree_structure(tree)
    assert pytree.tree_map_with_path(lambda path, leaf: pytree.keystr(path), (5,)) == ("[0]",)
    assert pairs[0][0] == (pytree.MappingKey("a"), pytree.SequenceKey(0))
    assert pairs[1][0][-1] == pytree.GetAttrKey("x")


def test_a_prefix_is_spread_over_what_stands_below():
    spec = pytree.tree_structure([[1, 2], (3,)])
    assert pytree._broadcast_to_and_flatten([1, (2,)], spec) == [1, 1, 2]
    assert pytree._broadcast_to_and_flatten([1], pytree.tree_structure((1,))) is None


def test_a_type_is_registered_once_and_can_be_taken_back():
    class Pair:
        def __init__(self, first, second):
            self.first, self.second = first, second

    def register():
        pytree.register_pytree_node(
            Pair,
            lambda pair: ([pair.first, pair.second], None),
            lambda children, _: Pair(*children),
            serialized_type_name="test.Pair",
        )

    register()
    try:
        assert pytree.tree_map(lambda x: x + 1, Pair(1, 2)).second == 3
        with pytest.raises(ValueError, match="already registered as pytree node"):
            register()
        with pytest.raises(ValueError, match="flatten_with_keys_fn"):
            pytree.tree_flatten_with_path(Pair(1, 2))
        spec = pytree.tree_structure([Pair(1, 2)])
        assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    finally:
        pytree._deregister_pytree_node(Pair)
    assert pytree.tree_is_leaf(Pair(1, 2))


def test_data_classes_are_containers_of_their_fields():
    @dataclasses.dataclass
    class Batch:
        ids: int
        mask: int | None = None
        name: str = "x"

    pytree.register_dataclass(Batch, field_names=["ids", "mask"], drop_field_names=["name"])
    try:
        assert pytree.tree_leaves(Batch(1, 2)) == [1, 2]
        assert pytree.tree_map(lambda x: x + 1, Batch(1)) == Batch(2)
        assert pytree.keystr(pytree.tree_flatten_with_path(Batch(1, 2))[0][1][0]) == ".mask"
    finally:
        pytree._deregister_pytree_node(Batch)


def test_constants_are_part_of_the_structure():
    @dataclasses.dataclass(frozen=True)
    class Config:
        width: int

    pytree.register_constant(Config)
    try:
        leaves, spec = pytree.tree_flatten([Config(1), 2])
        assert leaves == [2]
        assert spec == pytree.tree_structure([Config(1), 3])
        assert spec != pytree.tree_structure([Config(4), 3])
        assert pytree.is_constant_class(Config)
    finally:
        pytree._deregister_pytree_node(Config)
    with pytest.raises(TypeError, match="__eq__"):
        pytree.register_constant(type("Plain", (), {}))


def test_the_older_names_say_what_to_write():
    class Box:
        def __init__(self, content):
            self.content = content

    with pytest.warns(FutureWarning, match="register_pytree_node"):
        pytree._register_pytree_node(Box, lambda box: ([box.content], None), lambda children, _: Box(*children))
    assert pytree.tree_leaves([Box(1)]) == [1]
    pytree._deregister_pytree_node(Box)


def test_named_tuples_and_structure_sequences_are_told_apart():
    assert pytree.is_namedtuple(Point(1, 2))
    assert pytree.is_namedtuple_class(Point)
    assert not pytree.is_namedtuple((1, 2))
    assert pytree.is_structseq(time.gmtime(0))
    assert not pytree.is_structseq(Point(1, 2))
    assert pytree.tree_is_leaf(time.gmtime(0))


def test_structures_of_tuples_and_dicts_are_made_of_those_of_their_parts():
    leaf = pytree.treespec_leaf()
    assert isinstance(leaf, pytree.LeafSpec)
    assert pytree.treespec_tuple([leaf, leaf]) == pytree.tree_structure((1, 2))
    assert pytree.treespec_dict({"a": leaf}) == pytree.tree_structure({"a": 1})


def test_leaves_have_to_be_as_many_as_the_structure_holds():
    with pytest.raises(ValueError, match="has length 1 but the spec refers to a pytree that holds 2 items"):
        pytree.tree_unflatten([1], pytree.tree_structure([1, 2]))
    with pytest.raises(TypeError, match="PyTreeSpec"):
        pytree.tree_unflatten([1], 3)


def test_the_compiled_twin_has_the_same_functions():
    from weft.utils import _cxx_pytree

    assert _cxx_pytree.tree_map is pytree.tree_map
