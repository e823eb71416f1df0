"""Pruning of parameters by masks."""

import pytest

import weft
from weft import nn
from weft.nn.utils import prune


@pytest.fixture
def layer():
    made = nn.Linear(4, 2, bias=False)
    made.weight.data = weft.tensor([[1.0, -4.0, 3.0, 0.5], [2.0, 0.1, -5.0, 0.2]])
    return made


def test_the_smallest_go_and_stay_away_while_the_rest_is_trained(layer):
    prune.l1_unstructured(layer, "weight", amount=0.5)
    assert layer.weight_mask.tolist() == [[0, 1, 1, 0], [1, 0, 1, 0]]
    assert sorted(layer.state_dict()) == ["weight_mask", "weight_orig"]
    assert [name for name, _ in layer.named_parameters()] == ["weight_orig"]
    layer(weft.ones(1, 4)).sum().backward()
    assert layer.weight_orig.grad.tolist() == [[0, 1, 1, 0], [1, 0, 1, 0]]
    layer.weight_orig.data += 1
    assert layer(weft.ones(1, 4)).tolist() == [[1.0, -1.0]]


def test_pruning_again_takes_from_what_is_left(layer):
    prune.l1_unstructured(layer, "weight", amount=4)
    prune.l1_unstructured(layer, "weight", amount=0.5)
    assert layer.weight_mask.tolist() == [[0, 1, 0, 0], [0, 0, 1, 0]]
    (hook,) = layer._forward_pre_hooks.values()
    assert len(hook) == 2
    assert isinstance(hook[0], prune.L1Unstructured)


def test_remove_makes_a_parameter_again(layer):
    assert not prune.is_pruned(layer)
    prune.ln_structured(layer, "weight", amount=0.5, n=2, dim=1)
    assert prune.is_pruned(nn.Sequential(layer))
    prune.remove(layer, "weight")
    assert list(layer.state_dict()) == ["weight"]
    assert layer.weight.tolist() == [[0.0, -4.0, 3.0, 0.0], [0.0, weft.tensor(0.1).item(), -5.0, 0.0]]
    assert isinstance(layer.weight, nn.Parameter)
    assert not prune.is_pruned(layer)
    with pytest.raises(ValueError, match="has to be pruned"):
        prune.remove(layer, "weight")


def test_random_masks_are_those_of_pytorch():
    weft.manual_seed(0)
    conv, _ = nn.Conv2d(2, 6, 3), nn.Linear(216, 20)
    prune.random_unstructured(conv, "weight", amount=0.3)
    assert conv.weight_mask.flatten()[:12].tolist() == [1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0]
    prune.ln_structured(conv, "weight", amount=0.34, n=2, dim=0)
    assert conv.weight_mask.sum((1, 2, 3)).tolist() == [12, 16, 0, 0, 15, 15]


def test_structured_pruning_takes_whole_slices():
    layer = nn.Linear(10, 3)
    prune.random_structured(layer, "weight", amount=4, dim=1)
    assert sorted(layer.weight_mask.sum(0).tolist()) == [0.0] * 4 + [3.0] * 6


def test_global_pruning_chooses_among_all(layer):
    other = nn.Linear(2, 2, bias=False)
    other.weight.data = weft.tensor([[10.0, 0.01], [0.02, 20.0]])
    prune.global_unstructured([(layer, "weight"), (other, "weight")], pruning_method=prune.L1Unstructured, amount=4)
    assert other.weight_mask.tolist() == [[1, 0], [0, 1]]
    assert layer.weight_mask.tolist() == [[1, 1, 1, 1], [1, 0, 1, 0]]


def test_a_method_of_ones_own():
    class EveryOther(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    layer = nn.Linear(2, 4)
    EveryOther.apply(layer, "bias")
    assert layer.bias_mask.tolist() == [0, 1, 0, 1]
    assert prune.custom_from_mask(layer, "bias", weft.tensor([1, 1, 1, 0])).bias_mask.tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(("amount", "error"), [("1", TypeError), (-1, ValueError), (1.5, ValueError), (9, ValueError)])
def test_impossible_amounts_are_refused(layer, amount, error):
    with pytest.raises(error, match="amount"):
        prune.l1_unstructured(layer, "weight", amount)


@pytest.mark.parametrize("shape", [(3,), (5,), (1, 3), (2, 3, 1)])
def test_a_mask_of_another_shape_is_refused_and_changes_nothing(shape):
    layer = nn.Linear(3, 2)
    with pytest.raises(AssertionError, match="same shape"):
        prune.custom_from_mask(layer, "weight", weft.ones(shape))
    assert list(layer.state_dict()) == ["weight", "bias"]
    assert not prune.is_pruned(layer)


def test_only_methods_are_added_to_a_container():
    with pytest.raises(TypeError, match="not a BasePruningMethod"):
        prune.PruningContainer().add_pruning_method(3)
