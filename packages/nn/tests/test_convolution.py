"""Convolutions: geometry, padding modes, transposed sizes, errors."""

import numpy as np
import pytest

import weft
from weft import nn

CONVOLUTIONS = [nn.Conv1d, nn.Conv2d, nn.Conv3d]
TRANSPOSED = [nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d]


def image(axes, size=6, channels=2):
    return weft.randn(2, channels, *[size] * axes)


@pytest.mark.parametrize(("axes", "layer"), list(enumerate(CONVOLUTIONS, 1)))
def test_output_sizes(axes, layer):
    assert layer(2, 4, 3)(image(axes)).shape == (2, 4, *[4] * axes)
    assert layer(2, 4, 3, stride=2, padding=1)(image(axes)).shape == (2, 4, *[3] * axes)
    assert layer(2, 4, 3, dilation=2)(image(axes)).shape == (2, 4, *[2] * axes)
    assert layer(2, 4, 3, padding="same", groups=2)(image(axes)).shape == (2, 4, *[6] * axes)
    assert layer(2, 4, 4, padding="valid")(image(axes)).shape == (2, 4, *[3] * axes)
    assert layer(2, 4, 3)(image(axes)[0]).shape == (4, *[4] * axes)


def test_a_box_of_ones_sums_its_window():
    layer = nn.Conv2d(1, 1, 2, bias=False)
    with weft.no_grad():
        layer.weight.fill_(1.0)
    output = layer(weft.arange(9.0).reshape(1, 1, 3, 3))
    assert output.tolist() == [[[[8.0, 12.0], [20.0, 24.0]]]]


@pytest.mark.parametrize(
    ("mode", "numpy_mode"),
    [("zeros", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")],
)
@pytest.mark.parametrize(("axes", "layer"), list(enumerate(CONVOLUTIONS, 1)))
def test_padding_modes_pad_as_numpy_does(axes, layer, mode, numpy_mode):
    padded = layer(2, 3, 3, padding=2, padding_mode=mode)
    plain = layer(2, 3, 3)
    plain.load_state_dict(padded.state_dict())
    input = image(axes, size=4)
    by_hand = np.pad(input.numpy(), [(0, 0), (0, 0)] + [(2, 2)] * axes, mode=numpy_mode)
    np.testing.assert_allclose(
        padded(input).detach().numpy(), plain(weft.from_numpy(by_hand)).detach().numpy(), rtol=1e-4, atol=1e-5
    )


def test_same_padding_of_an_even_kernel_puts_the_extra_behind():
    layer = nn.Conv1d(1, 1, 2, padding="same", padding_mode="circular", bias=False)
    with weft.no_grad():
        layer.weight.copy_(weft.tensor([[[1.0, 10.0]]]))
    assert layer(weft.tensor([[1.0, 2.0, 3.0]])).tolist() == [[21.0, 32.0, 13.0]]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((3, 4, 3), {"groups": 2}),
        ((4, 3, 3), {"groups": 2}),
        ((4, 4, 3), {"groups": 0}),
        ((4, 4, 3), {"padding": "full"}),
        ((4, 4, 3), {"padding": "same", "stride": 2}),
        ((4, 4, 3), {"padding_mode": "mirror"}),
    ],
    ids=str,
)
def test_wrong_options_are_refused_when_the_layer_is_made(arguments, options):
    with pytest.raises(ValueError, match="Conv2d"):
        nn.Conv2d(*arguments, **options)


@pytest.mark.parametrize(("axes", "layer"), list(enumerate(TRANSPOSED, 1)))
def test_a_transposed_convolution_undoes_the_shape_of_its_convolution(axes, layer):
    there = CONVOLUTIONS[axes - 1](2, 3, 3, stride=2, padding=1)
    back = layer(3, 2, 3, stride=2, padding=1)
    input = image(axes, size=6)
    assert back(there(input), output_size=[6] * axes).shape == input.shape
    assert back(there(input), output_size=input.shape).shape == input.shape
    assert back(there(input)).shape == (2, 2, *[5] * axes)
    assert layer(3, 2, 3, stride=2, padding=1, output_padding=1)(there(input)).shape == input.shape


def test_a_transposed_convolution_is_the_gradient_of_the_convolution():
    convolution = nn.Conv2d(2, 3, 3, stride=2, padding=1, bias=False)
    transposed = nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1, bias=False)
    with weft.no_grad():
        transposed.weight.copy_(convolution.weight)
    input = weft.randn(1, 2, 5, 5, requires_grad=True)
    output = convolution(input)
    cotangent = weft.randn(output.shape)
    output.backward(cotangent)
    np.testing.assert_allclose(transposed(cotangent).detach().numpy(), input.grad.numpy(), rtol=1e-4, atol=1e-5)


def test_an_impossible_output_size_names_the_range():
    layer = nn.ConvTranspose1d(1, 1, 3, stride=2)
    with pytest.raises(ValueError, match="range from 7 to 8"):
        layer(weft.ones(1, 1, 3), output_size=[9])
    with pytest.raises(ValueError, match="elements"):
        layer(weft.ones(1, 1, 3), output_size=[9, 9])


def test_a_transposed_convolution_pads_with_zeros_only():
    with pytest.raises(ValueError, match="'zeros'"):
        nn.ConvTranspose2d(1, 1, 2, padding_mode="reflect")


def test_repr_shows_what_differs_from_the_default():
    assert repr(nn.Conv2d(4, 4, 3)) == "Conv2d(4, 4, kernel_size=(3, 3), stride=(1, 1))"
    layer = nn.Conv2d(4, 6, (3, 2), 2, (1, 0), 3, 2, False, "circular")
    assert repr(layer) == (
        "Conv2d(4, 6, kernel_size=(3, 2), stride=(2, 2), padding=(1, 0), dilation=(3, 3), groups=2, bias=False, "
        "padding_mode=circular)"
    )
    assert repr(nn.ConvTranspose1d(1, 1, 3, stride=2, output_padding=1)) == (
        "ConvTranspose1d(1, 1, kernel_size=(3,), stride=(2,), output_padding=(1,))"
    )
