"""Pooling layers."""

import pytest

import weft
from weft import nn

ROW = weft.tensor([[[1.0, 5.0, 2.0, 4.0, 3.0]]])


def test_max_pool_takes_the_greatest():
    assert nn.MaxPool1d(2)(ROW).tolist() == [[[5.0, 4.0]]]
    assert nn.MaxPool1d(2, ceil_mode=True)(ROW).tolist() == [[[5.0, 4.0, 3.0]]]
    assert nn.MaxPool1d(3, stride=1, padding=1)(ROW).tolist() == [[[5.0, 5.0, 5.0, 4.0, 4.0]]]
    assert nn.MaxPool1d(2, dilation=3, stride=1)(ROW).tolist() == [[[4.0, 5.0]]]


def test_max_pool_tells_where_and_unpool_puts_it_back():
    values, indices = nn.MaxPool1d(2, return_indices=True)(ROW)
    assert indices.tolist() == [[[1, 3]]]
    assert nn.MaxUnpool1d(2)(values, indices, output_size=[5]).tolist() == [[[0.0, 5.0, 0.0, 4.0, 0.0]]]


def test_average_pool_counts_padding_on_request():
    assert nn.AvgPool1d(2)(ROW).tolist() == [[[3.0, 3.0]]]
    assert nn.AvgPool1d(2, padding=1)(ROW).tolist() == [[[0.5, 3.5, 3.5]]]
    assert nn.AvgPool1d(2, padding=1, count_include_pad=False)(ROW).tolist() == [[[1.0, 3.5, 3.5]]]
    assert nn.AvgPool2d(2, divisor_override=1)(weft.ones(1, 1, 2, 2)).tolist() == [[[[4.0]]]]


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_pools_of_all_axes_give_the_same_shapes(axes):
    input = weft.randn(2, 3, *[6] * axes)
    for name in ("MaxPool", "AvgPool"):
        assert getattr(nn, f"{name}{axes}d")(2)(input).shape == (2, 3, *[3] * axes)
    for name in ("AdaptiveAvgPool", "AdaptiveMaxPool"):
        assert getattr(nn, f"{name}{axes}d")(4)(input).shape == (2, 3, *[4] * axes)
    assert getattr(nn, f"LPPool{axes}d")(2, 2)(input.abs()).shape == (2, 3, *[3] * axes)


def test_adaptive_pools_cover_the_input_evenly():
    assert nn.AdaptiveAvgPool1d(2)(ROW).tolist() == [[[pytest.approx(8 / 3), 3.0]]]
    assert nn.AdaptiveMaxPool1d(2)(ROW).tolist() == [[[5.0, 4.0]]]
    assert nn.AdaptiveAvgPool2d((None, 1))(weft.ones(1, 1, 3, 4)).shape == (1, 1, 3, 1)
    values, indices = nn.AdaptiveMaxPool1d(1, return_indices=True)(ROW)
    assert (values.item(), indices.item()) == (5.0, 1)


def test_lp_pool_is_the_norm_of_the_window():
    assert nn.LPPool1d(2, 2)(weft.tensor([[[3.0, 4.0]]])).item() == pytest.approx(5.0)


@pytest.mark.parametrize("options", [{}, {"output_size": 2, "output_ratio": 0.5}, {"output_ratio": 1.5}], ids=str)
def test_fractional_pool_needs_one_size_in_range(options):
    with pytest.raises(ValueError, match="FractionalMaxPool2d"):
        nn.FractionalMaxPool2d(2, **options)


def test_repr():
    assert repr(nn.MaxPool2d((2, 3))) == (
        "MaxPool2d(kernel_size=(2, 3), stride=(2, 3), padding=0, dilation=1, ceil_mode=False)"
    )
    assert repr(nn.AvgPool1d(2)) == "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"
    assert repr(nn.AdaptiveAvgPool2d((3, None))) == "AdaptiveAvgPool2d(output_size=(3, None))"
    assert repr(nn.LPPool1d(2, 3)) == "LPPool1d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)"
