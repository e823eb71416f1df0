"""Modules called with other tensors than their own: `func.functional_call`, and its older path."""

import pytest

import weft
from weft import nn
from weft.func import functional_call


class Counter(nn.Module):
    """Scales by the number of calls, a buffer that is assigned anew."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", weft.tensor(0.0))
        self.scale = nn.Parameter(weft.tensor(1.0))

    def forward(self, x):
        self.calls = self.calls + 1
        return x * self.calls * self.scale


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1, 1)
        self.tied_bias = self.layer.bias
        self.register_buffer("shift", weft.ones(1))
        self.register_buffer("tied_shift", self.shift)

    def forward(self, x):
        return self.layer(x) + self.tied_bias + self.shift + self.tied_shift


def test_a_buffer_that_forward_assigns_anew_is_the_callers_and_not_the_modules():
    module, given = Counter(), {"calls": weft.tensor(5.0)}
    for calls in (6.0, 7.0):
        assert functional_call(module, given, weft.ones(1)).tolist() == [calls]
        assert given["calls"].item() == calls
    assert module.calls.item() == 0
    assert list(given) == ["calls"]


def test_a_buffer_that_was_not_given_stays_the_modules():
    module = Counter()
    functional_call(module, {"scale": weft.tensor(3.0)}, weft.ones(1))
    assert module.calls.item() == 1


def test_a_parameter_that_forward_assigns_or_deletes_is_restored():
    class Changes(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(weft.ones(1))
            self.gone = nn.Parameter(weft.ones(1))

        def forward(self, x):
            self.weight = nn.Parameter(weft.full((1,), 7.0))
            del self.gone
            return x * self.weight

    module = Changes()
    weight, gone = module.weight, module.gone
    given = {"weight": weft.zeros(1), "gone": weft.zeros(1)}
    assert functional_call(module, given, weft.ones(1)).tolist() == [7.0]
    assert module.weight is weight
    assert module.gone is gone
    assert given["weight"].tolist() == [7.0]
    assert given["gone"].tolist() == [0.0]


@pytest.mark.parametrize("keys", [["extra"], ["layer.extra", "shift"], ["extra", "layer.extra"]])
def test_names_that_the_module_does_not_have_are_attributes_during_the_call(keys):
    class Reads(Tied):
        def forward(self, x):
            return sum(getattr(self.get_submodule(key.rpartition(".")[0]), key.rpartition(".")[2]) for key in keys)

    module = Reads()
    names = [set(vars(module)), set(vars(module.layer))]
    result = functional_call(module, {key: weft.full((1,), 2.0) for key in keys}, weft.ones(1))
    assert result.tolist() == [2.0 * len(keys)]
    assert [set(vars(module)), set(vars(module.layer))] == names


def test_a_plain_tensor_attribute_is_replaced_and_restored():
    module = nn.Identity()
    module.offset = weft.ones(1)
    module.forward = lambda x: x + module.offset
    assert functional_call(module, {"offset": weft.full((1,), 5.0)}, weft.zeros(1)).tolist() == [5.0]
    assert module.offset.tolist() == [1.0]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"layer": weft.ones(1)}, TypeError),
        ({"": weft.ones(1)}, KeyError),
        ({"nowhere.weight": weft.ones(1)}, AttributeError),
        ({"layer.weight": 3.0}, TypeError),
        (3, ValueError),
        (({"shift": weft.ones(1)}, 3), ValueError),
        (({"shift": weft.ones(1)}, {"shift": weft.ones(1)}), ValueError),
    ],
    ids=str,
)
def test_what_cannot_be_replaced_is_an_error_that_changes_nothing(given, error):
    module = Tied()
    before = dict(module.named_parameters(remove_duplicate=False))
    if isinstance(given, dict):
        given = {"layer.bias": weft.zeros(1), **given}
    with pytest.raises(error):
        functional_call(module, given, weft.ones(1, 1))
    assert all(tensor is before[name] for name, tensor in module.named_parameters(remove_duplicate=False))


def test_strict_counts_tied_names_as_given():
    module, x = Tied(), weft.ones(1, 1)
    given = {"layer.weight": weft.ones(1, 1), "tied_bias": weft.ones(1), "shift": weft.zeros(1)}
    assert functional_call(module, given, x, strict=True).tolist() == [[3.0]]
    with pytest.raises(RuntimeError, match="Missing key"):
        functional_call(module, given, x, strict=True, tie_weights=False)
    with pytest.raises(RuntimeError, match="Unexpected key"):
        functional_call(module, {**given, "more": weft.ones(1)}, x, strict=True)
    with pytest.raises(ValueError, match="tied"):
        functional_call(module, {"layer.bias": weft.ones(1), "tied_bias": weft.zeros(1)}, x, strict=True)


def test_a_parametrized_tensor_is_given_through_its_right_inverse():
    class Double(nn.Module):
        def forward(self, x):
            return x * 2

        def right_inverse(self, x):
            return x / 2

    module = nn.Linear(1, 1, bias=False)
    nn.utils.parametrize.register_parametrization(module, "weight", Double())
    before = module.weight.tolist()
    assert functional_call(module, {"weight": weft.full((1, 1), 6.0)}, weft.ones(1, 1)).tolist() == [[6.0]]
    assert module.weight.tolist() == before


def test_data_parallel_is_refused():
    with pytest.raises(RuntimeError, match="DataParallel"):
        functional_call(nn.DataParallel(nn.Linear(1, 1)), {}, weft.ones(1, 1))
