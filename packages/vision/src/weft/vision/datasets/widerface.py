"""WIDER FACE: faces in crowds, with their boxes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import weft
from weft.vision.datasets._published import Archive, Published, lines_of, open_picture
from weft.vision.datasets.utils import StrPath, download_file_from_google_drive, extract_archive, verify_str_arg
from weft.vision.datasets.vision import Transform

_COLUMNS = ("blur", "expression", "illumination", "occlusion", "pose", "invalid")


class WIDERFace(Published):
    """32,203 pictures with 393,703 faces.

    Samples are (PIL picture, dict of int64 tensors), the dict None in the test part: ``bbox`` of shape (N, 4) has x, y,
    width and height; ``blur``, ``expression``, ``illumination``, ``occlusion``, ``pose`` and ``invalid`` have shape
    (N,). The files are in ``root/widerface``: ``WIDER_train``, ``WIDER_val``, ``WIDER_test`` and ``wider_face_split``.

    Parameters
    ----------
    root : path
    split : {"train", "val", "test"}
    transform, target_transform : callable, optional
        Applied to the picture and to the dict.
    download : bool, default False
        Fetch the files from Google Drive and their publisher's site if they are missing.

    References
    ----------
    S. Yang, P. Luo, C. Loy, X. Tang: WIDER FACE: a face detection benchmark. CVPR 2016.
    """

    _pictures: ClassVar[dict[str, tuple[str, str]]] = {  # id, MD5
        "WIDER_train": ("15hGDLhsx8bLgLcIRD5DhYt5iBxnjNF1M", "3fedf70df600953d25982bcd13d91ba2"),
        "WIDER_val": ("1GUCogbp16PMGa39thoMMeWxp7Rp5oM8Q", "dfa7d7e790efa35df3788964cf0bbaea"),
        "WIDER_test": ("1HIfDbVEWKmsYKJZm4lchTBDLW5N7dY5T", "e5d8f4248ed24c334bbd12f49c29dd40"),
    }
    _archives = (
        Archive(
            "http://shuoyang1213.me/WIDERFACE/support/bbx_annotation/wider_face_split.zip",
            "0e3767bcf0e326556d407bf5bff5d27c",
        ),
    )

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        root = os.path.join(os.path.expanduser(root), "widerface")
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", ("train", "val", "test"))
        folder = Path(self.root).absolute()
        lists, self._images_folder = folder / "wider_face_split", folder / f"WIDER_{split}" / "images"
        self._obtain(lists, folder / f"WIDER_{split}", download=download)
        self.img_info: list[dict[str, Any]] = (
            [{"img_path": self._path(line)} for line in lines_of(lists / "wider_face_test_filelist.txt")]
            if split == "test"
            else list(self._read(lists / f"wider_face_{split}_bbx_gt.txt"))
        )

    def _path(self, name: str) -> str:
        return os.path.join(self._images_folder, name)

    def _read(self, path: Path) -> Iterator[dict[str, Any]]:
        """Return the pictures of a list: a name, the number of faces, and a line for each, or a line of zeros."""
        lines = iter(lines_of(path))
        for name in lines:
            count = next(lines, "")
            if not count.isdecimal():
                raise RuntimeError(f"WIDERFace: {path} must have the number of faces after {name!r}; it has {count!r}")
            rows = [[int(value) for value in next(lines).split()] for _ in range(max(int(count), 1))]
            table = weft.tensor(rows)
            columns = {column: table[:, number].clone() for number, column in enumerate(_COLUMNS, start=4)}
            yield {"img_path": self._path(name), "annotations": {"bbox": table[:, :4].clone(), **columns}}

    def download(self) -> None:
        """Fetch the pictures from Google Drive and the lists, check the archives by their MD5 sums, and unpack them."""
        for name, (file_id, md5) in self._pictures.items():
            download_file_from_google_drive(file_id, self.root, f"{name}.zip", md5)
            extract_archive(Path(self.root) / f"{name}.zip")
        super().download()

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, faces)."""
        info = self.img_info[index]
        return self._apply(open_picture(info["img_path"]), info.get("annotations"))

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        return len(self.img_info)

    def extra_repr(self) -> str:
        """Return the line that names the part."""
        return f"Split: {self.split}"
