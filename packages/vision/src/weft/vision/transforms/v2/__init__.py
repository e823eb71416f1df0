"""Transforms of samples: images together with their masks, boxes, key points and videos, in any nest of containers.

See `Transform` for what of a sample is transformed, and `functional` for the transforms as functions.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.vision.transforms.v2 import functional as functional
    from weft.vision.transforms.v2._geometry import *
    from weft.vision.transforms.v2._transform import Transform as Transform
    from weft.vision.transforms.v2._utils import *

# Which module of this folder has which names.
_NAMES = {
    "_transform": "Transform",
    "_utils": "check_type get_bounding_boxes get_keypoints has_all has_any query_chw query_size",
    "_geometry": "RandomHorizontalFlip RandomVerticalFlip",
    "_first": (
        "CenterCrop ColorJitter Compose ConvertImageDtype GaussianBlur Grayscale Identity InterpolationMode Lambda "
        "Normalize PILToTensor Pad RGB RandomAffine RandomApply RandomChoice RandomCrop RandomErasing RandomGrayscale "
        "RandomOrder RandomResizedCrop RandomRotation Resize ToDtype ToImage ToPILImage ToPureTensor ToTensor"
    ),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
_SUBMODULES = frozenset({*_NAMES, "functional"})

__all__ = ["functional", *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
