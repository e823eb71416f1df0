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


def overlap(first, second):
    """The IoU of two boxes of Python's numbers."""
    sides = [min(a, b) - max(c, d) for a, b, c, d in zip(first[2:], second[2:], first[:2], second[:2])]
    inter = max(sides[0], 0) * max(sides[1], 0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
    return inter / (sum(areas) - inter)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
def test_suppression_by_its_definition(count, dtype):
    """The sizes around that of a block; ties are decided for the first."""
    weft.manual_seed(count)
    corners = (weft.rand(count, 2) * 8).round()
    boxes = weft.cat([corners, corners + 1 + (weft.rand(count, 2) * 4).round()], 1).to(dtype)
    scores = (weft.rand(count) * 20).round().to(dtype)
    kept = []
    for index in sorted(range(count), key=lambda i: -scores[i].item()):
        if all(overlap(boxes[index].tolist(), boxes[other].tolist()) <= 0.45 for other in kept):
            kept.append(index)
    assert ops.nms(boxes, scores, 0.45).tolist() == kept


def test_a_threshold_is_not_rounded():
    """0.3 is below the nearest number of float32, which is the overlap of these boxes: it is above the threshold."""
    boxes = weft.tensor([[0.0, 0.0, 10.0, 1.0], [0.0, 0.0, 3.0, 1.0]])
    assert ops.nms(boxes, weft.tensor([1.0, 0.5]), 0.3).tolist() == [0]


def test_numbers_that_are_none_suppress_nothing():
    boxes = weft.tensor([[0.0, 0.0, 4.0, 4.0]]).repeat(4, 1)
    boxes[1, 2], boxes[2, 3] = math.nan, math.inf
    assert ops.nms(boxes, weft.tensor([0.1, 0.2, math.nan, 0.4]), 0.5).tolist() == [2, 3, 1]


@pytest.mark.parametrize("pool", ["roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool"])
def test_regions_refuse_what_they_cannot_take(pool):
    images, pooling = weft.ones(2, 4, 5, 5), getattr(ops, pool)
    for wrong, error in (
        (lambda: pooling(images, weft.tensor([[2.0, 0, 0, 3, 3]]), 2), IndexError),
        (lambda: pooling(images, weft.tensor([[-1.0, 0, 0, 3, 3]]), 2), IndexError),
        (lambda: pooling(images, weft.zeros(1, 5).double(), 2), RuntimeError),
        (lambda: pooling(images[0], weft.zeros(1, 5), 2), RuntimeError),
        (lambda: pooling(images, weft.zeros(1, 5), 0), RuntimeError),
        (lambda: pooling(images, [weft.zeros(1, 5)], 2), AssertionError),
    ):
        with pytest.raises(error, match=f"{pool}|boxes"):
            wrong()
    assert pooling(images, weft.zeros(0, 5), 2).shape[0] == 0
    assert pooling(images, weft.tensor([[0.0, math.nan, 0, 3, 3]]), 2).shape[0] == 1


def test_a_region_of_too_many_samples_is_refused():
    with pytest.raises(ValueError, match="pass a sampling_ratio above 0"):
        ops.roi_align(weft.ones(1, 1, 4, 4), weft.tensor([[0.0, 0, 0, 1e9, 1]]), 1)
    assert (
        ops.roi_align(weft.ones(1, 1, 4, 4), weft.tensor([[0.0, 0, 0, 1e9, 1]]), 1, sampling_ratio=2).isfinite().all()
    )


def test_pooling_takes_the_greatest_of_whole_pixels():
    image = weft.arange(24.0).reshape(1, 1, 4, 6).requires_grad_()
    pooled = ops.roi_pool(image, weft.tensor([[0, 0.5, -0.5, 4.4, 2.4], [0, 9.0, 9.0, 12.0, 12.0]]), (1, 2))
    assert pooled.flatten().tolist() == [14.0, 16.0, 0.0, 0.0]  # columns 1 to 4, rows -1 to 2; and outside
    pooled.sum().backward()
    assert image.grad.nonzero()[:, 2:].tolist() == [[2, 2], [2, 4]]


def test_bins_with_channels_of_their_own():
    weft.manual_seed(0)
    images = weft.rand(1, 8, 6, 6, dtype=weft.float64)
    rois = weft.tensor([[0.0, 0.0, 0.0, 4.0, 4.0]], dtype=weft.float64)
    found, whole = ops.ps_roi_align(images, rois, 2, 1.0, 2), ops.roi_align(images, rois, 2, 1.0, 2, True)
    for channel, row, column in numpy.ndindex(2, 2, 2):
        assert found[0, channel, row, column] == whole[0, channel * 4 + row * 2 + column, row, column]
    mean = ops.ps_roi_pool(images, rois, 2)[0, 1, 1, 0]
    assert mean.item() == pytest.approx(images[0, 6, 2:4, :2].mean().item())


@pytest.mark.parametrize("groups", [1, 2])
def test_deformable_convolution_without_offsets_is_convolution(groups):
    weft.manual_seed(0)
    x, weight, bias = weft.randn(2, 4, 6, 7), weft.randn(6, 4 // groups, 3, 2), weft.randn(6)
    geometry = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}
    expected = weft.nn.functional.conv2d(x, weight, bias, groups=groups, **geometry)
    offset, mask = weft.zeros(2, 24, *expected.shape[2:]), weft.full((2, 12, *expected.shape[2:]), 0.5)
    assert weft.allclose(ops.deform_conv2d(x, offset, weight, bias, **geometry), expected, atol=1e-5)
    halved = ops.deform_conv2d(x, offset, weight, bias, mask=mask, **geometry) - bias[:, None, None]
    assert weft.allclose(halved, (expected - bias[:, None, None]) / 2, atol=1e-5)


def test_second_derivatives_of_regions_and_deformed_samples():
    weft.manual_seed(0)
    images = weft.rand(1, 4, 5, 5, dtype=weft.float64, requires_grad=True)
    rois = weft.tensor([[0.0, 0.3, 0.2, 3.9, 4.1]], dtype=weft.float64)
    for pool in (ops.roi_align, ops.roi_pool, ops.ps_roi_align, ops.ps_roi_pool):
        assert weft.autograd.gradgradcheck(lambda x, pool=pool: pool(x, rois, 2), (images,), fast_mode=True)
    offset = (weft.rand(1, 8, 4, 4, dtype=weft.float64) * 0.6 + 0.2).requires_grad_()
    weight = weft.rand(2, 4, 2, 2, dtype=weft.float64, requires_grad=True)
    assert weft.autograd.gradgradcheck(ops.deform_conv2d, (images, offset, weight), fast_mode=True)


def test_rotated_boxes_overlap_by_the_area_of_their_polygon():
    square = weft.tensor([[0.0, 0.0, 2.0, 2.0, 0.0]], dtype=weft.float64)
    octagon = 8 * (math.sqrt(2) - 1)  # of a square and itself, turned by 45 degrees
    others = weft.tensor([[0, 0, 2, 2, 45], [0, 0, 2, 2, 90], [1, 0, 2, 2, 180], [9, 9, 2, 2, 30], [0, 0, 0, 2, 0]])
    found = ops.box_iou(square, others.double(), fmt="cxcywhr")
    assert found[0].tolist() == pytest.approx([octagon / (8 - octagon), 1.0, 1 / 3, 0.0, 0.0], abs=1e-9)


def test_a_loss_of_the_same_boxes_is_nothing_and_has_a_gradient_apart():
    boxes = weft.tensor([[0.0, 0.0, 2.0, 4.0]], dtype=weft.float64)
    apart = (boxes + 7).requires_grad_()
    for loss in (ops.generalized_box_iou_loss, ops.distance_box_iou_loss, ops.complete_box_iou_loss):
        assert loss(boxes, boxes).item() == pytest.approx(0, abs=1e-6)
        assert loss(boxes[:0], boxes[:0], "mean").item() == 0
        (grad,) = weft.autograd.grad(loss(boxes, apart, "sum"), apart)
        assert grad.abs().sum() > 0
    with pytest.raises(ValueError, match="reduction"):
        ops.distance_box_iou_loss(boxes, boxes, "other")


def test_a_pyramid_adds_what_is_deeper_and_levels():
    blocks = ops.feature_pyramid_network
    maps = {"a": weft.ones(1, 4, 8, 8), "b": weft.ones(1, 6, 4, 4)}
    pyramid = ops.FeaturePyramidNetwork([4, 6], 5, blocks.LastLevelP6P7(6, 5))
    shapes = {name: tuple(each.shape[1:]) for name, each in pyramid(maps).items()}
    assert shapes == {"a": (5, 8, 8), "b": (5, 4, 4), "p6": (5, 2, 2), "p7": (5, 1, 1)}
    old = {key.replace(".0.", "."): value for key, value in ops.FeaturePyramidNetwork([4, 6], 5).state_dict().items()}
    keys = pyramid.load_state_dict({key.replace("blocks.", "blocks.0.", 0): value for key, value in old.items()}, False)
    assert all(key.startswith("extra_blocks") for key in keys.missing_keys)


def test_boxes_are_pooled_from_the_level_of_their_size():
    maps = {"fine": weft.zeros(1, 1, 64, 64), "coarse": weft.ones(1, 1, 32, 32)}
    pooler = ops.MultiScaleRoIAlign(["fine", "coarse"], 2, 2, canonical_scale=112, canonical_level=4)
    boxes = weft.tensor([[0.0, 0.0, 20.0, 20.0], [0.0, 0.0, 200.0, 200.0]])
    assert pooler(maps, [boxes], [(256, 256)])[:, 0, 0, 0].tolist() == [0.0, 1.0]
    assert pooler.scales == [0.25, 0.125]


def test_dropped_blocks_are_whole_and_the_mean_stays():
    weft.manual_seed(0)
    out = ops.drop_block2d(weft.ones(8, 4, 20, 20), 0.2, 3)
    assert out.mean().item() == pytest.approx(1.0, abs=1e-3)
    assert 0.1 < (out == 0).float().mean() < 0.3
    x = weft.ones(2, 2, 6, 6, 6)
    assert ops.DropBlock3d(0.5, 3, inplace=True)(x) is x
    assert ops.DropBlock2d(0.5, 3).eval()(out) is out


def test_every_function_has_samples_for_the_suite_of_backends():
    functions = {name for name in ops.__all__ if name[0].islower() and callable(getattr(ops, name))}
    assert {f"vision.ops.{name}" for name in functions} <= set(sample_names())


def test_operators_have_torchvisions_names_and_arguments():
    operators, images = weft.ops.torchvision, weft.arange(2.0 * 4 * 36).reshape(2, 4, 6, 6)
    rois = weft.tensor([[0.0, 0.0, 0.0, 3.0, 3.0], [1.0, 1.0, 2.0, 5.0, 4.0]])
    boxes, scores = weft.tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 5.0], [5.0, 5.0, 6.0, 6.0]]), weft.arange(3.0)
    assert operators.nms(boxes, scores, 0.5).tolist() == ops.nms(boxes, scores, 0.5).tolist()
    aligned = operators.roi_align(images, rois, 1.0, 2, 2, 2, True)
    assert aligned.equal(ops.roi_align(images, rois, 2, 1.0, 2, True))
    for name, options in (("ps_roi_align", (2,)), ("ps_roi_pool", ()), ("roi_pool", ())):
        output, sources = getattr(operators, name)(images, rois, 1.0, 2, 2, *options)
        assert output.equal(getattr(ops, name)(images, rois, 2, 1.0, *options))
        assert sources.dtype is weft.int32
        assert sources.shape == output.shape
    assert sources[0, 0].tolist() == [[7, 9], [19, 21]]  # where in the image the greatest pixels of roi_pool are
    weight, offset, mask = weft.rand(2, 4, 3, 3), weft.rand(2, 18, 4, 4), weft.rand(2, 9, 4, 4)
    bias, geometry = weft.zeros(2), (1, 1, 0, 0, 1, 1, 1, 1)
    for used in (True, False):
        deformed = operators.deform_conv2d(images, weight, offset, mask, bias, *geometry, used)
        assert deformed.equal(ops.deform_conv2d(images, offset, weight, bias, mask=mask if used else None))


def test_an_operator_that_torchvision_does_not_have_is_missing():
    with pytest.raises(AttributeError, match="'torchvision' object has no attribute 'suppress'"):
        weft.ops.torchvision.suppress


# Quantized tensors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8])
def test_suppression_of_quantized_boxes_is_that_of_their_numbers(threshold):
    weft.manual_seed(0)
    corners = weft.rand(60, 2) * 50
    boxes = weft.quantize_per_tensor(weft.cat([corners, corners + weft.rand(60, 2) * 40], 1), 1.0, 10, weft.quint8)
    scores = weft.quantize_per_tensor(weft.rand(60) * 100, 1.0, 10, weft.quint8)
    assert weft.equal(ops.nms(boxes, scores, threshold), ops.nms(boxes.dequantize(), scores.dequantize(), threshold))


@pytest.mark.parametrize("in_list", [False, True])
def test_roi_align_of_a_quantized_image_is_quantized_alike(in_list):
    weft.manual_seed(0)
    image = weft.quantize_per_tensor(weft.rand(1, 2, 10, 10) * 50, 0.5, 10, weft.quint8)
    rois = weft.quantize_per_tensor(weft.tensor([[0.0, 1.0, 1.0, 7.0, 8.0]]), 0.5, 10, weft.quint8)
    boxes = [rois[:, 1:]] if in_list else rois
    numbers = ops.roi_align(image.dequantize(), rois.dequantize(), 3)
    assert weft.equal(ops.roi_align(image, boxes, 3), weft.quantize_per_tensor(numbers, 0.5, 10, weft.quint8))


def test_quantized_images_come_one_by_one_with_quantized_boxes():
    images = weft.quantize_per_tensor(weft.ones(2, 1, 4, 4), 1.0, 0, weft.qint8)
    rois = weft.zeros(1, 5)
    with pytest.raises(RuntimeError, match="Only one image per batch is allowed"):
        ops.roi_align(images, weft.quantize_per_tensor(rois, 1.0, 0, weft.qint8), 2)
    with pytest.raises(RuntimeError, match="boxes must be quantized"):
        ops.roi_align(images[:1], rois, 2)
