"""Graphs by hand: making, moving and erasing nodes, and the checks."""

import operator

import pytest

import weft
from weft import fx, nn


def chain():
    """X -> relu -> neg -> output."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    relu = graph.call_function(weft.relu, (x,))
    neg = graph.call_method("neg", (relu,))
    graph.output(neg)
    return graph, x, relu, neg


def test_names_are_legal_and_unlike_each_other():
    graph = fx.Graph()
    wanted = ["x", "x", "x_1", "x_3", "x", "layer1.0.conv", "0", "maxPool", "def", "sum", "weft", "y_2", "y_2", "y"]
    assert [graph.call_module(name).name for name in wanted] == [
        "x",
        "x_1",
        "x_2",
        "x_3",
        "x_4",
        "layer1_0_conv",
        "_0",
        "max_pool",
        "def_1",
        "sum_1",
        "weft_1",
        "y_2",
        "y_3",
        "y",
    ]


def test_users_follow_the_arguments():
    _graph, x, relu, neg = chain()
    assert list(relu.users) == [neg] and neg.all_input_nodes == [relu]
    neg.args = (x,)
    assert list(relu.users) == [] and list(x.users) == [relu, neg]
    neg.update_kwarg("out", [relu])
    assert neg in relu.users
    neg.replace_input_with(relu, x)
    assert neg.kwargs == {"out": [x]} and relu.users == {}


def test_replaced_uses():
    graph, _x, relu, neg = chain()
    with graph.inserting_after(relu):
        twice = graph.call_function(operator.mul, (relu, 2))
    assert relu.replace_all_uses_with(twice, lambda user: user is not twice) == [neg]
    assert [node.name for node in graph.nodes] == ["x", "relu", "mul", "neg", "output"]
    graph.lint()


def test_places_for_new_nodes():
    graph, _x, relu, neg = chain()
    with graph.inserting_before(neg):
        graph.call_function(weft.sin, (relu,))
        graph.call_function(weft.cos, (relu,))
    with graph.inserting_before():
        graph.placeholder("first")
    graph.inserting_before(graph.output_node())
    graph.call_function(weft.tan, (neg,))
    assert [node.name for node in graph.nodes] == ["first", "x", "relu", "sin", "cos", "neg", "tan", "output"]
    assert [node.name for node in reversed(graph.nodes)][:2] == ["output", "tan"]
    assert (len(graph.nodes), neg.prev.name, neg.next.name) == (8, "cos", "tan")


def test_a_node_that_is_used_is_not_erased():
    graph, x, relu, neg = chain()
    with pytest.raises(RuntimeError, match=r"erase Node relu but it still had 1 users in the graph: \{neg: None\}"):
        graph.erase_node(relu)
    relu.replace_all_uses_with(x)
    graph.erase_node(relu)
    assert [node.name for node in graph.nodes] == ["x", "neg", "output"] and list(x.users) == [neg]


def test_nodes_may_be_erased_while_they_are_visited():
    graph, _x, _relu, _neg = chain()
    for node in graph.nodes:
        if node.op.startswith("call"):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    assert [node.name for node in graph.nodes] == ["x", "output"]


def test_dead_code_goes_and_effects_stay():
    graph, _x, relu, _neg = chain()
    with graph.inserting_after(relu):
        graph.call_method("add_", (relu, 1))
        dead = graph.call_function(weft.exp, (relu,))
        with graph.inserting_after(dead):
            graph.call_function(weft.log, (dead,))
    assert graph.eliminate_dead_code()
    assert [node.name for node in graph.nodes] == ["x", "relu", "add_", "neg", "output"]
    assert not graph.eliminate_dead_code()


def test_a_copy_is_another_graph():
    graph, x, _relu, _neg = chain()
    other = fx.Graph()
    found = other.graph_copy(graph, {x: other.placeholder("y")})
    assert found.graph is other and [node.name for node in other.nodes] == ["y", "relu", "neg"]


def test_arguments_do_not_change_behind_the_nodes_back():
    graph, x, relu, neg = chain()
    cat = graph.call_function(weft.cat, ([x, relu],), {"dim": 0})
    with pytest.raises(TypeError, match="does not support mutation"):
        cat.args[0].append(neg)
    with pytest.raises(TypeError, match="does not support mutation"):
        cat.kwargs["dim"] = 1


def test_lint_finds_a_value_that_is_used_too_early():
    graph, _x, relu, neg = chain()
    neg.append(relu)
    with pytest.raises(RuntimeError, match="Argument 'relu' of Node 'neg' was used before it has been defined"):
        graph.lint()


def test_lint_finds_what_the_module_lacks():
    graph = fx.Graph()
    graph.output(graph.call_module("linear", (graph.placeholder("x"),)))
    module = fx.GraphModule({"linear": nn.Linear(1, 1)}, graph)
    del module.linear
    with pytest.raises(RuntimeError, match="references nonexistent attribute linear"):
        module.graph.lint()


def test_wrong_nodes_are_refused():
    with pytest.raises(ValueError, match="Callable is expected"):
        fx.Graph().call_function(3)
    with pytest.raises(ValueError, match="op must be one of"):
        fx.Graph().create_node("jump", "x")
    with pytest.raises(AssertionError, match="args must be a tuple"):
        fx.Graph().call_function(weft.relu, [1])


def test_the_table(capsys):
    graph, *_ = chain()
    graph.print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert lines[2].split() == ["placeholder", "x", "x", "()", "{}"]
    assert lines[4].split() == ["call_method", "neg", "neg", "(relu,)", "{}"]
