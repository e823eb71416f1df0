"""What is drawn on images is what torchvision draws, to the pixel; errors and warnings are its own, by type."""

import io
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import torch
from PIL import features
from tests.conformance.vision.oracle import torchvision

import weft
from weft.vision import utils as ours

theirs = torchvision.utils
DTYPES = ("uint8", "float32", "float64")


def image(library: Any, dtype: str = "uint8", channels: int = 3) -> Any:
    pixels = np.random.default_rng(0).integers(0, 256, (channels, 60, 80), dtype=np.uint8)
    tensor = library.from_numpy(pixels)
    return tensor if dtype == "uint8" else tensor.to(getattr(library, dtype)) / 255


def boxes(library: Any, rotated: bool = False) -> Any:
    if rotated:
        return library.tensor([[10, 5, 40.4, 12, 36, 30, 6, 23], [60, 8, 75, 30, 60, 40, 45, 20]])
    return library.tensor([[3.0, 4, 30, 25], [20, 10, 70, 55], [5, 40, 5, 50]])


def masks(library: Any) -> Any:
    return library.from_numpy(np.random.default_rng(1).random((3, 60, 80)) > 0.6)


def points(library: Any) -> Any:
    return library.tensor([[[10.0, 10], [40, 12], [30, 50]], [[60, 20], [70, 50], [50, 40.7]]])


def visibility(library: Any) -> Any:
    return library.tensor([[True, True, False], [True, False, True]])


def flow(library: Any, *batch: int) -> Any:
    return library.from_numpy(np.random.default_rng(2).standard_normal((*batch, 2, 20, 30)).astype(np.float32))


def images(library: Any, *shape: int) -> Any:
    return library.from_numpy(np.random.default_rng(3).standard_normal(shape).astype(np.float32))


LINES = [(0, 1), (1, 2)]
COLORS = ["red", "#00ff20", (10, 20, 250)]
CALLS = {
    **{f"boxes {dtype}": lambda t, u, d=dtype: u.draw_bounding_boxes(image(t, d), boxes(t)) for dtype in DTYPES},
    "boxes on gray": lambda t, u: u.draw_bounding_boxes(image(t, "uint8", 1), boxes(t), colors=COLORS, width=3),
    "boxes filled": lambda t, u: u.draw_bounding_boxes(image(t, "float32"), boxes(t), colors=COLORS, fill=True),
    "boxes of one colour": lambda t, u: u.draw_bounding_boxes(image(t), boxes(t), colors=(1, 2, 250)),
    "boxes labelled": lambda t, u: u.draw_bounding_boxes(image(t), boxes(t), ["cat", None, "dog"], COLORS),
    "boxes with backgrounds": lambda t, u: u.draw_bounding_boxes(
        image(t), boxes(t), ["cat", "owl", "dog"], COLORS, fill_labels=True, width=2
    ),
    "boxes with colours of labels": lambda t, u: u.draw_bounding_boxes(
        image(t), boxes(t), ["cat", "owl", "dog"], COLORS, label_colors="white", label_background_colors=COLORS[::-1],
        fill_labels=True, fill=True,
    ),
    "boxes rotated": lambda t, u: u.draw_bounding_boxes(image(t), boxes(t, True), ["a", "b"], COLORS, width=2),
    "boxes rotated and filled": lambda t, u: u.draw_bounding_boxes(image(t), boxes(t, True), fill=True),
    "boxes none": lambda t, u: u.draw_bounding_boxes(image(t), t.zeros(0, 4)),
    "boxes font size": lambda t, u: u.draw_bounding_boxes(image(t), boxes(t), ["a", "b", "c"], font_size=20),
    **{f"masks {dtype}": lambda t, u, d=dtype: u.draw_segmentation_masks(image(t, d), masks(t)) for dtype in DTYPES},
    "masks coloured": lambda t, u: u.draw_segmentation_masks(image(t), masks(t), 0.3, COLORS),
    "masks floating": lambda t, u: u.draw_segmentation_masks(image(t, "float32"), masks(t), 0.7, "blue"),
    "masks one": lambda t, u: u.draw_segmentation_masks(image(t), masks(t)[0], colors=(1, 2, 3)),
    "masks none": lambda t, u: u.draw_segmentation_masks(image(t), masks(t)[:0]),
    **{f"points {dtype}": lambda t, u, d=dtype: u.draw_keypoints(image(t, d), points(t)) for dtype in DTYPES},
    "points joined": lambda t, u: u.draw_keypoints(image(t), points(t), LINES, "red", 4, 2),
    "points seen": lambda t, u: u.draw_keypoints(image(t), points(t), LINES, (9, 8, 7), visibility=visibility(t)),
    "points seen in columns": lambda t, u: u.draw_keypoints(
        image(t), points(t), LINES, visibility=visibility(t)[..., None].float()
    ),
    "flow": lambda t, u: u.flow_to_image(flow(t)),
    "flow batch": lambda t, u: u.flow_to_image(flow(t, 3) * 40),
    "flow still": lambda t, u: u.flow_to_image(flow(t) * 0),
    "grid": lambda t, u: u.make_grid(images(t, 7, 3, 4, 5), 3, 1, pad_value=2.5),
    "grid list": lambda t, u: u.make_grid([*images(t, 3, 1, 4, 5)]),
    "grid one": lambda t, u: u.make_grid(images(t, 4, 5)),
    "grid normalized": lambda t, u: u.make_grid(images(t, 4, 3, 4, 5), normalize=True),
    "grid normalized each": lambda t, u: u.make_grid(images(t, 4, 3, 4, 5), normalize=True, scale_each=True),
    "grid in range": lambda t, u: u.make_grid(images(t, 4, 3, 4, 5), normalize=True, value_range=(-1, 1)),
}  # fmt: skip
WRONG = [
    lambda t, u: u.draw_bounding_boxes(3, boxes(t)),
    lambda t, u: u.draw_bounding_boxes(image(t).int(), boxes(t)),
    lambda t, u: u.draw_bounding_boxes(image(t)[None], boxes(t)),
    lambda t, u: u.draw_bounding_boxes(image(t)[:2], boxes(t)),
    lambda t, u: u.draw_bounding_boxes(image(t), boxes(t).flip(1)),
    lambda t, u: u.draw_bounding_boxes(image(t), boxes(t), ["one"]),
    lambda t, u: u.draw_bounding_boxes(image(t), boxes(t), colors=["red"]),
    lambda t, u: u.draw_bounding_boxes(image(t), boxes(t), colors=(1, 2)),
    lambda t, u: u.draw_bounding_boxes(image(t), boxes(t), colors=3),
    lambda t, u: u.draw_bounding_boxes(image(t), boxes(t), font="no font"),
    lambda t, u: u.draw_segmentation_masks(3, masks(t)),
    lambda t, u: u.draw_segmentation_masks(image(t).int(), masks(t)),
    lambda t, u: u.draw_segmentation_masks(image(t)[:1], masks(t)),
    lambda t, u: u.draw_segmentation_masks(image(t)[None], masks(t)),
    lambda t, u: u.draw_segmentation_masks(image(t), masks(t).float()),
    lambda t, u: u.draw_segmentation_masks(image(t), masks(t)[None]),
    lambda t, u: u.draw_segmentation_masks(image(t), masks(t)[:, 1:]),
    lambda t, u: u.draw_segmentation_masks(image(t), masks(t), colors=["red"]),
    lambda t, u: u.draw_keypoints(3, points(t)),
    lambda t, u: u.draw_keypoints(image(t)[:1], points(t)),
    lambda t, u: u.draw_keypoints(image(t), points(t)[0]),
    lambda t, u: u.draw_keypoints(image(t), points(t), visibility=visibility(t)[0]),
    lambda t, u: u.draw_keypoints(image(t), points(t), visibility=visibility(t)[:, 1:]),
    lambda t, u: u.flow_to_image(flow(t).double()),
    lambda t, u: u.flow_to_image(flow(t)[0]),
    lambda t, u: u.flow_to_image(images(t, 3, 4, 4)),
    lambda t, u: u.make_grid("images"),
    lambda t, u: u.make_grid([1, 2]),
    lambda t, u: u.make_grid(images(t, 2, 3, 4, 4), normalize=True, value_range=1),
]


def called(call: Any, library: Any, utils: Any) -> tuple[Any, list[type]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = call(library, utils)
    return found, [each.category for each in said]


@pytest.mark.skipif(not features.check("freetype2"), reason="letters differ without FreeType")
@pytest.mark.parametrize("name", CALLS)
def test_what_is_drawn_is_torchvisions(name: str) -> None:
    expected, theirs_said = called(CALLS[name], torch, theirs)
    found, ours_said = called(CALLS[name], weft, ours)
    assert str(found.dtype).partition(".")[2] == str(expected.dtype).partition(".")[2]
    assert found.shape == expected.shape
    tolerance = 0 if "flow" not in name else 1  # an angle or a length may be rounded otherwise
    difference = np.abs(found.numpy().astype(np.float64) - expected.numpy().astype(np.float64))
    assert difference.max() <= (1e-6 if found.is_floating_point() else tolerance)
    assert (difference > 1e-6).mean() < 0.001
    assert ours_said == theirs_said


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_call_raises_torchvisions_error(number: int) -> None:
    with pytest.raises(Exception) as expected:
        WRONG[number](torch, theirs)
    with pytest.raises(Exception) as found:
        WRONG[number](weft, ours)
    assert found.type is expected.type, (str(expected.value), str(found.value))


def test_a_saved_image_has_torchvisions_bytes() -> None:
    files = []
    for library, utils in ((torch, theirs), (weft, ours)):
        file = io.BytesIO()
        utils.save_image(images(library, 5, 3, 6, 7).abs(), file, format="png", nrow=2)
        files.append(file.getvalue())
    assert files[0] == files[1]


def test_all_names_are_there() -> None:
    public = {name for name in theirs.__all__ if not name.startswith("_")}
    assert public <= set(ours.__all__)
