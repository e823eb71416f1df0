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


USES = {
    "operator": lambda p: p + 1,
    "reflected": lambda p: 1 + p,
    "method": lambda p: p.sum(),
    "function": lambda p: weft.cat([p, p]),
    "numel": lambda p: p.numel(),
    "dim": lambda p: p.dim(),
    "stride": lambda p: p.stride(),
    "len": len,
    "iter": list,
    "bool": bool,
    "index": lambda p: p[0],
    "assignment": lambda p: p.__setitem__(0, 1),
    "tolist": lambda p: p.tolist(),
    "view": lambda p: p.view(-1),
    "in place": lambda p: p.zero_(),
    "detach": lambda p: p.detach(),
    "hook": lambda p: p.register_hook(lambda grad: grad),
    "parameters_to_vector": lambda p: nn.utils.parameters_to_vector([p]),
    "vector_to_parameters": lambda p: nn.utils.vector_to_parameters(weft.ones(4), [p]),
    "get_total_norm": lambda p: nn.utils.get_total_norm([p]),
    "init": nn.init.normal_,
    "uniform_": nn.init.uniform_,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.parameter.UninitializedBuffer])
def test_a_tensor_without_a_shape_refuses_to_be_used(use, kind):
    with pytest.raises(ValueError, match="uninitialized"):
        USES[use](kind())


def test_a_tensor_without_a_shape_is_moved_and_cast():
    layer = nn.LazyBatchNorm1d(dtype=weft.float32)
    layer.double()
    assert nn.parameter.is_lazy(layer.weight)
    assert nn.parameter.is_lazy(layer.running_mean)
    layer(weft.ones(2, 3, dtype=weft.float64))
    assert layer.weight.dtype == layer.running_mean.dtype == weft.float64
    assert type(layer.weight) is nn.Parameter
    assert (layer.weight + 1).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm"])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_norms_of_a_lazy_module_are_refused_before_anything_is_changed(norm):
    layer = nn.LazyLinear(2)
    with pytest.raises(ValueError, match="uninitialized"):
        getattr(nn.utils, norm)(layer)
    with pytest.raises((ValueError, RuntimeError), match="uninitialized"):
        getattr(nn.utils.parametrizations, norm)(layer)
    assert layer(weft.ones(1, 3)).shape == (1, 2)


def test_memory_of_a_lazy_module_is_not_shared():
    with pytest.raises(RuntimeError, match="share memory"):
        nn.LazyLinear(2).share_memory()
