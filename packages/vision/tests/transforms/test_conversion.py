"""Between PIL images, arrays and tensors; dtypes and ranges."""

import numpy as np
import pytest
from PIL import Image

import weft
from weft.vision import transforms as T
from weft.vision.transforms import functional as F

RGB = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10


def test_to_tensor_scales_bytes_and_puts_channels_first():
    for picture in (RGB, Image.fromarray(RGB)):
        tensor = T.ToTensor()(picture)
        assert tuple(tensor.shape) == (3, 2, 4)
        assert tensor.dtype is weft.float32
        np.testing.assert_allclose(tensor.numpy(), RGB.transpose(2, 0, 1) / np.float32(255), rtol=1e-6)


def test_to_tensor_keeps_other_dtypes():
    assert F.to_tensor(np.array([[1, 300]], np.int32)).tolist() == [[[1, 300]]]
    assert F.to_tensor(np.array([[0.5]])).dtype is weft.float64
    assert F.to_tensor(Image.fromarray(np.array([[70000]], np.int32))).tolist() == [[[70000]]]
    assert F.to_tensor(Image.fromarray(np.array([[True, False]]))).tolist() == [[[1.0, 0.0]]]


def test_to_tensor_does_not_share_memory_with_the_array():
    array = np.zeros((2, 2), np.float32)
    tensor = F.to_tensor(array)
    array[0, 0] = 1
    assert tensor.sum().item() == 0


def test_pil_to_tensor_keeps_the_values():
    tensor = T.PILToTensor()(Image.fromarray(RGB))
    assert tensor.dtype is weft.uint8
    np.testing.assert_array_equal(tensor.numpy(), RGB.transpose(2, 0, 1))


@pytest.mark.parametrize(
    ("dtype", "mode"), [("uint8", "L"), ("int16", "I;16"), ("int32", "I"), ("float32", "F"), ("uint16", "I;16")]
)
def test_grey_arrays_become_pil_images_of_their_mode(dtype, mode):
    array = np.array([[1, 2], [3, 4]], dtype)
    image = F.to_pil_image(array, mode="F" if mode == "F" else None)
    assert image.mode == mode
    np.testing.assert_array_equal(np.array(image), array)


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA")])
def test_to_pil_image_undoes_to_tensor(channels, mode):
    array = np.arange(2 * 3 * channels, dtype=np.uint8).reshape(2, 3, channels) * 9
    image = T.ToPILImage()(T.ToTensor()(array))
    assert image.mode == mode
    np.testing.assert_array_equal(np.array(image).reshape(array.shape), array)


def test_to_pil_image_takes_another_mode_of_as_many_channels():
    assert T.ToPILImage("HSV")(RGB).mode == "HSV"
    assert F.to_pil_image(weft.rand(4, 2, 2), "CMYK").mode == "CMYK"


def test_to_pil_image_refuses_what_is_no_picture():
    with pytest.raises(TypeError, match="should be Tensor or ndarray"):
        F.to_pil_image([[1]])
    with pytest.raises(ValueError, match=r"> 4 channels. Got 5"):
        F.to_pil_image(weft.zeros(5, 2, 2))
    with pytest.raises(ValueError, match=r"2/3 dimensional. Got 4 dimensions, wanted \(C, H, W\)"):
        F.to_pil_image(weft.zeros(1, 1, 2, 2))
    with pytest.raises(ValueError, match=r"Only modes .* are supported for 3D inputs, got 'L'"):
        F.to_pil_image(RGB, "L")
    with pytest.raises(TypeError, match=r"Input type int32 is not supported: .* must be 8-bit"):
        F.to_pil_image(RGB.astype(np.int32))


def test_convert_image_dtype_scales_to_the_new_range():
    def convert(values, before, after):
        return F.convert_image_dtype(weft.tensor(values, dtype=before), after).tolist()

    assert convert([0.0, 0.5, 1.0], weft.float32, weft.uint8) == [0, 127, 255]
    assert convert([0, 51, 255], weft.uint8, weft.float64) == [0.0, 0.2, 1.0]
    assert convert([0, 128, 255], weft.uint8, weft.int16) == [0, 16384, 32640]
    assert convert([0, 128, 32767], weft.int16, weft.uint8) == [0, 1, 255]
    with pytest.raises(RuntimeError, match="cannot hold every"):
        F.convert_image_dtype(weft.zeros(1), weft.int64)


def test_normalize_subtracts_means_and_divides_by_deviations():
    picture = weft.tensor([[[1.0, 3.0]], [[5.0, 9.0]]])
    assert T.Normalize((1, 5), (2, 4))(picture).tolist() == [[[0.0, 1.0]], [[0.0, 1.0]]]
    assert picture[0, 0, 0].item() == 1.0
    T.Normalize((1,), (2,), inplace=True)(picture)
    assert picture.tolist() == [[[0.0, 1.0]], [[2.0, 4.0]]]


def test_normalize_refuses_bytes_zero_deviation_and_pil_images():
    with pytest.raises(TypeError, match="should be a float tensor, got"):
        F.normalize(weft.zeros(3, 2, 2, dtype=weft.uint8), (0,), (1,))
    with pytest.raises(ValueError, match="division by zero"):
        F.normalize(weft.zeros(3, 2, 2), (0,), (0,))
    with pytest.raises(ValueError, match=r"size \(..., C, H, W\)"):
        F.normalize(weft.zeros(2, 2), (0,), (1,))
    with pytest.raises(TypeError, match="apply ToTensor first"):
        F.normalize(Image.fromarray(RGB), (0,), (1,))
