"""Pictures in folders named after their classes."""

from pathlib import Path

import pytest
from PIL import Image

from weft.vision.datasets import DatasetFolder, ImageFolder, VisionDataset
from weft.vision.datasets.folder import find_classes, make_dataset


@pytest.fixture
def root(tmp_path):
    for name, shade in (("dog/a.png", 10), ("dog/deep/b.PNG", 20), ("cat/c.bmp", 30), ("cat/notes.txt", None)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if shade is None:
            path.write_text("not a picture")
        else:
            Image.new("L", (4, 3), shade).save(path)
    return tmp_path


def test_folders_are_classes_in_alphabetical_order(root):
    pictures = ImageFolder(root)
    assert pictures.classes == ["cat", "dog"]
    assert pictures.class_to_idx == {"cat": 0, "dog": 1}
    assert pictures.targets == [0, 1, 1]
    assert pictures.imgs == pictures.samples


def test_pictures_are_rgb_and_in_the_order_of_their_paths(root):
    shades = [(picture.mode, picture.getpixel((0, 0))[0], target) for picture, target in ImageFolder(root)]
    assert shades == [("RGB", 30, 0), ("RGB", 10, 1), ("RGB", 20, 1)]


def test_datasetfolder_takes_any_loader_and_choice_of_files(root):
    def is_text(path):
        return path.endswith(".txt")

    texts = DatasetFolder(root, lambda path: Path(path).read_text(), is_valid_file=is_text, allow_empty=True)
    assert list(texts) == [("not a picture", 0)]


def test_a_class_without_files_is_an_error_unless_allowed(root):
    (root / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no files in .* for empty; expected files that end in"):
        ImageFolder(root)
    assert len(ImageFolder(root, allow_empty=True)) == 3


def test_wrong_arguments_are_explained(root):
    with pytest.raises(FileNotFoundError, match="has no folders"):
        find_classes(root / "dog" / "deep")
    with pytest.raises(ValueError, match="either extensions or is_valid_file"):
        make_dataset(root)
    with pytest.raises(ValueError, match="either extensions or is_valid_file"):
        make_dataset(root, extensions=".png", is_valid_file=bool)
    with pytest.raises(ValueError, match="at least one class"):
        make_dataset(root, {}, extensions=".png")
    with pytest.raises(ValueError, match="not both"):
        VisionDataset(root, transforms=print, transform=print)
