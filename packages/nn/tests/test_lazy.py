"""Lazy layers: sizes from the first input."""

import copy
import pickle

import pytest

import weft
from weft import nn


@pytest.mark.parametrize(
    ("lazy", "shape", "becomes"),
    [
        (lambda: nn.LazyLinear(3), (2, 5), "Linear(in_features=5, out_features=3, bias=True)"),
        (lambda: nn.LazyConv1d(3, 2), (2, 5, 4), "Conv1d(5, 3, kernel_size=(2,), stride=(1,))"),
        (lambda: nn.LazyConv2d(4, 2, groups=2), (6, 4, 4), "Conv2d(6, 4, kernel_size=(2, 2), stride=(1, 1), groups=2)"),
        (lambda: nn.LazyConvTranspose1d(3, 2), (2, 5, 4), "ConvTranspose1d(5, 3, kernel_size=(2,), stride=(1,))"),
        (
            lambda: nn.LazyBatchNorm2d(),
            (2, 5, 4, 4),
            "BatchNorm2d(5, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
        ),
    ],
)
def test_a_lazy_layer_becomes_the_plain_one(lazy, shape, becomes):
    layer = lazy()
    weight = layer.weight
    layer(weft.randn(shape))
    assert repr(layer) == becomes
    assert layer.weight is weight
    assert type(weight) is nn.Parameter
    assert not layer._forward_pre_hooks


def test_initial_values_are_those_of_the_plain_layer():
    weft.manual_seed(0)
    plain = nn.Linear(4, 3)
    weft.manual_seed(0)
    lazy = nn.LazyLinear(3)
    lazy(weft.ones(1, 4))
    assert lazy.weight.tolist() == plain.weight.tolist()


def test_loading_gives_the_sizes():
    layer = nn.LazyLinear(3)
    layer.load_state_dict(nn.Linear(2, 3).state_dict())
    assert layer.weight.shape == (3, 2)
    assert not layer.has_uninitialized_params()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_a_copy_of_a_lazy_layer_is_lazy_by_itself(copied):
    layer = nn.LazyLinear(3)
    other = copied(layer)
    other(weft.ones(2, 5))
    assert other.weight.shape == (3, 5)
    assert layer.has_uninitialized_params()


def test_an_input_of_the_wrong_number_of_axes_is_refused():
    with pytest.raises(RuntimeError, match="LazyConv2d"):
        nn.LazyConv2d(3, 2)(weft.ones(2, 2))
