"""Every data set reads a small tree in its true format, and says what is missing where there is none."""

import os
import pickle

import numpy as np
import pytest
from dataset_trees import CASES
from dataset_trees.arrays import packed_qmnist
from PIL import Image

import weft
from weft.vision import datasets
from weft.vision.datasets import video_utils

FIRST = {case.name: case for case in reversed(CASES)}  # the first case of each data set
TABLES = ("coco", "flickr8k", "flickr30k")  # whose first argument after root is a file


class StandInVideo:
    """Reads the stand-ins for videos, which are arrays of frames."""

    def __init__(self, path):
        self._frames = np.load(path)
        self.num_frames, self.average_fps = len(self._frames), 16.0

    def frames(self, start, stop):
        return weft.from_numpy(self._frames[start:stop])

    def audio(self, start, stop):
        return weft.empty(1, 0)


@pytest.fixture(autouse=True)
def stand_in_videos(monkeypatch):
    monkeypatch.setattr(video_utils, "VideoFile", StandInVideo)


def read(case, folder):
    if case.needs:
        pytest.importorskip(case.needs)
    case.write(folder)
    return getattr(datasets, case.name)(folder / case.root, **case.keywords(folder))


@pytest.mark.filterwarnings("ignore:VideoClips")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_tree_has_as_many_examples_as_files(case, tmp_path):
    dataset = read(case, tmp_path)
    assert len(dataset) == case.length
    assert repr(dataset).startswith(
        f"Dataset {case.name}\n    Number of datapoints: {case.length}\n    Root location: "
    )
    for index in {0, case.length - 1} if case.length else ():
        for part in dataset[index] if isinstance(dataset[index], tuple) else ():
            if isinstance(part, Image.Image):
                part.load()


@pytest.mark.parametrize("name", FIRST)
def test_a_missing_file_is_named(name, tmp_path):
    case = FIRST[name]
    if case.needs:
        pytest.importorskip(case.needs)
    with pytest.raises((RuntimeError, FileNotFoundError), match=str(tmp_path)):
        getattr(datasets, name)(tmp_path, **case.keywords(tmp_path))


def test_transforms_are_called_and_may_be_set_anew(tmp_path):
    FIRST["DTD"].write(tmp_path)
    dataset = datasets.DTD(tmp_path, "val", 2, transform=lambda picture: picture.size, target_transform=str)
    assert dataset[0] == ((8, 6), "1")
    dataset.transform = None
    assert dataset[0][0].size == (8, 6)


def test_joint_transforms_see_picture_and_target(tmp_path):
    FIRST["VOCSegmentation"].write(tmp_path)
    dataset = datasets.VOCSegmentation(tmp_path, transforms=lambda picture, mask: (picture.mode, mask.mode))
    assert dataset[0] == ("RGB", "P")


def test_class_names_of_files_are_kept(tmp_path):
    for name in ("OxfordIIITPet", "SUN397", "INaturalist"):
        FIRST[name].write(tmp_path)
    pets = datasets.OxfordIIITPet(tmp_path)
    assert pets.classes == ["Abyssinian", "American Bulldog", "Yorkshire Terrier"]
    assert [target for _, target in pets] == [0, 2, 1]
    scenes = datasets.SUN397(tmp_path)
    assert [scenes.classes[target] for _, target in scenes] == ["abbey", "church/indoor", "church/outdoor"]
    species = datasets.INaturalist(tmp_path, target_type=["class", "genus"])
    ids = species[2][1]
    assert [species.category_name(rank, number) for rank, number in zip(species.target_type, ids, strict=True)] == [
        "Aves",
        "Turdus",
    ]


def test_no_target_types_give_no_target(tmp_path):
    FIRST["CelebA"].write(tmp_path)
    assert datasets.CelebA(tmp_path, target_type=[])[0][1] is None
    with pytest.raises(RuntimeError, match="there is no target"):
        datasets.CelebA(tmp_path, target_type=[], target_transform=str)


def test_house_numbers_call_the_digit_0_by_its_name(tmp_path):
    pytest.importorskip("scipy")
    FIRST["SVHN"].write(tmp_path)
    assert [target for _, target in datasets.SVHN(tmp_path)] == [0, 1, 9]


def test_qmnist_reads_what_is_published(tmp_path):
    packed_qmnist(tmp_path)
    for what in ("train", "test", "nist"):
        assert len(datasets.QMNIST(tmp_path, what)) == 3


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("DTD", {"split": "other"}),
        ("DTD", {"partition": 11}),
        ("STL10", {"folds": 10}),
        ("MovingMNIST", {"split_ratio": 20}),
        ("Cityscapes", {"split": "train_extra"}),
        ("VOCDetection", {"image_set": "test"}),
        ("LSUN", {"classes": ["attic_train"]}),
        ("Middlebury2014Stereo", {"calibration": None}),
        ("HMDB51", {"annotation_path": "", "frames_per_clip": 1, "fold": 4}),
    ],
)
def test_an_argument_out_of_range_is_a_value_error(name, arguments, tmp_path):
    with pytest.raises(ValueError, match=r"must be"):
        getattr(datasets, name)(tmp_path, **arguments)


def test_data_sets_offered_no_longer_say_so(tmp_path):
    for name in ("LFWPeople", "LFWPairs", "StanfordCars"):
        with pytest.raises(ValueError, match="no longer"):
            getattr(datasets, name)(tmp_path, download=True)


def test_every_name_is_found_when_asked_for():
    for name in datasets.__all__:
        assert getattr(datasets, name) is not None
    assert datasets.folder.IMG_EXTENSIONS[0] == ".jpg"
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        datasets.Nothing


@pytest.mark.parametrize("name", ["LSUNClass", "ImageFolder", "CocoDetection", "WIDERFace"])
def test_data_sets_are_pickled_for_workers(name, tmp_path):
    dataset = read(FIRST[name], tmp_path)
    again = pickle.loads(pickle.dumps(dataset))
    assert len(again) == len(dataset)
    assert again[0][0].tobytes() == dataset[0][0].tobytes()


def test_a_path_may_be_a_string_or_a_path(tmp_path, monkeypatch):
    FIRST["Food101"].write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for root in (tmp_path, str(tmp_path), ".", "~"):
        assert len(datasets.Food101(root, "test")) == 3
    assert datasets.Food101("~", "test").root == os.fspath(tmp_path)
