"""ImageNet: the thousand classes of the challenge of 2012."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import weft
from weft.vision.datasets._published import lines_of, load_mat
from weft.vision.datasets.folder import ImageFolder
from weft.vision.datasets.utils import StrPath, check_integrity, extract_archive, verify_str_arg

ARCHIVE_META = {
    "train": ("ILSVRC2012_img_train.tar", "1d675b47d978889d74fa0da5fadfb00e"),
    "val": ("ILSVRC2012_img_val.tar", "29b22e2961454d5413ddabcf34fc5622"),
    "devkit": ("ILSVRC2012_devkit_t12.tar.gz", "fa75699e90414af021442c21a62c3abf"),
}
META_FILE = "meta.bin"


class ImageNet(ImageFolder):
    """1,281,167 pictures to train with and 50,000 to validate, in 1,000 classes.

    Samples are (picture, class). The files are in ``root/train/<wnid>`` and ``root/val/<wnid>``, where a wnid is a
    class' number in WordNet, such as "n01440764", and in ``root/meta.bin``, which has the names. What is missing is
    made from the archives of https://image-net.org, if they lie in ``root``; SciPy reads one of their tables.

    Parameters
    ----------
    root : path
    split : {"train", "val"}
    **kwargs
        ``transform``, ``target_transform``, ``loader``, ... as of `ImageFolder`.

    Attributes
    ----------
    wnids : list of str
    wnid_to_idx : dict
    classes : list of tuple of str
        The names of each class.
    class_to_idx : dict
        The class by each of its names.

    Raises
    ------
    RuntimeError
        If an archive is needed and missing, or has another MD5 sum.

    References
    ----------
    O. Russakovsky et al.: ImageNet large scale visual recognition challenge. arXiv:1409.0575.
    """

    def __init__(self, root: StrPath, split: str = "train", **kwargs: Any) -> None:
        self.root = os.path.expanduser(root)
        self.split = verify_str_arg(split, "split", ("train", "val"))
        self.parse_archives()
        names = load_meta_file(self.root)[0]
        super().__init__(self.split_folder, **kwargs)
        self.root = os.path.expanduser(root)
        self.wnids = self.classes
        self.wnid_to_idx = self.class_to_idx
        self.classes: Any = [names[wnid] for wnid in self.wnids]
        self.class_to_idx = {name: index for index, group in enumerate(self.classes) for name in group}

    def parse_archives(self) -> None:
        """Make what is missing from the archives."""
        if not check_integrity(os.path.join(self.root, META_FILE)):
            parse_devkit_archive(self.root)
        if not os.path.isdir(self.split_folder):
            (parse_train_archive if self.split == "train" else parse_val_archive)(self.root)

    @property
    def split_folder(self) -> str:
        """The folder of this part's pictures."""
        return os.path.join(self.root, self.split)

    def extra_repr(self) -> str:
        """Return the line that names the part."""
        return f"Split: {self.split}"


def load_meta_file(root: StrPath, file: str | None = None) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return (names of each wnid, wnids of the validation pictures in their order) from ``meta.bin``."""
    path = Path(root) / (file or META_FILE)
    if not path.is_file():
        raise RuntimeError(f"ImageNet: there is no {path}; the data set makes it from {ARCHIVE_META['devkit'][0]}")
    names, wnids = weft.load(path, weights_only=True)
    return names, wnids


def parse_devkit_archive(root: StrPath, file: str | None = None) -> None:
    """Make ``meta.bin`` from the archive of the development kit."""
    archive = _archive(root, "devkit", file)
    with tempfile.TemporaryDirectory() as folder:
        extract_archive(archive, folder)
        data = Path(folder) / "ILSVRC2012_devkit_t12" / "data"
        synsets = load_mat(data / "meta.mat", squeeze_me=True)["synsets"].tolist()
        leaves = [synset for synset in synsets if synset[4] == 0]  # number, wnid, names, gloss, children
        wnids = {int(synset[0]): str(synset[1]) for synset in leaves}
        names = {str(synset[1]): tuple(str(synset[2]).split(", ")) for synset in leaves}
        truth = [wnids[int(line)] for line in lines_of(data / "ILSVRC2012_validation_ground_truth.txt")]
    weft.save((names, truth), Path(root) / META_FILE)


def parse_train_archive(root: StrPath, file: str | None = None, folder: str = "train") -> None:
    """Unpack the archive of the training part, and the archives of classes in it."""
    target = Path(root) / folder
    extract_archive(_archive(root, "train", file), target)
    for archive in sorted(target.glob("*.tar")):
        extract_archive(archive, archive.with_suffix(""), remove_finished=True)


def parse_val_archive(
    root: StrPath, file: str | None = None, wnids: list[str] | None = None, folder: str = "val"
) -> None:
    """Unpack the archive of the validation part, and move each picture to the folder of its class."""
    wnids = load_meta_file(root)[1] if wnids is None else wnids
    target = Path(root) / folder
    extract_archive(_archive(root, "val", file), target)
    pictures = sorted(path for path in target.iterdir() if path.is_file())
    if len(pictures) != len(wnids):
        raise RuntimeError(f"ImageNet: {target} has {len(pictures)} pictures, but there are classes of {len(wnids)}")
    for picture, wnid in zip(pictures, wnids, strict=True):
        (target / wnid).mkdir(exist_ok=True)
        shutil.move(picture, target / wnid / picture.name)


def _archive(root: StrPath, part: str, file: str | None) -> Path:
    """Return the path of an archive, which must have its published MD5 sum."""
    name, md5 = ARCHIVE_META[part]
    path = Path(root) / (file or name)
    if not check_integrity(path, md5):
        state = "damaged: its MD5 sum is not the published one" if path.exists() else "missing"
        raise RuntimeError(f"ImageNet: {path} is {state}; fetch it from https://image-net.org and put it there")
    return path
