"""Batch norms folded into the layers before them; gradients of convolutions by shape; PyTorch's other paths."""

import pytest

import weft
from weft import nn
from weft.nn import functional as F
from weft.nn.utils import convert_conv2d_weight_memory_format, fuse_conv_bn_eval, fuse_linear_bn_eval, stateless


def trained(norm):
    """The norm with statistics and parameters that matter, in eval mode."""
    with weft.no_grad():
        for tensor in (norm.running_mean, norm.running_var, norm.weight, norm.bias):
            tensor.uniform_(0.5, 2.0)
    return norm.eval()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_a_fused_convolution_computes_both(axes, bias):
    norm = trained(getattr(nn, f"BatchNorm{axes}d")(4))
    image = weft.randn(2, 3, *(5,) * axes)
    for transpose in (False, True):
        kind = getattr(nn, f"Conv{'Transpose' if transpose else ''}{axes}d")
        layer = kind(3, 4, 3, bias=bias).eval()
        fused = fuse_conv_bn_eval(layer, norm, transpose)
        weft.testing.assert_close(fused(image), norm(layer(image)), rtol=1e-4, atol=1e-5)
        assert type(fused) is kind and fused is not layer


def test_a_fused_linear_layer_computes_both():
    layer, norm = nn.Linear(3, 4).eval(), trained(nn.BatchNorm1d(4))
    x = weft.randn(5, 3)
    weft.testing.assert_close(fuse_linear_bn_eval(layer, norm)(x), norm(layer(x)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("fuse", "layer", "norm", "message"),
    [
        (fuse_conv_bn_eval, nn.Conv1d(1, 2, 1), nn.BatchNorm1d(2).eval(), "only for eval mode"),
        (fuse_conv_bn_eval, nn.Conv1d(1, 2, 1).eval(), nn.BatchNorm1d(2, track_running_stats=False).eval(), "running"),
        (fuse_linear_bn_eval, nn.Linear(1, 3).eval(), nn.BatchNorm1d(2).eval(), "num_features"),
    ],
)
def test_what_cannot_be_fused_is_refused(fuse, layer, norm, message):
    with pytest.raises(AssertionError, match=message):
        fuse(layer, norm)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_gradients_of_convolutions_by_shape_are_those_of_autograd(axes):
    x = weft.randn(2, 4, *(6,) * axes, requires_grad=True)
    weight = weft.randn(6, 2, *(3,) * axes, requires_grad=True)
    options = {"stride": 2, "padding": 1, "dilation": 1, "groups": 2}
    output = getattr(F, f"conv{axes}d")(x, weight, None, **options)
    grad = weft.randn(output.shape)
    for_input, for_weight = weft.autograd.grad(output, (x, weight), grad)
    module = nn.grad
    weft.testing.assert_close(getattr(module, f"conv{axes}d_input")(x.shape, weight, grad, **options), for_input)
    weft.testing.assert_close(getattr(module, f"conv{axes}d_weight")(x, weight.shape, grad, **options), for_weight)


def test_weights_take_another_memory_format():
    model = nn.Sequential(nn.Conv2d(3, 4, 2), nn.Linear(2, 2))
    assert convert_conv2d_weight_memory_format(model, weft.channels_last) is model
    assert model[0].weight.is_contiguous(memory_format=weft.channels_last)
    assert model(weft.randn(1, 3, 3, 3)).shape == (1, 4, 2, 2)


def test_the_older_functional_call_warns_and_calls():
    layer = nn.Linear(2, 2, bias=False)
    with pytest.warns(FutureWarning, match="weft.func.functional_call"):
        found = stateless.functional_call(layer, {"weight": weft.eye(2)}, weft.ones(1, 2))
    assert found.tolist() == [[1.0, 1.0]]


def test_programs_find_pytorchs_private_paths():
    from weft.nn.modules.container import _addindent
    from weft.nn.modules.conv import _ConvNd
    from weft.nn.modules.utils import _list_with_default, _pair, _reverse_repeat_tuple

    from weft.nn.common_types import _size_2_t  # noqa: F401

    assert _pair(3) == (3, 3) and _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert _list_with_default([None, 3], [7, 8, 9]) == [8, 3]
    assert _addindent("a\nb", 2) == "a\n  b"
    assert issubclass(nn.Conv2d, _ConvNd)


def test_a_prefix_is_taken_off_the_names_of_a_state():
    model, wrapped = nn.Linear(2, 2), nn.DataParallel(nn.Linear(2, 2))
    state = wrapped.state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    model.load_state_dict(state)
    assert list(state._metadata) == [""]
