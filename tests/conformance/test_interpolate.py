"""Images of several hundred pixels are resampled to PyTorch's numbers: positions have its roundings, too.

PyTorch's vision transforms, and the preprocessing of published models, are made of these calls.
"""

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import torch

import weft

SHAPES = {1: (2, 3, 300), 2: (1, 3, 300, 299), 3: (1, 2, 40, 60, 50)}
LINEAR = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
TARGETS = [{"size": each} for each in (24, 97, 224, 299, 331)]
TARGETS += [{"scale_factor": each} for each in (0.5, 0.7, 1.3, 2, 2.37)]
TARGETS += [{"scale_factor": each, "recompute_scale_factor": True} for each in (0.7, 1.3)]
MODES = [({"mode": mode}, count) for mode in ("nearest", "nearest-exact", "area") for count in SHAPES]
MODES += [({"mode": mode, "align_corners": each}, LINEAR[mode]) for mode in LINEAR for each in (False, True)]
MODES += [({**mode, "antialias": True}, 2) for mode, _ in MODES if mode["mode"] in ("bilinear", "bicubic")]
OF_BYTES = [each for each in MODES if each[0]["mode"] in ("nearest", "nearest-exact", "bilinear", "bicubic")]
NAMES = ["-".join(map(str, (*mode.values(), count))) for mode, count in MODES]


def results(values, mode, target):
    size = target.get("size")
    if size is not None and values.ndim == 5:
        target = {"size": min(size, 70)}
    one = torch.nn.functional.interpolate(torch.from_numpy(values), **mode, **target)
    other = weft.nn.functional.interpolate(weft.from_numpy(values), **mode, **target)
    return one.numpy(), other.numpy()


@pytest.mark.parametrize(("mode", "count"), MODES, ids=NAMES)
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_images_in_float32_agree_to_1e_6(mode, count, target):
    values = np.random.default_rng(count).random(SHAPES[count], dtype=np.float32)
    expected, found = results(values, mode, target)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("mode", "count"), OF_BYTES)
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_images_of_bytes_are_the_same(mode, count, target):
    values = np.random.default_rng(count).integers(0, 256, SHAPES[count], dtype=np.uint8)
    expected, found = results(values, mode, target)
    np.testing.assert_array_equal(found, expected)
