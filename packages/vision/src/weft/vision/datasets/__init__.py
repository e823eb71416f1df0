"""Vision data sets, with the names of ``torchvision.datasets``."""

from weft.vision.datasets.digits import Digits
from weft.vision.datasets.vision import VisionDataset

__all__ = ["Digits", "VisionDataset"]
