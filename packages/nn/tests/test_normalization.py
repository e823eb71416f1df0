"""Normalization layers against NumPy."""

import numpy as np
import pytest

import weft
from weft import nn


def normalized(values, axes, eps=1e-5):
    mean = values.mean(axis=axes, keepdims=True)
    return (values - mean) / np.sqrt(values.var(axis=axes, keepdims=True) + eps)


def close(tensor, expected):
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.BatchNorm1d, (8, 3)),
        (nn.BatchNorm1d, (4, 3, 5)),
        (nn.BatchNorm2d, (4, 3, 2, 2)),
        (nn.BatchNorm3d, (2, 3, 2, 2, 2)),
    ],
)
def test_batch_norm_normalizes_channels_and_moves_the_running_statistics(layer, shape):
    norm = layer(3)
    input = weft.randn(shape) * 2 + 5
    axes = tuple(axis for axis in range(len(shape)) if axis != 1)
    close(norm(input), normalized(input.numpy(), axes))
    close(norm.running_mean, 0.1 * input.numpy().mean(axis=axes))
    close(norm.running_var, 0.9 + 0.1 * input.numpy().var(axis=axes, ddof=1))
    assert norm.num_batches_tracked.item() == 1


def test_batch_norm_uses_the_running_statistics_in_evaluation():
    norm = nn.BatchNorm1d(2).eval()
    norm.running_mean.copy_(weft.tensor([1.0, 2.0]))
    norm.running_var.copy_(weft.tensor([4.0, 9.0]))
    close(norm(weft.tensor([[3.0, 5.0]])), [[1.0, 1.0]])
    assert norm.num_batches_tracked.item() == 0


def test_without_momentum_all_batches_weigh_the_same():
    norm = nn.BatchNorm1d(1, momentum=None)
    for value in (1.0, 2.0, 6.0):
        norm(weft.tensor([[value], [value]]))
    assert norm.running_mean.item() == pytest.approx(3.0)


def test_without_running_statistics_evaluation_uses_the_batch():
    norm = nn.BatchNorm1d(3, track_running_stats=False).eval()
    assert norm.running_mean is None
    input = weft.randn(8, 3)
    close(norm(input), normalized(input.numpy(), 0))


def test_running_statistics_can_be_reset():
    norm = nn.BatchNorm1d(2)
    norm(weft.randn(4, 2))
    norm.reset_running_stats()
    assert norm.running_mean.tolist() == [0.0, 0.0]
    assert norm.running_var.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("layer", "axes"), [(nn.BatchNorm1d, 4), (nn.BatchNorm2d, 3), (nn.BatchNorm3d, 4), (nn.InstanceNorm2d, 2)]
)
def test_inputs_of_the_wrong_number_of_axes_are_refused(layer, axes):
    with pytest.raises(ValueError, match=f"got {axes}D input"):
        layer(2)(weft.ones([2] * axes))


def test_sync_batch_norm_replaces_batch_norms():
    model = nn.Sequential(nn.BatchNorm2d(3), nn.Sequential(nn.BatchNorm1d(2, affine=False)))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert isinstance(converted[0], nn.SyncBatchNorm)
    assert isinstance(converted[1][0], nn.SyncBatchNorm)
    assert list(converted.state_dict()) == list(model.state_dict())


def test_instance_norm_normalizes_each_example():
    input = weft.randn(2, 3, 4, 5) + 2
    close(nn.InstanceNorm2d(3)(input), normalized(input.numpy(), (2, 3)))
    close(nn.InstanceNorm2d(3)(input[0]), normalized(input.numpy(), (2, 3))[0])
    with pytest.raises(ValueError, match="num_features"):
        nn.InstanceNorm2d(4, affine=True)(input)


def test_layer_norm_normalizes_the_last_axes():
    input = weft.randn(2, 3, 4)
    close(nn.LayerNorm(4)(input), normalized(input.numpy(), 2))
    close(nn.LayerNorm((3, 4), elementwise_affine=False)(input), normalized(input.numpy(), (1, 2)))
    assert list(nn.LayerNorm(4, bias=False).state_dict()) == ["weight"]


def test_group_norm_normalizes_groups_of_channels():
    input = weft.randn(2, 4, 5)
    expected = normalized(input.numpy().reshape(2, 2, 10), 2).reshape(2, 4, 5)
    close(nn.GroupNorm(2, 4)(input), expected)
    with pytest.raises(ValueError, match="divisible"):
        nn.GroupNorm(2, 5)


def test_rms_norm_divides_by_the_root_mean_square():
    input = weft.randn(3, 4)
    expected = input.numpy() / np.sqrt((input.numpy() ** 2).mean(axis=1, keepdims=True))
    close(nn.RMSNorm(4)(input), expected)


def test_local_response_norm_divides_by_neighbouring_channels():
    input = weft.tensor([[[1.0], [2.0], [3.0]]])
    squares = np.array([5.0, 14.0, 13.0])  # of the 3 nearest channels
    expected = np.array([1.0, 2.0, 3.0]) / (1 + 0.5 * squares / 3) ** 0.75
    close(nn.LocalResponseNorm(3, alpha=0.5)(input).reshape(3), expected)


def test_repr():
    assert repr(nn.LayerNorm(4)) == "LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)"
    assert repr(nn.GroupNorm(2, 4)) == "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)"
    assert repr(nn.RMSNorm([3, 2])) == "RMSNorm((3, 2), eps=None, elementwise_affine=True)"
    assert repr(nn.InstanceNorm1d(2)) == (
        "InstanceNorm1d(2, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)"
    )


@pytest.mark.parametrize("norm", [weft.nn.BatchNorm2d(3), weft.nn.LayerNorm([3, 4, 4]), weft.nn.MaxPool2d(2)])
def test_an_activation_in_place_may_follow(norm):
    x = weft.linspace(-1, 1, 96).reshape(2, 3, 4, 4).requires_grad_()
    weft.nn.ReLU(inplace=True)(norm(x)).sum().backward()
    expected, x.grad = x.grad, None
    weft.nn.ReLU()(norm(x)).sum().backward()
    assert weft.equal(x.grad, expected)


@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_by_given_statistics_is_differentiable_by_all_of_them(affine):
    weft.manual_seed(0)
    input, mean, variance = weft.randn(2, 3, 2), weft.randn(3), weft.rand(3) + 0.5
    parameters = (weft.randn(3), weft.randn(3)) if affine else ()
    given = [each.double().requires_grad_() for each in (input, mean, variance, *parameters)]
    assert weft.autograd.gradcheck(nn.functional.batch_norm, given)
    assert weft.autograd.gradgradcheck(nn.functional.batch_norm, given)


@pytest.mark.parametrize("affine", [False, True])
def test_instance_norm_of_other_channels_warns_or_is_refused(affine):
    norm, input = nn.InstanceNorm1d(3, affine=affine), weft.randn(2, 4, 5)
    if affine:
        with pytest.raises(ValueError, match=r"size at dim=1 to match num_features \(3\), but got: 4"):
            norm(input)
        return
    with pytest.warns(UserWarning, match="does not match num_features"):
        assert norm(input).shape == input.shape


def test_an_empty_batch_may_have_another_dtype_than_the_parameters():
    layer = weft.nn.BatchNorm2d(3)
    layer(weft.randn(0, 3, 2, 2, dtype=weft.float64, requires_grad=True)).sum().backward()
    assert layer.weight.grad.tolist() == layer.bias.grad.tolist() == [0, 0, 0]
    assert layer.running_var.tolist() == [1, 1, 1]
