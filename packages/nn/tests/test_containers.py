"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from collections import OrderedDict

import pytest

import weft
from weft import nn


def names(container):
    return {key: type(module).__name__ for key, module in container._modules.items()}


def test_sequential_passes_through_all_in_order():
    double, increment = nn.Identity(), nn.Identity()
    double.register_forward_hook(lambda module, args, output: output * 2)
    increment.register_forward_hook(lambda module, args, output: output + 1)
    assert nn.Sequential(double, increment)(weft.tensor(5.0)).item() == 11.0


def test_sequential_takes_names_from_a_dict():
    model = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert names(model) == {"a": "ReLU", "b": "Tanh"}
    assert model.a is model[0]
    assert names(model[1:]) == {"b": "Tanh"}


def test_sequential_indexes_from_both_ends():
    model = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.GELU())
    assert isinstance(model[-1], nn.GELU)
    assert names(model[1:]) == {"1": "Tanh", "2": "GELU"} or names(model[1:]) == {"0": "Tanh", "1": "GELU"}
    with pytest.raises(IndexError, match="out of range"):
        model[3]


def test_sequential_grows_and_shrinks():
    model = nn.Sequential(nn.ReLU()).append(nn.Tanh()).extend(nn.Sequential(nn.GELU())).insert(1, nn.Sigmoid())
    assert list(names(model).values()) == ["ReLU", "Sigmoid", "Tanh", "GELU"]
    del model[0]
    assert names(model) == {"0": "Sigmoid", "1": "Tanh", "2": "GELU"}
    assert isinstance(model.pop(1), nn.Tanh)
    model[0] = nn.ELU()
    assert names(model) == {"0": "ELU", "1": "GELU"}
    del model[:]
    assert len(model) == 0


def test_sequential_operators():
    model = nn.Sequential(nn.ReLU(), nn.Tanh())
    assert len(model + model) == 4
    assert len(model * 3) == len(3 * model) == 6
    model *= 2
    model += nn.Sequential(nn.GELU())
    assert list(names(model).values()) == ["ReLU", "Tanh", "ReLU", "Tanh", "GELU"]


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (lambda model: model + [1], ValueError),
        (lambda model: model * 0, ValueError),
        (lambda model: model * 1.5, TypeError),
        (lambda model: model.insert(9, nn.ReLU()), IndexError),
        (lambda model: model.append(3), TypeError),
    ],
)
def test_sequential_refuses(operation, error):
    with pytest.raises(error):
        operation(nn.Sequential(nn.ReLU()))


def test_module_list_behaves_as_a_list():
    modules = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    modules.append(nn.GELU()).extend([nn.ELU()])
    modules += [nn.SiLU()]
    modules.insert(0, nn.Sigmoid())
    assert [type(module).__name__ for module in modules] == ["Sigmoid", "ReLU", "Tanh", "GELU", "ELU", "SiLU"]
    assert len(modules[1:3]) == 2
    assert isinstance(modules[1:3], nn.ModuleList)
    assert isinstance(modules.pop(-1), nn.SiLU)
    del modules[0]
    assert names(modules) == {"0": "ReLU", "1": "Tanh", "2": "GELU", "3": "ELU"}
    assert len(modules + [nn.ReLU()]) == 5
    with pytest.raises(TypeError, match="iterable"):
        modules.extend(3)


def test_module_list_prints_equal_neighbours_once():
    modules = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU(), nn.Sequential(nn.ReLU())])
    assert repr(modules) == (
        "ModuleList(\n"
        "  (0-1): 2 x Linear(in_features=1, out_features=1, bias=True)\n"
        "  (2): ReLU()\n"
        "  (3): Sequential(\n"
        "    (0): ReLU()\n"
        "  )\n"
        ")"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict_behaves_as_a_dict():
    modules = nn.ModuleDict({"a": nn.Linear(1, 1)})
    modules["b"] = nn.ReLU()
    modules.update([("c", nn.Tanh())])
    assert list(modules) == list(modules.keys()) == ["a", "b", "c"]
    assert "b" in modules
    assert isinstance(modules.pop("b"), nn.ReLU)
    assert [key for key, _ in modules.items()] == ["a", "c"]
    assert list(modules.state_dict()) == ["a.weight", "a.bias"]
    modules.clear()
    assert len(modules) == 0


@pytest.mark.parametrize(
    ("entries", "error"), [(3, TypeError), ([1], TypeError), ([(1,)], ValueError), ({"keys": nn.ReLU()}, KeyError)]
)
def test_module_dict_refuses(entries, error):
    with pytest.raises(error):
        nn.ModuleDict(entries)


def test_parameter_list_makes_parameters_of_tensors():
    values = nn.ParameterList([weft.ones(2, 3), nn.Parameter(weft.zeros(2)), 3])
    assert list(values.state_dict()) == ["0", "1"]
    assert isinstance(values[0], nn.Parameter)
    assert values[2] == 3
    values.append(weft.ones(1)).extend([weft.ones(1)])
    assert len(values) == 5
    assert isinstance(values[1:3], nn.ParameterList)
    values[-1] = weft.full((1,), 7.0)
    assert values[4].item() == 7.0
    assert repr(nn.ParameterList([weft.ones(2, 3), 3])) == (
        f"ParameterList(\n    (0): Parameter containing: [{weft.float32} of size 2x3]\n    (1): Object of type: int\n)"
    )
    with pytest.raises(TypeError, match="iterable"):
        nn.ParameterList(weft.ones(3))
    with pytest.raises(RuntimeError, match="not be called"):
        values(1)


def test_parameter_dict_behaves_as_a_dict():
    values = nn.ParameterDict({"a": weft.ones(1)})
    values["b"] = nn.Parameter(weft.zeros(1))
    assert list(values.state_dict()) == ["a", "b"]
    assert values.get("c") is None
    assert values.setdefault("c", weft.ones(2)).shape == (2,)
    assert list(reversed(values)) == ["c", "b", "a"]
    assert values.popitem()[0] == "c"
    assert list((values | nn.ParameterDict({"z": weft.ones(1)})).keys()) == ["a", "b", "z"]
    assert list(values.fromkeys(["x", "y"], 0)) == ["x", "y"]
    values |= {"q": weft.ones(1)}
    assert "q" in values
    assert [key for key, _ in values.copy().items()] == ["a", "b", "q"]
    assert values.pop("q").item() == 1.0
    values.clear()
    assert len(values) == 0
    assert list(values.parameters()) == []
    with pytest.raises(TypeError, match="str"):
        values[3] = weft.ones(1)
