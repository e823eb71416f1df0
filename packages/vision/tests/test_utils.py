"""Grids of images, image files, boxes."""

import io

import numpy as np
import pytest
from PIL import Image

import weft
from weft.vision.utils import draw_bounding_boxes, make_grid, save_image


def test_a_grid_has_the_images_in_rows_with_padding_between():
    images = weft.arange(1.0, 4.0).reshape(3, 1, 1, 1).expand(3, 3, 2, 2)
    grid = make_grid(images, nrow=2, padding=1, pad_value=9.0)
    assert grid[1].tolist() == [
        [9, 9, 9, 9, 9, 9, 9],
        [9, 1, 1, 9, 2, 2, 9],
        [9, 1, 1, 9, 2, 2, 9],
        [9, 9, 9, 9, 9, 9, 9],
        [9, 3, 3, 9, 9, 9, 9],
        [9, 3, 3, 9, 9, 9, 9],
        [9, 9, 9, 9, 9, 9, 9],
    ]


def test_one_image_and_lists_and_grey_images_are_taken():
    assert tuple(make_grid(weft.zeros(4, 5)).shape) == (3, 4, 5)
    assert tuple(make_grid(weft.zeros(1, 4, 5)).shape) == (3, 4, 5)
    assert tuple(make_grid([weft.zeros(3, 4, 5)] * 2).shape) == (3, 8, 16)


def test_normalize_maps_the_range_to_0_and_1():
    images = weft.tensor([[-1.0, 3.0], [0.0, 1.0]]).reshape(2, 1, 1, 2)
    assert make_grid(images, padding=0, normalize=True)[0].tolist() == [[0.0, 1.0, 0.25, 0.5]]
    assert make_grid(images, padding=0, normalize=True, scale_each=True)[0].tolist() == [[0.0, 1.0, 0.0, 1.0]]
    assert make_grid(images, padding=0, normalize=True, value_range=(0, 2))[0].tolist() == [[0.0, 1.0, 0.0, 0.5]]
    assert images.flatten().tolist() == [-1.0, 3.0, 0.0, 1.0]


def test_a_saved_image_is_read_again(tmp_path):
    image = weft.tensor([[[0.0, 0.5], [1.0, 2.0]]])
    save_image(image, tmp_path / "image.png")
    assert np.array(Image.open(tmp_path / "image.png"))[:, :, 0].tolist() == [[0, 128], [255, 255]]
    file = io.BytesIO()
    save_image(image, file, format="png")
    assert file.getvalue() == (tmp_path / "image.png").read_bytes()


def test_boxes_are_drawn_on_a_copy():
    image = weft.zeros(3, 6, 6, dtype=weft.uint8)
    drawn = draw_bounding_boxes(image, weft.tensor([[1, 1, 4, 3]]), colors="red")
    assert image.sum().item() == 0
    assert (drawn[0] == 255).int().tolist() == [
        [0, 0, 0, 0, 0, 0],
        [0, 1, 1, 1, 1, 0],
        [0, 1, 0, 0, 1, 0],
        [0, 1, 1, 1, 1, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
    ]
    assert drawn[1:].sum().item() == 0


def test_labels_and_fill_colour_more_pixels_and_floats_stay_floats():
    image, boxes = weft.zeros(1, 30, 30), weft.tensor([[2.0, 2.0, 25.0, 25.0]])
    frame = (draw_bounding_boxes(image, boxes) > 0).sum().item()
    labelled = draw_bounding_boxes(image, boxes, labels=["cat"])
    assert labelled.dtype is weft.float32
    assert (labelled > 0).sum().item() > frame
    assert (draw_bounding_boxes(image, boxes, fill=True) > 0).sum().item() > frame


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: make_grid("images"), TypeError, "a tensor or a sequence of tensors, got str"),
        (lambda: make_grid(weft.zeros(3)), ValueError, r"got shape \(3,\)"),
        (lambda: make_grid(weft.zeros(2, 3, 4, 4), normalize=True, value_range=1), TypeError, "must be a tuple"),
        (lambda: draw_bounding_boxes(weft.zeros(4, 4), weft.zeros(0, 4)), ValueError, r"image must be \(3, H, W\)"),
        (lambda: draw_bounding_boxes(weft.zeros(3, 4, 4), weft.zeros(4)), ValueError, r"boxes must be \(N, 4\)"),
        (lambda: draw_bounding_boxes(weft.zeros(3, 4, 4), weft.tensor([[3, 0, 1, 2]])), ValueError, "left edge"),
        (lambda: draw_bounding_boxes(weft.zeros(3, 4, 4), weft.zeros(1, 4), ["a", "b"]), ValueError, "2 labels for 1"),
    ],
)
def test_wrong_arguments_are_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()
