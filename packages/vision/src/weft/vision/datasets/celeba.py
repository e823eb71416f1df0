"""CelebA: faces of celebrities, with attributes, landmarks and boxes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import weft
from weft import Tensor
from weft.vision.datasets._published import Published, as_list, lines_of, one_or_all, open_picture
from weft.vision.datasets.utils import StrPath, download_file_from_google_drive, extract_archive, verify_str_arg
from weft.vision.datasets.vision import Transform


class CelebA(Published):
    """202,599 pictures of 10,177 people's faces.

    Samples are (PIL picture, target). The files are in ``root/celeba``: the folder ``img_align_celeba`` and five lists.

    Parameters
    ----------
    root : path
    split : {"train", "valid", "test", "all"}
    target_type : {"attr", "identity", "bbox", "landmarks"} or list of them
        What the target is, int64: 40 attributes that are 0 or 1; the person's number; the box (x, y, width, height);
        five points (x, y) of eyes, nose and mouth. Of a list it is a tuple, of an empty one None.
    transform, target_transform : callable, optional
        Applied to the picture and to the target.
    download : bool, default False
        Fetch the files from Google Drive if they are missing.

    Attributes
    ----------
    filename : list of str
    attr, identity, bbox, landmarks_align : Tensor, int64, shape (N, columns)
    attr_names : list of str

    References
    ----------
    Z. Liu, P. Luo, X. Wang, X. Tang: Deep learning face attributes in the wild. ICCV 2015.
    """

    base_folder = "celeba"
    file_list: ClassVar[list[tuple[str, str, str]]] = [  # id, MD5, name
        ("0B7EVK8r0v71pZjFTYXZWM3FlRnM", "00d2c5bc6d35e252742224ab0c1e8fcb", "img_align_celeba.zip"),
        ("0B7EVK8r0v71pblRyaVFSWGxPY0U", "75e246fa4810816ffd6ee81facbd244c", "list_attr_celeba.txt"),
        ("1_ee_0u7vcNLOfNLegJRHmolfH5ICW-XS", "32bd1bd63d3c78cd57e08160ec5ed1e2", "identity_CelebA.txt"),
        ("0B7EVK8r0v71pbThiMVRxWXZ4dU0", "00566efa6fedff7a56946cd1c10f1c16", "list_bbox_celeba.txt"),
        ("0B7EVK8r0v71pd0FJY3Blby1HUTQ", "cc24ecafdb5b50baae59b03474781f8c", "list_landmarks_align_celeba.txt"),
        ("0B7EVK8r0v71pY0NSMzRuSXJEVkk", "d32c9cbf5e040fd4025c592c306e6668", "list_eval_partition.txt"),
    ]
    _splits: ClassVar[dict[str, int]] = {"train": 0, "valid": 1, "test": 2}

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        target_type: list[str] | str = "attr",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        name = split.lower() if isinstance(split, str) else split
        number = self._splits.get(verify_str_arg(name, "split", (*self._splits, "all")))
        self.split = split
        self.target_type = [
            verify_str_arg(each, "target_type", ("attr", "identity", "bbox", "landmarks"))
            for each in as_list(target_type)
        ]
        if not self.target_type and target_transform is not None:
            raise RuntimeError("CelebA: target_transform is given, but target_type is empty: there is no target")
        self._folder = Path(self.root) / self.base_folder
        lists = [self._folder / name for _, _, name in self.file_list[1:]]
        self._obtain(self._folder / "img_align_celeba", *lists, download=download)
        names, parts, _ = self._table("list_eval_partition.txt")
        chosen = [row for row, part in enumerate(parts[:, 0].tolist()) if number in (None, part)]
        self.filename = [names[row] for row in chosen]
        self.identity = self._table("identity_CelebA.txt")[1][chosen]
        self.bbox = self._table("list_bbox_celeba.txt", header=1)[1][chosen]
        self.landmarks_align = self._table("list_landmarks_align_celeba.txt", header=1)[1][chosen]
        _, signs, self.attr_names = self._table("list_attr_celeba.txt", header=1)
        self.attr = (signs[chosen] + 1) // 2  # from -1 and 1

    def _table(self, filename: str, header: int | None = None) -> tuple[list[str], Tensor, list[str]]:
        """Return (first column, the other columns as numbers, names of columns) of a list."""
        rows = [line.split() for line in lines_of(self._folder / filename) if line]
        names = [] if header is None else rows[header]
        rows = rows if header is None else rows[header + 1 :]
        return [row[0] for row in rows], weft.tensor([[int(value) for value in row[1:]] for row in rows]), names

    def download(self) -> None:
        """Fetch the files from Google Drive, and unpack the pictures."""
        for file_id, md5, filename in self.file_list:
            download_file_from_google_drive(file_id, self._folder, filename, md5)
        extract_archive(self._folder / "img_align_celeba.zip")

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, target)."""
        picture = open_picture(self._folder / "img_align_celeba" / self.filename[index])
        targets = [self._target(each, index) for each in self.target_type]
        if targets:
            return self._apply(picture, one_or_all(targets))
        return (picture if self.transform is None else self.transform(picture)), None

    def _target(self, target_type: str, index: int) -> Tensor:
        if target_type == "identity":
            return self.identity[index, 0]
        return {"attr": self.attr, "bbox": self.bbox, "landmarks": self.landmarks_align}[target_type][index]

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        return len(self.filename)

    def extra_repr(self) -> str:
        """Return the lines that name the targets and the part."""
        return f"Target type: {self.target_type}\nSplit: {self.split}"
