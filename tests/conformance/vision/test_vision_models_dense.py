"""Detectors of weft.vision agree with torchvision's.

Small ones always, the published ones where all is asked for. For one seed both begin with the same parameters, under
the same keys. With the oracle's state, and for one seed, the losses of a training step and their gradients are the
oracle's, and so is what is found in the same images, in the same order. All of that in float64, where no order hangs on
the last bit; the losses, and what is found, in float32 too.
"""

import importlib
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import selection
import torch
from oracle import torchvision

import weft
from weft import vision
from weft.vision import models

SETTING = os.environ.get("WEFT_CONFORMANCE", "changed")
BUILDERS = models.list_models(models.detection)
SIZES = [(96, 128), (120, 90)]
CLASSES, POINTS = 5, 3

pytestmark = pytest.mark.filterwarnings("ignore")  # of either library: not the claim here


class Library:
    """PyTorch with torchvision, or weft: what stands in both under the same names."""

    def __init__(self, tensors: Any, vision: Any) -> None:
        self.tensors, self.nn, self.ops = tensors, tensors.nn, vision.ops
        self.prefix = f"{vision.__name__}.models"

    def __getattr__(self, module: str) -> Any:
        if module.startswith("__"):
            raise AttributeError(module)
        return importlib.import_module(f"{self.prefix}.detection.{module}")

    def tensor(self, array: Any) -> Any:
        return self.tensors.from_numpy(np.ascontiguousarray(array))

    def build(self, name: str, **options: Any) -> Any:
        return getattr(importlib.import_module(f"{self.prefix}.detection"), name)(weights_backbone=None, **options)


THEIRS, OURS = Library(torch, torchvision), Library(weft, vision)
LIBRARIES = [THEIRS, OURS]


# Small detectors -----------------------------------------------------------------------------------------


def maps(library: Library) -> Any:
    """A network with maps of an eighth and a sixteenth of the image's size."""
    nn = library.nn
    convolutions = [(3, 8, 4), (8, 16, 2), (16, 16, 2)]
    layers = [each for sizes in convolutions for each in (nn.Conv2d(*sizes[:2], 3, sizes[2], 1), nn.Tanh())]
    return nn.Sequential(*layers)


def pyramid(library: Library) -> Any:
    return library.backbone_utils.BackboneWithFPN(maps(library), {"3": "0", "5": "1"}, [16, 16], 32)


def small_parts(library: Library) -> dict[str, Any]:
    """What the detectors in two stages have in common."""
    anchors = library.anchor_utils.AnchorGenerator(((16,), (32,), (64,)), ((0.5, 1.0, 2.0),) * 3)
    pool = library.ops.MultiScaleRoIAlign(["0", "1"], 5, 2)
    head = library.faster_rcnn.TwoMLPHead(32 * 25, 64)
    return {
        "rpn_anchor_generator": anchors,
        "box_roi_pool": pool,
        "box_head": head,
        "box_predictor": library.faster_rcnn.FastRCNNPredictor(64, CLASSES),
        "box_score_thresh": 0.02,
        "rpn_post_nms_top_n_train": 200,
        "rpn_post_nms_top_n_test": 60,
        "min_size": 96,
        "max_size": 150,
    }


def small_faster_rcnn(library: Library) -> Any:
    return library.faster_rcnn.FasterRCNN(pyramid(library), **small_parts(library))


def small_mask_rcnn(library: Library) -> Any:
    parts = {
        "mask_roi_pool": library.ops.MultiScaleRoIAlign(["0", "1"], 6, 2),
        "mask_head": library.mask_rcnn.MaskRCNNHeads(32, (16, 16), 1),
        "mask_predictor": library.mask_rcnn.MaskRCNNPredictor(16, 16, CLASSES),
    }
    return library.mask_rcnn.MaskRCNN(pyramid(library), **small_parts(library), **parts)


def small_keypoint_rcnn(library: Library) -> Any:
    parts = {
        "keypoint_roi_pool": library.ops.MultiScaleRoIAlign(["0", "1"], 6, 2),
        "keypoint_head": library.keypoint_rcnn.KeypointRCNNHeads(32, (16, 16)),
        "keypoint_predictor": library.keypoint_rcnn.KeypointRCNNPredictor(16, POINTS),
    }
    return library.keypoint_rcnn.KeypointRCNN(pyramid(library), **small_parts(library), **parts)


def small_retinanet(library: Library) -> Any:
    anchors = library.anchor_utils.AnchorGenerator(((16, 24), (32, 48), (64, 90)), ((0.5, 1.0, 2.0),) * 3)
    sizes = {"min_size": 96, "max_size": 150, "score_thresh": 0.01}
    return library.retinanet.RetinaNet(pyramid(library), CLASSES, anchor_generator=anchors, **sizes)


def small_fcos(library: Library) -> Any:
    anchors = library.anchor_utils.AnchorGenerator(((8,), (16,), (32,)), ((1.0,),) * 3)
    sizes = {"min_size": 96, "max_size": 150, "score_thresh": 0.05}
    return library.fcos.FCOS(pyramid(library), CLASSES, anchor_generator=anchors, **sizes)


def small_ssd(library: Library) -> Any:
    getter = importlib.import_module(f"{library.prefix}._utils").IntermediateLayerGetter
    backbone = getter(maps(library), {"3": "0", "5": "1"})
    anchors = library.anchor_utils.DefaultBoxGenerator([[2], [2, 3]])
    return library.ssd.SSD(backbone, anchors, (112, 96), CLASSES)


SMALL = {name: value for name, value in globals().items() if name.startswith("small_") and name != "small_parts"}


def made(name: str, library: Library) -> Any:
    """A detector, for one seed."""
    library.tensors.manual_seed(0)
    if name in SMALL:
        return SMALL[name](library)
    options: dict[str, Any] = {} if name.startswith("ssd") else {"min_size": 96, "max_size": 150}
    options["box_score_thresh" if "rcnn" in name else "score_thresh"] = 0.01
    if name == "ssd300_vgg16":  # pixels up to 255 would give scores of exactly 1, without an order
        options["image_std"] = [1.0, 1.0, 1.0]
    if "rcnn" in name:
        options.update(rpn_post_nms_top_n_train=100, rpn_post_nms_top_n_test=40)
        options.update(box_batch_size_per_image=32, box_detections_per_img=20)
    if name.startswith("keypoint"):
        return library.build(name, num_keypoints=POINTS, **options)
    return library.build(name, num_classes=CLASSES, **options)


def chosen() -> list[str]:
    if SETTING == "changed":
        return list(SMALL)
    return [*SMALL, *selection.chosen(BUILDERS, SETTING, lambda name: set())]


every_detector = pytest.mark.parametrize("name", chosen())


# Comparison ----------------------------------------------------------------------------------------------


def samples(library: Library, name: str, dtype: str, empty: bool = False) -> tuple[list[Any], list[dict[str, Any]]]:
    """Two images, and the objects in them; with ``empty``, none in the second."""
    random = np.random.default_rng(3)
    images, targets = [], []
    classes = 2 if name == "keypointrcnn_resnet50_fpn" else CLASSES
    for number, (height, width) in enumerate(SIZES):
        count = 0 if empty and number else 3
        size = np.array([width, height]) / 2
        low, extent = random.random((count, 2)) * size, random.random((count, 2)) * (size - 8) + 8
        masks = np.zeros((count, height, width), np.uint8)
        for mask, (left, top), (right, bottom) in zip(masks, low.astype(int), (low + extent).astype(int)):
            mask[top:bottom, left:right] = 1
        points = low[:, None] + random.random((count, POINTS, 2)) * extent[:, None]
        seen = random.integers(0, 3, (count, POINTS, 1))
        images.append(library.tensor(random.random((3, height, width)).astype(dtype)))
        target = {
            "boxes": np.concatenate([low, low + extent], 1).astype(dtype),
            "labels": random.integers(1, classes, count),
            "masks": masks,
            "keypoints": np.concatenate([points, seen], 2).astype(np.float32),
        }
        targets.append({key: library.tensor(value) for key, value in target.items()})
    return images, targets


def spread(model: torch.nn.Module, name: str) -> None:
    """Let features keep their size from layer to layer, so that predictions lie apart; fit normalizations to them."""
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                deviation = math.sqrt(2 / parameter[0].numel())
                if parameter.std() < deviation / 2:
                    parameter.mul_(deviation / parameter.std())
        model.train()(*samples(THEIRS, name, "float32"))


def pair(name: str, dtype: str) -> list[Any]:
    """Torchvision's detector and weft's, with the same state."""
    theirs, ours = made(name, THEIRS), made(name, OURS)
    assert repr(ours) == repr(theirs)
    expected, state = theirs.state_dict(), ours.state_dict()
    assert list(state) == list(expected)
    for key, value in expected.items():
        np.testing.assert_allclose(state[key].numpy(), value.numpy(), rtol=1e-6, atol=1e-6, err_msg=key)
    spread(theirs, name)
    ours.load_state_dict({key: weft.from_numpy(value.numpy()) for key, value in theirs.state_dict().items()})
    return [getattr(model, {"float32": "float", "float64": "double"}[dtype])() for model in (theirs, ours)]


def trained(library: Library, model: Any, name: str, dtype: str, empty: bool = False) -> dict[str, Any]:
    """The losses of a step, with normalizations as they are."""
    model.train()
    for module in model.modules():
        if isinstance(module, library.nn.BatchNorm2d):
            module.eval()
    library.tensors.manual_seed(5)
    losses: dict[str, Any] = model(*samples(library, name, dtype, empty))
    return losses


def found(library: Library, model: Any, name: str, dtype: str) -> list[dict[str, Any]]:
    with library.tensors.no_grad():
        detections: list[dict[str, Any]] = model.eval()(samples(library, name, dtype)[0])
    return detections


def assert_close(ours: Any, theirs: Any, tolerance: float, what: str = "") -> None:
    expected, value = theirs.detach().numpy(), ours.detach().numpy()
    assert value.dtype == expected.dtype, what
    assert value.shape == expected.shape, what
    limit = tolerance * max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(value, expected, rtol=0, atol=limit, err_msg=what)


def assert_same_detections(ours: list[dict[str, Any]], theirs: list[dict[str, Any]], tolerance: float) -> None:
    assert len(ours) == len(theirs)
    assert sum(len(each["boxes"]) for each in theirs) > 0
    for our, their in zip(ours, theirs):
        assert list(our) == list(their)
        order = weft.from_numpy(partners(our, their))
        for key, expected in their.items():
            assert_close(our[key][order], expected, 1e-4 if expected.dtype == torch.float32 else tolerance, key)


def partners(ours: dict[str, Any], theirs: dict[str, Any]) -> Any:
    """For each detection the place of the other framework's: its own place, or that of one whose score is as high.

    Of scores that differ by rounding alone either may come first.
    """
    (our_scores, their_scores), (our_boxes, their_boxes) = (
        [each[key].detach().numpy() for each in (ours, theirs)] for key in ("scores", "boxes")
    )
    assert our_scores.shape == their_scores.shape
    rounding = 32 * np.finfo(their_scores.dtype).eps
    free = np.ones(len(our_scores), bool)
    order = np.arange(len(our_scores))
    for place, score in enumerate(their_scores):
        tied = np.flatnonzero(free & (np.abs(our_scores - score) <= rounding))
        if tied.size:
            order[place] = tied[np.abs(our_boxes[tied] - their_boxes[place]).max(-1).argmin()]
        free[order[place]] = False
    return order


@every_detector
def test_detectors_in_float64(name: str) -> None:
    """Losses, gradients, and what is found."""
    theirs, ours = pair(name, "float64")
    expected, losses = (trained(*each, name, "float64") for each in zip(LIBRARIES, (theirs, ours)))
    assert list(losses) == list(expected)
    for key, loss in expected.items():
        np.testing.assert_allclose(float(losses[key].detach()), float(loss.detach()), rtol=1e-6, err_msg=key)
    sum(expected.values()).backward()
    sum(losses.values()).backward()
    scale = max(float(each.grad.abs().max()) for each in theirs.parameters() if each.grad is not None)
    for (key, their), our in zip(theirs.named_parameters(), ours.parameters(), strict=True):
        assert (our.grad is None) == (their.grad is None), key
        if their.grad is not None:
            assert_close(our.grad / scale, their.grad / scale, 1e-6, key)
    expected, detections = (found(*each, name, "float64") for each in zip(LIBRARIES, (theirs, ours)))
    assert_same_detections(detections, expected, 1e-8)


@pytest.mark.parametrize("name", SMALL)
def test_detectors_in_float32(name: str) -> None:
    """Losses and what is found, to 1e-4, and the same boxes in the same order, but for scores that are one."""
    theirs, ours = pair(name, "float32")
    expected, losses = (trained(*each, name, "float32") for each in zip(LIBRARIES, (theirs, ours)))
    for key, loss in expected.items():
        np.testing.assert_allclose(float(losses[key].detach()), float(loss.detach()), rtol=1e-4, err_msg=key)
    expected, detections = (found(*each, name, "float32") for each in zip(LIBRARIES, (theirs, ours)))
    assert_same_detections(detections, expected, 1e-4)


@pytest.mark.parametrize("name", SMALL)
def test_losses_where_an_image_is_empty(name: str) -> None:
    theirs, ours = pair(name, "float64")
    expected, losses = (trained(*each, name, "float64", empty=True) for each in zip(LIBRARIES, (theirs, ours)))
    for key, loss in expected.items():
        np.testing.assert_allclose(float(losses[key].detach()), float(loss.detach()), rtol=1e-6, err_msg=key)


# Errors --------------------------------------------------------------------------------------------------

WRONG: dict[str, Callable[[dict[str, Any], Any], dict[str, Any]]] = {
    "box without height": lambda target, lib: {**target, "boxes": lib.tensor(np.float32([[1, 2, 3, 2]] * 3))},
    "boxes of five numbers": lambda target, lib: {**target, "boxes": lib.tensor(np.ones((3, 5), np.float32))},
    "boxes of one dimension": lambda target, lib: {**target, "boxes": lib.tensor(np.ones(4, np.float32))},
    "boxes in a list": lambda target, lib: {**target, "boxes": [[0.0, 0.0, 1.0, 1.0]]},
    "labels of float": lambda target, lib: {**target, "labels": target["labels"].float()},
    "no labels": lambda target, lib: {key: value for key, value in target.items() if key != "labels"},
    "no boxes": lambda target, lib: {key: value for key, value in target.items() if key != "boxes"},
    "no masks": lambda target, lib: {key: value for key, value in target.items() if key != "masks"},
    "boxes of half precision": lambda target, lib: {**target, "boxes": target["boxes"].bfloat16()},
}


def outcome(call: Callable[[], Any]) -> Any:
    """The type of its error, or None."""
    try:
        call()
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("wrong", [*WRONG, "no targets", "fewer targets"])
@pytest.mark.parametrize("name", ["small_mask_rcnn", "small_ssd", "small_retinanet"])
def test_wrong_targets_raise_the_same_type(name: str, wrong: str) -> None:
    outcomes = []
    for library in LIBRARIES:
        images, targets = samples(library, name, "float32")
        given = {"no targets": None, "fewer targets": targets[:1]}.get(wrong, targets)
        if wrong in WRONG:
            given = [targets[0], WRONG[wrong](targets[1], library)]
        model = made(name, library).train()
        outcomes.append(outcome(lambda: model(images, given)))  # noqa: B023  (called at once)
    assert outcomes[0] is outcomes[1], outcomes


@pytest.mark.parametrize(
    "image", [np.zeros((96, 128), np.float32), np.zeros((3, 96, 128), np.uint8), np.zeros((1, 3, 96, 128), np.float32)]
)
def test_wrong_images_raise_the_same_type(image: Any) -> None:
    outcomes = [
        outcome(lambda: made("small_faster_rcnn", library).eval()([library.tensor(image)]))  # noqa: B023
        for library in LIBRARIES
    ]
    assert outcomes[0] is outcomes[1] is not None


# Parts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes, ratios",
    [(((16, 24), (32,)), ((0.5, 1.0), (2.0,))), ((16, 32), (0.5, 1.0, 2.0)), (((10.5,), (33,)), ((1.0,), (1.0, 3.0)))],
)
def test_anchors(sizes: Any, ratios: Any) -> None:
    results = []
    for library in LIBRARIES:
        generator = library.anchor_utils.AnchorGenerator(sizes, ratios)
        images = library.image_list.ImageList(library.tensors.zeros(2, 3, 50, 70), [(50, 70), (40, 60)])
        features = [library.tensors.zeros(2, 4, 13, 18), library.tensors.zeros(2, 4, 7, 9)]
        results.append([generator(images, features), generator.num_anchors_per_location()])
    for theirs, ours in zip(*(each[0] for each in results), strict=True):
        assert_close(ours, theirs, 0)
    assert results[0][1] == results[1][1]


@pytest.mark.parametrize(
    "options",
    [{}, {"min_ratio": 0.2, "max_ratio": 0.95}, {"scales": [0.1, 0.4, 1.2]}, {"steps": [8, 16]}, {"clip": False}],
)
def test_default_boxes(options: Any) -> None:
    results = []
    for library in LIBRARIES:
        generator = library.anchor_utils.DefaultBoxGenerator([[2], [2, 3]], **options)
        images = library.image_list.ImageList(library.tensors.zeros(2, 3, 50, 70), [(50, 70), (40, 60)])
        features = [library.tensors.zeros(2, 4, 13, 18), library.tensors.zeros(2, 4, 7, 9)]
        results.append([generator(images, features), generator.num_anchors_per_location(), repr(generator)])
    for theirs, ours in zip(*(each[0] for each in results), strict=True):
        assert_close(ours, theirs, 1e-6)
    assert results[0][1:] == results[1][1:]


@pytest.mark.parametrize("kind", ["l1", "smooth_l1", "giou", "diou", "ciou"])
def test_losses_of_boxes(kind: str) -> None:
    random = np.random.default_rng(0)
    anchors, boxes = (np.cumsum(random.random((20, 2, 2)) + 0.1, 1).reshape(20, 4) for _ in range(2))
    codes = random.standard_normal((20, 4))
    values = []
    for library, function in ((THEIRS, "_box_loss"), (OURS, "box_loss")):
        given = [library.tensor(each) for each in (anchors, boxes, codes)]
        coder = library._utils.BoxCoder((1.0, 2.0, 3.0, 4.0))
        values.append(float(getattr(library._utils, function)(kind, coder, *given)))
    assert values[0] == pytest.approx(values[1], rel=1e-9)


@pytest.mark.parametrize("training", [True, False])
def test_the_transform(training: bool) -> None:
    results = []
    for library in LIBRARIES:
        module = library.transform.GeneralizedRCNNTransform([90, 70, 110], 130, [0.4, 0.5, 0.6], [0.2, 0.3, 0.4])
        library.tensors.manual_seed(4)
        images, targets = module.train(training)(*samples(library, "", "float32"))
        results.append([images, targets, repr(module)])
    (theirs, their_targets, their_repr), (ours, our_targets, our_repr) = results
    assert our_repr == their_repr
    assert ours.image_sizes == [tuple(each) for each in theirs.image_sizes]
    assert_close(ours.tensors, theirs.tensors, 1e-5)
    for our, their in zip(our_targets, their_targets, strict=True):
        assert list(our) == list(their)
        for key, expected in their.items():
            assert_close(our[key], expected, 1e-6, key)


def test_masks_are_pasted() -> None:
    random = np.random.default_rng(0)
    masks = random.random((4, 1, 28, 28)).astype(np.float32)
    boxes = np.float32([[3.2, 4.1, 40.7, 50.2], [-9, -8, 20, 30], [50, 40, 90, 80], [10, 10, 10.5, 10.5]])
    theirs, ours = (
        library.roi_heads.paste_masks_in_image(library.tensor(masks), library.tensor(boxes), (60, 70))
        for library in LIBRARIES
    )
    assert_close(ours, theirs, 1e-6)


def test_earlier_names_of_weights_are_loaded() -> None:
    """The first versions had one convolution in the head of the proposals, and names in that of masks."""
    random = np.random.default_rng(0)
    weights = {
        "conv.weight": random.random((8, 8, 3, 3)),
        "conv.bias": random.random(8),
        "cls_logits.weight": random.random((3, 8, 1, 1)),
        "cls_logits.bias": random.random(3),
        "bbox_pred.weight": random.random((12, 8, 1, 1)),
        "bbox_pred.bias": random.random(12),
    }
    states = []
    for library in LIBRARIES:
        head = library.rpn.RPNHead(8, 3)
        head.load_state_dict({key: library.tensor(np.float32(value)) for key, value in weights.items()})
        states.append(head.state_dict())
    assert list(states[0]) == list(states[1])
    for key, value in states[0].items():
        assert_close(states[1][key], value, 0, key)
