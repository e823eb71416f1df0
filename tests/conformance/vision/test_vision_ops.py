"""Operations of weft.vision agree with torchvision's: values, gradients, states, printed forms and errors of 39 names.

Both get the same arguments; for one seed modules begin with the same parameters, and what is random draws the same
numbers.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import torch
from tests import selection
from tests.conformance.vision import operators
from tests.conformance.vision.oracle import torchvision

import weft
import weft.vision

pytestmark = pytest.mark.filterwarnings("ignore")  # of either library: not the claim here

SETTING = os.environ.get("WEFT_CONFORMANCE", "changed")
OPS, OURS = torchvision.ops, weft.vision.ops
LIBRARIES = {"oracle": (torch, OPS), "weft": (weft, OURS)}
COMPILED = torchvision.extension._has_ops() and hasattr(torch.ops.torchvision, "_roi_align_backward")


class Call(NamedTuple):
    """Arguments in which NumPy's arrays stand for tensors."""

    args: tuple[Any, ...]
    options: dict[str, Any]


def call(*args: Any, **options: Any) -> Call:
    return Call(args, options)


class Make:
    """Makes arrays of a dtype."""

    def __init__(self, dtype: str, seed: int = 0) -> None:
        self.dtype, self.random = dtype, np.random.default_rng(seed)

    def __call__(self, *shape: int) -> Any:
        return self.random.standard_normal(shape).astype(self.dtype)

    def boxes(self, count: int, size: float = 10.0) -> Any:
        """Boxes by corners, some of them outside, and one without a size."""
        low = self.random.uniform(-2, size, (count, 2))
        high = low + self.random.uniform(0, size, (count, 2))
        high[:1] = low[:1]
        return np.concatenate([low, high], 1).astype(self.dtype)

    def halves(self, count: int) -> Any:
        """Boxes whose corners are multiples of 1/2: what is rounded lies between two whole numbers."""
        return (self.boxes(count) * 2).round().astype(self.dtype) / 2

    def rois(self, count: int, boxes: Any = None) -> Any:
        images = np.arange(count) % 2
        return np.concatenate([images[:, None].astype(self.dtype), self.boxes(count) if boxes is None else boxes], 1)

    def rotated(self, count: int) -> Any:
        centre, size = self.random.uniform(0, 8, (count, 2)), self.random.uniform(1, 8, (count, 2))
        angle = self.random.uniform(-180, 180, (count, 1))
        return np.concatenate([centre, size, angle], 1).astype(self.dtype)


Cases = Callable[[Make], Iterator[Call]]
FUNCTIONS: dict[str, Cases] = {}
MODULES: dict[str, Callable[[Make], Iterator[tuple[Call, Call]]]] = {}


def of(table: dict[str, Any], names: str) -> Callable[[Any], Any]:
    def declare(cases: Any) -> Any:
        table.update(dict.fromkeys(names.split(), cases))
        return cases

    return declare


UPRIGHT, ROTATED = ("xyxy", "xywh", "cxcywh"), ("xywhr", "cxcywhr", "xyxyxyxy")


def corners_of_rotated(boxes: Any) -> Any:
    return OPS.box_convert(torch.from_numpy(boxes), "cxcywhr", "xyxyxyxy").numpy()


@of(FUNCTIONS, "box_area")
def _(make):
    yield from (call(make.boxes(5), each) for each in UPRIGHT)
    yield from (call(make.boxes(6).reshape(2, 3, 4)), call(make.boxes(3).astype("int8")))


@of(FUNCTIONS, "box_iou")
def _(make):
    yield from (call(make.boxes(5) + 0.1, make.boxes(4) + 0.2, fmt=each) for each in UPRIGHT)
    yield call(make.boxes(6).reshape(2, 3, 4) + 1, make.boxes(8).reshape(2, 4, 4))
    yield call(make.boxes(4).astype("int16") + 1, make.boxes(3).astype("int16"))


@of(FUNCTIONS, "generalized_box_iou distance_box_iou complete_box_iou")
def _(make):
    first, second = make.boxes(5), make.boxes(4)
    first[0, 2:] += 1
    second[0, 2:] += 1
    yield from (call(first, second), call(first[:4].reshape(2, 2, 4), second.reshape(2, 2, 4)))
    yield call(np.array([[0, 0, 4, 5]], "int32"), np.array([[1, 2, 5, 6], [7, 7, 9, 9]], "int32"))


@of(FUNCTIONS, "generalized_box_iou_loss distance_box_iou_loss complete_box_iou_loss")
def _(make):
    first, second = make.boxes(5), make.boxes(5)
    first[0, 2:] += 1
    second[0, 2:] += 1
    yield from (call(first, second, reduction=each) for each in ("none", "mean", "sum"))
    yield from (call(first[1], second[1], eps=1e-3), call(make.boxes(0), make.boxes(0), "mean"))


@of(FUNCTIONS, "box_convert")
def _(make):
    whole = make.boxes(4).round().astype("int64")
    yield from (call(each, a, b) for a in UPRIGHT for b in UPRIGHT for each in (make.boxes(4).reshape(2, 2, 4), whole))
    boxes = make.rotated(4)
    given = {"xywhr": boxes, "cxcywhr": boxes, "xyxyxyxy": corners_of_rotated(boxes)}
    yield from (call(given[a], a, b) for a in ROTATED for b in ROTATED)
    yield from (call(given[a].round().astype("int32"), a, b) for a in ROTATED for b in ROTATED)


@of(FUNCTIONS, "clip_boxes_to_image")
def _(make):
    yield from (call(make.boxes(5), (7, 4)), call(make.boxes(4).reshape(2, 2, 4), (3, 9)))


@of(FUNCTIONS, "remove_small_boxes")
def _(make):
    yield from (call(make.boxes(9), 4.0), call(make.boxes(0), 1.0))


@of(FUNCTIONS, "masks_to_boxes")
def _(make):
    masks = make(4, 6, 7) > 1.2
    masks[2] = False
    yield from (call(masks), call(masks.astype(make.dtype)), call(masks[:0]), call(masks[:, :1]))


@of(FUNCTIONS, "nms")
def _(make):
    yield from (call(make.boxes(40), make(40), each) for each in (0.0, 0.3, 0.7, 1.0))
    yield from (call(make.halves(60), make(60).round(), 0.25), call(make.boxes(0), make(0), 0.5))


@of(FUNCTIONS, "batched_nms")
def _(make):
    for count in (0, 40, 1500):
        yield call(make.boxes(count), make(count), make.random.integers(0, 3, count), 0.4)


@of(FUNCTIONS, "sigmoid_focal_loss")
def _(make):
    x, target = make(3, 4), make.random.integers(0, 2, (3, 4)).astype(make.dtype)
    yield from (call(x, target, alpha=a, gamma=g) for a in (-1, 0.0, 0.6) for g in (0, 1.5, 2))
    yield from (call(x, target, reduction=each) for each in ("mean", "sum"))


@of(FUNCTIONS, "roi_align")
def _(make):
    for boxes in (make.rois(7), make.rois(7, make.halves(7))):
        for ratio, aligned, scale in ((-1, False, 1.0), (-1, True, 0.6), (2, False, 0.5), (3, True, 1.0)):
            yield call(make(2, 3, 8, 9), boxes, (2, 3), scale, ratio, aligned)
    yield from (call(make(2, 3, 8, 9), [make.boxes(3), make.boxes(1)], 2), call(make(2, 3, 8, 9), make.rois(0), 2))


@of(FUNCTIONS, "ps_roi_align")
def _(make):
    for boxes in (make.rois(7), make.rois(7, make.halves(7))):
        yield from (call(make(2, 12, 8, 9), boxes, (2, 3), scale, ratio) for scale, ratio in ((1.0, -1), (0.6, 2)))
    yield call(make(2, 8, 8, 9), [make.boxes(3), make.boxes(1)], 2)


@of(FUNCTIONS, "ps_roi_pool roi_pool")
def _(make):
    for boxes in (make.rois(7), make.rois(7, make.halves(7))):
        yield from (call(make(2, 12, 8, 9), boxes, (2, 3), scale) for scale in (1.0, 0.6))
    yield call(make(2, 8, 8, 9), [make.boxes(3), make.boxes(1)], 2)


@of(FUNCTIONS, "deform_conv2d")
def _(make):
    for groups, offset_groups in ((1, 1), (2, 3), (3, 2)):
        x, weight, bias = make(2, 6, 7, 8), make(6, 6 // groups, 3, 2), make(6)
        offset, mask = make(2, 12 * offset_groups, 4, 11) * 2, make(2, 6 * offset_groups, 4, 11)
        geometry = (2, 1), (1, 2), (1, 1)
        yield from (call(x, offset, weight, bias, *geometry, mask), call(x, offset, weight, None, *geometry))


@of(FUNCTIONS, "drop_block2d")
def _(make):
    yield from (call(make(3, 4, 9, 8), 0.3, each) for each in (1, 3, 5))
    yield from (call(make(3, 4, 7, 7), 0.3, 11), call(make(2, 2, 5, 5), 0.4, 3, training=False))


@of(FUNCTIONS, "drop_block3d")
def _(make):
    yield from (call(make(2, 3, 5, 7, 6), 0.3, 3), call(make(2, 3, 5, 5, 5), 0.0, 3))


@of(FUNCTIONS, "stochastic_depth")
def _(make):
    yield from (call(make(6, 3, 2), p, mode) for p in (0.0, 0.4, 1.0) for mode in ("batch", "row"))


@of(MODULES, "RoIAlign")
def _(make):
    yield call((2, 3), 0.5, 2, aligned=True), call(make(2, 3, 8, 9), make.rois(5))
    yield call(2, 1.0, -1), call(make(2, 3, 8, 9), [make.boxes(2), make.boxes(1)])


@of(MODULES, "RoIPool PSRoIPool")
def _(make):
    yield call((2, 3), 0.5), call(make(2, 12, 8, 9), make.rois(5))


@of(MODULES, "PSRoIAlign")
def _(make):
    yield call((2, 3), 0.5, 2), call(make(2, 12, 8, 9), make.rois(5))


@of(MODULES, "MultiScaleRoIAlign")
def _(make):
    sizes = {"0": (40, 48), "1": (20, 24), "2": (10, 12), "pool": (5, 6)}
    maps = OrderedDict((name, make(2, 3, *size)) for name, size in sizes.items())
    boxes = [np.abs(make.boxes(9, 60.0)), np.abs(make.boxes(4, 150.0))]
    yield call(["0", "1", "2"], 3, 2), call(maps, boxes, [(160, 192), (150, 190)])
    yield call(["0"], (3, 2), 2), call(maps, boxes, [(160, 192), (150, 190)])
    options = {"canonical_scale": 60, "canonical_level": 3}
    yield call(["0", "1", "2"], [2, 2], -1, **options), call(maps, boxes, [(160, 192), (150, 190)])


@of(MODULES, "FeaturePyramidNetwork")
def _(make):
    maps = OrderedDict((name, make(2, c, s, s + 1)) for name, c, s in (("a", 4, 8), ("b", 6, 4), ("c", 8, 3)))
    yield call([4, 6, 8], 5), call(maps)
    yield call([4, 6, 8], 5, "LastLevelMaxPool", "BatchNorm2d"), call(maps)
    yield call([4, 6, 8], 5, ("LastLevelP6P7", 8, 5)), call(maps)
    yield call([4, 6, 8], 5, ("LastLevelP6P7", 5, 5)), call(maps)


@of(MODULES, "DeformConv2d")
def _(make):
    yield call(6, 4, (3, 2), (2, 1), 1, (1, 2), 2), call(make(2, 6, 7, 8), make(2, 24, 4, 8), make(2, 12, 4, 8))
    yield call(6, 4, 3, bias=False), call(make(2, 6, 7, 8), make(2, 18, 5, 6))


@of(MODULES, "DropBlock2d")
def _(make):
    yield from ((call(0.3, 3, inplace=each), call(make(2, 3, 7, 8))) for each in (False, True))


@of(MODULES, "DropBlock3d")
def _(make):
    yield call(0.3, 3, eps=1e-3), call(make(2, 3, 5, 7, 6))


@of(MODULES, "StochasticDepth")
def _(make):
    yield from ((call(0.4, each), call(make(6, 3))) for each in ("batch", "row"))


@of(MODULES, "FrozenBatchNorm2d")
def _(make):
    yield from ((call(4, **options), call(make(2, 4, 3, 3))) for options in ({}, {"eps": 0.1}))


@of(MODULES, "Conv2dNormActivation")
def _(make):
    yield call(3, 6), call(make(2, 3, 7, 8))
    yield call(4, 6, (3, 5), 2, groups=2, norm_layer=None, activation_layer=None), call(make(2, 4, 7, 8))
    yield call(3, 6, 3, dilation=2, activation_layer="SiLU", inplace=False, bias=True), call(make(2, 3, 7, 8))
    yield call(3, 6, 3, padding="same", activation_layer="GELU", inplace=None), call(make(2, 3, 7, 8))


@of(MODULES, "Conv3dNormActivation")
def _(make):
    yield call(3, 4, (1, 3, 3), (1, 2, 2)), call(make(2, 3, 4, 6, 5))
    yield call(3, 4, dilation=(1, 2, 1), norm_layer=None), call(make(2, 3, 4, 6, 5))


@of(MODULES, "SqueezeExcitation")
def _(make):
    yield call(6, 3), call(make(2, 6, 4, 5))
    yield call(6, 3, "SiLU", "Hardsigmoid"), call(make(2, 6, 4, 5))


@of(MODULES, "MLP")
def _(make):
    yield call(6, [8, 4]), call(make(3, 6))
    yield call(6, [8, 4], "LayerNorm", "GELU", bias=False, dropout=0.4), call(make(3, 6))
    yield call(6, [8, 4, 2], inplace=True), call(make(3, 6))


@of(MODULES, "Permute")
def _(make):
    yield call([0, 2, 3, 1]), call(make(2, 3, 4, 5))


LAYERS = ("BatchNorm2d", "LayerNorm", "GELU", "SiLU", "Hardsigmoid")


def translated(value: Any, library: Any, grads: bool, leaves: list[Any]) -> Any:
    """A library's counterpart of an argument: its tensors, which are also kept, its layers and its blocks."""
    tensors, ops = library
    if isinstance(value, np.ndarray):
        made = tensors.from_numpy(value.copy())
        if grads and made.is_floating_point():
            leaves.append(made.requires_grad_())
        return made
    if isinstance(value, dict):
        return OrderedDict((key, translated(each, library, grads, leaves)) for key, each in value.items())
    if isinstance(value, tuple) and value and str(value[0]).startswith("LastLevel"):
        return getattr(ops.feature_pyramid_network, value[0])(*value[1:])
    if isinstance(value, (list, tuple)):
        return type(value)(translated(each, library, grads, leaves) for each in value)
    if value == "LastLevelMaxPool":
        return ops.feature_pyramid_network.LastLevelMaxPool()
    return getattr(tensors.nn, value) if value in LAYERS else value


def arguments(given: Call, library: Any, grads: bool = False) -> tuple[Any, Any, list[Any]]:
    leaves: list[Any] = []
    args = translated(given.args, library, grads, leaves)
    return args, {key: translated(each, library, grads, leaves) for key, each in given.options.items()}, leaves


def outputs_of(result: Any) -> dict[str, Any]:
    return dict(result) if isinstance(result, dict) else {"output": result}


def differentiated(library: Any, result: Any, inputs: list[Any], parameters: Any) -> dict[str, Any]:
    """The outputs, and the gradients of inputs and parameters after a backward through all of them."""
    tensors, found = library[0], outputs_of(result)
    recorded = [each for each in found.values() if each.requires_grad]
    loss = sum((each * tensors.from_numpy(weights(each))).sum() for each in recorded)
    if recorded:
        loss.backward()
    grads = {f"gradient of {number}": each.grad for number, each in enumerate(inputs)}
    return {**found, **grads, **{f"gradient of {key}": each.grad for key, each in parameters}}


def weights(output: Any) -> Any:
    """Random numbers in the shape of a result."""
    found = np.random.default_rng(9).standard_normal(tuple(output.shape))
    return np.asarray(found).astype(str(output.dtype).rpartition(".")[2])


def compare(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert list(found) == list(expected)
    for key, wanted in expected.items():
        value = found[key]
        if wanted is None or value is None:
            assert wanted is value, key
            continue
        assert str(value.dtype).rpartition(".")[2] == str(wanted.dtype).rpartition(".")[2], key
        value, wanted = value.detach().numpy(), wanted.detach().numpy()
        assert value.shape == wanted.shape, key
        size = max(1.0, float(np.abs(wanted).max(initial=0, where=np.isfinite(wanted)))) if wanted.size else 1
        tolerance = 1e-5 if wanted.dtype == np.float32 else 1e-7  # PyTorch has some constants in float32
        np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance * size, err_msg=key)


def function_of(name: str, library: Any) -> Callable[..., Any]:
    """The function; of the oracle's PS RoI pooling the one whose gradient is that of its values."""
    if name == "ps_roi_pool" and library[0] is torch:
        return whole_ps_roi_pool
    return getattr(library[1], name)


def whole_ps_roi_pool(input: Any, boxes: Any, output_size: Any, spatial_scale: float = 1.0) -> Any:
    rois = boxes if isinstance(boxes, torch.Tensor) else OPS._utils.convert_boxes_to_roi_format(boxes)
    size = (output_size, output_size) if isinstance(output_size, int) else output_size
    return operators.ps_roi_pool(input, rois, spatial_scale, *size)[0]


def is_differentiable(name: str) -> bool:
    return "nms" not in name and name not in ("remove_small_boxes", "masks_to_boxes")


def modules(name: str) -> set[str]:
    return {getattr(OURS, name).__module__}


CHOSEN = selection.chosen([*FUNCTIONS, *MODULES], SETTING, modules)
SOME = {"nms", "roi_align", "MultiScaleRoIAlign", "FeaturePyramidNetwork", "box_convert"}
both_dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])


def test_all_names_are_there() -> None:
    assert {*FUNCTIONS, *MODULES} == set(OPS.__all__)
    assert set(OPS.__all__) <= set(OURS.__all__)


@both_dtypes
@pytest.mark.parametrize("name", sorted({*CHOSEN, *SOME} & {*FUNCTIONS}))
def test_a_function_agrees_with_torchvision(name: str, dtype: str) -> None:
    for given in FUNCTIONS[name](Make(dtype)):
        both = []
        for library in LIBRARIES.values():
            library[0].manual_seed(1)
            args, options, leaves = arguments(given, library, is_differentiable(name))
            result = function_of(name, library)(*args, **options)
            both.append(differentiated(library, result, leaves, ()))
        compare(both[1], both[0])


@both_dtypes
@pytest.mark.parametrize("name", sorted({*CHOSEN, *SOME} & {*MODULES}))
def test_a_module_agrees_with_torchvision(name: str, dtype: str) -> None:
    for made, given in MODULES[name](Make(dtype)):
        both, layers = [], []
        for library in LIBRARIES.values():
            library[0].manual_seed(2)
            args, options, _ = arguments(made, library)
            module = getattr(library[1], name)(*args, **options).to(getattr(library[0], dtype))
            if name == "PSRoIPool" and library[0] is torch:
                module.forward = lambda x, rois: whole_ps_roi_pool(x, rois, (2, 3), 0.5)
            args, options, leaves = arguments(given, library, "inplace" not in made.options)
            result = module(*args, **options)
            both.append(differentiated(library, result, leaves, module.named_parameters()))
            both[-1] |= {f"state {key}": value for key, value in module.state_dict().items()}
            layers.append(module)
        compare(both[1], both[0])
        assert repr(layers[1]) == repr(layers[0])
        assert [key for key, _ in layers[1].named_modules()] == [key for key, _ in layers[0].named_modules()]


WRONG: dict[str, list[Any]] = {
    "nms": [
        lambda t, o: o.nms(t.rand(4), t.rand(3), 0.5),
        lambda t, o: o.nms(t.rand(3, 5), t.rand(3), 0.5),
        lambda t, o: o.nms(t.rand(3, 4), t.rand(3, 2), 0.5),
        lambda t, o: o.nms(t.rand(3, 4), t.rand(4), 0.5),
        lambda t, o: o.nms(t.rand(3, 4), t.rand(3).double(), 0.5),
    ],
    "boxes": [
        lambda t, o: o.box_convert(t.rand(3, 4), "xyxy", "xyx"),
        lambda t, o: o.box_convert(t.rand(3, 4), "xyxy", "cxcywhr"),
        lambda t, o: o.box_area(t.rand(3, 5), "xywhr"),
        lambda t, o: o.box_iou(t.rand(3, 4), t.rand(3, 4), "other"),
    ],
    "regions": [
        *[lambda t, o, f=f: getattr(o, f)(t.rand(1, 4, 8, 8), t.rand(1, 4), (2, 2)) for f in
          ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool")],
        *[lambda t, o, f=f: getattr(o, f)(t.rand(1, 4, 8, 8), [t.rand(1, 3)], (2, 2)) for f in
          ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool")],
        *[lambda t, o, f=f: getattr(o, f)(t.rand(1, 4, 8, 8), t.rand(1, 5).double(), (2, 2)) for f in
          ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool")],
        *[lambda t, o, f=f: getattr(o, f)(t.rand(1, 5, 8, 8), t.zeros(1, 5), (2, 2)) for f in
          ("ps_roi_align", "ps_roi_pool")],
    ],
    "deform_conv2d": [
        lambda t, o: o.deform_conv2d(t.rand(1, 2, 4, 4), t.rand(1, 2, 4, 4), t.rand(2, 2, 3, 3)),
        lambda t, o: o.deform_conv2d(t.rand(1, 2, 4, 4), t.rand(1, 18, 4, 4), t.rand(2, 2, 3, 3)),
        lambda t, o: o.deform_conv2d(t.ones(1, 2, 4, 4), t.ones(1, 18, 2, 2), t.ones(2, 2, 3, 3), None, 1, 0, 1,
                                     t.ones(1, 3, 2, 2)),
        lambda t, o: o.DeformConv2d(3, 4, 3, groups=2),
        lambda t, o: o.DeformConv2d(4, 3, 3, groups=2),
    ],
    "losses": [
        lambda t, o: o.generalized_box_iou_loss(t.rand(3, 4), t.rand(3, 4), "other"),
        lambda t, o: o.distance_box_iou_loss(t.rand(3, 4), t.rand(3, 4), "other"),
        lambda t, o: o.complete_box_iou_loss(t.rand(3, 4), t.rand(3, 4), "other"),
        lambda t, o: o.sigmoid_focal_loss(t.rand(3), t.rand(3), reduction="other"),
    ],
    "blocks": [
        lambda t, o: o.drop_block2d(t.rand(2, 2, 4, 4), 1.5, 3),
        lambda t, o: o.drop_block2d(t.rand(2, 4, 4), 0.5, 3),
        lambda t, o: o.drop_block2d(t.rand(2, 2, 5, 5), 0.5, 2),
        lambda t, o: o.drop_block3d(t.rand(2, 2, 5, 5), 0.5, 3),
        lambda t, o: o.stochastic_depth(t.rand(2), -0.1, "row"),
        lambda t, o: o.stochastic_depth(t.rand(2), 0.1, "column"),
        lambda t, o: o.FeaturePyramidNetwork([0, 3], 2),
        lambda t, o: o.FeaturePyramidNetwork([2, 3], 2, t.nn.ReLU()),
        lambda t, o: o.MultiScaleRoIAlign(["a"], 2, 2)({"a": t.rand(1, 2, 4, 4)}, [t.rand(1, 4)], []),
        lambda t, o: o.Conv3dNormActivation(2, 2, norm_layer=t.nn.BatchNorm2d)(t.rand(2, 2, 4, 4, 4)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("area", WRONG)
def test_a_wrong_call_raises_torchvisions_error(area: str) -> None:
    for wrong in WRONG[area]:
        with pytest.raises(Exception) as expected:
            wrong(torch, OPS)
        with pytest.raises(Exception) as found:
            wrong(weft, OURS)
        assert found.type is expected.type, (str(expected.value), str(found.value))


def random_boxes(number: int) -> tuple[Any, Any, float]:
    """One of many sets of boxes: on a grid and not, with ties, empty boxes, NaN and infinities."""
    random = np.random.default_rng(number)
    count, dtype = int(random.integers(0, 150)), ("float32", "float64")[number % 2]
    low = random.uniform(0, 10, (count, 2))
    boxes = np.concatenate([low, low + random.uniform(0 if number % 5 else -3, 10, (count, 2))], 1)
    scores = random.uniform(size=count)
    if number % 3 == 0:
        boxes = boxes.round()
    if number % 4 == 0:
        scores = (scores * 5).round()
    if number % 7 == 0 and count:
        scores[0], boxes[count // 2, 1], boxes[count // 3, 2], boxes[count // 4] = np.nan, np.nan, np.inf, -np.inf
    return boxes.astype(dtype), scores.astype(dtype), float(random.choice([0.0, 0.1, 0.25, 0.3, 1 / 3, 0.5, 0.7, 1.0]))


def test_suppression_agrees_on_random_boxes() -> None:
    for number in range(1000 if SETTING == "all" else 100):
        boxes, scores, threshold = random_boxes(number)
        expected = OPS.nms(torch.from_numpy(boxes), torch.from_numpy(scores), threshold)
        found = OURS.nms(weft.from_numpy(boxes), weft.from_numpy(scores), threshold)
        assert found.tolist() == expected.tolist(), number


@pytest.mark.parametrize("fmt", ROTATED)
def test_overlaps_of_rotated_boxes_agree(fmt: str) -> None:
    make = Make("float32")
    first, second = make.rotated(30), make.rotated(20)
    second[:5], second[5:8] = first[:5], first[5:8]  # the same boxes, and turned by a right angle
    second[5:8, 4] += 90
    if fmt == "xyxyxyxy":
        first, second = corners_of_rotated(first), corners_of_rotated(second)
    expected = OPS.box_iou(torch.from_numpy(first), torch.from_numpy(second), fmt=fmt)
    found = OURS.box_iou(weft.from_numpy(first), weft.from_numpy(second), fmt=fmt)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-5)


@pytest.mark.skipif(not COMPILED, reason="torchvision's own operators did not load")
@pytest.mark.parametrize("name", ["nms", "roi_align", "roi_pool", "ps_roi_align", "deform_conv2d"])
def test_operators_in_tensor_code_are_torchvisions(name: str) -> None:
    """So that they may stand in for them, and serve torchvision's source on weft."""
    for given in FUNCTIONS[name](Make("float64")):
        both = []
        for operator in (getattr(torch.ops.torchvision, name), getattr(operators, name)):
            args, options, leaves = arguments(given, LIBRARIES["oracle"], is_differentiable(name))
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(torch.ops.torchvision, name, operator)
                result = getattr(OPS, name)(*args, **options)
            both.append(differentiated(LIBRARIES["oracle"], result, leaves, ()))
        compare(both[1], both[0])
