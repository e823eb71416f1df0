"""`weft.export`: graphs of ops."""

import random

import numpy
import pytest

import weft
from weft import nn
from weft.export import Dim, UserError, export


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.second(nn.functional.relu_(self.first(x))).softmax(-1)


def test_a_program_does_what_its_module_does_at_other_sizes():
    model = Mlp().eval()
    program = export(model, (weft.randn(2, 4),), dynamic_shapes={"x": {0: Dim("batch")}})
    x = weft.randn(7, 4)
    assert weft.equal(program.module()(x), model(x))


def test_nodes_are_ops_with_their_declared_arguments():
    program = export(Mlp(), (weft.ones(2, 4),), dynamic_shapes=({0: Dim("batch")},))
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    assert [node.target.name for node in calls] == ["nn::linear", "core::relu", "nn::linear", "core::softmax"]
    assert set(calls[0].kwargs) == {"input", "weight", "bias"}
    assert str(calls[0].meta["val"].shape) == "(batch, 8)"
    assert calls[0].meta["val"].dtype is weft.float32


def test_a_read_of_a_value_is_refused_with_its_line():
    class Branch(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(UserError, match=r"core::item at test_export.py:\d+: the program reads a value"):
        export(Branch(), (weft.ones(2),))


def test_lazy_parameters_are_made_before_the_program_is_recorded():
    model = nn.LazyLinear(2)
    program = export(model, (weft.ones(4, 3),))
    x = weft.randn(4, 3)
    assert weft.equal(program.module()(x), model(x))
    assert model.weight.abs().max() <= 3**-0.5


def test_decompositions_compute_the_same_by_other_ops():
    model = nn.Sequential(
        nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.BatchNorm1d(6), nn.SiLU(), nn.Softmax(-1)
    ).eval()
    x = weft.randn(7, 4)
    program = export(model, (weft.randn(2, 4),), dynamic_shapes=({0: Dim("batch", max=50)},))
    made = program.run_decompositions()
    names = {getattr(node.target, "name", "") for node in made.graph.nodes}
    assert not names & weft.export.default_decompositions().keys() and "core::matmul" in names
    weft.testing.assert_close(made.module()(x), model(x))
    assert made.range_constraints == {"batch": (0, 50)} and made.state_dict.keys() == program.state_dict.keys()
    some = program.run_decompositions({"nn::silu": lambda input: input * input.sigmoid()})
    assert "nn::gelu" in {getattr(node.target, "name", "") for node in some.graph.nodes}
    with pytest.raises(UserError, match="'nn::nothing' is no op"):
        program.run_decompositions({"nn::nothing": weft.sin})


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function, self.count = function, 0

    def forward(self, x):
        return self.function(self, x)


def counted(module, x):
    module.count += 1
    return x * module.count


def branching_on_a_counter(module, x):
    module.count += 1
    return x.sin() if module.count % 2 else x.cos()


NOT_FROZEN = {
    "chance": lambda module, x: x * random.random(),
    "a tensor of chance": lambda module, x: x + weft.tensor([random.random()]),
    "a counter": counted,
    "a branch on a counter": branching_on_a_counter,
    "an array of NumPy's": lambda module, x: x + weft.from_numpy(numpy.ones(2, numpy.float32)),
    "a number that was read": lambda module, x: x * float(x.sum()),
    "a list that was read": lambda module, x: x + sum(x.tolist()),
    "a branch on a value": lambda module, x: x if (x > 0).any() else -x,
    "an index": lambda module, x: x[int(x.argmax())],
}


@pytest.mark.parametrize("name", NOT_FROZEN)
def test_what_is_another_one_each_time_is_refused_with_its_line(name):
    with pytest.raises(UserError, match=r"test_export\.py:\d+"):
        export(Function(NOT_FROZEN[name]), (weft.ones(2),))


def test_values_that_follow_from_sizes_alone_may_be_read():
    def positions(module, x):
        last = int(weft.arange(x.shape[0]).max())
        return x[last] + weft.tensor([True, False, True]).nonzero().sum()

    program = export(Function(positions), (weft.randn(4, 3),), dynamic_shapes=({0: Dim("n")},))
    x = weft.randn(9, 3)
    assert weft.equal(program.module()(x), x[8] + 2)


def test_a_program_without_inputs_has_its_constants():
    class Constant(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(weft.ones(2))

        def forward(self):
            return self.weight * weft.tensor([1.0, 2.0])

    program = export(Constant(), ())
    assert [spec.arg.name for spec in program.graph_signature.input_specs] == ["p_weight", "c_lifted_tensor_0"]
    assert program.module()().tolist() == [1.0, 2.0]
