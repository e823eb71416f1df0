"""Names of the classes that published weights tell apart; read when they are first asked for."""

from __future__ import annotations

import json
import pkgutil
from functools import cache
from typing import Any

NAMES = {
    "_IMAGENET_CATEGORIES": "imagenet",
    "_KINETICS400_CATEGORIES": "kinetics400",
    "_COCO_CATEGORIES": "coco",
    "_COCO_PERSON_CATEGORIES": "coco_person",
    "_COCO_PERSON_KEYPOINT_NAMES": "coco_person_keypoints",
    "_VOC_CATEGORIES": "voc",
}


@cache
def categories() -> dict[str, list[str]]:
    """The classes' names by data set, in the order of the classes' numbers."""
    return read("categories.json")


def read(name: str) -> Any:
    """A table that lies beside this module."""
    return json.loads(pkgutil.get_data("weft.vision.models", name) or b"{}")


def __getattr__(name: str) -> list[str]:
    if name in NAMES:
        return categories()[NAMES[name]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
