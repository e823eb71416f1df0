"""Layers that move elements: flatten, padding, pixel shuffles, upsampling, fold; and distances."""

import numpy as np
import pytest

import weft
from weft import nn


def test_flatten_and_unflatten_are_inverse():
    input = weft.randn(2, 3, 4)
    assert nn.Flatten()(input).shape == (2, 12)
    assert nn.Unflatten(1, (3, -1))(nn.Flatten()(input)).tolist() == input.tolist()
    with pytest.raises(TypeError, match="pos 0"):
        nn.Unflatten(1, (2.0, 3))
    with pytest.raises(TypeError, match="int"):
        nn.Unflatten(1, 3)


@pytest.mark.parametrize(
    ("name", "numpy_options"),
    [
        ("Zero", {"mode": "constant"}),
        ("Reflection", {"mode": "reflect"}),
        ("Replication", {"mode": "edge"}),
        ("Circular", {"mode": "wrap"}),
    ],
)
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_padding_pads_as_numpy_does(name, numpy_options, axes):
    input = weft.randn(1, 2, *[4] * axes)
    amounts = [(number, number + 1) for number in range(axes)]  # last axis first
    layer = getattr(nn, f"{name}Pad{axes}d")(tuple(amount for pair in amounts for amount in pair))
    expected = np.pad(input.numpy(), [(0, 0), (0, 0), *reversed(amounts)], **numpy_options)
    np.testing.assert_array_equal(layer(input).numpy(), expected)


def test_constant_padding_takes_a_value():
    assert nn.ConstantPad1d((1, 2), 7.0)(weft.zeros(1, 1)).tolist() == [[7.0, 0.0, 7.0, 7.0]]
    assert repr(nn.ConstantPad1d(2, 3.5)) == "ConstantPad1d(padding=(2, 2), value=3.5)"
    assert repr(nn.ZeroPad2d(1)) == "ZeroPad2d((1, 1, 1, 1))"


def test_pixel_shuffle_and_unshuffle_are_inverse():
    input = weft.randn(1, 8, 2, 3)
    assert nn.PixelShuffle(2)(input).shape == (1, 2, 4, 6)
    assert nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(input)).tolist() == input.tolist()


def test_channel_shuffle_interleaves_groups():
    assert nn.ChannelShuffle(2)(weft.arange(4.0).reshape(1, 4, 1, 1)).flatten().tolist() == [0.0, 2.0, 1.0, 3.0]


def test_upsampling():
    input = weft.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    assert nn.Upsample(scale_factor=2)(input)[0, 0, 0].tolist() == [1.0, 1.0, 2.0, 2.0]
    assert nn.UpsamplingNearest2d(4)(input).shape == (1, 1, 4, 4)
    corners = nn.UpsamplingBilinear2d(3)(input)[0, 0]
    assert corners.tolist() == [[1.0, 1.5, 2.0], [2.0, 2.5, 3.0], [3.0, 3.5, 4.0]]
    assert repr(nn.Upsample(scale_factor=2)) == "Upsample(scale_factor=2.0, mode='nearest')"


def test_unfold_makes_columns_and_fold_adds_them_up():
    input = weft.ones(1, 1, 3, 3)
    columns = nn.Unfold(2)(input)
    assert columns.shape == (1, 4, 4)
    assert nn.Fold(3, 2)(columns)[0, 0].tolist() == [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]


def test_distances():
    x, y = weft.tensor([[3.0, 4.0], [0.0, 2.0]]), weft.tensor([[0.0, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(nn.PairwiseDistance()(x, y).numpy(), [5.0, np.sqrt(5)], rtol=1e-5)
    assert nn.PairwiseDistance(p=1, keepdim=True)(x, y).shape == (2, 1)
    assert nn.CosineSimilarity()(x, y)[1].item() == 0.0
