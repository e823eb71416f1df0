"""Dtype, normalization, blur, noise and sanitizing of the second version."""

import pytest
from PIL import Image

import weft
from weft.vision import tv_tensors
from weft.vision.transforms import v2
from weft.vision.transforms.v2 import functional as F

BYTES = weft.arange(3 * 4 * 5, dtype=weft.uint8).reshape(3, 4, 5) * 4
MEAN, STD = [0.1, 0.2, 0.3], [0.5, 0.25, 2.0]


@pytest.mark.parametrize("image", [BYTES, tv_tensors.Image(BYTES), tv_tensors.Video(BYTES[None])], ids=type)
def test_dtype_and_normalization_in_one_pass_are_the_two(image):
    to_dtype, normalize = v2.ToDtype(weft.float32, scale=True), v2.Normalize(MEAN, STD)
    found = v2.Compose([to_dtype, normalize])(image)
    assert type(found) is type(image)
    weft.testing.assert_close(found, normalize(to_dtype(image)))


def test_hooks_of_either_transform_run():
    seen = []
    normalize = v2.Normalize(MEAN, STD)
    normalize.register_forward_hook(lambda module, args, output: seen.append(args[0].dtype))
    v2.Compose([v2.ToDtype(weft.float32, scale=True), normalize])(BYTES)
    assert seen == [weft.float32]


def test_normalizing_what_is_not_floating_fails_also_in_a_composition():
    with pytest.raises(TypeError, match="float tensor"):
        v2.Compose([v2.ToDtype(weft.uint8, scale=True), v2.Normalize(MEAN, STD)])(BYTES)
    with pytest.raises(TypeError, match="does not support PIL images"):
        v2.Normalize(MEAN, STD)(Image.new("RGB", (2, 2)))


def test_dtypes_by_type():
    transform = v2.ToDtype({tv_tensors.Image: weft.float32, tv_tensors.Mask: weft.int64, "others": None}, scale=True)
    boxes = tv_tensors.BoundingBoxes([[0, 0, 2, 2]], format="XYXY", canvas_size=(4, 5))
    image, mask, same = transform(tv_tensors.Image(BYTES), tv_tensors.Mask(BYTES[0]), boxes)
    assert (image.dtype, mask.dtype) == (weft.float32, weft.int64)
    assert mask.max() == BYTES[0].max()
    assert same is boxes
    with pytest.raises(ValueError, match="No dtype was specified"):
        v2.ToDtype({tv_tensors.Mask: weft.int64})(BYTES)


def test_a_blurred_point_is_the_kernel():
    point = weft.zeros(1, 9, 9)
    point[0, 4, 4] = 1.0
    blurred = F.gaussian_blur(point, [5, 3], [1.0, 0.5])[0]
    assert blurred.sum().item() == pytest.approx(1.0)
    assert blurred[4, 6] / blurred[4, 4] == pytest.approx(weft.tensor(-2.0).exp().item())  # x: 2 pixels, deviation 1
    assert blurred[5, 4] / blurred[4, 4] == pytest.approx(weft.tensor(-2.0).exp().item())  # y: 1 pixel, deviation 0.5
    assert (blurred[:, :2] == 0).all() and (blurred[:3] == 0).all()


def test_noise_has_its_mean_and_deviation():
    weft.manual_seed(0)
    noisy = F.gaussian_noise(weft.full((1, 100, 100), 0.5), mean=0.1, sigma=0.05)
    assert noisy.mean().item() == pytest.approx(0.6, abs=0.002)
    assert noisy.std().item() == pytest.approx(0.05, abs=0.002)
    assert F.gaussian_noise(BYTES, sigma=3.0).dtype is weft.uint8
    assert (F.gaussian_noise(weft.full((1, 2, 2), 250, dtype=weft.uint8), 0.1, 0.0, clip=False) == 19).all()


def test_whitening_by_a_matrix_keeps_the_shape():
    matrix = 2 * weft.eye(60)
    found = v2.LinearTransformation(matrix, weft.ones(60))(tv_tensors.Image(BYTES.float()))
    assert isinstance(found, tv_tensors.Image)
    assert weft.equal(found.as_subclass(weft.Tensor), 2 * (BYTES.float() - 1))


def sample() -> dict:
    boxes = [[0, 0, 4, 4], [2, 2, 2, 5], [1, 1, 5, 3], [-1, 0, 3, 3]]
    return {
        "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(6, 6)),
        "masks": tv_tensors.Mask(weft.arange(4).reshape(4, 1, 1).expand(4, 6, 6)),
        "labels": weft.arange(4),
        "name": "sample",
    }


def test_boxes_go_with_their_labels_and_masks():
    found = v2.SanitizeBoundingBoxes()(sample())
    assert found["boxes"].tolist() == [[0, 0, 4, 4], [1, 1, 5, 3]]
    assert found["labels"].tolist() == [0, 2]
    assert found["masks"][:, 0, 0].tolist() == [0, 2]
    assert found["name"] == "sample"
    large = v2.SanitizeBoundingBoxes(min_area=10)((weft.zeros(1, 6, 6), sample()))
    assert large[1]["labels"].tolist() == [0]


def test_boxes_of_other_formats_are_judged_by_their_corners():
    boxes = tv_tensors.BoundingBoxes([[2.0, 2.0, 4.0, 4.0], [2.0, 2.0, 5.0, 4.0]], format="CXCYWH", canvas_size=(6, 6))
    assert F.sanitize_bounding_boxes(boxes)[1].tolist() == [True, False]


def test_groups_of_points_stay_or_go_together():
    points = tv_tensors.KeyPoints([[[0.0, 0.0], [5.0, 5.0]], [[1.0, 1.0], [6.0, 1.0]]], canvas_size=(6, 6))
    kept, valid = F.sanitize_keypoints(points)
    assert valid.tolist() == [True, False]
    assert isinstance(kept, tv_tensors.KeyPoints) and kept.canvas_size == (6, 6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: v2.SanitizeBoundingBoxes()(weft.zeros(1, 2, 2), sample()["boxes"]), "whose second item"),
        (lambda: v2.SanitizeBoundingBoxes()({**sample(), "labels": weft.arange(3)}), "Number of boxes"),
        (lambda: v2.SanitizeBoundingBoxes()({**sample(), "labels": [0, 1, 2, 3]}), "must be a tensor"),
        (lambda: v2.SanitizeBoundingBoxes(min_size=0), ">= 1"),
        (lambda: v2.SanitizeBoundingBoxes(labels_getter=3), "'default'"),
        (lambda: F.sanitize_bounding_boxes(weft.zeros(1, 4)), "cannot be None"),
        (lambda: F.sanitize_keypoints(sample()["boxes"]), "KeyPoints instance"),
        (lambda: F.normalize(BYTES.float(), [0.5], [0.0]), "division by zero"),
        (lambda: F.gaussian_blur(BYTES, 4), "odd and positive"),
        (lambda: v2.GaussianBlur(3, (2.0, 1.0)), "of the form"),
        (lambda: v2.ToDtype("float32"), "dict or a dtype"),
    ],
)
def test_wrong_arguments_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()
