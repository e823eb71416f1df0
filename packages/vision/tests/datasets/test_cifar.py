"""CIFAR in its pickled batches."""

import pickle

import numpy as np
import pytest

from weft.vision.datasets import CIFAR10, CIFAR100


def write_batches(folder, names, labels="labels", count=3):
    folder.mkdir()
    pixels = np.arange(count * 3072).reshape(count, 3072).astype(np.uint8)
    for index, name in enumerate(names):
        batch = {b"data": pixels + np.uint8(index), labels.encode(): [(index + k) % 10 for k in range(count)]}
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))


def test_batches_are_joined_in_order_with_channels_last(tmp_path):
    folder = tmp_path / "cifar-10-batches-py"
    write_batches(folder, [f"data_batch_{k}" for k in range(1, 6)])
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["airplane", "bird"]}))
    found = CIFAR10(tmp_path, train=True, target_transform=lambda label: -label)
    assert len(found) == 15
    assert found.data.shape == (15, 32, 32, 3)
    assert found.data[3, 0, 1].tolist() == [2, 2, 2]  # the second batch: pixel 1 of each channel of 1,024, plus 1
    picture, label = found[4]
    assert (picture.mode, picture.size, label) == ("RGB", (32, 32), -2)
    assert found.classes == ["airplane", "bird"]
    assert found.class_to_idx == {"airplane": 0, "bird": 1}
    assert "Split: Train" in repr(found)


def test_the_hundred_classes_are_the_fine_ones(tmp_path):
    folder = tmp_path / "cifar-100-python"
    write_batches(folder, ["test"], "fine_labels")
    (folder / "meta").write_bytes(pickle.dumps({"fine_label_names": ["apple"]}))
    assert CIFAR100(tmp_path, train=False).targets == [0, 1, 2]


def test_missing_files_are_named(tmp_path):
    with pytest.raises(RuntimeError, match=r"CIFAR10: there is no .*test_batch"):
        CIFAR10(tmp_path, train=False)


def test_a_batch_that_would_run_code_is_refused(tmp_path):
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": []}))
    (folder / "test_batch").write_bytes(pickle.dumps(print))
    with pytest.raises(ValueError, match=r"asks for builtins\.print"):
        CIFAR10(tmp_path, train=False)


def test_a_damaged_batch_is_compared_with_its_checksum(tmp_path):
    folder = tmp_path / "cifar-10-batches-py"
    write_batches(folder, ["test_batch"])
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": []}))
    (folder / "test_batch").write_bytes((folder / "test_batch").read_bytes()[:-9])
    with pytest.raises(ValueError, match="published file is 40351d587109b95175f43aff81a1287e"):
        CIFAR10(tmp_path, train=False)
