"""MS COCO: objects in their surroundings, with boxes, outlines and captions."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from weft.vision.datasets._published import Published, open_picture
from weft.vision.datasets.utils import StrPath
from weft.vision.datasets.vision import Transform


class COCO:
    """The content of an annotation file of COCO, found by number.

    Attributes
    ----------
    imgs, anns, cats : dict
        Pictures, annotations and categories by their numbers.
    imgToAnns : dict
        The annotations of each picture.
    """

    def __init__(self, annotation_file: StrPath) -> None:
        with open(annotation_file, encoding="utf-8") as file:
            self.dataset: dict[str, Any] = json.load(file)
        self.imgs = self._by_id("images")
        self.anns = self._by_id("annotations")
        self.cats = self._by_id("categories")
        self.imgToAnns: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for annotation in self.dataset.get("annotations", []):
            self.imgToAnns[annotation["image_id"]].append(annotation)

    def _by_id(self, key: str) -> dict[int, dict[str, Any]]:
        return {entry["id"]: entry for entry in self.dataset.get(key, [])}

    def getAnnIds(self, imgIds: int | Iterable[int]) -> list[int]:
        """Return the numbers of the pictures' annotations."""
        ids: Any = [imgIds] if isinstance(imgIds, int) else imgIds
        return [annotation["id"] for image in ids for annotation in self.imgToAnns.get(image, [])]

    def loadAnns(self, ids: int | Iterable[int]) -> list[dict[str, Any]]:
        """Return annotations by their numbers."""
        return [self.anns[number] for number in ([ids] if isinstance(ids, int) else ids)]

    def loadImgs(self, ids: int | Iterable[int]) -> list[dict[str, Any]]:
        """Return what the file has of pictures, by their numbers."""
        return [self.imgs[number] for number in ([ids] if isinstance(ids, int) else ids)]


class CocoDetection(Published):
    """COCO for detection: 118,287 pictures to train with and 5,000 to validate, objects of 80 classes.

    Samples are (PIL picture of mode "RGB", list of dict), in the order of the pictures' numbers. A dict is what the
    file has of an object: ``bbox`` (x, y, width, height), ``category_id``, ``segmentation``, ``area``, ``iscrowd``.
    The package pycocotools is not needed.

    Parameters
    ----------
    root : path
        The folder of the pictures.
    annFile : path
        The file of annotations, such as ``instances_val2017.json``.
    transform, target_transform, transforms : callable, optional
        Applied to the picture, to the target, or to both.

    Attributes
    ----------
    coco : COCO
    ids : list of int

    References
    ----------
    T.-Y. Lin et al.: Microsoft COCO: common objects in context. arXiv:1405.0312.
    """

    _remedy = "fetch it from https://cocodataset.org"

    def __init__(
        self,
        root: StrPath,
        annFile: StrPath,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        path = os.path.expanduser(annFile)
        self._obtain(path)
        self.coco = COCO(path)
        self.ids = sorted(self.coco.imgs)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, annotations)."""
        if not isinstance(index, int):
            raise ValueError(f"{type(self).__name__}: the index must be an int; got {type(index).__name__}")
        number = self.ids[index]
        path = os.path.join(self.root, self.coco.imgs[number]["file_name"])
        return self._apply_jointly(open_picture(path, "RGB"), self._load_target(number))

    def _load_target(self, id: int) -> list[Any]:
        return list(self.coco.imgToAnns.get(id, []))

    def __len__(self) -> int:
        """Return the number of pictures."""
        return len(self.ids)


class CocoCaptions(CocoDetection):
    """COCO with five captions for each picture.

    Samples are (PIL picture of mode "RGB", list of str); parameters as of `CocoDetection`, the file is such as
    ``captions_val2017.json``.
    """

    def _load_target(self, id: int) -> list[str]:
        return [annotation["caption"] for annotation in super()._load_target(id)]
