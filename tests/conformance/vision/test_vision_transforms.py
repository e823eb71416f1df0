"""Transforms of weft.vision agree with torchvision's: every name of v2, of its functionals and of the first version.

Each is called on the same inputs with the same arguments and the same seed. Results are compared by class, dtype,
metadata and values, errors by type. Bytes are exact, but for at most 1 % of them where a float is rounded; floats agree
to 1e-5. A transform draws as many random numbers as the oracle's.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import os
import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import PIL.Image
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import torch
from tests import selection
from tests.conformance.vision.oracle import torchvision

import weft
import weft.vision

pytestmark = pytest.mark.filterwarnings("ignore")  # of either library: not the claim here

SETTING = os.environ.get("WEFT_CONFORMANCE", "changed")
SIZE = (24, 33)  # height and width
SEEDS = range(4 if SETTING == "all" else 2)


class Library:
    """One of the two libraries, under the same names."""

    def __init__(self, tensors: Any, vision: Any) -> None:
        self.torch = tensors
        self.v1 = vision.transforms
        self.v2 = importlib.import_module(f"{vision.__name__}.transforms.v2")
        self.F = self.v2.functional
        self.F1 = self.v1.functional
        self.tv = vision.tv_tensors
        self.mode = self.v2.InterpolationMode


ORACLE, OURS = Library(torch, torchvision), Library(weft, weft.vision)
Table = dict[str, Callable[[Library], Any]]


def inputs() -> dict[str, Any]:
    """What transforms are tried on, of torchvision's types."""
    generator = torch.Generator().manual_seed(0)

    def pixels(*shape: int) -> torch.Tensor:
        return torch.randint(0, 256, (*shape, *SIZE), dtype=torch.uint8, generator=generator)

    def points(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, 2, generator=generator) * torch.tensor([SIZE[1], SIZE[0]])

    tv = torchvision.tv_tensors
    rgb = pixels(3)
    image = PIL.Image.fromarray(rgb.permute(1, 2, 0).numpy())
    corners = points(5, 2)
    boxes = torch.cat([corners.amin(1), corners.amax(1)], 1)
    return {
        "uint8": rgb,
        "dull": pixels(3) % 40 + 100,
        "float": pixels(3) / 255,
        "double": pixels(3).double() / 255,
        "gray": pixels(1),
        "gray_float": pixels(1) / 255,
        "batch": pixels(2, 3),
        "batch_float": pixels(2, 3) / 255,
        "pil_rgb": image,
        "pil_l": image.convert("L"),
        "image": tv.Image(pixels(3)),
        "video": tv.Video(pixels(4, 3)),
        "mask": tv.Mask(pixels(5) > 127),
        "labels": tv.Mask(pixels()),
        "boxes": tv.BoundingBoxes(boxes, format="XYXY", canvas_size=SIZE),
        "boxes_xywh": tv.BoundingBoxes(boxes.round().int(), format="XYWH", canvas_size=SIZE),
        "boxes_center": tv.BoundingBoxes(boxes, format="CXCYWH", canvas_size=SIZE),
        "boxes_rotated": tv.BoundingBoxes(
            torch.tensor([[16.0, 12.0, 8.0, 6.0, 30.0], [9.0, 9.0, 5.0, 8.0, -70.0]]),
            format="CXCYWHR",
            canvas_size=SIZE,
        ),
        "keypoints": tv.KeyPoints(points(4), canvas_size=SIZE),
        "polygons": tv.KeyPoints(points(2, 3), canvas_size=SIZE),
        "sample": {
            "image": tv.Image(pixels(3)),
            "boxes": tv.BoundingBoxes(boxes, format="XYXY", canvas_size=SIZE),
            "masks": tv.Mask(pixels(5) > 127),
            "keypoints": tv.KeyPoints(points(4), canvas_size=SIZE),
            "labels": torch.arange(5),
            "name": "sample",
        },
        "array": rgb.permute(1, 2, 0).numpy(),
        "number": 3,
    }


INPUTS = inputs()


def translated(value: Any) -> Any:
    """Return weft's counterpart of an input."""
    tv, ours = torchvision.tv_tensors, weft.vision.tv_tensors
    if isinstance(value, torch.Tensor):
        tensor = weft.from_numpy(value.as_subclass(torch.Tensor).numpy().copy())
        if isinstance(value, tv.BoundingBoxes):
            return ours.BoundingBoxes(tensor, format=value.format.name, canvas_size=value.canvas_size)
        if isinstance(value, tv.KeyPoints):
            return ours.KeyPoints(tensor, canvas_size=value.canvas_size)
        return getattr(ours, type(value).__name__)(tensor) if isinstance(value, tv.TVTensor) else tensor
    if isinstance(value, dict):
        return {key: translated(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(translated(each) for each in value)
    return value.copy() if isinstance(value, (PIL.Image.Image, np.ndarray)) else value


def copied(value: Any) -> Any:
    """Return a copy, which a transform in place may overwrite."""
    if isinstance(value, (torch.Tensor, PIL.Image.Image, np.ndarray)):
        same = value.clone() if isinstance(value, torch.Tensor) else value.copy()
        return (
            torchvision.tv_tensors.wrap(same, like=value)
            if isinstance(value, torchvision.tv_tensors.TVTensor)
            else same
        )
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    return value


def described(value: Any) -> Any:
    """Return a result as classes, metadata and NumPy arrays, which know nothing of the library."""
    if isinstance(value, (torch.Tensor, weft.Tensor)):
        tensor = value.as_subclass(torch.Tensor if isinstance(value, torch.Tensor) else weft.Tensor)
        metadata = {name: str(getattr(value, name, None)) for name in ("format", "canvas_size", "clamping_mode")}
        return type(value).__name__, metadata, tensor.detach().numpy()
    if isinstance(value, PIL.Image.Image):
        return "PIL", value.mode, np.asarray(value)
    if isinstance(value, np.ndarray):
        return "array", None, value
    if isinstance(value, Mapping):
        return {key: described(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(each) for each in value]
    return str(value) if isinstance(value, (enum.Enum, torch.dtype, weft.dtype)) else value


def difference(expected: Any, got: Any) -> str:
    """Return what differs, nothing if the results agree."""
    if isinstance(expected, dict):
        same = isinstance(got, dict) and expected.keys() == got.keys()
        return "".join(difference(expected[key], got[key]) for key in expected) if same else f"{expected} {got}"
    if isinstance(expected, list):
        same = isinstance(got, list) and len(expected) == len(got)
        return "".join(map(difference, expected, got)) if same else f"{expected} {got}"
    if not (isinstance(expected, tuple) and isinstance(expected[2], np.ndarray)):
        return "" if type(expected) is type(got) and expected == got else f"{expected!r} {got!r}"
    if not isinstance(got, tuple) or expected[:2] != got[:2]:
        return f"{expected[:2]} {got[:2] if isinstance(got, tuple) else got!r}"
    one, other = expected[2], got[2]
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return f"{one.dtype}{one.shape} {other.dtype}{other.shape}"
    return differing_values(one, other)


def differing_values(one: np.ndarray, other: np.ndarray) -> str:
    if not one.size:
        return ""
    apart = np.abs(one.astype(np.float64) - other.astype(np.float64))
    if one.dtype.kind == "f":
        limit = 1e-5 * max(1.0, float(np.abs(one).max()))
        return (
            ""
            if np.array_equal(np.isnan(one), np.isnan(other)) and not (apart > limit).any()
            else (f"floats differ by {np.nanmax(apart)}, {(apart > limit).mean():.2%}")
        )
    share = float((apart > 0).mean())
    return "" if not share or (share <= 0.01 and apart.max() <= 2) else f"values differ by {apart.max()}, {share:.2%}"


def outcome(function: Callable[[], Any], tensors: Any, seed: int) -> Any:
    """Return what a call gives and the next random numbers, or the type of its error."""
    random.seed(seed)
    np.random.seed(seed)  # nothing may be drawn from it
    tensors.manual_seed(seed)
    try:
        result = function()
    except Exception as error:
        return f"{type(error).__name__}"
    return [described(result), float(tensors.rand(())), random.random()]


def differences(make: Callable[[Library], Callable[..., Any]], names: list[str], seeds: Any) -> list[str]:
    """Return how a function or transform of the two libraries differs on inputs, one line for each."""
    found = []
    for name in names:
        value = INPUTS[name]
        for seed in seeds:
            expected = outcome(lambda: make(ORACLE)(copied(value)), torch, seed)  # noqa: B023  (called at once)
            got = outcome(lambda: make(OURS)(translated(value)), weft, seed)  # noqa: B023
            told = difference(expected, got)
            if told:
                found.append(f"{name}, seed {seed}: {told[:300]}")
                break
    return found


def public_names(namespace: Any) -> set[str]:
    """The names that a namespace of torchvision's offers."""
    return {
        name
        for name, value in vars(namespace).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and getattr(value, "__module__", "torchvision").startswith("torchvision")
    }


MATRIX = 3 * SIZE[0] * SIZE[1]
POLICIES = ("IMAGENET", "CIFAR10", "SVHN")


def whitening(library: Library) -> tuple[Any, Any]:
    diagonal = library.torch.arange(MATRIX, dtype=library.torch.float32) / MATRIX
    return library.torch.diag(diagonal), diagonal.flip(0)


# What makes each transform of v2; None for names that are no transforms.
V2: dict[str, Callable[[Library], Any] | list[Callable[[Library], Any]] | None] = {
    "AugMix": [lambda lib: lib.v2.AugMix(), lambda lib: lib.v2.AugMix(severity=9, all_ops=False, chain_depth=2)],
    "AutoAugment": [
        lambda lib, policy=policy: lib.v2.AutoAugment(lib.v2.AutoAugmentPolicy[policy]) for policy in POLICIES
    ],
    "AutoAugmentPolicy": None,
    "CenterCrop": [lambda lib: lib.v2.CenterCrop(15), lambda lib: lib.v2.CenterCrop((30, 20))],
    "ClampBoundingBoxes": [
        lambda lib: lib.v2.ClampBoundingBoxes(),
        lambda lib: lib.v2.ClampBoundingBoxes(clamping_mode="hard"),
    ],
    "ClampKeyPoints": lambda lib: lib.v2.ClampKeyPoints(),
    "ColorJitter": lambda lib: lib.v2.ColorJitter(0.4, 0.5, (0.2, 1.7), 0.3),
    "Compose": lambda lib: lib.v2.Compose([lib.v2.RandomHorizontalFlip(), lib.v2.ToImage(), lib.v2.RGB()]),
    "ConvertBoundingBoxFormat": [
        lambda lib: lib.v2.ConvertBoundingBoxFormat("CXCYWH"),
        lambda lib: lib.v2.ConvertBoundingBoxFormat("XYXYXYXY"),
    ],
    "ConvertImageDtype": lambda lib: lib.v2.ConvertImageDtype(lib.torch.float64),
    "CutMix": lambda lib: lib.v2.CutMix(num_classes=4),
    "ElasticTransform": lambda lib: lib.v2.ElasticTransform(alpha=20.0, sigma=3.0),
    "FiveCrop": lambda lib: lib.v2.FiveCrop(10),
    "GaussianBlur": [lambda lib: lib.v2.GaussianBlur(5), lambda lib: lib.v2.GaussianBlur((3, 7), sigma=0.8)],
    "GaussianNoise": [lambda lib: lib.v2.GaussianNoise(), lambda lib: lib.v2.GaussianNoise(0.1, 0.3, clip=False)],
    "Grayscale": [lambda lib: lib.v2.Grayscale(), lambda lib: lib.v2.Grayscale(3)],
    "Identity": lambda lib: lib.v2.Identity(),
    "InterpolationMode": None,
    "JPEG": [lambda lib: lib.v2.JPEG(40), lambda lib: lib.v2.JPEG((10, 90))],
    "Lambda": lambda lib: lib.v2.Lambda(lambda value: value + 1, lib.torch.Tensor, int),
    "LinearTransformation": lambda lib: lib.v2.LinearTransformation(*whitening(lib)),
    "MixUp": lambda lib: lib.v2.MixUp(num_classes=4),
    "Normalize": lambda lib: lib.v2.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]),
    "PILToTensor": lambda lib: lib.v2.PILToTensor(),
    "Pad": [
        lambda lib: lib.v2.Pad([1, 2, 3, 4], fill=7),
        *[lambda lib, mode=mode: lib.v2.Pad(5, padding_mode=mode) for mode in ("edge", "reflect", "symmetric")],
    ],
    "RGB": lambda lib: lib.v2.RGB(),
    "RandAugment": lambda lib: lib.v2.RandAugment(num_ops=3),
    "RandomAdjustSharpness": lambda lib: lib.v2.RandomAdjustSharpness(1.7),
    "RandomAffine": [
        lambda lib: lib.v2.RandomAffine(30, translate=(0.1, 0.2), scale=(0.8, 1.3), shear=(-10, 10, -5, 5)),
        lambda lib: lib.v2.RandomAffine((10, 50), interpolation="bilinear", fill=0.5, center=[3, 4]),
    ],
    "RandomApply": lambda lib: lib.v2.RandomApply([lib.v2.RandomHorizontalFlip(), lib.v2.RandomInvert(p=1)]),
    "RandomAutocontrast": lambda lib: lib.v2.RandomAutocontrast(),
    "RandomChannelPermutation": lambda lib: lib.v2.RandomChannelPermutation(),
    "RandomChoice": [
        lambda lib: lib.v2.RandomChoice([lib.v2.RandomHorizontalFlip(), lib.v2.RandomInvert(), lib.v2.Identity()]),
        lambda lib: lib.v2.RandomChoice([lib.v2.RandomInvert(p=1), lib.v2.Identity()], p=[3, 1]),
    ],
    "RandomCrop": [
        lambda lib: lib.v2.RandomCrop((12, 17)),
        lambda lib: lib.v2.RandomCrop(40, padding=2, pad_if_needed=True, padding_mode="reflect"),
    ],
    "RandomEqualize": lambda lib: lib.v2.RandomEqualize(),
    "RandomErasing": [
        lambda lib: lib.v2.RandomErasing(p=0.8),
        lambda lib: lib.v2.RandomErasing(p=1, value="random"),
        lambda lib: lib.v2.RandomErasing(p=1, value=(1, 2, 3), inplace=True),
    ],
    "RandomGrayscale": lambda lib: lib.v2.RandomGrayscale(p=0.5),
    "RandomHorizontalFlip": lambda lib: lib.v2.RandomHorizontalFlip(),
    "RandomInvert": lambda lib: lib.v2.RandomInvert(),
    "RandomIoUCrop": lambda lib: lib.v2.RandomIoUCrop(),
    "RandomOrder": lambda lib: lib.v2.RandomOrder(
        [lib.v2.RandomHorizontalFlip(), lib.v2.RandomInvert(), lib.v2.RandomVerticalFlip()]
    ),
    "RandomPerspective": lambda lib: lib.v2.RandomPerspective(p=0.8),
    "RandomPhotometricDistort": lambda lib: lib.v2.RandomPhotometricDistort(),
    "RandomPosterize": lambda lib: lib.v2.RandomPosterize(3),
    "RandomResize": lambda lib: lib.v2.RandomResize(10, 40),
    "RandomResizedCrop": [
        lambda lib: lib.v2.RandomResizedCrop(16),
        lambda lib: lib.v2.RandomResizedCrop((20, 12), interpolation="bicubic", antialias=False),
    ],
    "RandomRotation": [
        lambda lib: lib.v2.RandomRotation(90),
        lambda lib: lib.v2.RandomRotation((20, 60), interpolation="bilinear", expand=True, fill=1),
    ],
    "RandomShortestSize": lambda lib: lib.v2.RandomShortestSize([12, 20, 30], max_size=36),
    "RandomSolarize": [lambda lib: lib.v2.RandomSolarize(0.6), lambda lib: lib.v2.RandomSolarize(130)],
    "RandomVerticalFlip": lambda lib: lib.v2.RandomVerticalFlip(),
    "RandomZoomOut": lambda lib: lib.v2.RandomZoomOut(fill=3),
    "Resize": [
        lambda lib: lib.v2.Resize(16),
        lambda lib: lib.v2.Resize((40, 31), interpolation="bicubic"),
        lambda lib: lib.v2.Resize(20, max_size=25, antialias=False),
        lambda lib: lib.v2.Resize((11, 50), interpolation="nearest"),
        lambda lib: lib.v2.Resize(None, max_size=28, interpolation="nearest-exact"),
    ],
    "SanitizeBoundingBoxes": [
        lambda lib: lib.v2.SanitizeBoundingBoxes(min_size=5, min_area=40),
        lambda lib: lib.v2.SanitizeBoundingBoxes(labels_getter=None),
    ],
    "SanitizeKeyPoints": lambda lib: lib.v2.SanitizeKeyPoints(),
    "ScaleJitter": lambda lib: lib.v2.ScaleJitter((30, 30), scale_range=(0.5, 1.5)),
    "SetClampingMode": lambda lib: lib.v2.SetClampingMode("hard"),
    "TenCrop": lambda lib: lib.v2.TenCrop((10, 12), vertical_flip=True),
    "ToDtype": [
        lambda lib: lib.v2.ToDtype(lib.torch.float32, scale=True),
        lambda lib: lib.v2.ToDtype({lib.tv.Image: lib.torch.float32, lib.tv.Mask: lib.torch.int64, "others": None}),
    ],
    "ToImage": lambda lib: lib.v2.ToImage(),
    "ToPILImage": lambda lib: lib.v2.ToPILImage(),
    "ToPureTensor": lambda lib: lib.v2.ToPureTensor(),
    "ToTensor": lambda lib: lib.v2.ToTensor(),
    "Transform": lambda lib: lib.v2.Transform(),
    "TrivialAugmentWide": lambda lib: lib.v2.TrivialAugmentWide(),
    "UniformTemporalSubsample": lambda lib: lib.v2.UniformTemporalSubsample(2),
    "check_type": None,
    "get_bounding_boxes": lambda lib: lambda sample: lib.v2.get_bounding_boxes([0, sample]),
    "get_keypoints": lambda lib: lambda sample: lib.v2.get_keypoints([0, sample]),
    "has_all": lambda lib: lambda sample: lib.v2.has_all([sample, 3], int, lib.torch.Tensor, lib.tv.Mask),
    "has_any": lambda lib: (
        lambda sample: lib.v2.has_any([sample], lib.tv.Mask, PIL.Image.Image, lambda each: each == 3)
    ),
    "query_chw": lambda lib: lambda sample: lib.v2.query_chw([sample]),
    "query_size": lambda lib: lambda sample: lib.v2.query_size([sample, 3]),
}

Arguments = Callable[[Library], dict[str, Any]]


def just(**arguments: Any) -> Arguments:
    """Arguments that are the same for both libraries."""
    return lambda lib: arguments


def displacement(lib: Library) -> Any:
    generator = np.random.default_rng(0)
    return lib.torch.from_numpy(generator.uniform(-0.2, 0.2, (1, *SIZE, 2)).astype(np.float32))


START = [[0, 0], [32, 0], [32, 23], [0, 23]]
END = [[2, 1], [29, 3], [31, 20], [3, 22]]
MOVE = {"angle": 20, "translate": [2, -3], "scale": 1.2, "shear": [5.0, -7.0]}
CROP = {"top": 3, "left": -4, "height": 18, "width": 30}

# With what each functional is called, after its input; its kernels are called with those that they have.
FUNCTIONALS: dict[str, list[Arguments]] = {
    "adjust_brightness": [just(brightness_factor=0.4), just(brightness_factor=1.7)],
    "adjust_contrast": [just(contrast_factor=0.4), just(contrast_factor=1.7)],
    "adjust_gamma": [just(gamma=0.6), just(gamma=1.8, gain=1.2)],
    "adjust_hue": [just(hue_factor=0.2), just(hue_factor=-0.45)],
    "adjust_saturation": [just(saturation_factor=0.4), just(saturation_factor=1.7)],
    "adjust_sharpness": [just(sharpness_factor=0.4), just(sharpness_factor=1.7)],
    "affine": [
        just(**MOVE),
        just(**MOVE, interpolation="bilinear", fill=[1.0]),
        just(**{**MOVE, "angle": -140}, center=[3.0, 5.0]),
    ],
    "autocontrast": [just()],
    "center_crop": [just(output_size=[10, 12]), just(output_size=[30, 40]), just(output_size=[15])],
    "clamp_bounding_boxes": [just(), just(clamping_mode="hard"), just(clamping_mode=None)],
    "clamp_keypoints": [just()],
    "convert_bounding_box_format": [
        lambda lib, new=new: {"new_format": lib.tv.BoundingBoxFormat[new]} for new in ("XYWH", "CXCYWH", "XYWHR")
    ],
    "convert_image_dtype": [lambda lib: {"dtype": lib.torch.float64}, lambda lib: {"dtype": lib.torch.uint8}],
    "crop": [just(**CROP), just(top=2, left=3, height=10, width=11)],
    "elastic": [
        lambda lib: {"displacement": displacement(lib)},
        lambda lib: {"displacement": displacement(lib), "interpolation": "nearest", "fill": [2.0]},
        lambda lib: {"displacement": displacement(lib), "interpolation": "bicubic"},
    ],
    "equalize": [just()],
    "erase": [lambda lib: {"i": 2, "j": 3, "h": 9, "w": 8, "v": lib.torch.tensor(7)}],
    "five_crop": [just(size=[10, 12])],
    "gaussian_blur": [just(kernel_size=[3, 5]), just(kernel_size=5, sigma=[0.7, 1.9])],
    "gaussian_noise": [just(), just(mean=0.1, sigma=0.4, clip=False)],
    "get_dimensions": [just()],
    "get_image_num_channels": [just()],
    "get_image_size": [just()],
    "get_num_channels": [just()],
    "get_num_frames": [just()],
    "get_size": [just()],
    "grayscale_to_rgb": [just()],
    "horizontal_flip": [just()],
    "invert": [just()],
    "is_pure_tensor": [just()],
    "jpeg": [just(quality=30)],
    "normalize": [just(mean=[0.5, 0.4, 0.3], std=[0.2, 0.3, 0.4]), just(mean=[0.5], std=[0.2], inplace=True)],
    "pad": [
        just(padding=[1, 2, 3, 4], fill=3),
        *[just(padding=[5], padding_mode=mode) for mode in ("edge", "reflect", "symmetric")],
    ],
    "permute_channels": [just(permutation=[2, 0, 1]), just(permutation=[0])],
    "perspective": [
        just(startpoints=START, endpoints=END),
        just(startpoints=START, endpoints=END, interpolation="nearest", fill=[3.0]),
    ],
    "pil_to_tensor": [just()],
    "posterize": [just(bits=3)],
    "register_kernel": [],
    "resize": [
        just(size=[15]),
        just(size=[40, 31], interpolation="bicubic"),
        just(size=[11, 40], interpolation="nearest"),
        just(size=[20, 20], antialias=False),
        just(size=[13, 50], interpolation="nearest-exact"),
        just(size=None, max_size=28),
    ],
    "resized_crop": [just(**CROP, size=[15, 17]), just(**CROP, size=[30], interpolation="bicubic")],
    "rgb_to_grayscale": [just(), just(num_output_channels=3)],
    "rotate": [
        just(angle=35.0),
        just(angle=-70.0, interpolation="bilinear", expand=True, fill=[2.0]),
        just(angle=90.1, expand=True),  # at 90 the places of 24 x 33 are halves, which processors round either way
        just(angle=20.0, center=[4.0, 8.0]),
    ],
    "sanitize_bounding_boxes": [just(), just(min_size=4, min_area=30)],
    "sanitize_keypoints": [just()],
    "solarize": [just(threshold=0.6), just(threshold=100)],
    "ten_crop": [just(size=[10, 12]), just(size=[9], vertical_flip=True)],
    "to_dtype": [
        lambda lib: {"dtype": lib.torch.float32, "scale": True},
        lambda lib: {"dtype": lib.torch.uint8, "scale": True},
        lambda lib: {"dtype": lib.torch.int32},
    ],
    "to_image": [just()],
    "to_pil_image": [just()],
    "to_tensor": [just()],
    "uniform_temporal_subsample": [just(num_samples=2), just(num_samples=7)],
    "vertical_flip": [just()],
}
SAME = {
    "hflip": "horizontal_flip",
    "vflip": "vertical_flip",
    "elastic_transform": "elastic",
    "to_grayscale": "rgb_to_grayscale",
}
KERNELS = {
    "_image": ["uint8", "float", "gray", "gray_float", "batch", "batch_float"],
    "_mask": ["mask", "labels"],
    "_video": ["video"],
    "_bounding_boxes": ["boxes", "boxes_xywh", "boxes_center", "boxes_rotated"],
    "_keypoints": ["keypoints", "polygons"],
}


def call_of(name: str, arguments: Arguments) -> Callable[[Library], Callable[[Any], Any]]:
    """Return what calls a functional or a kernel of either library with an input."""

    def make(lib: Library) -> Callable[[Any], Any]:
        function, given = getattr(lib.F, name), arguments(lib)
        if kernel_suffix(name) is None:
            return lambda value: function(value, **given)
        taken = inspect.signature(getattr(ORACLE.F, name)).parameters

        def call(value: Any) -> Any:
            if name.startswith("get_size_"):
                return function(value)
            told = {each: getattr(value, each, None) for each in ("format", "canvas_size") if each in taken}
            return function(
                value.as_subclass(lib.torch.Tensor), **told, **{k: v for k, v in given.items() if k in taken}
            )

        return call

    return make


def kernel_suffix(name: str) -> str | None:
    """Return which inputs a kernel is for; None for a functional, which finds its kernel itself."""
    if name in FUNCTIONALS or name in SAME:
        return None
    return next(suffix for suffix in KERNELS if name.endswith(suffix))


def parameters(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    """The names of a function's parameters and their defaults."""

    def told(default: Any) -> Any:
        plain = default is None or isinstance(default, (bool, int, float, str))
        return default if plain else str(default).removeprefix("torch.").removeprefix("weft.")

    return [(each.name, told(each.default)) for each in inspect.signature(function).parameters.values()]


V2_NAMES = sorted(public_names(ORACLE.v2) - {"functional"})
FUNCTIONAL_NAMES = sorted(public_names(ORACLE.F) - {"InterpolationMode"})


def home_of_class(name: str) -> set[str]:
    """The module of weft that has a name of v2."""
    return {getattr(getattr(OURS.v2, name, None), "__module__", "")}


def home_of_functional(name: str) -> set[str]:
    return {getattr(getattr(OURS.F, name, None), "__module__", "")}


def test_the_tables_have_every_name() -> None:
    assert sorted(V2) == V2_NAMES
    named = {name for name in FUNCTIONAL_NAMES if kernel_suffix_or_none(name) is None}
    assert named == set(FUNCTIONALS) | set(SAME)


def kernel_suffix_or_none(name: str) -> str | None:
    base = {name.removesuffix(suffix) for suffix in KERNELS if name.endswith(suffix)}
    return name if base & (set(FUNCTIONALS) | set(SAME)) and name not in FUNCTIONALS else None


@pytest.mark.parametrize("name", selection.chosen(V2_NAMES, SETTING, home_of_class))
def test_a_transform_agrees(name: str) -> None:
    makers = V2[name]
    if makers is None:
        assert hasattr(OURS.v2, name)
        return
    found = []
    for make in makers if isinstance(makers, list) else [makers]:
        if inspect.isclass(getattr(ORACLE.v2, name)):
            assert repr(make(ORACLE)) == repr(make(OURS))
        found += differences(make, list(INPUTS), SEEDS)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", selection.chosen(FUNCTIONAL_NAMES, SETTING, home_of_functional))
def test_a_functional_agrees(name: str) -> None:
    suffix = kernel_suffix(name)
    base = SAME.get(name, name.removesuffix(suffix or ""))
    expected, got = (parameters(getattr(lib.F, name)) for lib in (ORACLE, OURS))
    assert got[1:] == expected[1:]
    assert suffix or got == expected
    found = []
    for arguments in FUNCTIONALS.get(base, [just()]):
        found += differences(call_of(name, arguments), KERNELS[suffix] if suffix else list(INPUTS), [0])
    assert not found, "\n".join(found)


# What makes each transform of the first version; those of the same name in v2 that take the same arguments stand there.
V1: dict[str, list[Callable[[Library], Any]]] = {
    "AugMix": [lambda lib: lib.v1.AugMix(), lambda lib: lib.v1.AugMix(severity=9, all_ops=False, chain_depth=2)],
    "AutoAugment": [
        lambda lib, policy=policy: lib.v1.AutoAugment(lib.v1.AutoAugmentPolicy[policy]) for policy in POLICIES
    ],
    "CenterCrop": [lambda lib: lib.v1.CenterCrop(15), lambda lib: lib.v1.CenterCrop((30, 20))],
    "ColorJitter": [lambda lib: lib.v1.ColorJitter(0.4, 0.5, (0.2, 1.7), 0.3)],
    "Compose": [lambda lib: lib.v1.Compose([lib.v1.RandomHorizontalFlip(), lib.v1.PILToTensor()])],
    "ConvertImageDtype": [lambda lib: lib.v1.ConvertImageDtype(lib.torch.float64)],
    "ElasticTransform": [lambda lib: lib.v1.ElasticTransform(alpha=20.0, sigma=3.0)],
    "FiveCrop": [lambda lib: lib.v1.FiveCrop(10)],
    "GaussianBlur": [lambda lib: lib.v1.GaussianBlur(5), lambda lib: lib.v1.GaussianBlur((3, 7), sigma=0.8)],
    "Grayscale": [lambda lib: lib.v1.Grayscale(), lambda lib: lib.v1.Grayscale(3)],
    "Lambda": [lambda lib: lib.v1.Lambda(lambda value: value)],
    "LinearTransformation": [lambda lib: lib.v1.LinearTransformation(*whitening(lib))],
    "Normalize": [lambda lib: lib.v1.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])],
    "PILToTensor": [lambda lib: lib.v1.PILToTensor()],
    "Pad": [
        lambda lib: lib.v1.Pad([1, 2, 3, 4], fill=7),
        *[lambda lib, mode=mode: lib.v1.Pad(5, padding_mode=mode) for mode in ("edge", "reflect", "symmetric")],
    ],
    "RandAugment": [lambda lib: lib.v1.RandAugment(num_ops=3)],
    "RandomAdjustSharpness": [lambda lib: lib.v1.RandomAdjustSharpness(1.7)],
    "RandomAffine": [
        lambda lib: lib.v1.RandomAffine(30, translate=(0.1, 0.2), scale=(0.8, 1.3), shear=(-10, 10, -5, 5)),
        lambda lib: lib.v1.RandomAffine((10, 50), interpolation=lib.mode.BILINEAR, fill=1, center=[3, 4]),
    ],
    "RandomApply": [lambda lib: lib.v1.RandomApply([lib.v1.RandomHorizontalFlip(), lib.v1.RandomInvert(p=1)])],
    "RandomAutocontrast": [lambda lib: lib.v1.RandomAutocontrast()],
    "RandomChoice": [
        lambda lib: lib.v1.RandomChoice([lib.v1.RandomHorizontalFlip(), lib.v1.RandomInvert()]),
        lambda lib: lib.v1.RandomChoice([lib.v1.RandomInvert(p=1), lib.v1.RandomHorizontalFlip()], p=[3, 1]),
    ],
    "RandomCrop": [
        lambda lib: lib.v1.RandomCrop((12, 17)),
        lambda lib: lib.v1.RandomCrop(40, padding=2, pad_if_needed=True, padding_mode="reflect"),
    ],
    "RandomEqualize": [lambda lib: lib.v1.RandomEqualize()],
    "RandomErasing": [
        lambda lib: lib.v1.RandomErasing(p=0.8),
        lambda lib: lib.v1.RandomErasing(p=1, value="random"),
        lambda lib: lib.v1.RandomErasing(p=1, value=(1, 2, 3), inplace=True),
    ],
    "RandomGrayscale": [lambda lib: lib.v1.RandomGrayscale(p=0.5)],
    "RandomHorizontalFlip": [lambda lib: lib.v1.RandomHorizontalFlip()],
    "RandomInvert": [lambda lib: lib.v1.RandomInvert()],
    "RandomOrder": [lambda lib: lib.v1.RandomOrder([lib.v1.RandomHorizontalFlip(), lib.v1.RandomVerticalFlip()])],
    "RandomPerspective": [lambda lib: lib.v1.RandomPerspective(p=0.8)],
    "RandomPosterize": [lambda lib: lib.v1.RandomPosterize(3)],
    "RandomResizedCrop": [
        lambda lib: lib.v1.RandomResizedCrop(16),
        lambda lib: lib.v1.RandomResizedCrop((20, 12), interpolation=lib.mode.BICUBIC, antialias=False),
    ],
    "RandomRotation": [
        lambda lib: lib.v1.RandomRotation(90),
        lambda lib: lib.v1.RandomRotation((20, 60), interpolation=lib.mode.BILINEAR, expand=True, fill=1),
    ],
    "RandomSolarize": [lambda lib: lib.v1.RandomSolarize(0.6), lambda lib: lib.v1.RandomSolarize(130)],
    "RandomVerticalFlip": [lambda lib: lib.v1.RandomVerticalFlip()],
    "Resize": [
        lambda lib: lib.v1.Resize(16),
        lambda lib: lib.v1.Resize((40, 31), interpolation=lib.mode.BICUBIC),
        lambda lib: lib.v1.Resize(20, max_size=25, antialias=False),
        lambda lib: lib.v1.Resize((11, 50), interpolation=lib.mode.NEAREST),
    ],
    "TenCrop": [lambda lib: lib.v1.TenCrop((10, 12), vertical_flip=True)],
    "ToPILImage": [lambda lib: lib.v1.ToPILImage()],
    "ToTensor": [lambda lib: lib.v1.ToTensor()],
    "TrivialAugmentWide": [lambda lib: lib.v1.TrivialAugmentWide()],
}
V1_INPUTS = ["uint8", "float", "gray", "gray_float", "batch", "batch_float", "pil_rgb", "pil_l", "array", "number"]
V1_NAMES = sorted(public_names(ORACLE.v1) - {"AutoAugmentPolicy", "InterpolationMode"})


def home_in_v1(name: str) -> set[str]:
    return {getattr(getattr(OURS.v1, name, None), "__module__", "")}


def test_the_table_has_every_name_of_the_first_version() -> None:
    assert sorted(V1) == V1_NAMES


@pytest.mark.parametrize("name", selection.chosen(V1_NAMES, SETTING, home_in_v1))
def test_a_transform_of_the_first_version_agrees(name: str) -> None:
    found = []
    for make in V1[name]:
        assert "<" in repr(make(ORACLE)) or repr(make(ORACLE)) == repr(make(OURS))
        found += differences(make, V1_INPUTS, SEEDS)
    assert not found, "\n".join(found)


F1_NAMES = sorted(
    name for name, value in vars(ORACLE.F1).items() if inspect.isfunction(value) and not name.startswith("_")
)


def home_in_f1(name: str) -> set[str]:
    return {getattr(getattr(OURS.F1, name, None), "__module__", "")}


@pytest.mark.parametrize("name", selection.chosen(F1_NAMES, SETTING, home_in_f1))
def test_a_functional_of_the_first_version_agrees(name: str) -> None:
    assert parameters(getattr(OURS.F1, name)) == parameters(getattr(ORACLE.F1, name))
    of_v2 = {"hflip": "horizontal_flip", "vflip": "vertical_flip", **SAME}.get(name, name)

    def call(arguments: Arguments) -> Callable[[Library], Callable[[Any], Any]]:
        def make(lib: Library) -> Callable[[Any], Any]:
            given = arguments(lib)
            if "interpolation" in given:
                given = {**given, "interpolation": lib.mode(given["interpolation"])}
            return lambda value: getattr(lib.F1, name)(value, **given)

        return make

    found = []
    for arguments in FUNCTIONALS[of_v2]:
        if arguments(ORACLE).get("size", 0) is not None:  # None is for v2; here the oracle says it should never happen
            found += differences(call(arguments), V1_INPUTS, [0])
    assert not found, "\n".join(found)


@pytest.mark.parametrize("size", [(20, 24), (23, 33)])
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_right_angles_move_each_pixel(size: tuple[int, int], turns: int) -> None:
    image = torch.arange(3 * size[0] * size[1]).reshape(3, *size).to(torch.uint8)
    expected = np.rot90(image.numpy(), turns, (1, 2))
    for lib, given in ((ORACLE, image), (OURS, translated(image))):
        for functions in (lib.F1, lib.F):
            assert np.array_equal(functions.rotate(given, 90.0 * turns, expand=True).numpy(), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_normalized_floats_are_the_same_to_the_bit(dtype: str) -> None:
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    image = INPUTS["double"].to(getattr(torch, dtype))
    assert np.array_equal(ORACLE.F.normalize(image, mean, std), OURS.F.normalize(translated(image), mean, std))
