"""Transforms of pictures, which may be PIL images or tensors, with the names of ``torchvision.transforms``."""

from weft.vision.transforms import functional as functional
from weft.vision.transforms.color import *
from weft.vision.transforms.composition import *
from weft.vision.transforms.conversion import *
from weft.vision.transforms.filtering import *
from weft.vision.transforms.functional import InterpolationMode as InterpolationMode
from weft.vision.transforms.geometry import *

__all__ = ["functional", *[name for name, value in globals().items() if callable(value)]]
