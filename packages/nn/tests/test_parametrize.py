"""Parametrized weights: parametrize, weight norm, spectral norm; and the older norms by hooks."""

import copy
import pickle

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn.utils import parametrizations, parametrize


class Symmetric(nn.Module):
    def forward(self, matrix):
        return matrix.triu() + matrix.triu(1).T

    def right_inverse(self, matrix):
        return matrix.triu()


class Double(nn.Module):
    def forward(self, value):
        return value * 2

    def right_inverse(self, value):
        return value / 2


def test_a_parametrized_weight_is_computed_from_the_original():
    layer = nn.Linear(3, 3)
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert layer.weight.tolist() == layer.weight.T.tolist()
    assert layer.parametrizations.weight.original is weight
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert type(layer).__name__ == "ParametrizedLinear"
    assert isinstance(layer, nn.Linear)
    assert parametrize.type_before_parametrizations(layer) is nn.Linear


def test_gradients_reach_the_original():
    layer = parametrize.register_parametrization(nn.Linear(2, 1), "weight", Double())
    layer(weft.tensor([[3.0, 4.0]])).sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[6.0, 8.0]]


def test_parametrizations_are_applied_in_order_and_undone_on_assignment():
    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Double())
    layer.weight = weft.tensor([[2.0, 4.0], [4.0, 6.0]])
    assert layer.parametrizations.weight.original.tolist() == [[1.0, 2.0], [0.0, 3.0]]
    assert layer.weight.tolist() == [[2.0, 4.0], [4.0, 6.0]]


def test_cached_computes_once():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight


@pytest.mark.parametrize("leave_parametrized", [True, False])
def test_removing_makes_it_an_ordinary_parameter_again(leave_parametrized):
    layer = nn.Linear(2, 2)
    weight, before = layer.weight, layer.weight.tolist()
    parametrize.register_parametrization(layer, "weight", Double(), unsafe=True)
    value = layer.weight.tolist()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized)
    assert layer.weight is weight
    np.testing.assert_allclose(layer.weight.tolist(), value if leave_parametrized else np.array(before) / 2)
    assert type(layer) is nn.Linear
    assert list(layer.state_dict()) == ["bias", "weight"]


def test_a_copy_has_its_own_original():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    other = copy.deepcopy(layer)
    with weft.no_grad():
        other.parametrizations.weight.original.zero_()
    assert other.weight.abs().sum().item() == 0
    assert layer.weight.abs().sum().item() > 0
    with pytest.raises(RuntimeError, match="state_dict"):
        pickle.dumps(layer)


def test_wrong_parametrizations_are_refused():
    with pytest.raises(ValueError, match="nothing"):
        parametrize.register_parametrization(nn.Linear(2, 2), "nothing", Double())
    with pytest.raises(ValueError, match="shape"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", nn.Flatten(0))
    with pytest.raises(ValueError, match="does not have a parametrization"):
        parametrize.remove_parametrizations(nn.Linear(2, 2), "weight")


# -- weight norm -----------------------------------------------------------------------------------------------------


def norms(weight):
    return np.linalg.norm(weight.detach().numpy(), axis=1)


@pytest.mark.parametrize("by_hook", [False, True])
@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated:FutureWarning")
def test_weight_norm_trains_norm_and_direction_apart(by_hook):
    layer = nn.Linear(3, 2)
    before = layer.weight.detach().numpy()
    if by_hook:
        nn.utils.weight_norm(layer)
        g, v = layer.weight_g, layer.weight_v
    else:
        parametrizations.weight_norm(layer)
        g, v = layer.parametrizations.weight.original0, layer.parametrizations.weight.original1
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, rtol=1e-5)
    with weft.no_grad():
        g.fill_(3.0)
        v.mul_(7.0)
    layer(weft.ones(1, 3)).sum().backward()
    np.testing.assert_allclose(norms(layer.weight), [3.0, 3.0], rtol=1e-5)
    assert g.shape == (2, 1)
    assert g.grad is not None
    assert v.grad is not None


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated:FutureWarning")
def test_the_older_weight_norm_can_be_removed_and_its_file_loaded_by_the_newer():
    layer = nn.utils.weight_norm(nn.Linear(3, 2))
    newer = parametrizations.weight_norm(nn.Linear(3, 2))
    newer.load_state_dict(layer.state_dict())
    np.testing.assert_allclose(newer.weight.detach().numpy(), layer.weight.detach().numpy(), rtol=1e-6)
    with pytest.raises(RuntimeError, match="two"):
        nn.utils.weight_norm(layer)
    nn.utils.remove_weight_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="not found"):
        nn.utils.remove_weight_norm(layer)


# -- spectral norm ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_hook", [False, True])
@pytest.mark.parametrize("make", [lambda: nn.Linear(5, 4), lambda: nn.ConvTranspose1d(3, 4, 2)], ids=["linear", "conv"])
def test_spectral_norm_makes_the_largest_singular_value_one(by_hook, make):
    weft.manual_seed(0)
    layer = (nn.utils.spectral_norm if by_hook else parametrizations.spectral_norm)(make())
    input = weft.ones(1, 5) if isinstance(layer, nn.Linear) else weft.ones(1, 3, 4)
    for _ in range(30):  # each forward is one step of power iteration
        layer(input)
    layer.eval()
    layer(input)
    weight = layer.weight.detach().numpy()
    matrix = weight if weight.ndim == 2 else np.moveaxis(weight, 1, 0).reshape(weight.shape[1], -1)
    assert np.linalg.svd(matrix, compute_uv=False)[0] == pytest.approx(1.0, abs=1e-2)


def test_the_older_spectral_norm_can_be_removed():
    layer = nn.utils.spectral_norm(nn.Linear(3, 2))
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    layer(weft.ones(1, 3)).sum().backward()
    assert layer.weight_orig.grad is not None
    nn.utils.remove_spectral_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"]


def test_spectral_norm_checks_its_options():
    with pytest.raises(ValueError, match="n_power_iterations"):
        parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)
    with pytest.raises(ValueError, match="n_power_iterations"):
        nn.utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)
    with pytest.raises(ValueError, match="nothing"):
        parametrizations.spectral_norm(nn.Linear(2, 2), "nothing")


class Maps(nn.Module):
    """A parametrization made of two functions."""

    def __init__(self, forward, inverse=None):
        super().__init__()
        self.forward = forward
        if inverse is not None:
            self.right_inverse = inverse


def fails(*_):
    raise RuntimeError("fails")


REFUSED = {
    "raises": (fails, None),
    "changes the shape": (lambda x: x.unsqueeze(0), None),
    "changes the dtype": (lambda x: x.double(), None),
    "returns nothing": (lambda x: None, None),
    "inverse raises": (lambda x: x, fails),
    "inverse changes the dtype": (lambda x: x, lambda x: x.double()),
    "inverse changes the shape": (lambda x: x, lambda x: x.unsqueeze(0)),
    "inverse returns nothing": (lambda x: x, lambda x: None),
    "inverse returns text": (lambda x: x, lambda x: "ab"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("name", ["weight", "running_mean"])
@pytest.mark.parametrize("second", [False, True])
def test_a_parametrization_that_is_refused_leaves_no_trace(case, name, second):
    module = nn.BatchNorm1d(3) if name == "running_mean" else nn.Linear(3, 2)
    if second:
        parametrize.register_parametrization(module, name, Double())
    value, names, cls = getattr(module, name).clone(), list(module.state_dict()), type(module)
    with pytest.raises((ValueError, RuntimeError)):
        parametrize.register_parametrization(module, name, Maps(*REFUSED[case]))
    assert type(module) is cls
    assert list(module.state_dict()) == names
    assert getattr(module, name).tolist() == value.tolist()
    assert getattr(module, name).dtype == value.dtype
    parametrize.register_parametrization(module, name, Double())
    assert len(module.parametrizations[name]) == 1 + second


def test_a_later_parametrization_may_have_no_inverse_for_these_settings():
    def unknown(value):
        raise NotImplementedError

    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Double())
    parametrize.register_parametrization(layer, "weight", Maps(lambda x: x + 1, unknown))
    assert len(layer.parametrizations.weight) == 2


@pytest.mark.parametrize("start", [lambda x: x.double(), lambda x: (x, x), lambda x: None])
def test_assigning_what_does_not_fit_the_originals_changes_nothing(start):
    inverse = {"now": lambda x: x}
    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Maps(lambda x: x, lambda x: inverse["now"](x)))
    before, inverse["now"] = layer.weight.tolist(), start
    with pytest.raises(ValueError, match="right_inverse"):
        layer.weight = weft.ones(2, 2)
    assert layer.weight.tolist() == before


@pytest.mark.parametrize("dim", [-3, 2, 5])
def test_weight_norm_of_a_dimension_that_is_not_there_leaves_no_trace(dim):
    layer = nn.Linear(3, 2)
    with pytest.raises(IndexError, match="out of range"), pytest.warns(FutureWarning):
        nn.utils.weight_norm(layer, dim=dim)
    with pytest.raises(IndexError, match="out of range"):
        parametrizations.weight_norm(layer, dim=dim)
    assert list(layer.state_dict()) == ["weight", "bias"]


def test_spectral_norm_reads_files_of_its_first_version():
    layer = nn.utils.spectral_norm(nn.Linear(4, 3))
    layer(weft.ones(1, 4))
    layer.eval()
    expected = layer(weft.ones(1, 4))
    state = layer.state_dict()
    assert state._metadata[""]["spectral_norm"] == {"weight.version": 1}
    del state["weight_v"], state._metadata[""]["spectral_norm"]
    old = {**state, "weight": layer.weight.detach()}  # which had the weight itself, and one vector
    other = nn.utils.spectral_norm(nn.Linear(4, 3)).eval()
    other.load_state_dict(old)
    weft.testing.assert_close(other(weft.ones(1, 4)), expected)
    with pytest.raises(RuntimeError, match="Missing key"):
        other.load_state_dict({key: value for key, value in old.items() if key != "weight_u"})
    nn.utils.remove_spectral_norm(layer)
    assert not layer._state_dict_hooks
    assert not layer._load_state_dict_pre_hooks


def test_an_original_can_be_parametrized_itself():
    layer = nn.Linear(2, 2)
    weight = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", made(lambda self, x: x * 2))
    inner = layer.parametrizations.weight
    parametrize.register_parametrization(inner, "original", made(lambda self, x: x * 2))
    assert weft.equal(layer.weight, weight * 4)
    assert len(inner) == 1 and list(inner) == [inner[0]]
    parametrize.remove_parametrizations(inner, "original", leave_parametrized=False)
    assert type(inner) is parametrize.ParametrizationList
    assert weft.equal(layer.weight, weight * 2)


def made(forward, right_inverse=None):
    members = {"forward": forward} | ({"right_inverse": right_inverse} if right_inverse else {})
    return type("Made", (nn.Module,), members)()


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (made(lambda self, x: x, lambda self, w: None), "a Tensor or a Sequence of"),
        (made(lambda self, x, y: x, lambda self, w: (None, w)), "of the sequence with type NoneType"),
        (made(lambda self, x: x.float(), lambda self, w: w.bool()), "outputs one tensor, it may not change the dtype"),
        (made(lambda self, x: x.bool()), "may not change the dtype"),
        (made(lambda self, x: x[:-1]), "may not change the shape"),
        (made(lambda self, x: 2), "must return a tensor"),
    ],
)
def test_what_a_parametrization_may_not_do_is_named(module, message):
    layer = nn.Linear(3, 4)
    with pytest.raises(ValueError, match=message):
        parametrize.register_parametrization(layer, "weight", module)
    assert not parametrize.is_parametrized(layer)
