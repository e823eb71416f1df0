"""Geometry of weft.vision agrees with torchvision's where the table of all names is thin.

Boxes of every format, rotated ones among them, in every clamping mode; the bytes of resized images of many sizes; what
ops on tv_tensors return.
"""

from __future__ import annotations

import copy
import os
import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import torch
from tests import selection
from tests.conformance.vision.oracle import torchvision
from tests.conformance.vision.test_vision_transforms import described, difference

import weft
import weft.vision
from weft.vision.transforms.v2 import functional as ours

pytestmark = pytest.mark.filterwarnings("ignore")  # of either library: not the claim here

SETTING = os.environ.get("WEFT_CONFORMANCE", "changed")
THEIRS = torchvision.transforms.v2.functional
CANVAS = (41, 58)  # height and width
FORMATS = ["XYXY", "XYWH", "CXCYWH", "XYWHR", "CXCYWHR", "XYXYXYXY"]
ROTATED = FORMATS[3:]
MODES = ["soft", "hard", None]
MOVES = np.random.default_rng(1).normal(0, 0.05, (1, *CANVAS, 2)).astype(np.float32)

CALLS: dict[str, list[dict[str, Any]]] = {
    "affine": [
        {"angle": 20.0, "translate": [3, 5], "scale": 1.2, "shear": [3.0, 5.0]},
        {"angle": -75, "translate": [0, 0], "scale": 0.7, "shear": 0.0, "center": [3.0, 4.0]},
    ],
    "center_crop": [{"output_size": 20}, {"output_size": [50, 30]}],
    "clamp_bounding_boxes": [{}],
    "crop": [
        {"top": 3, "left": 4, "height": 20, "width": 30},
        {"top": -3, "left": -4, "height": 20, "width": 70},
    ],
    "elastic": [{"displacement": MOVES}],
    "horizontal_flip": [{}],
    "pad": [{"padding": 3}, {"padding": [1, 2, 3, 4]}],
    "perspective": [
        {"startpoints": [[0, 0], [57, 0], [57, 40], [0, 40]], "endpoints": [[3, 2], [50, 1], [55, 38], [2, 35]]},
        {"startpoints": None, "endpoints": None, "coefficients": [1.1, 0.02, -3, 0.01, 0.9, 2, 0.001, 0.002]},
    ],
    "resize": [{"size": [20, 31]}, {"size": 30}, {"size": None, "max_size": 33}, {"size": list(CANVAS)}],
    "resized_crop": [{"top": 3, "left": -4, "height": 20, "width": 30, "size": [24, 25]}],
    "rotate": [{"angle": angle} for angle in (0, 30, 90, -47.3)]
    + [{"angle": 33.0, "expand": True}, {"angle": 33.0, "center": [3.0, 8.0]}],
    "vertical_flip": [{}],
}


def boxes(format: str, dtype: str) -> np.ndarray:
    """Boxes on the canvas and beyond its border."""
    random = np.random.default_rng(0)
    height, width = CANVAS
    center = random.uniform(-5, [width + 5, height + 5], (40, 2))
    size, angle = random.uniform(1, 30, (40, 2)), random.uniform(-180, 180, (40, 1))
    start = {"XYXY": [center - size / 2, center + size / 2], "XYWH": [center - size / 2, size]}
    values = np.concatenate(start.get(format, [center, size, angle] if format in ROTATED else [center, size]), 1)
    if format in ("XYWHR", "XYXYXYXY"):
        formats = torchvision.tv_tensors.BoundingBoxFormat
        values = THEIRS.convert_bounding_box_format(torch.from_numpy(values), formats.CXCYWHR, formats[format]).numpy()
    return values.astype(dtype)


def cases() -> list[str]:
    kinds = [(format, dtype) for format in FORMATS for dtype in ("float64", "int64")]
    kinds = [(format, dtype) for format, dtype in kinds if dtype == "float64" or format not in ROTATED]
    return [f"{name} {format} {dtype} {mode}" for name in CALLS for format, dtype in kinds for mode in MODES]


def modules(case: str) -> set[str]:
    return {getattr(ours, case.split()[0]).__module__}


def result(functional: Any, tensors: Any, vision: Any, case: list[str], options: dict[str, Any]) -> Any:
    _, format, dtype, mode = case
    values = tensors.from_numpy(boxes(format, dtype))
    mode = None if mode == "None" else mode
    inpt = vision.tv_tensors.BoundingBoxes(values, format=format, canvas_size=CANVAS, clamping_mode=mode)
    options = {
        name: tensors.from_numpy(value) if isinstance(value, np.ndarray) else value for name, value in options.items()
    }
    try:
        return described(functional(inpt, **options))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("case", selection.chosen(cases(), SETTING, modules))
def test_boxes_of_all_formats_agree(case: str) -> None:
    name, *_ = parts = case.split()
    for options in CALLS[name]:
        expected = result(getattr(THEIRS, name), torch, torchvision, parts, options)
        got = result(getattr(ours, name), weft, weft.vision, parts, options)
        assert not difference(expected, got), options


@pytest.mark.parametrize("old", FORMATS)
@pytest.mark.parametrize("new", FORMATS)
def test_formats_are_converted_alike(old: str, new: str) -> None:
    if (old in ROTATED) != (new in ROTATED):
        with pytest.raises(ValueError, match="rotated"):
            ours.convert_bounding_box_format(weft.zeros(1, 8 if old == "XYXYXYXY" else 5), old, new)
        return
    for dtype in ("float32", "float64") if old in ROTATED else ("float32", "float64", "int64"):
        values = boxes(old, dtype)
        expected = THEIRS.convert_bounding_box_format(torch.from_numpy(values), old, new).numpy()
        got = ours.convert_bounding_box_format(weft.from_numpy(values), old, new).numpy()
        assert expected.dtype == got.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5 if dtype != "float32" else 1e-4)


SIZES = [(75, 100), (224, 224), (31, 77), (16, 300)]
NEW_SIZES = [(64, 64), (30, 31), (75, 40), (90, 100), (200, 260), (7, 9)]


@pytest.mark.parametrize(
    ("mode", "antialias"),
    [*((mode, anti) for mode in ("nearest", "bilinear", "bicubic") for anti in (True, False)), ("lanczos", True)],
)
def test_bytes_of_resized_images_are_the_same(mode: str, antialias: bool) -> None:
    random = np.random.default_rng(0)
    sizes = SIZES if SETTING == "all" else SIZES[:2]
    for height, width in sizes:
        pixels = random.integers(0, 256, (3, height, width), dtype=np.uint8)
        layouts = {"contiguous": pixels, "crop": pixels[:, 2:-3, 1:-4]}
        layouts["channels last"] = np.ascontiguousarray(pixels.transpose(1, 2, 0)).transpose(2, 0, 1)
        for size in NEW_SIZES:
            for image in layouts.values():
                options = {"interpolation": mode, "antialias": antialias}
                expected = THEIRS.resize(torch.from_numpy(image), size, **options).numpy()
                np.testing.assert_array_equal(ours.resize(weft.from_numpy(image), size, **options).numpy(), expected)


def wrapped(tensors: Any, vision: Any, kind: str) -> Any:
    tv, zeros = vision.tv_tensors, tensors.zeros
    return {
        "Image": lambda: tv.Image(zeros(3, 2, 2)),
        "Video": lambda: tv.Video(zeros(2, 3, 2, 2)),
        "Mask": lambda: tv.Mask(zeros(2, 2, 2)),
        "BoundingBoxes": lambda: tv.BoundingBoxes(zeros(2, 4), format="XYXY", canvas_size=(8, 9)),
        "KeyPoints": lambda: tv.KeyPoints(zeros(2, 2), canvas_size=(8, 9)),
    }[kind]()


OPS = {
    "add": lambda x, lib: x + 1,
    "add_": lambda x, lib: x.add_(1),
    "clone": lambda x, lib: x.clone(),
    "copy": lambda x, lib: copy.copy(x),
    "data": lambda x, lib: x.data,
    "deepcopy": lambda x, lib: copy.deepcopy(x),
    "detach": lambda x, lib: x.detach(),
    "index": lambda x, lib: x[0],
    "max": lambda x, lib: x.max(-1).values,
    "pickle": lambda x, lib: pickle.loads(pickle.dumps(x)),
    "reference": lambda x, lib: lib.rand(2).to(x),
    "requires_grad_": lambda x, lib: x.requires_grad_(True),
    "stack": lambda x, lib: lib.stack([x, x]),
    "to": lambda x, lib: x.to(lib.float64),
    "unbind": lambda x, lib: x.unbind(0)[0],
}


@pytest.mark.parametrize("kind", ["Image", "Video", "Mask", "BoundingBoxes", "KeyPoints"])
@pytest.mark.parametrize("return_type", ["Tensor", "TVTensor"])
@pytest.mark.parametrize("op", OPS)
def test_ops_return_the_same_classes(kind: str, return_type: str, op: str) -> None:
    if return_type == "TVTensor" and op in ("copy", "pickle"):
        pytest.skip("raises inside torchvision for boxes and key points")
    found = []
    for tensors, vision in ((torch, torchvision), (weft, weft.vision)):
        inpt = wrapped(tensors, vision, kind)
        with vision.tv_tensors.set_return_type(return_type):
            output = OPS[op](inpt, tensors)
        metadata = {name: str(value) for name, value in sorted(vars(output).items())}
        found.append((type(output).__name__, metadata))
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["Image", "Video", "Mask", "BoundingBoxes", "KeyPoints"])
def test_tv_tensors_are_printed_alike(kind: str) -> None:
    assert repr(wrapped(weft, weft.vision, kind)) == repr(wrapped(torch, torchvision, kind))
