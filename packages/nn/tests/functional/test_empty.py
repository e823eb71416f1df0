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
    **{
        f"max_unpool{d}d": (
            lambda x, d=d: getattr(F, f"max_unpool{d}d")(x, weft.zeros(x.shape, dtype=weft.int64), 2),
            (0, 3, *(4,) * d),
            (0, 3, *(8,) * d),
        )
        for d in (1, 2, 3)
    },
    **{
        f"conv{d}d of no channels": (
            lambda x, d=d: getattr(F, f"conv{d}d")(x, weft.ones(5, 0, *(3,) * d), weft.ones(5)),
            (2, 0, *(4,) * d),
            (2, 5, *(2,) * d),
        )
        for d in (1, 2, 3)
    },
    "linear to nothing": (lambda x: F.linear(x, weft.ones(0, 4)), (2, 3, 4), (2, 3, 0)),
    "linear of rows of nothing": (lambda x: F.linear(x, weft.ones(0, 4)), (2, 0, 4), (2, 0, 0)),
    "layer_norm of nothing": (lambda x: F.layer_norm(x, (0,), weft.ones(0), weft.ones(0)), (3, 0), (3, 0)),
    "rms_norm of nothing": (lambda x: F.rms_norm(x, (0,), weft.ones(0)), (3, 0), (3, 0)),
    "attention of no features": (lambda x: F.scaled_dot_product_attention(x, x, x), (2, 3, 0), (2, 3, 0)),
    **{
        f"cross_entropy {reduction}": (
            lambda x, reduction=reduction: F.cross_entropy(
                x, weft.zeros(x.shape[0], *x.shape[2:], dtype=weft.int64), label_smoothing=0.1, reduction=reduction
            ),
            (0, 3, 4),
            (0, 4) if reduction == "none" else (),
        )
        for reduction in ("none", "sum")
    },
    "Embedding of nothing": (lambda x: weft.nn.Embedding(0, 0)(weft.zeros(2, 0, dtype=weft.int64)) + x, (), (2, 0, 0)),
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


@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 4), (0, 3, 4, 4), (2, 3, 0)])
def test_batch_norm_of_nothing_learns_nothing(shape):
    layer = {2: weft.nn.BatchNorm1d, 3: weft.nn.BatchNorm1d, 4: weft.nn.BatchNorm2d}[len(shape)](3)
    layer(weft.ones(shape, requires_grad=True)).sum().backward()
    assert layer.weight.grad.tolist() == layer.bias.grad.tolist() == [0.0] * 3
    assert layer.running_mean.tolist() == [0.0] * 3
    assert layer.running_var.tolist() == [1.0] * 3
