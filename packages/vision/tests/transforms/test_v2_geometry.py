"""Boxes, points and masks move as the pixels do that they mark."""

import numpy as np
import pytest

import weft
from weft.vision import tv_tensors
from weft.vision.transforms import v2
from weft.vision.transforms.v2 import functional as F
from weft.vision.tv_tensors import BoundingBoxes, BoundingBoxFormat, KeyPoints

H, W = 24, 32
UNROTATED = ["XYXY", "XYWH", "CXCYWH"]
ROTATED = ["XYWHR", "CXCYWHR", "XYXYXYXY"]
BOX = weft.tensor([[5.0, 6.0, 14.0, 11.0]])  # of the pixels that `marked` has set
TURNED = weft.tensor([[15.0, 12.0, 8.0, 4.0, 30.0], [12.0, 10.0, 5.0, 9.0, -80.0]])  # by center


def marked():
    """A picture of which one rectangle is set."""
    image = weft.zeros(1, H, W)
    image[:, 6:11, 5:14] = 1
    return image


def box_of(image):
    """The corners of what is set."""
    rows, columns = np.nonzero(image[0].numpy() > 0.5)
    return [float(each) for each in (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)]


def in_format(format, clamping_mode="soft"):
    values, known = (TURNED, "CXCYWHR") if format in ROTATED else (BOX, "XYXY")
    values = F.convert_bounding_box_format(values, known, format)
    return BoundingBoxes(values, format=format, canvas_size=(H, W), clamping_mode=clamping_mode)


CALLS = {
    "crop": lambda x: F.crop(x, 2, 3, 15, 20),
    "crop outside": lambda x: F.crop(x, -4, -5, 40, 45),
    "center_crop": lambda x: F.center_crop(x, [16, 30]),
    "horizontal_flip": F.horizontal_flip,
    "vertical_flip": F.vertical_flip,
    "pad": lambda x: F.pad(x, [1, 2, 3, 4]),
    "resize": lambda x: F.resize(x, [2 * H, 3 * W], interpolation="nearest"),
    "resized_crop": lambda x: F.resized_crop(x, 0, 0, H // 2, W // 2, [H, W], interpolation="nearest"),
    "rotate": lambda x: F.rotate(x, 90, expand=True),
    "rotate 180": lambda x: F.rotate(x, 180),
    "affine": lambda x: F.affine(x, 0, [3, -2], 1.0, [0.0, 0.0]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("format", UNROTATED)
def test_boxes_stay_about_what_they_mark(name, format):
    image, boxes = CALLS[name](marked()), CALLS[name](in_format(format))
    assert boxes.canvas_size == tuple(image.shape[-2:]) and boxes.format is BoundingBoxFormat[format]
    corners = F.convert_bounding_box_format(boxes, new_format="XYXY")
    assert corners[0].tolist() == pytest.approx(box_of(image), abs=1e-4)


@pytest.mark.parametrize("name", CALLS)
def test_points_stay_on_their_pixels(name):
    """The middle of a pixel is a whole number to flips, crops and pads; elsewhere points are places on the canvas."""
    image, points = weft.zeros(1, H, W), KeyPoints([[8, 7]], canvas_size=(H, W))
    image[:, 7, 8] = 1
    image, points = CALLS[name](image), CALLS[name](points.to(weft.float32))
    left, top, right, bottom = box_of(image)
    (x, y), *_ = points.tolist()
    assert left - 1e-3 <= x <= right + 1e-3 and top - 1e-3 <= y <= bottom + 1e-3
    assert points.canvas_size == tuple(image.shape[-2:])


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shape", [(H, W), (3, H, W), (2, 3, H, W)], ids=str)
def test_masks_keep_their_values_and_dtype(name, shape):
    values = weft.randint(0, 9, shape).to(weft.uint8)
    mask = CALLS[name](tv_tensors.Mask(values))
    assert mask.dtype is weft.uint8 and set(mask.unique().tolist()) <= {0, *values.unique().tolist()}
    assert mask.shape[:-2] == shape[:-2]


@pytest.mark.parametrize("old", UNROTATED + ROTATED)
@pytest.mark.parametrize("new", UNROTATED + ROTATED)
def test_formats_are_converted_there_and_back(old, new):
    boxes = in_format(old)
    if (old in ROTATED) != (new in ROTATED):
        with pytest.raises(ValueError, match="rotated and unrotated"):
            F.convert_bounding_box_format(boxes, new_format=new)
        return
    other = F.convert_bounding_box_format(boxes, new_format=new)
    assert other.format is BoundingBoxFormat[new]
    assert weft.allclose(F.convert_bounding_box_format(other, new_format=old), boxes, atol=1e-4)


def test_boxes_are_converted_in_place_where_they_fit():
    boxes = BOX.clone()
    assert F.convert_bounding_box_format(boxes, "XYXY", "XYWH", inplace=True) is boxes
    assert boxes.tolist() == [[5.0, 6.0, 9.0, 5.0]]


@pytest.mark.parametrize("format", ROTATED)
@pytest.mark.parametrize("functional", [F.horizontal_flip, F.vertical_flip])
def test_flipping_rotated_boxes_twice_is_the_identity(functional, format):
    def corners(boxes):
        values = F.convert_bounding_box_format(boxes, new_format="XYXYXYXY").reshape(-1, 4, 2)
        return sorted(tuple(map(tuple, each)) for each in values.round(decimals=2).sort(1).values.tolist())

    boxes = in_format(format)
    np.testing.assert_allclose(corners(functional(functional(boxes))), corners(boxes), atol=0.02)


@pytest.mark.parametrize("format", UNROTATED + ROTATED)
def test_boxes_inside_are_not_clamped_and_none_is_on_request(format):
    boxes = in_format(format)
    assert weft.allclose(F.clamp_bounding_boxes(boxes), boxes, atol=1e-3)
    outside = tv_tensors.wrap(boxes * 3, like=boxes)
    assert weft.equal(F.clamp_bounding_boxes(outside, clamping_mode=None), outside)


def test_clamped_boxes_and_points_are_inside():
    boxes = BoundingBoxes([[-3, -4, 99, 99], [3, 4, 5, 6]], format="XYXY", canvas_size=(H, W))
    assert F.clamp_bounding_boxes(boxes).tolist() == [[0, 0, W, H], [3, 4, 5, 6]]
    points = KeyPoints([[-3, 99], [3, 4]], canvas_size=(H, W))
    assert v2.ClampKeyPoints()(points).tolist() == [[0, H - 1], [3, 4]]
    hard = BoundingBoxes([[2.0, 12.0, 12.0, 6.0, 30.0]], format="CXCYWHR", canvas_size=(H, W), clamping_mode="hard")
    corners = F.convert_bounding_box_format(F.clamp_bounding_boxes(hard), new_format="XYXYXYXY")
    assert corners.min() > -1e-3
    assert v2.SetClampingMode(None)(hard).clamping_mode is None and hard.clamping_mode == "hard"


def test_metadata_of_plain_tensors_is_asked_for():
    with pytest.raises(ValueError, match="have to be passed"):
        F.clamp_bounding_boxes(BOX)
    with pytest.raises(ValueError, match="must not be passed"):
        F.clamp_bounding_boxes(in_format("XYXY"), format=BoundingBoxFormat.XYXY)
    with pytest.raises(ValueError, match="old_format"):
        F.convert_bounding_box_format(BOX, new_format="XYWH")
    with pytest.raises(TypeError, match="new_format"):
        F.convert_bounding_box_format(BOX, "XYXY")
    with pytest.raises(TypeError):
        F.clamp_keypoints(in_format("XYXY"))


@pytest.mark.parametrize("dtype", [weft.uint8, weft.float32])
def test_turning_by_right_angles_moves_pixels_as_they_are(dtype):
    image = (weft.rand(3, 7, 7) * 255).to(dtype)
    for quarters in range(4):
        assert weft.equal(F.rotate(image, 90 * quarters), weft.rot90(image, quarters, (-2, -1)))
    back = F.rotate(F.rotate(image, 90), -90)
    assert weft.equal(back, image)


def test_an_identity_warp_changes_nothing():
    image, box = weft.rand(3, H, W), in_format("XYWH")
    corners = [[0, 0], [W - 1, 0], [W - 1, H - 1], [0, H - 1]]
    none = weft.zeros(1, H, W, 2)
    for inpt in (image, box, in_format("CXCYWHR")):
        assert weft.allclose(F.perspective(inpt, corners, corners), inpt, atol=1e-3)
        assert weft.allclose(F.affine(inpt, 0.0, [0, 0], 1.0, [0.0]), inpt, atol=1e-3)
    assert weft.allclose(F.elastic(image, none), image, atol=1e-3)


def test_what_comes_from_outside_is_filled_for_each_channel():
    image = weft.ones(3, 8, 8)
    moved = F.affine(image, 0, [3, 0], 1.0, [0.0, 0.0], fill=[0.1, 0.2, 0.3])
    assert weft.allclose(moved[:, 0, 0], weft.tensor([0.1, 0.2, 0.3])) and weft.equal(moved[:, :, 3:], image[:, :, 3:])
    padded = F.pad(image, [1, 0, 0, 0], fill=[0.1, 0.2, 0.3])
    assert weft.allclose(padded[:, 0, 0], weft.tensor([0.1, 0.2, 0.3]))
    filled = v2.Pad(1, fill={tv_tensors.Image: 7, "others": 3})(tv_tensors.Image(image), tv_tensors.Mask(image))
    assert [each[0, 0, 0].item() for each in filled] == [7, 3]


def test_empty_boxes_and_batches_pass():
    empty = BoundingBoxes(weft.zeros(0, 4), format="XYXY", canvas_size=(H, W))
    for call in CALLS.values():
        assert call(empty).shape == (0, 4)
        assert call(weft.zeros(0, 3, H, W)).shape[:2] == (0, 3)


def test_gradients_reach_the_image():
    image = weft.rand(3, 8, 8, requires_grad=True)
    F.rotate(F.resize(image, [5, 6]), 30.0, interpolation="bilinear").sum().backward()
    assert image.grad is not None and image.grad.abs().sum() > 0


def test_random_iou_crops_mark_the_boxes_that_are_gone():
    weft.manual_seed(0)
    boxes = BoundingBoxes([[0, 0, 4, 4], [20, 14, 30, 22]], format="XYXY", canvas_size=(H, W))
    gone = set()
    for _ in range(20):
        image, after = v2.RandomIoUCrop()(weft.rand(3, H, W), boxes)
        assert after.canvas_size == tuple(image.shape[-2:])
        gone |= {index for index, box in enumerate(after.tolist()) if not any(box)}
        assert any(any(box) for box in after.tolist())
    assert gone
    with pytest.raises(TypeError, match="bounding boxes"):
        v2.RandomIoUCrop()(weft.rand(3, H, W))


def test_random_sizes_are_within_their_ranges():
    weft.manual_seed(0)
    image = weft.rand(1, H, W)
    for _ in range(10):
        assert 8 <= min(v2.RandomResize(8, 12)(image).shape[-2:]) < 12
        assert min(v2.RandomShortestSize([6, 9])(image).shape[-2:]) in (6, 9)
        assert max(v2.RandomShortestSize([16], max_size=20)(image).shape[-2:]) <= 20
        height, width = v2.RandomZoomOut(p=1.0)(image).shape[-2:]
        assert H <= height <= 4 * H and W <= width <= 4 * W
        assert all(1 <= size <= 2 * 40 for size in v2.ScaleJitter((40, 40))(image).shape[-2:])
        assert v2.RandomResizedCrop(5)(image).shape == (1, 5, 5)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: F.resize(marked(), 4, interpolation="no"), ValueError),
        (lambda: F.resize(marked(), 4, interpolation="lanczos", antialias=False), ValueError),
        (lambda: F.rotate(marked(), 5.0, interpolation="bicubic"), ValueError),
        (lambda: F.affine(marked(), 5.0, [1], 1.0, [0.0]), ValueError),
        (lambda: F.affine(marked(), 5.0, [1, 1], 0.0, [0.0]), ValueError),
        (lambda: F.affine(marked(), "5", [1, 1], 1.0, [0.0]), TypeError),
        (lambda: F.perspective(marked(), None, None), ValueError),
        (lambda: F.elastic(marked(), 3), TypeError),
        (lambda: F.elastic(marked(), weft.zeros(1, 2, 2, 2)), ValueError),
        (lambda: F.pad(in_format("XYXY"), 1, padding_mode="edge"), ValueError),
        (lambda: F.five_crop(marked(), [99, 99]), ValueError),
        (lambda: v2.RandomCrop(99)(marked()), ValueError),
        (lambda: v2.FiveCrop(4)(in_format("XYXY")), TypeError),
        (lambda: v2.RandomPerspective(distortion_scale=2), ValueError),
        (lambda: v2.RandomHorizontalFlip(p=2), ValueError),
        (lambda: v2.Pad([1, 2, 3]), ValueError),
        (lambda: v2.Pad(1, fill="red"), TypeError),
        (lambda: v2.Resize(None), ValueError),
        (lambda: v2.ElasticTransform(alpha=[1, 2, 3]), ValueError),
    ],
)
def test_wrong_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()


def test_conversions_of_boxes_write_in_place_when_asked():
    from weft.vision.transforms.v2.functional import _meta

    boxes = weft.tensor([[2, 4, 5, 6]])
    for name, expected in {  # of integers half a pixel is cut off
        "_xywh_to_cxcywh": [[4, 7, 5, 6]],
        "_cxcywh_to_xywh": [[1, 4, 5, 6]],
        "_xywh_to_xyxy": [[1, 4, 6, 10]],
        "_xyxy_to_cxcywh": [[3, 7, 5, 6]],
        "_cxcywh_to_xyxy": [[0, 4, 5, 10]],
        "_xyxy_to_xywh": [[0, 4, 5, 6]],
    }.items():
        convert = getattr(_meta, name)
        assert convert(boxes, inplace=False).tolist() == expected
        assert convert(boxes, inplace=True) is boxes
        assert boxes.tolist() == expected
