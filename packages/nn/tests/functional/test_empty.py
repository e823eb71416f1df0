"""Batches of no sample, tensors of no channel, and layers of no feature give empty results of the right shape."""

import pytest

import weft
from weft.nn import functional as F

CALLS = {
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 2), (0, 3, 4, 4), (0, 3, 2, 2)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 3), (0, 3, 4, 4), (0, 3, 3, 3)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (0, 3, 4, 4), (0, 3, 2, 2)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), (0, 3, 4, 4), (0, 3, 2, 2)),
    "conv2d": (lambda x: F.conv2d(x, weft.ones(5, 3, 3, 3)), (0, 3, 4, 4), (0, 5, 2, 2)),
    "grid_sample": (
        lambda x: F.grid_sample(x, weft.zeros(2, 3, 3, 2), align_corners=False),
        (2, 0, 4, 4),
        (2, 0, 3, 3),
    ),
    "bilinear": (lambda x: F.bilinear(x, x, weft.ones(0, 4, 4)), (2, 4), (2, 0)),
    "linear": (lambda x: F.linear(x, weft.ones(3, 4)), (0, 4), (0, 3)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2), (0, 3, 4, 4), (0, 3, 8, 8)),
    "batch_norm": (lambda x: F.batch_norm(x, weft.zeros(3), weft.ones(3)), (0, 3, 4), (0, 3, 4)),
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), (0, 4), (0, 4)),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_in_gives_nothing_out_with_its_gradient(name):
    call, shape, expected = CALLS[name]
    x = weft.ones(shape, requires_grad=True)
    result = call(x)
    assert result.shape == expected
    result.sum().backward()
    assert x.grad.shape == shape


def test_attention_without_queries_gives_none():
    layer = weft.nn.MultiheadAttention(4, 2)
    keys = weft.ones(3, 2, 4)
    output, weights = layer(weft.ones(0, 2, 4), keys, keys)
    assert output.shape == (0, 2, 4)
    assert weights.shape == (2, 0, 3)


@pytest.mark.parametrize("loss", [F.mse_loss, F.smooth_l1_loss, F.huber_loss])
def test_truth_values_can_be_targets(loss):
    scores = weft.tensor([0.5, 2.0, -1.0])
    target = weft.tensor([True, False, True])
    assert loss(scores, target).item() == loss(scores, target.float()).item()
