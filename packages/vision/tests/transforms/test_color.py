"""Colour, brightness, erasing; draws as torchvision's."""

import colorsys

import numpy as np
import pytest
from PIL import Image

import weft
from weft.vision import transforms as T
from weft.vision.transforms import functional as F

TWO = weft.tensor([[[200, 10]], [[100, 250]], [[30, 60]]], dtype=weft.uint8)  # two pixels, in RGB
LARGE = weft.zeros(3, 32, 40)


def test_grey_is_the_weighted_sum_of_the_colours():
    assert F.rgb_to_grayscale(TWO).tolist() == [[[121, 156]]]
    assert tuple(T.Grayscale(3)(TWO).shape) == (3, 1, 2)
    assert T.Grayscale(3)(Image.new("RGB", (2, 2))).mode == "RGB"
    assert T.Grayscale()(Image.new("RGB", (2, 2))).mode == "L"


@pytest.mark.parametrize(
    ("adjust", "factor", "expected"),
    [
        (F.adjust_brightness, 1.5, [255, 15, 150, 255, 45, 90]),
        (F.adjust_contrast, 0.5, [169, 74, 119, 194, 84, 99]),
        (F.adjust_saturation, 2.0, [255, 0, 79, 255, 0, 0]),
        (F.adjust_hue, 0.25, [45, 10, 200, 80, 30, 250]),
    ],
)
def test_adjustments_give_the_values_of_torchvision(adjust, factor, expected):
    assert adjust(TWO, factor).flatten().tolist() == expected


@pytest.mark.parametrize("name", ["brightness", "contrast", "saturation"])
@pytest.mark.parametrize("factor", [0.0, 0.6, 1.0, 1.8])
def test_tensors_and_pil_images_are_adjusted_alike(name, factor):
    array = np.random.default_rng(0).integers(0, 256, (6, 5, 3), dtype=np.uint8)
    adjust = getattr(F, f"adjust_{name}")
    pil = np.array(adjust(Image.fromarray(array), factor)).astype(int)
    tensor = adjust(weft.from_numpy(array).permute(2, 0, 1), factor).permute(1, 2, 0).numpy().astype(int)
    assert np.abs(pil - tensor).max() <= 2  # Pillow rounds the grey values and the mean


def test_hue_turns_as_in_colorsys():
    pixels = np.random.default_rng(0).random((3, 4, 5))
    turned = F.adjust_hue(weft.from_numpy(pixels), 0.3).numpy()
    for place in np.ndindex(4, 5):
        hue, saturation, value = colorsys.rgb_to_hsv(*pixels[:, place[0], place[1]])
        expected = colorsys.hsv_to_rgb((hue + 0.3) % 1, saturation, value)
        np.testing.assert_allclose(turned[:, place[0], place[1]], expected, atol=1e-9)


def test_grey_pictures_have_neither_hue_nor_saturation():
    grey = weft.rand(1, 2, 2)
    assert F.adjust_hue(grey, 0.5) is grey
    assert F.adjust_saturation(grey, 0.0) is grey
    assert F.adjust_hue(Image.new("L", (1, 1), 9), 0.2).getpixel((0, 0)) == 9


def test_random_draws_are_those_of_torchvision():
    weft.manual_seed(0)
    order, *factors = T.ColorJitter.get_params((0.6, 1.4), (0.6, 1.4), None, (-0.1, 0.1))
    assert order.tolist() == [0, 1, 3, 2]
    assert factors[2] is None
    assert factors[:2] + factors[3:] == pytest.approx([0.7056244, 0.8459383, 0.0268157], abs=1e-6)
    weft.manual_seed(0)
    drawn = [T.RandomErasing.get_params(LARGE, (0.02, 0.33), (0.3, 3.3), [0.0])[:4] for _ in range(3)]
    assert drawn == [(5, 0, 21, 11), (5, 26, 14, 10), (5, 28, 17, 12)]
    weft.manual_seed(0)
    *_, noise = T.RandomErasing.get_params(LARGE, (0.02, 0.33), (0.3, 3.3), None)
    assert noise.flatten()[:3].tolist() == pytest.approx([-0.2506, -0.4339, 0.8487], abs=1e-4)


def test_jitter_changes_only_what_it_is_asked_to():
    picture = weft.full((3, 2, 2), 0.25)
    assert T.ColorJitter()(picture) is picture
    assert T.ColorJitter(brightness=(2, 2))(picture).flatten().tolist() == [0.5] * 12


def test_erasing_overwrites_a_rectangle_of_a_copy():
    picture = weft.ones(3, 8, 8)
    erased = T.RandomErasing(p=1.0, value=(2, 3, 4))(picture)
    assert picture.sum().item() == 192
    changed = erased != 1
    assert changed.any()
    assert (changed[0] == changed[2]).all()
    assert erased.amax(dim=(1, 2)).tolist() == [2, 3, 4]
    T.RandomErasing(p=1.0, inplace=True)(picture)
    assert picture.sum().item() < 192
    assert T.RandomErasing(p=0.0)(picture) is picture


def test_reprs_are_those_of_torchvision():
    assert repr(T.ColorJitter(0.1, 0.2, (0.3, 0.4), 0.1)) == (
        "ColorJitter(brightness=(0.9, 1.1), contrast=(0.8, 1.2), saturation=(0.3, 0.4), hue=(-0.1, 0.1))"
    )
    assert repr(T.RandomErasing()) == (
        "RandomErasing(p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False)"
    )
    assert repr(T.RandomGrayscale()) == "RandomGrayscale(p=0.1)"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.adjust_hue(TWO, 0.6), ValueError, r"0.6\) is not in \[-0.5, 0.5\]"),
        (lambda: F.adjust_brightness(TWO, -1), ValueError, "is not non-negative"),
        (lambda: F.adjust_contrast(weft.zeros(2, 3, 3), 1), TypeError, "1 or 3 channels"),
        (lambda: F.rgb_to_grayscale(TWO, 2), ValueError, "should be either 1 or 3, got 2"),
        (lambda: F.to_grayscale(TWO), TypeError, "use rgb_to_grayscale"),
        (lambda: F.erase(Image.new("L", (2, 2)), 0, 0, 1, 1, 0), TypeError, "apply ToTensor first"),
        (lambda: T.ColorJitter(-1), ValueError, "must be non negative"),
        (lambda: T.ColorJitter(hue=0.6), ValueError, r"between \(-0.5, 0.5\)"),
        (lambda: T.ColorJitter("a"), TypeError, "a single number or a sequence"),
        (lambda: T.RandomErasing(p=2), ValueError, "should be between 0 and 1"),
        (lambda: T.RandomErasing(value="noise"), ValueError, "it should be 'random'"),
        (lambda: T.RandomErasing(1, value=(1, 2))(LARGE), ValueError, "a single value or 3"),
    ],
)
def test_wrong_arguments_are_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()
