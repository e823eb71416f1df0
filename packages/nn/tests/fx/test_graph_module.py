"""A module from a graph is a module: trained, saved, copied and pickled."""

import copy
import importlib.util
import operator
import pickle
import sys

import pytest

import weft
from weft import fx, nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.Flatten())
        self.head = nn.Linear(8, 2)
        self.unused = nn.Linear(3, 3)
        self.scale = nn.Parameter(weft.tensor(2.0))

    def forward(self, x):
        return self.head(self.body(x)) * self.scale


@pytest.fixture
def net():
    weft.manual_seed(0)
    return Net()


@pytest.fixture
def x():
    weft.manual_seed(1)
    return weft.randn(2, 1, 4, 4)


def test_it_computes_the_same_with_the_same_parameters(net, x):
    traced = fx.symbolic_trace(net)
    assert traced.head.weight is net.head.weight
    assert set(traced.state_dict()) == {name for name in net.state_dict() if not name.startswith("unused")}
    assert type(traced).__name__ == "Net"
    net.eval(), traced.eval()
    assert weft.equal(traced(x), net(x))


def test_it_is_trained(net, x):
    traced = fx.symbolic_trace(net)
    optimizer = weft.optim.SGD(traced.parameters(), lr=0.001)
    before = traced(x).square().sum()
    before.backward()
    optimizer.step()
    assert traced(x).square().sum() < before


def test_a_changed_graph_runs_after_recompile(net, x):
    traced = fx.symbolic_trace(net.eval())
    expected = traced(x) + 1
    output = traced.graph.output_node()
    with traced.graph.inserting_before(output):
        output.args = (traced.graph.call_function(operator.add, (output.args[0], 1)),)
    assert weft.equal(traced(x) + 1, expected)
    traced.recompile()
    assert weft.equal(traced(x), expected)


def test_each_has_a_forward_of_its_own(net, x):
    first, second = fx.symbolic_trace(net.eval()), fx.symbolic_trace(lambda x: x)
    assert second(x) is x and first(x).shape == (2, 2)


def test_copies_are_independent(net, x):
    traced = fx.symbolic_trace(net.eval())
    traced.meta["note"] = [1]
    made = copy.deepcopy(traced)
    assert made.code == traced.code and weft.equal(made(x), traced(x))
    assert made.head.weight is not traced.head.weight and made.graph is not traced.graph
    assert (
        made.graph.owning_module is made and made.meta == {"note": [1]} and made.meta["note"] is not traced.meta["note"]
    )
    assert copy.copy(traced).head.weight is traced.head.weight and traced.graph.owning_module is traced


def test_it_is_pickled(net, x):
    traced = fx.symbolic_trace(net.eval())
    made = pickle.loads(pickle.dumps(traced))
    assert made.code == traced.code and weft.equal(made(x), traced(x)) and not made.training


def test_functions_without_a_name_are_not_pickled():
    graph = fx.Graph()
    graph.output(graph.call_function(lambda x: x, (graph.placeholder("x"),)))
    with pytest.raises(RuntimeError, match="cannot be imported"):
        pickle.dumps(fx.GraphModule({}, graph))


def test_it_is_saved_and_loaded(net, x, tmp_path):
    traced = fx.symbolic_trace(net.eval())
    weft.save(traced.state_dict(), tmp_path / "net.pt")
    other = fx.symbolic_trace(Net().eval())
    other.load_state_dict(weft.load(tmp_path / "net.pt"))
    assert weft.equal(other(x), traced(x))


def test_it_is_written_as_a_package(net, x, tmp_path):
    traced = fx.symbolic_trace(net.eval())
    traced.to_folder(tmp_path / "written", "Written")
    spec = importlib.util.spec_from_file_location("written", tmp_path / "written" / "__init__.py")
    sys.modules["written"] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        assert weft.allclose(module.Written().eval()(x), traced(x))
    finally:
        del sys.modules["written"], sys.modules["written.module"]


def test_a_dict_gives_what_the_nodes_name():
    graph = fx.Graph()
    total = graph.call_function(operator.add, (graph.placeholder("a"), graph.get_attr("parts.w")))
    graph.output(graph.call_module("parts.linear", (total,)))
    made = fx.GraphModule({"parts.w": nn.Parameter(weft.ones(2)), "parts.linear": nn.Linear(2, 1)}, graph, "Made")
    assert sorted(made.state_dict()) == ["parts.linear.bias", "parts.linear.weight", "parts.w"]
    assert made.code.strip().startswith("def forward(self, a):\n    parts_w = self.parts.w\n")
    with pytest.raises(RuntimeError, match=r"the target parts\.w, but that target was not provided"):
        fx.GraphModule({"parts.linear": nn.Linear(2, 1)}, graph)
    with pytest.raises(RuntimeError, match="unsupported type int"):
        fx.GraphModule(3, graph)


def test_submodules_are_added_and_deleted(net):
    traced = fx.symbolic_trace(net)
    assert traced.add_submodule("extra.linear", nn.Linear(1, 1))
    assert not traced.add_submodule("scale.linear", nn.Linear(1, 1))
    traced.delete_all_unused_submodules()
    assert not hasattr(traced, "extra") and hasattr(traced.body, "0")
    assert traced.delete_submodule("head") and not traced.delete_submodule("head")


def test_how_it_prints(net, capsys):
    traced = fx.symbolic_trace(net)
    assert str(traced).startswith("Net(\n") and traced.code in str(traced)
    traced.print_readable()
    assert capsys.readouterr().out.startswith(
        "class Net(weft.nn.Module):\n    def forward(self, x):\n        body_0 = "
    )


def test_an_error_shows_the_line_of_the_code():
    import traceback

    traced = fx.symbolic_trace(lambda x: weft.cat([x, x[:, :1]], dim=0))
    with pytest.raises(RuntimeError) as caught:
        traced(weft.ones(2, 2))
    assert "cat = weft.cat([x, getitem], dim = 0)" in "".join(traceback.format_exception(caught.value))


def test_attributes_and_modules_are_copied_by_torchvisions_names_for_it():
    """torchvision's module of two graphs copies itself so."""
    from weft.fx.graph_module import _USER_PRESERVED_ATTRIBUTES_KEY, _CodeOnlyModule, _copy_attr

    net, other = Net(), nn.Module()
    _copy_attr(net, other, "body.0")
    _copy_attr(net, other, "scale")
    assert getattr(other.body, "0") is net.body[0]
    assert other.scale is net.scale
    assert list(_CodeOnlyModule(net.__dict__).state_dict()) == list(net.state_dict())
    assert _USER_PRESERVED_ATTRIBUTES_KEY not in fx.symbolic_trace(net).meta
