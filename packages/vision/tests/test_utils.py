"""Grids of images, image files, and what is drawn on images."""

import io

import numpy as np
import pytest
from PIL import Image

import weft
from weft.vision.utils import (
    draw_bounding_boxes,
    draw_keypoints,
    draw_segmentation_masks,
    flow_to_image,
    make_grid,
    save_image,
)


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
    frame = (draw_bounding_boxes(image, boxes, colors="red") > 0).sum().item()
    labelled = draw_bounding_boxes(image, boxes, labels=["cat"], colors="red")
    assert labelled.dtype is weft.float32
    assert (labelled > 0).sum().item() > frame
    assert (draw_bounding_boxes(image, boxes, fill=True, colors="red") > 0).sum().item() > frame


def test_a_rotated_box_has_a_dashed_edge():
    corners = weft.tensor([[2, 2, 22, 2, 22, 12, 2, 12]])
    drawn = draw_bounding_boxes(weft.zeros(3, 20, 30, dtype=weft.uint8), corners, colors="red")[0] > 0
    assert drawn[12, 2:23].all()
    assert drawn[2, 2:23].tolist() == [True] * 6 + [False] * 4 + [True] * 6 + [False] * 4 + [True]


def test_a_label_has_a_background_of_its_own():
    image, boxes = weft.zeros(3, 30, 40, dtype=weft.uint8), weft.tensor([[2, 2, 35, 25]])
    options = {"labels": ["cat"], "colors": "red", "label_colors": "blue"}
    drawn = draw_bounding_boxes(image, boxes, fill_labels=True, label_background_colors="lime", **options)
    assert (drawn[1] == 255).sum() > (drawn[2] > 99).sum() > 0  # letters have soft edges
    assert draw_bounding_boxes(image, boxes, **options)[1].sum() == 0


def test_nothing_to_draw_is_said():
    image = weft.zeros(3, 4, 4, dtype=weft.uint8)
    with pytest.warns(UserWarning, match="No box was drawn"):
        assert draw_bounding_boxes(image, weft.zeros(0, 4)) is image
    with pytest.warns(UserWarning, match="No mask was drawn"):
        assert draw_segmentation_masks(image, weft.zeros(0, 4, 4, dtype=weft.bool)) is image


@pytest.mark.parametrize("dtype", [weft.uint8, weft.float32])
def test_masks_tint_an_image_and_overlap_in_black(dtype):
    white = weft.ones(3, 1, 4) * (255 if dtype is weft.uint8 else 1)
    masks = weft.tensor([[[True, True, False, False]], [[False, True, True, False]]])
    drawn = draw_segmentation_masks(white.to(dtype), masks, alpha=0.6, colors=["red", (0, 0, 255)])
    expected = weft.tensor([[1, 0.4, 0.4, 1], [0.4, 0.4, 0.4, 1], [0.4, 0.4, 1, 1]])
    assert drawn.dtype is dtype
    assert weft.allclose(drawn[:, 0] / white.max(), expected)


def test_key_points_are_drawn_and_joined_where_they_are_seen():
    image, points = weft.zeros(3, 20, 20, dtype=weft.uint8), weft.tensor([[[4, 4], [15, 4], [4, 15]]])
    joined = [(0, 1), (1, 2)]
    drawn = draw_keypoints(image, points, joined, colors="red", radius=1, width=1)
    assert drawn[:, 4, 4].tolist() == [255, 255, 255]  # a line begins there
    assert drawn[:, 15, 5].tolist() == [255, 0, 0]
    assert drawn[0, 4, 10] == 255
    hidden = draw_keypoints(image, points, joined, visibility=weft.tensor([[True, False, True]]), colors="red")
    assert hidden[:, 4, 10].sum() == hidden[:, 4, 15].sum() == 0
    assert (hidden[0] == 255).sum() > 8


def test_a_flow_is_shown_in_the_hues_of_its_directions():
    right, down = weft.tensor([1.0, 0.0]), weft.tensor([0.0, 1.0])
    flow = weft.stack([right, -right, down, right * 0.5, right * 0], 1).reshape(2, 1, 5)
    shown = flow_to_image(flow)[:, 0].T.tolist()
    assert shown[0] == [255, 0, 0]
    assert shown[1][0] == 0  # the opposite of red
    assert shown[3] == [255, 127, 127]
    assert shown[4] == [255, 255, 255]
    assert weft.equal(flow_to_image(flow[None])[0], flow_to_image(flow))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: make_grid("images"), TypeError, "a tensor or a sequence of tensors, got str"),
        (lambda: make_grid(weft.zeros(3)), ValueError, r"got shape \(3,\)"),
        (lambda: make_grid(weft.zeros(2, 3, 4, 4), normalize=True, value_range=1), TypeError, "must be a tuple"),
        (lambda: draw_bounding_boxes(weft.zeros(4, 4), weft.zeros(0, 4)), ValueError, r"image must be \(C, H, W\)"),
        (lambda: draw_bounding_boxes(weft.zeros(3, 4, 4), weft.zeros(4)), ValueError, r"boxes must be \(N, 4\)"),
        (lambda: draw_bounding_boxes(weft.zeros(3, 4, 4), weft.tensor([[3, 0, 1, 2]])), ValueError, "left edge"),
        (
            lambda: draw_bounding_boxes(weft.zeros(3, 4, 4), weft.zeros(1, 4), ["a", "b"]),
            ValueError,
            "Number of boxes .1. and labels .2. mismatch",
        ),
        (lambda: draw_bounding_boxes("image", weft.zeros(1, 4)), TypeError, "must be a tensor"),
        (lambda: draw_bounding_boxes(weft.zeros(3, 4, 4), weft.zeros(2, 4), colors=["red"]), ValueError, "1 < 2"),
        (lambda: draw_bounding_boxes(weft.zeros(3, 4, 4), weft.zeros(1, 4), colors=(1, 2)), ValueError, "RGB triplet"),
        (lambda: draw_bounding_boxes(weft.zeros(3, 4, 4), weft.zeros(1, 4), colors=3), ValueError, "a list thereof"),
        (lambda: draw_segmentation_masks(weft.zeros(1, 4, 4), weft.zeros(4, 4)), ValueError, "RGB"),
        (lambda: draw_segmentation_masks(weft.zeros(3, 4, 4), weft.zeros(4, 4)), ValueError, "dtype bool"),
        (lambda: draw_segmentation_masks(weft.zeros(3, 4, 4), weft.zeros(4, 5).bool()), ValueError, "same height"),
        (lambda: draw_keypoints(weft.zeros(3, 4, 4), weft.zeros(4, 2)), ValueError, "num_instances"),
        (
            lambda: draw_keypoints(weft.zeros(3, 4, 4), weft.zeros(1, 4, 2), visibility=weft.ones(1, 3)),
            ValueError,
            "vis",
        ),
        (lambda: flow_to_image(weft.zeros(3, 4, 4)), ValueError, "should have shape"),
        (lambda: flow_to_image(weft.zeros(2, 4, 4).double()), ValueError, "dtype torch.float"),
    ],
)
def test_wrong_arguments_are_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()
