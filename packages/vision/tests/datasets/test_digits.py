"""Digits: the real pictures, split the same way each time."""

import sys

import numpy as np
import pytest

from weft.vision.datasets import Digits


@pytest.fixture
def parts():
    pytest.importorskip("sklearn")
    return Digits(train=True), Digits(train=False)


def test_parts_have_all_1797_pictures_and_share_none_of_the_order(parts):
    train, test = parts
    assert (len(train), len(test)) == (1442, 355)
    assert train.data.shape == (1442, 8, 8)
    assert train.data.dtype == np.uint8


def test_every_fifth_picture_of_each_class_is_for_testing(parts):
    train, test = parts
    for digit in range(10):
        of_train, of_test = (train.targets == digit).sum(), (test.targets == digit).sum()
        assert of_test == (of_train + of_test) // 5


def test_samples_are_a_grey_pil_picture_and_an_int(parts):
    picture, target = parts[0][0]
    assert (picture.mode, picture.size, target, type(target)) == ("L", (8, 8), 0, int)


def test_levels_0_to_16_become_0_to_255(parts):
    values = np.unique(parts[0].data)
    assert values.tolist() == np.rint(np.arange(17) * 255 / 16).astype(int).tolist()


def test_transforms_apply_to_picture_and_target(parts):
    digits = Digits(transform=lambda picture: picture.size, target_transform=str)
    assert digits[0] == ((8, 8), "0")
    assert repr(Digits(train=False)) == "Dataset Digits\n    Number of datapoints: 355\n    Split: Test"


def test_without_scikit_learn_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ModuleNotFoundError, match="pip install scikit-learn"):
        Digits()
