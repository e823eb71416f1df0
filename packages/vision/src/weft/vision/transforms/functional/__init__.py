"""Transforms as functions of a picture: a PIL image, or a tensor of shape (..., C, H, W)."""

from weft.vision.transforms.functional._types import *
from weft.vision.transforms.functional.color import *
from weft.vision.transforms.functional.conversion import *
from weft.vision.transforms.functional.filtering import *
from weft.vision.transforms.functional.geometry import *

__all__ = [name for name, value in globals().items() if callable(value)]
