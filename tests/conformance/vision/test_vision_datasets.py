"""Data sets agree with torchvision's: both read the same small trees, of all 72 names of torchvision.datasets.

Compared are length, repr, first and last example, and the same of data sets wrapped for the transforms of the second
version. Trees have no published MD5 sums, so torchvision's checks look only whether files are there; and it lists
folders in the order of the file system, which weft sorts, so listings are sorted for it. Videos are stand-ins.
"""

import contextlib
import importlib
import inspect
import os
import pickle
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
sys.path.insert(0, str(Path(__file__).parents[3] / "packages" / "vision" / "tests" / "datasets"))
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import torch
from dataset_trees import CASES, Case
from oracle import torchvision
from selection import chosen

import weft
from weft.vision import datasets
from weft.vision.datasets import samplers, video_utils

importlib.import_module("torchvision.datasets.samplers")

SETTING = os.environ.get("WEFT_CONFORMANCE", "changed")
PIL_PICTURES = importlib.import_module("PIL.Image")
NOT_READERS = {"VisionDataset", "DatasetFolder", "FakeData", "wrap_dataset_for_transforms_v2"}  # tested below
BY_NAME = {str(case): case for case in CASES}
ORACLE_NEEDS = {"LSUN": "lmdb", "LSUNClass": "lmdb", "CocoDetection": "pycocotools", "CocoCaptions": "pycocotools"}
FPS = 16

pytestmark = pytest.mark.filterwarnings("ignore")  # torchvision's, of what is deprecated


def modules_of(name: str) -> set[str]:
    """The modules of weft that a case is about."""
    return {getattr(datasets, BY_NAME[name].name).__module__, "weft.vision.datasets._published"}


every_case = pytest.mark.parametrize("name", chosen(BY_NAME, SETTING, modules_of))


# torchvision, so that it reads small trees --------------------------------------------------------------


class StandInDecoder:
    """What torchcodec and weft's own decoder give, of files that are arrays of frames."""

    def __init__(self, path: Any, dimension_order: str = "NHWC") -> None:
        self.array = np.load(path)
        self.dimension_order = dimension_order
        self.num_frames, self.average_fps = len(self.array), float(FPS)
        self.metadata = self

    def get_frames_at(self, indices: list[int]) -> Any:
        frames = torch.from_numpy(self.array[indices])
        frames = frames.permute(0, 3, 1, 2) if self.dimension_order == "NCHW" else frames
        return types.SimpleNamespace(data=frames)

    def frames(self, start: int, stop: int) -> weft.Tensor:
        return weft.from_numpy(self.array[start:stop])

    def audio(self, start: float, stop: float) -> weft.Tensor:
        return weft.empty(1, 0)


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [module for name, module in list(sys.modules.items()) if name.startswith("torchvision.datasets")]:
        if hasattr(module, "check_integrity"):
            monkeypatch.setattr(module, "check_integrity", lambda path, md5=None: os.path.isfile(path))
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda *args: sorted(listdir(*args)))
    decoders = types.ModuleType("torchcodec.decoders")
    decoders.VideoDecoder, decoders.AudioDecoder = StandInDecoder, None
    torchcodec = types.ModuleType("torchcodec")
    torchcodec.decoders = decoders
    monkeypatch.setitem(sys.modules, "torchcodec", torchcodec)
    monkeypatch.setitem(sys.modules, "torchcodec.decoders", decoders)
    monkeypatch.setattr(video_utils, "VideoFile", StandInDecoder)


def read(case: Case, folder: Path, library: Any) -> Any:
    arguments = case.keywords(folder)
    if case.name == "Kinetics":
        arguments["num_workers"] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(library, case.name)(str(folder / case.root), **arguments)


def both(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Write the tree, and read it with torchvision and with weft."""
    case = BY_NAME[name]
    for package in filter(None, {case.needs, ORACLE_NEEDS.get(case.name)}):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)  # torchvision's LSUN writes into the working folder
    tree = tmp_path / "tree"
    tree.mkdir()
    case.write(tree)
    theirs = read(case, tree, torchvision.datasets)
    if case.name == "SUN397":  # found by pathlib, in no order
        pairs = sorted(zip(theirs._image_files, theirs._labels, strict=True))
        theirs._image_files, theirs._labels = ([pair[k] for pair in pairs] for k in range(2))
    (tree / "liberty.pt").unlink(missing_ok=True)  # so that weft reads PhotoTour's pictures itself
    return theirs, read(case, tree, datasets)


# Comparison ------------------------------------------------------------------------------------------------


def assert_same(ours: Any, theirs: Any) -> None:
    """Compare values of any nest; tensors by class, dtype and value, pictures by mode and pixel."""
    kind = type(theirs).__name__
    if isinstance(theirs, torch.Tensor):
        assert (type(ours).__name__, str(ours.dtype).rpartition(".")[2]) == (kind, str(theirs.dtype).rpartition(".")[2])
        np.testing.assert_array_equal(weft.Tensor.numpy(ours.as_subclass(weft.Tensor)), theirs.numpy())
        if kind == "BoundingBoxes":
            assert (ours.format.name, tuple(ours.canvas_size)) == (theirs.format.name, tuple(theirs.canvas_size))
    elif isinstance(theirs, PIL_PICTURES.Image):
        assert (ours.mode, ours.size, ours.tobytes()) == (theirs.mode, theirs.size, theirs.tobytes())
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    elif isinstance(theirs, dict):
        assert list(map(str, sorted(ours))) == list(map(str, sorted(theirs)))
        for key, value in theirs.items():
            assert_same(ours[key], value)
    elif isinstance(theirs, (list, tuple)):
        assert (type(ours).__name__, len(ours)) == (kind, len(theirs))
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(mine, other)
    else:
        assert (type(ours), ours) == (type(theirs), theirs)


@every_case
def test_length_repr_and_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours = both(name, tmp_path, monkeypatch)
    assert len(ours) == len(theirs) == BY_NAME[name].length
    assert repr(ours) == repr(theirs)
    for index in (0, len(theirs) - 1) if len(theirs) else ():
        assert_same(ours[index], theirs[index])
    for attribute in ("classes", "class_to_idx", "targets", "wnids", "categories", "fold", "split"):
        if hasattr(theirs, attribute):
            assert_same(getattr(ours, attribute), getattr(theirs, attribute))


@every_case
def test_examples_wrapped_for_transforms(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours = both(name, tmp_path, monkeypatch)
    keys = [None, "all"] if BY_NAME[name].name in ("CocoDetection", "VOCDetection", "Kitti", "WIDERFace") else [None]
    for target_keys in keys:
        try:
            wrapped = torchvision.datasets.wrap_dataset_for_transforms_v2(theirs, target_keys)
        except Exception as error:
            with pytest.raises(type(error)):
                datasets.wrap_dataset_for_transforms_v2(ours, target_keys)
            return
        mine = datasets.wrap_dataset_for_transforms_v2(ours, target_keys)
        with contextlib.suppress(KeyError):  # torchvision's own, of wrapped data sets that look into their __dict__
            assert repr(mine) == repr(wrapped)
        pickled = pickle.loads(pickle.dumps(mine))
        for index in range(len(wrapped)):
            try:
                expected = wrapped[index]
            except NotImplementedError:  # PyTorch's comparison of uint16, which instances of Cityscapes are
                continue
            assert_same(mine[index], expected)
            assert_same(pickled[index], expected)


# The rest of the namespace -----------------------------------------------------------------------------------


def test_every_name_has_a_tree_and_the_signature_of_torchvision() -> None:
    names = set(torchvision.datasets.__all__)
    assert names == {case.name for case in CASES} | NOT_READERS
    for name in names - {"wrap_dataset_for_transforms_v2"}:
        assert parameters(getattr(datasets, name)) == parameters(getattr(torchvision.datasets, name)), name


def parameters(function: Any) -> dict[str, Any]:
    """Names, order and defaults of parameters; of a default that is a function, that it is one."""
    found = inspect.signature(function).parameters.values()
    return {
        each.name: (each.kind, "a function" if inspect.isfunction(each.default) else each.default) for each in found
    }


def test_fake_data_draws_the_same() -> None:
    theirs = torchvision.datasets.FakeData(3, (3, 4, 5), random_offset=7)
    ours = datasets.FakeData(3, (3, 4, 5), random_offset=7)
    assert repr(ours) == repr(theirs)
    for index in range(3):
        assert_same(ours[index], theirs[index])


def test_dataset_folder_takes_loader_and_extensions(tmp_path: Path) -> None:
    BY_NAME["ImageFolder"].write(tmp_path)
    for options in (
        {"extensions": (".png",)},
        {"is_valid_file": lambda path: "1" in Path(path).name, "allow_empty": True},
    ):
        theirs, ours = (
            library.DatasetFolder(str(tmp_path), os.path.basename, **options)
            for library in (torchvision.datasets, datasets)
        )
        assert_same([ours.samples, ours.classes, list(ours)], [theirs.samples, theirs.classes, list(theirs)])


def test_repr_with_transforms() -> None:
    class Shift:
        def __repr__(self) -> str:
            return "Shift(\n    by=1\n)"

    for options in ({"transform": Shift()}, {"transform": Shift(), "target_transform": Shift()}):
        theirs, ours = (library.FakeData(2, **options) for library in (torchvision.datasets, datasets))
        assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("frame_rate", [None, 8, 12, 16, 24, 32])
@pytest.mark.parametrize(("length", "step"), [(4, 1), (3, 5), (30, 1)])
def test_video_clips(length: int, step: int, frame_rate: float | None, tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    next(case for case in CASES if case.name == "HMDB51").write(folder)
    paths = sorted(map(str, folder.rglob("*.avi")))
    theirs, ours = (
        library.VideoClips(paths, length, step, frame_rate)
        for library in (torchvision.datasets.video_utils, datasets.video_utils)
    )
    assert_same(ours.metadata, theirs.metadata)
    assert_same(
        [ours.num_clips(), ours.num_videos(), ours.clips], [theirs.num_clips(), theirs.num_videos(), theirs.clips]
    )
    for index in range(theirs.num_clips()):
        try:
            expected = theirs.get_clip(index)
        except AssertionError:  # torchvision's own clip is of another length
            continue
        assert_same(ours.get_clip(index), expected)


def test_clip_samplers(tmp_path: Path) -> None:
    next(case for case in CASES if case.name == "HMDB51").write(tmp_path)
    paths = sorted(map(str, tmp_path.rglob("*.avi")))
    lists = []
    for library, torch_like, clips_of in (
        (torchvision.datasets.samplers, torch, torchvision.datasets.video_utils),
        (samplers, weft, datasets.video_utils),
    ):
        clips = clips_of.VideoClips(paths, 4, 1)
        torch_like.manual_seed(3)
        uniform, random = library.UniformClipSampler(clips, 3), library.RandomClipSampler(clips, 2)
        shared = library.DistributedSampler(uniform, 2, 1, group_size=3)
        shuffled = library.DistributedSampler(range(10), 3, 0, shuffle=True, group_size=2)
        shuffled.set_epoch(4)
        every = (uniform, random, shared, shuffled)
        lists.append([[len(each) for each in every], *(list(each) for each in every)])
    assert_same(*lists)


def test_utils_have_the_names_and_signatures_of_torchvision() -> None:
    theirs, ours = torchvision.datasets.utils, datasets.utils
    for name, function in vars(theirs).items():
        if inspect.isfunction(function) and function.__module__ == theirs.__name__ and not name.startswith("_"):
            expected, found = (list(inspect.signature(each).parameters) for each in (function, getattr(ours, name)))
            assert found == expected, name


@pytest.mark.parametrize("value", ["train", "other", 3])
def test_verify_str_arg(value: Any) -> None:
    arguments = (value, "split", ("train", "test"))
    try:
        expected = torchvision.datasets.utils.verify_str_arg(*arguments)
    except ValueError:
        with pytest.raises(ValueError, match="split must be"):
            datasets.utils.verify_str_arg(*arguments)
    else:
        assert datasets.utils.verify_str_arg(*arguments) == expected
