"""Boxes, losses and blocks of vision models."""

import math

import numpy
import pytest

import weft
from weft.testing._samples import sample_names
from weft.vision import ops


def test_boxes_overlap_by_the_share_of_their_union():
    boxes = weft.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 0.0, 3.0, 2.0], [4.0, 4.0, 5.0, 5.0]])
    assert ops.box_iou(boxes, boxes)[0].tolist() == pytest.approx([1.0, 1 / 3, 0.0])
    # The hull of the first and the third is 5 x 5, of which they cover 5.
    assert ops.generalized_box_iou(boxes[:1], boxes[2:]).item() == pytest.approx(-20 / 25)


@pytest.mark.parametrize("other", ["xywh", "cxcywh"])
def test_conversions_of_boxes_undo_each_other(other):
    weft.manual_seed(0)
    boxes = weft.rand(5, 4).cumsum(1)
    back = ops.box_convert(ops.box_convert(boxes, "xyxy", other), other, "xyxy")
    assert weft.allclose(back, boxes)


def test_suppression_keeps_the_best_of_what_overlaps_within_each_class():
    boxes = weft.tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 5.0], [5.0, 5.0, 6.0, 6.0]])
    scores = weft.tensor([0.5, 0.9, 0.7])
    assert ops.nms(boxes, scores, 0.5).tolist() == [1, 2]
    assert ops.nms(boxes, scores, 0.9).tolist() == [1, 2, 0]
    assert ops.batched_nms(boxes, scores, weft.tensor([0, 1, 0]), 0.5).tolist() == [1, 2, 0]
    assert ops.nms(boxes[:0], scores[:0], 0.5).tolist() == []


def test_boxes_are_clipped_dropped_and_found_around_masks():
    boxes = weft.tensor([[-1.0, 0.0, 2.0, 9.0], [1.0, 1.0, 1.1, 3.0]])
    assert ops.clip_boxes_to_image(boxes, (4, 3)).tolist()[0] == [0.0, 0.0, 2.0, 4.0]
    assert ops.remove_small_boxes(boxes, 0.5).tolist() == [0]
    assert ops.masks_to_boxes(weft.tensor([[[0, 1, 1], [0, 1, 0]]])).tolist() == [[1.0, 0.0, 2.0, 1.0]]


def test_the_focal_loss_without_focus_is_cross_entropy():
    logits, target = weft.tensor([0.5, -1.0]), weft.tensor([1.0, 0.0])
    plain = weft.nn.functional.binary_cross_entropy_with_logits(logits, target)
    assert weft.allclose(ops.sigmoid_focal_loss(logits, target, alpha=-1, gamma=0, reduction="mean"), plain)
    with pytest.raises(ValueError, match="reduction"):
        ops.sigmoid_focal_loss(logits, target, reduction="other")


def test_stochastic_depth_drops_whole_samples_and_keeps_the_mean():
    weft.manual_seed(0)
    out = ops.stochastic_depth(weft.ones(200, 3), 0.5, "row")
    assert set(out[:, 0].tolist()) == {0.0, 2.0}
    assert (out == out[:, :1]).all()
    assert ops.StochasticDepth(0.5, "row").eval()(weft.ones(2)).tolist() == [1.0, 1.0]


def test_frozen_normalization_loads_the_state_of_a_trained_one():
    norm = weft.nn.BatchNorm2d(3)
    norm(weft.randn(4, 3, 5, 5))
    frozen = ops.FrozenBatchNorm2d(3)
    frozen.load_state_dict(norm.state_dict())
    x = weft.randn(2, 3, 4, 4)
    assert weft.allclose(frozen(x), norm.eval()(x), atol=1e-6)
    assert list(frozen.parameters()) == []


def test_blocks_keep_the_shape():
    x = weft.ones(2, 4, 6, 6)
    assert ops.Conv2dNormActivation(4, 8, kernel_size=(3, 5))(x).shape == (2, 8, 6, 6)
    assert ops.SqueezeExcitation(4, 2)(x).shape == x.shape
    assert ops.MLP(6, [5, 3], norm_layer=weft.nn.LayerNorm)(x).shape == (2, 4, 6, 3)
    assert ops.Permute([0, 2, 3, 1])(x).shape == (2, 6, 6, 4)


def averaged(image, corners, size, scale, ratio, aligned):
    """A box's bins by the definition, sample by sample."""
    channels, height, width = image.shape
    left, top, right, bottom = (value * scale - (0.5 if aligned else 0.0) for value in corners)
    box = [bottom - top, right - left] if aligned else [max(bottom - top, 1.0), max(right - left, 1.0)]
    counts = [ratio if ratio > 0 else math.ceil(length / bins) for length, bins in zip(box, size)]
    result = numpy.zeros((channels, *size))
    for row, column in numpy.ndindex(*size):
        for i, j in numpy.ndindex(*counts):
            y = top + (row + (i + 0.5) / counts[0]) * box[0] / size[0]
            x = left + (column + (j + 0.5) / counts[1]) * box[1] / size[1]
            if not (-1 <= y <= height and -1 <= x <= width):
                continue
            y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
            for p, q in numpy.ndindex(height, width):
                weight = max(1 - abs(y - p), 0) * max(1 - abs(x - q), 0)
                result[:, row, column] += weight * image[:, p, q]
    return result / max(counts[0] * counts[1], 1)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [-1, 1, 2])
@pytest.mark.parametrize("size", [(1, 1), (2, 3)])
def test_roi_align_averages_samples_between_pixels(aligned, ratio, size):
    """Boxes inside, across an edge, outside, and of no size."""
    weft.manual_seed(0)
    images = weft.randn(2, 3, 5, 6, dtype=weft.float64)
    boxes = [[0, 0, 1.0, 5.0, 7.0], [1, -4.0, -3.0, 3.0, 2.5], [1, 8.0, 8.0, 14.0, 13.0], [0, 2.0, 2.0, 2.0, 2.0]]
    rois = weft.tensor(boxes, dtype=weft.float64)
    found = ops.roi_align(images, rois, size, 0.7, ratio, aligned)
    for each, box in zip(found, boxes):
        expected = averaged(images[int(box[0])].numpy(), box[1:], size, 0.7, ratio, aligned)
        numpy.testing.assert_allclose(each.numpy(), expected, atol=1e-12)


def test_roi_align_takes_boxes_image_by_image_and_has_gradients():
    images = weft.randn(2, 1, 4, 4, dtype=weft.float64, requires_grad=True)
    boxes = [weft.tensor([[0.0, 0.0, 3.0, 3.0]]).double(), weft.empty(0, 4).double()]
    assert ops.roi_align(images, boxes, 2).shape == (1, 1, 2, 2)
    assert weft.autograd.gradcheck(lambda x: ops.RoIAlign(2, 1.0, 2, True)(x, boxes), (images,))
    with pytest.raises(AssertionError, match=r"boxes must be Tensor\[K, 5\]"):
        ops.roi_align(images, weft.ones(2, 4), 2)


def test_every_function_has_samples_for_the_suite_of_backends():
    functions = {name for name in ops.__all__ if name[0].islower() and callable(getattr(ops, name))}
    assert {f"vision.ops.{name}" for name in functions} <= set(sample_names())
