"""Calls that torchvision's transforms refuse are refused with the same type of error, in words that begin alike.

What torchvision says up to the value that came is in weft's message: programs and tests look for it.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
sys.path.insert(0, str(Path(__file__).parent))

import torch
from oracle import torchvision

import weft
from weft.vision import transforms as ours

theirs = torchvision.transforms
importlib.import_module("torchvision.transforms.v2")
LIBRARIES = ((torch, theirs, theirs.functional), (weft, ours, ours.functional))

# Each is a function of the library, its transforms and its functionals.
CALLS = {
    "modes of two channels": lambda lib, T, F: F.to_pil_image(lib.rand(2, 4, 4), "RGB"),
    "modes of three channels": lambda lib, T, F: F.to_pil_image(lib.rand(3, 4, 4), "LA"),
    "modes of four channels": lambda lib, T, F: F.to_pil_image(lib.rand(4, 4, 4), "P"),
    "dimensions of a tensor": lambda lib, T, F: F.to_pil_image(lib.rand(1, 3, 4, 4)),
    "dimensions of an array": lambda lib, T, F: F.to_pil_image(np.zeros(4, np.uint8)),
    "channels": lambda lib, T, F: F.to_pil_image(lib.rand(6, 4, 4)),
    "dtype of an array": lambda lib, T, F: F.to_pil_image(np.ones((4, 4, 1), np.int64)),
    "array of one axis": lambda lib, T, F: F.to_tensor(np.ones(4)),
    "no picture": lambda lib, T, F: F.gaussian_blur("picture", 3),
    "kernel of a text": lambda lib, T, F: F.gaussian_blur(lib.rand(3, 5, 5), "x"),
    "kernel of three sizes": lambda lib, T, F: F.gaussian_blur(lib.rand(3, 5, 5), [3, 3, 3]),
    "grey channels": lambda lib, T, F: F.to_grayscale(PIL.Image.new("RGB", (4, 4)), 2),
    "angle": lambda lib, T, F: F.affine(lib.rand(3, 5, 5), "12", (0, 0), 1.0, 0.0),
    "angle of a turn": lambda lib, T, F: F.rotate(lib.rand(3, 5, 5), "12"),
    "translation of another type": lambda lib, T, F: F.affine(lib.rand(3, 5, 5), 1, {}, 1.0, 0.0),
    "translation of one": lambda lib, T, F: F.affine(lib.rand(3, 5, 5), 1, (0,), 1.0, 0.0),
    "scale": lambda lib, T, F: F.affine(lib.rand(3, 5, 5), 1, (0, 0), 0.0, 0.0),
    "shear of another type": lambda lib, T, F: F.affine(lib.rand(3, 5, 5), 1, (0, 0), 1.0, {}),
    "shear of three": lambda lib, T, F: F.affine(lib.rand(3, 5, 5), 1, (0, 0), 1.0, (1, 2, 3)),
    "center": lambda lib, T, F: F.affine(lib.rand(3, 5, 5), 1, (0, 0), 1.0, 0.0, center=3),
    "no floats": lambda lib, T, F: F.normalize(lib.ones(3, 5, 5, dtype=lib.uint8), [0], [1]),
    "greatest size": lambda lib, T, F: F.resize(lib.rand(3, 5, 5), (3, 4), max_size=6),
    "mode of padding": lambda lib, T, F: F.pad(lib.rand(3, 5, 5), 1, padding_mode="mirror"),
    "Resize": lambda lib, T, F: T.Resize({}),
    "Resize of three": lambda lib, T, F: T.Resize([1, 2, 3]),
    "Pad of none": lambda lib, T, F: T.Pad(()),
    "Pad": lambda lib, T, F: T.Pad({}),
    "Pad's fill": lambda lib, T, F: T.Pad(1, fill={}),
    "Pad's mode": lambda lib, T, F: T.Pad(1, padding_mode="mirror"),
    "negative degrees": lambda lib, T, F: T.RandomRotation(-1),
    "degrees of one": lambda lib, T, F: T.RandomRotation([-7]),
    "RandomRotation's fill": lambda lib, T, F: T.RandomRotation(0, fill={}),
    "RandomRotation's center": lambda lib, T, F: T.RandomRotation(0, center=[1, 2, 3]),
    "translation in shares": lambda lib, T, F: T.RandomAffine(30, translate=[2, 2]),
    "scale of none": lambda lib, T, F: T.RandomAffine(0, scale=[0, 0]),
    "scales of three": lambda lib, T, F: T.RandomAffine(0, scale=[1, 2, 3]),
    "shear of one": lambda lib, T, F: T.RandomAffine(0, shear=[1]),
    "negative shear": lambda lib, T, F: T.RandomAffine(0, shear=-7),
    "RandomAffine's fill": lambda lib, T, F: T.RandomAffine(0, fill={}),
    "negative sigma": lambda lib, T, F: T.GaussianBlur(3, -1),
    "scale of RandomResizedCrop": lambda lib, T, F: T.RandomResizedCrop(3, scale=1),
    "FiveCrop": lambda lib, T, F: T.FiveCrop((1, 2, 3)),
    "a crop that is too large": lambda lib, T, F: T.RandomCrop(9)(lib.rand(3, 5, 5)),
    "RandomChoice": lambda lib, T, F: T.RandomChoice(1),
    "RandomChoice's weights": lambda lib, T, F: T.RandomChoice([len], p=1),
    "v2: RandomChoice of none": lambda lib, T, F: T.v2.RandomChoice([]),
    "v2: RandomOrder of none": lambda lib, T, F: T.v2.RandomOrder([]),
    "v2: a share of an operation": lambda lib, T, F: T.v2.RandAugment(num_ops=1.1),
    "v2: fewer operations than none": lambda lib, T, F: T.v2.RandAugment(num_ops=-1),
    "v2: bits": lambda lib, T, F: T.v2.functional.posterize(lib.zeros(3, 5, 5, dtype=lib.uint8), 9),
}


def refused(call, *library):
    with pytest.raises((TypeError, ValueError)) as raised:
        call(*library)
    return raised.type, str(raised.value)


@pytest.mark.parametrize("name", CALLS)
def test_wrong_calls_are_refused_in_torchvisions_words(name):
    (kind, expected), (found, message) = (refused(CALLS[name], *library) for library in LIBRARIES)
    assert found is kind
    words = expected.partition(" Got")[0].partition(", not a ")[0].partition(" in torchscript")[0].rstrip(".")
    assert words in message
