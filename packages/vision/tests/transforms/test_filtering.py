"""Blur, and affine maps."""

import numpy as np
import pytest
from PIL import Image

import weft
from weft.vision import transforms as T
from weft.vision.transforms import functional as F

EXPECTED = (-19.82946014404297, (-2, -2), 0.8107819557189941, (-0.5677127838134766, 0.0))


def test_a_blurred_point_is_a_gaussian_of_sum_1():
    img = weft.zeros(2, 9, 9)
    img[:, 4, 4] = 1
    blurred = F.gaussian_blur(img, [5, 3], [1.0, 0.5])
    assert weft.allclose(blurred.sum(dim=(1, 2)), weft.ones(2))
    assert (blurred[0, 4, 6] / blurred[0, 4, 4]).item() == pytest.approx(np.exp(-2.0))  # two pixels along the width
    assert (blurred[0, 5, 4] / blurred[0, 4, 4]).item() == pytest.approx(np.exp(-2.0))  # one, of half the deviation


def test_images_keep_their_mode_and_flat_ones_their_value():
    for mode, color in (("L", 77), ("RGB", (1, 200, 30))):
        blurred = T.GaussianBlur(3)(Image.new(mode, (6, 5), color))
        assert (blurred.mode, blurred.size, blurred.getpixel((0, 0))) == (mode, (6, 5), color)


@pytest.mark.parametrize("make", [lambda: T.GaussianBlur(4), lambda: T.GaussianBlur(3, 0.0), lambda: T.GaussianBlur(0)])
def test_kernels_that_cannot_be_are_refused(make):
    with pytest.raises(
        ValueError, match=r"GaussianBlur: (Kernel size .*should be|If sigma is a single number, it must be positive)"
    ):
        make()


@pytest.mark.parametrize("angle", [0.0, 90.0, 180.0])
def test_an_affine_map_turns_with_the_clock_where_rotate_turns_against_it(angle):
    img = weft.rand(3, 8, 8)
    assert weft.equal(F.affine(img, angle, [0, 0], 1.0, 0.0), F.rotate(img, -angle))


def test_an_affine_map_shifts_right_and_down_and_fills():
    img = weft.arange(12.0).view(1, 3, 4)
    moved = F.affine(img, 0.0, [1, 2], 1.0, [0.0, 0.0], fill=[-1.0])
    assert moved[0].tolist() == [[-1] * 4, [-1] * 4, [-1, 0, 1, 2]]
    picture = Image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4))
    assert np.asarray(F.affine(picture, 0.0, [1, 2], 1.0, 0.0, fill=9)).tolist() == [[9] * 4, [9] * 4, [9, 0, 1, 2]]


def test_a_random_map_draws_as_torchvision_does():
    # Observed from torchvision 0.28 after manual_seed(3).
    weft.manual_seed(3)
    drawn = T.RandomAffine.get_params([-20.0, 20.0], (0.1, 0.2), (0.8, 1.2), [-10.0, 10.0], [24, 20])
    assert drawn == (pytest.approx(EXPECTED[0]), EXPECTED[1], pytest.approx(EXPECTED[2]), pytest.approx(EXPECTED[3]))
    told = "RandomAffine(degrees=[-10.0, 10.0], translate=(0.1, 0.1), scale=(0.9, 1.1), shear=[-5.0, 5.0])"
    assert repr(T.RandomAffine(10, (0.1, 0.1), (0.9, 1.1), 5)) == told
    assert T.RandomAffine(10)(weft.ones(1, 4, 4)).shape == (1, 4, 4)


def test_maps_that_cannot_be_are_refused():
    for make in (lambda: T.RandomAffine(5, (2.0, 0.0)), lambda: T.RandomAffine(5, scale=(0.0, 1.0))):
        with pytest.raises(ValueError, match=r"RandomAffine: (translation|scale) values"):
            make()
    with pytest.raises(ValueError, match="affine: Argument scale should be positive"):
        F.affine(weft.ones(1, 2, 2), 0.0, [0, 0], 0.0, 0.0)
