"""Dropout layers."""

import pytest

import weft
from weft import nn

LAYERS = [nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout]


@pytest.mark.parametrize("layer", LAYERS)
def test_dropout_is_identity_in_eval_mode(layer):
    spatial = {nn.Dropout2d: (4, 5), nn.Dropout3d: (4, 5, 6)}.get(layer, (4,))
    input = weft.randn(2, 3, *spatial)
    assert layer(0.5).eval()(input).tolist() == input.tolist()


def test_dropout_zeroes_a_share_and_scales_the_rest():
    weft.manual_seed(0)
    output = nn.Dropout(0.25)(weft.ones(10000))
    kept = output[output != 0]
    assert kept.unique().tolist() == [pytest.approx(4 / 3)]
    assert len(kept) / 10000 == pytest.approx(0.75, abs=0.02)


def test_channel_dropout_zeroes_whole_channels():
    weft.manual_seed(0)
    for layer, shape in ((nn.Dropout1d, (8, 8, 5)), (nn.Dropout2d, (8, 8, 5, 5)), (nn.Dropout3d, (8, 8, 3, 3, 3))):
        channels = layer(0.5)(weft.ones(shape)).reshape(64, -1)
        assert set(channels.sum(1).tolist()) == {0.0, 2.0 * channels.shape[1]}


def test_alpha_dropout_gives_what_it_drops_a_negative_value():
    weft.manual_seed(0)
    (dropped,) = nn.AlphaDropout(0.3)(weft.full((1000,), 5.0)).unique().tolist()[:1]
    limit = -1.7580993408473766  # of selu at minus infinity
    assert dropped == pytest.approx(limit * 0.7 / ((1 + 0.3 * limit**2) * 0.7) ** 0.5, rel=1e-5)


def test_alpha_dropout_keeps_mean_and_variance():
    weft.manual_seed(0)
    output = nn.AlphaDropout(0.3)(weft.randn(20000))
    assert output.mean().item() == pytest.approx(0.0, abs=0.05)
    assert output.std().item() == pytest.approx(1.0, abs=0.05)


def test_probability_one_zeroes_everything():
    assert nn.Dropout(1.0)(weft.ones(3)).tolist() == [0.0, 0.0, 0.0]


def test_dropout_in_place_writes_into_its_input():
    input = weft.ones(4)
    assert nn.Dropout(1.0, inplace=True)(input) is input
    assert input.tolist() == [0.0] * 4


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("probability", [-0.1, 1.1])
def test_probabilities_outside_of_0_and_1_are_refused(layer, probability):
    with pytest.raises(ValueError, match="between 0 and 1"):
        layer(probability)


def test_masks_are_those_of_pytorch_for_the_same_seed():
    weft.manual_seed(0)
    assert nn.Dropout(0.5)(weft.ones(12)).tolist() == [0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0, 2.0, 0.0, 2.0, 2.0, 2.0]
