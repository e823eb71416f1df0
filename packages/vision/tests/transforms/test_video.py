"""The deprecated transforms of clips: what they draw is what pictures get, what they compute NumPy's arithmetic."""

import random

import numpy as np
import pytest

import weft
from weft.nn.functional import interpolate
from weft.vision.transforms import _functional_video as F
from weft.vision.transforms import _transforms_video as T

BYTES = weft.arange(2 * 6 * 8 * 3).reshape(2, 6, 8, 3).to(weft.uint8)  # (T, H, W, C)
CLIP = F.to_tensor(BYTES)


def test_bytes_become_floats_with_channels_first():
    expected = np.moveaxis(BYTES.numpy(), -1, 0).astype(np.float32) / 255
    np.testing.assert_array_equal(T.ToTensorVideo()(BYTES).numpy(), expected)


def test_crops_are_the_same_part_of_all_frames():
    weft.manual_seed(0)
    found = T.RandomCropVideo(4)(CLIP)
    weft.manual_seed(0)
    top, left, height, width = T.RandomCropVideo.get_params(CLIP, (4, 4))
    assert weft.equal(found, CLIP[..., top : top + height, left : left + width])
    assert weft.equal(T.CenterCropVideo((4, 2))(CLIP), CLIP[..., 1:5, 3:5])


def test_a_resized_crop_is_interpolated_without_antialiasing():
    weft.manual_seed(1)
    found = T.RandomResizedCropVideo((3, 5), scale=(0.3, 0.6))(CLIP)
    weft.manual_seed(1)
    top, left, height, width = T.RandomResizedCropVideo.get_params(CLIP, (0.3, 0.6), (3 / 4, 4 / 3))
    part = CLIP[..., top : top + height, left : left + width]
    assert weft.equal(found, interpolate(part, (3, 5), mode="bilinear", align_corners=False))


def test_normalize_works_by_channel_and_in_place_when_asked():
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.25, 2.0)
    expected = (CLIP.numpy() - np.reshape(mean, (3, 1, 1, 1))) / np.reshape(std, (3, 1, 1, 1))
    clip = CLIP.clone()
    np.testing.assert_allclose(T.NormalizeVideo(mean, std)(clip).numpy(), expected, rtol=1e-6, atol=1e-6)
    assert weft.equal(clip, CLIP)
    assert T.NormalizeVideo(mean, std, inplace=True)(clip) is clip


def test_flips_are_drawn_by_random():
    random.seed(0)
    draws = [random.random() < 0.5 for _ in range(8)]
    random.seed(0)
    found = [T.RandomHorizontalFlipVideo()(CLIP) is not CLIP for _ in range(8)]
    assert found == draws
    assert weft.equal(T.RandomHorizontalFlipVideo(1.0)(CLIP), CLIP.flip(-1))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.crop(CLIP[0], 0, 0, 2, 2), ValueError, "should be 4D"),
        (lambda: F.hflip("clip"), TypeError, "should be Tensor"),
        (lambda: F.center_crop(CLIP, (7, 2)), ValueError, "no smaller than crop_size"),
        (lambda: F.to_tensor(CLIP), TypeError, "data type uint8"),
        (lambda: F.resize(CLIP, (3,), "bilinear"), ValueError, "height, width"),
        (lambda: T.RandomResizedCropVideo((1, 2, 3)), ValueError, "height, width"),
    ],
)
def test_what_is_wrong_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
