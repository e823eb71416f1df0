"""The names of the second version."""

import numpy as np
from PIL import Image

import weft
from weft.vision import transforms
from weft.vision.transforms import v2


def picture():
    return Image.fromarray(np.arange(60, dtype=np.uint8).reshape(4, 5, 3) * 4)


def test_bytes_become_a_tensor_and_are_scaled_on_request():
    image = v2.ToImage()(picture())
    assert (image.dtype, tuple(image.shape)) == (weft.uint8, (3, 4, 5))
    assert weft.equal(v2.ToImage()(np.asarray(picture())), image)
    assert weft.allclose(v2.ToDtype(weft.float32, scale=True)(image), transforms.ToTensor()(picture()))
    assert v2.ToDtype(weft.float32)(image).max() == 236
    assert v2.ToDtype(weft.float32)("text") == "text"


def test_bytes_are_resampled_in_integers():
    image = v2.ToImage()(picture())
    resized = v2.Resize((2, 3))(image)
    expected = weft.nn.functional.interpolate(image[None], (2, 3), mode="bilinear", align_corners=False, antialias=True)
    assert weft.equal(resized, expected[0])
    assert v2.Resize(2)(image).shape == (3, 2, 2)
    assert v2.Resize(2)(picture()).size == (2, 2)
    weft.manual_seed(0)
    cropped = v2.RandomResizedCrop(2)(image)
    assert (cropped.dtype, tuple(cropped.shape)) == (weft.uint8, (3, 2, 2))
    assert v2.RandomResizedCrop(2)(image.float()).shape == (3, 2, 2)


def test_grey_pictures_get_three_channels():
    assert v2.RGB()(weft.ones(1, 2, 2)).shape == (3, 2, 2)
    assert v2.RGB()(Image.new("L", (2, 2))).mode == "RGB"
    assert v2.Compose([v2.Identity(), v2.ToPureTensor()])(3) == 3


def test_functions_have_the_defaults_of_the_second_version():
    """Image processors of transformers import them as tvF."""
    from weft.vision.transforms.v2 import functional as tvF

    image = tvF.to_image(picture())
    small = tvF.resize(image, (2, 3), interpolation=tvF.InterpolationMode.BICUBIC, antialias=True)
    assert small.shape == (3, 2, 3) and small.dtype is weft.uint8
    assert weft.equal(tvF.resize(image, (2, 3), "bilinear"), v2.Resize((2, 3))(image))
    assert tvF.pad(image, [1, 2]).shape[-2:] == (image.shape[-2] + 4, image.shape[-1] + 2)
    assert weft.allclose(tvF.to_dtype(image, weft.float32, scale=True), transforms.ToTensor()(picture()), rtol=1e-6)
    assert tvF.grayscale_to_rgb(image[:1]).shape == image.shape
    assert tvF.get_size(image) == list(image.shape[-2:])
    assert weft.equal(tvF.horizontal_flip(tvF.horizontal_flip(image)), image)
