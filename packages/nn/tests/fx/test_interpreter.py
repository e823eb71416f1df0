"""Running graphs node by node, and writing others by it."""

import pytest

import weft
from weft import fx, nn
from weft.fx.passes.shape_prop import ShapeProp


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.shift = nn.Parameter(weft.ones(3))

    def forward(self, x, scale=2.0):
        return weft.cat([self.linear(x).relu(), self.shift[None]], dim=0) * scale


def test_it_computes_what_the_module_does():
    net, x = Net(), weft.ones(1, 2)
    traced = fx.symbolic_trace(net)
    assert weft.equal(fx.Interpreter(traced).run(x), net(x))
    assert weft.equal(fx.Interpreter(traced).run(x, 3.0), net(x, 3.0))
    args = [x]
    assert weft.equal(fx.Interpreter(traced).boxed_run(args), net(x)) and args == []


def test_values_are_let_go_after_their_last_use():
    traced = fx.symbolic_trace(Net())
    interpreter = fx.Interpreter(traced)
    interpreter.run(weft.ones(1, 2))
    assert [node.op for node in interpreter.env] == ["output"]
    keeping = fx.Interpreter(traced, garbage_collect_values=False)
    keeping.run(weft.ones(1, 2))
    assert len(keeping.env) == len(traced.graph.nodes)


def test_a_value_may_be_given():
    traced = fx.symbolic_trace(lambda x: weft.relu(x) + 1)
    x, relu = list(traced.graph.nodes)[:2]
    assert fx.Interpreter(traced).run(initial_env={x: None, relu: 5}) == 6


def test_a_missing_argument_is_named():
    with pytest.raises(RuntimeError, match="parameter y, but one was not passed"):
        fx.Interpreter(fx.symbolic_trace(lambda x, y: x + y)).run(weft.ones(1))


def test_an_error_names_its_node():
    traced = fx.symbolic_trace(lambda x: x.view(7))
    with pytest.raises(RuntimeError) as caught:
        fx.Interpreter(traced).run(weft.ones(2))
    assert "While executing %view" in caught.value.__notes__[0]


def test_a_transformer_without_changes_writes_the_same():
    traced = fx.symbolic_trace(Net())
    assert fx.Transformer(traced).transform().code == traced.code


def test_a_transformer_writes_something_else():
    class Swap(fx.Transformer):
        def call_method(self, target, args, kwargs):
            return weft.tanh(*args) if target == "relu" else super().call_method(target, args, kwargs)

    net, x = Net(), weft.ones(1, 2)
    made = Swap(fx.symbolic_trace(net)).transform()
    assert made.linear is net.linear and weft.allclose(made(x)[:1], weft.tanh(net.linear(x)) * 2)


def test_shapes_are_noted():
    traced = fx.symbolic_trace(Net())
    ShapeProp(traced).propagate(weft.ones(4, 2))
    found = {node.name: node.meta["tensor_meta"] for node in traced.graph.nodes if "tensor_meta" in node.meta}
    assert found["cat"].shape == (5, 3) and found["linear"].stride == (3, 1) and found["relu"].dtype is weft.float32
    assert traced.graph.output_node().meta["type"] is weft.Tensor
