"""Colours of the second version: closed forms, Pillow as reference, hostile input."""

import numpy as np
import pytest
from PIL import Image, ImageOps

import weft
from weft.vision import tv_tensors
from weft.vision.transforms import v2
from weft.vision.transforms.v2 import functional as F


def pixels(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


PICTURE = Image.fromarray(pixels(9, 11, 3))
TENSOR = F.pil_to_tensor(PICTURE)


@pytest.mark.parametrize(
    ("function", "pillow"),
    [
        (F.equalize, ImageOps.equalize),
        (F.invert, ImageOps.invert),
        (lambda image: F.posterize(image, 3), lambda image: ImageOps.posterize(image, 3)),
        (lambda image: F.solarize(image, 100), lambda image: ImageOps.solarize(image, 100)),
    ],
    ids=["equalize", "invert", "posterize", "solarize"],
)
def test_bytes_become_what_pillow_makes_of_them(function, pillow):
    assert weft.equal(function(TENSOR), F.pil_to_tensor(pillow(PICTURE)))
    assert np.array_equal(np.asarray(function(PICTURE)), np.asarray(pillow(PICTURE)))


def test_autocontrast_stretches_each_channel_to_black_and_white():
    image = weft.tensor([[[10, 20, 30]], [[7, 7, 7]], [[0, 128, 255]]], dtype=weft.uint8)
    expected = weft.tensor([[[0, 127, 255]], [[7, 7, 7]], [[0, 128, 255]]], dtype=weft.uint8)
    weft.testing.assert_close(F.autocontrast(image), expected, atol=1, rtol=0)
    floats = F.autocontrast(weft.tensor([[[0.2, 0.4, 0.6]]]))
    weft.testing.assert_close(floats, weft.tensor([[[0.0, 0.5, 1.0]]]))


def test_inverting_twice_is_the_identity_for_every_dtype():
    for dtype in (weft.uint8, weft.int16, weft.int32, weft.int64):
        image = weft.tensor([[[0, 3, 100]]], dtype=dtype)
        assert weft.equal(F.invert(F.invert(image)), image)
    assert F.invert(weft.tensor([[[0.25]]])).item() == 0.75


def test_posterized_floats_have_so_many_levels():
    levels = F.posterize(weft.linspace(0, 1, 50).reshape(1, 5, 10), 2).unique()
    assert levels.tolist() == [0.0, 0.25, 0.5, 0.75]


def test_factor_one_changes_nothing():
    image = weft.rand(3, 6, 7)
    for adjust in (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_sharpness):
        weft.testing.assert_close(adjust(image, 1.0), image)
        assert weft.equal(adjust(TENSOR, 1.0), TENSOR)
    weft.testing.assert_close(F.adjust_hue(image, 0.0), image)
    weft.testing.assert_close(F.adjust_gamma(image, 1.0), image)


def test_gradients_flow_through_floats():
    image = (weft.rand(3, 4, 4, dtype=weft.float64) * 0.5 + 0.2).requires_grad_()
    for function in (
        lambda image: F.adjust_saturation(image, 0.5),
        lambda image: F.adjust_contrast(image, 0.5),
        lambda image: F.adjust_sharpness(image, 0.5),
        lambda image: F.gaussian_blur(image, [3, 3]),
        lambda image: F.normalize(image, [0.5], [0.2]),
    ):
        assert weft.autograd.gradcheck(function, image)


def test_each_kind_of_image_keeps_its_class():
    video = tv_tensors.Video(weft.from_numpy(pixels(2, 3, 5, 6)))
    assert isinstance(F.adjust_hue(video, 0.2), tv_tensors.Video)
    assert type(F.adjust_hue(TENSOR, 0.2)) is weft.Tensor
    assert F.permute_channels(PICTURE, [2, 1, 0]).getpixel((0, 0)) == PICTURE.getpixel((0, 0))[::-1]


def test_color_jitter_without_ranges_returns_its_input():
    assert v2.ColorJitter()(TENSOR) is TENSOR


def test_photometric_distortion_leaves_boxes_alone():
    boxes = tv_tensors.BoundingBoxes([[0, 0, 2, 3]], format="XYXY", canvas_size=(9, 11))
    image, same = v2.RandomPhotometricDistort(p=1.0)(TENSOR, boxes)
    assert same is boxes
    assert image.shape == TENSOR.shape


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.adjust_brightness(weft.zeros(2, 3, 3), 1), TypeError, "permitted channel values are 1 or 3"),
        (lambda: F.adjust_gamma(TENSOR, -1), ValueError, "non-negative"),
        (lambda: F.solarize(TENSOR, 256), TypeError, "maximum value"),
        (lambda: F.posterize(TENSOR, 9), TypeError, "range"),
        (lambda: F.permute_channels(TENSOR, [0, 1]), ValueError, "2 != 3"),
        (lambda: F.rgb_to_grayscale(TENSOR, 2), ValueError, "should be either 1 or 3"),
        (lambda: F.invert("picture"), TypeError, "<class 'str'>"),
        (lambda: v2.ColorJitter(hue=0.7), ValueError, "between"),
        (lambda: v2.RandomInvert(p=2), ValueError, "interval"),
    ],
)
def test_wrong_arguments_are_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()
