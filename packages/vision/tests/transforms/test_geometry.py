"""Resize, pad, crop, flip, rotate: PIL images and tensors alike; draws as torchvision's."""

import numpy as np
import pytest
from PIL import Image

import weft
from weft.vision import transforms as T
from weft.vision.transforms import InterpolationMode
from weft.vision.transforms import functional as F

ROWS = np.arange(12, dtype=np.uint8).reshape(3, 4)
LARGE = weft.zeros(3, 32, 40)


def both(array):
    """The array as a PIL image and as a tensor."""
    return [Image.fromarray(array), weft.from_numpy(array.copy())[None]]


def values(picture):
    """A picture as an array (H, W)."""
    return np.array(picture) if isinstance(picture, Image.Image) else picture[0].numpy()


def test_flips_reverse_an_axis():
    for picture in both(ROWS):
        np.testing.assert_array_equal(values(F.hflip(picture)), ROWS[:, ::-1])
        np.testing.assert_array_equal(values(F.vflip(picture)), ROWS[::-1])


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
@pytest.mark.parametrize("sides", [1, (2, 1), (1, 0, 2, 2)])
def test_pad_agrees_with_numpy(mode, sides):
    left, top, right, bottom = F.geometry.four_sides(sides)
    expected = np.pad(ROWS, ((top, bottom), (left, right)), mode=mode)
    for picture in both(ROWS):
        np.testing.assert_array_equal(values(T.Pad(sides, padding_mode=mode)(picture)), expected)


def test_negative_padding_cuts_off():
    assert F.pad(weft.from_numpy(ROWS)[None], (-1, 1, 1, -2)).tolist() == [[[0, 0, 0, 0], [1, 2, 3, 0]]]


def test_crop_outside_of_the_picture_is_black():
    for picture in both(ROWS):
        np.testing.assert_array_equal(values(F.crop(picture, -1, 2, 3, 3)), [[0, 0, 0], [2, 3, 0], [6, 7, 0]])


def test_center_crop_takes_the_middle_and_pads_what_is_small():
    for picture in both(ROWS):
        np.testing.assert_array_equal(values(T.CenterCrop((1, 2))(picture)), [[5, 6]])
        assert values(T.CenterCrop(5)(picture)).shape == (5, 5)
        assert values(T.CenterCrop(5)(picture))[1, :4].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("size", "max_size", "expected"),
    [(16, None, (16, 20)), (16, 18, (14, 18)), ((5, 6), None, (5, 6)), ([8], None, (8, 10)), (None, 20, (16, 20))],
)
def test_resize_keeps_proportions_for_a_single_number(size, max_size, expected):
    assert tuple(T.Resize(size, max_size=max_size)(LARGE).shape[1:]) == expected
    assert T.Resize(size, max_size=max_size)(Image.new("L", (40, 32))).size == expected[::-1]


def test_resize_of_tensors_gives_the_values_of_torchvision():
    picture = weft.arange(8.0).reshape(1, 2, 4)
    antialiased = F.resize(picture, (2, 2))
    np.testing.assert_allclose(antialiased[0], [[5 / 7, 16 / 7], [33 / 7, 44 / 7]], rtol=1e-6)
    assert F.resize(picture, (2, 2), antialias=False).tolist() == [[[0.5, 2.5], [4.5, 6.5]]]
    assert F.resize(picture, (1, 3), InterpolationMode.NEAREST).tolist() == [[[0, 1, 2]]]
    cubic = F.resize(picture, (3, 6), InterpolationMode.BICUBIC)
    np.testing.assert_allclose(cubic[0, 0], [-0.3289, 0.1486, 0.9035, 1.5702, 2.3251, 2.8026], atol=1e-4)


@pytest.mark.parametrize("mode", [InterpolationMode.BILINEAR, InterpolationMode.BICUBIC])
def test_antialiased_resize_of_a_tensor_agrees_with_pillow(mode):
    array = np.random.default_rng(0).random((13, 17), dtype=np.float32)
    for size in ((5, 6), (20, 9)):
        pil, tensor = (values(F.resize(picture, size, mode)) for picture in both(array))
        np.testing.assert_allclose(tensor, pil, atol=1e-5)


def test_resize_of_tensors_has_a_gradient():
    picture = weft.rand(1, 4, 4, requires_grad=True)
    F.resize(picture, (2, 2)).sum().backward()
    assert picture.grad.sum().item() == pytest.approx(4.0, abs=1e-5)  # each of four pixels has weights of sum 1


@pytest.mark.parametrize("mode", [InterpolationMode.NEAREST, InterpolationMode.BILINEAR])
def test_rotation_by_90_degrees_is_exact(mode):
    array = np.random.default_rng(0).integers(0, 256, (5, 5), dtype=np.uint8)
    for picture in both(array):
        np.testing.assert_array_equal(values(F.rotate(picture, 90, mode)), np.rot90(array))


def test_expanded_rotation_holds_the_whole_picture():
    for picture in both(ROWS[:2]):
        turned = values(F.rotate(picture, 90, expand=True))
        np.testing.assert_array_equal(turned, np.rot90(ROWS[:2]))
    assert tuple(F.rotate(LARGE, 45, expand=True).shape) == (3, 52, 52)


def test_rotation_of_tensors_gives_the_values_of_torchvision():
    turned = F.rotate(weft.arange(8.0).reshape(1, 2, 4), 30, InterpolationMode.BILINEAR, fill=[9.0])
    expected = [[6.1924, 2.5262, 3.4510, 6.1096], [1.1034, 3.5490, 5.4403, 6.8052]]
    np.testing.assert_allclose(turned[0], expected, atol=1e-4)


def test_random_draws_are_those_of_torchvision():
    weft.manual_seed(0)
    assert [T.RandomCrop.get_params(LARGE, (8, 8))[:2] for _ in range(3)] == [(19, 18), (8, 3), (13, 3)]
    weft.manual_seed(0)
    drawn = [T.RandomResizedCrop.get_params(LARGE, (0.08, 1.0), (3 / 4, 4 / 3)) for _ in range(3)]
    assert drawn == [(2, 3, 24, 28), (7, 9, 21, 22), (8, 11, 24, 26)]
    weft.manual_seed(0)
    angles = [T.RandomRotation.get_params([-10, 10]) for _ in range(3)]
    assert angles == pytest.approx([-0.07487, 5.36444, -8.23045], abs=1e-5)
    weft.manual_seed(0)
    flip = T.RandomHorizontalFlip()
    assert [int(flip(weft.tensor([[[0, 1]]]))[0, 0, 0]) for _ in range(10)] == [1, 0, 1, 1, 1, 0, 1, 0, 1, 0]


def test_a_crop_of_the_picture_s_own_size_draws_nothing():
    state = weft.get_rng_state()
    assert T.RandomCrop.get_params(LARGE, (32, 40)) == (0, 0, 32, 40)
    assert (weft.get_rng_state() == state).all()


def test_randomcrop_pads_small_pictures_if_asked():
    assert tuple(T.RandomCrop(50, pad_if_needed=True)(LARGE).shape) == (3, 50, 50)
    assert T.RandomCrop((4, 4), padding=2)(Image.new("RGB", (3, 3))).size == (4, 4)
    with pytest.raises(ValueError, match=r"crop size \(50, 50\) is larger than input image size \(32, 40\)"):
        T.RandomCrop(50)(LARGE)


def test_randomresizedcrop_has_its_size_even_where_no_draw_fits():
    crop = T.RandomResizedCrop((6, 7), scale=(2.0, 3.0))
    assert tuple(crop(LARGE).shape) == (3, 6, 7)
    assert crop(Image.new("L", (9, 9))).size == (7, 6)


def test_reprs_are_those_of_torchvision():
    assert repr(T.Resize((3, 4))) == "Resize(size=(3, 4), interpolation=bilinear, max_size=None, antialias=True)"
    assert repr(T.CenterCrop(4)) == "CenterCrop(size=(4, 4))"
    assert repr(T.RandomCrop(4, padding=2)) == "RandomCrop(size=(4, 4), padding=2)"
    assert repr(T.RandomVerticalFlip(0.3)) == "RandomVerticalFlip(p=0.3)"
    assert repr(T.RandomRotation(10)) == (
        "RandomRotation(degrees=[-10.0, 10.0], interpolation=nearest, expand=False, fill=0)"
    )
    assert repr(T.RandomResizedCrop(4)) == (
        "RandomResizedCrop(size=(4, 4), scale=(0.08, 1.0), ratio=(0.75, 1.3333), "
        "interpolation=bilinear, antialias=True)"
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.hflip(ROWS), TypeError, "hflip: img should be PIL Image or Tensor, got ndarray: convert it first"),
        (lambda: F.hflip(weft.zeros(3)), TypeError, r"shape must be \(..., C, H, W\) or \(H, W\), got \(3,\)"),
        (lambda: F.resize(LARGE, (1, 2, 3)), ValueError, "one or two entries"),
        (lambda: F.resize(LARGE, "a"), TypeError, "int or a pair"),
        (lambda: F.resize(LARGE, 5, max_size=5), ValueError, "max_size = 5 must be strictly greater than"),
        (lambda: F.resize(LARGE, (5, 5), max_size=5), ValueError, "should be an int or a sequence of length 1"),
        (lambda: F.resize(LARGE, 5, InterpolationMode.LANCZOS), ValueError, "can be nearest, .*got lanczos"),
        (lambda: F.resize(LARGE, 5, "bilinear"), TypeError, "must be an InterpolationMode"),
        (lambda: F.pad(LARGE, (1, 2, 3)), ValueError, "1, 2, or 4 element tuple or list. Found 3"),
        (lambda: F.pad(LARGE, 1, padding_mode="wrap"), ValueError, "Padding mode should be either"),
        (lambda: F.pad(LARGE, 1, fill=(1, 2, 3)), TypeError, "must be one number"),
        (lambda: F.rotate(LARGE, 3, center=(1,)), ValueError, "should be a sequence of length 2"),
        (lambda: F.rotate(LARGE, 3, fill=(1, 2)), ValueError, r"channels of the image \(2 != 3\)"),
        (lambda: T.RandomRotation(-1), ValueError, "must be positive"),
        (lambda: T.RandomCrop((1, 2, 3)), ValueError, "Please provide only two dimensions"),
        (lambda: T.RandomResizedCrop(3, scale=1), TypeError, "Scale should be a sequence"),
    ],
)
def test_wrong_arguments_are_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()
