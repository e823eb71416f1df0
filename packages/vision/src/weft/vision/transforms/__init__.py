"""Transforms of pictures, which may be PIL images or tensors, with the names of ``torchvision.transforms``."""

from weft.vision.transforms import functional as functional
from weft.vision.transforms.color import ColorJitter, Grayscale, RandomErasing, RandomGrayscale
from weft.vision.transforms.composition import Compose, Lambda, RandomApply, RandomChoice, RandomOrder
from weft.vision.transforms.conversion import ConvertImageDtype, Normalize, PILToTensor, ToPILImage, ToTensor
from weft.vision.transforms.filtering import GaussianBlur
from weft.vision.transforms.functional import InterpolationMode
from weft.vision.transforms.geometry import (
    CenterCrop,
    Pad,
    RandomAffine,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
)

__all__ = [
    "functional",
    "InterpolationMode",
    "Compose",
    "Lambda",
    "RandomApply",
    "RandomChoice",
    "RandomOrder",
    "ToTensor",
    "PILToTensor",
    "ToPILImage",
    "ConvertImageDtype",
    "Normalize",
    "Resize",
    "Pad",
    "CenterCrop",
    "RandomCrop",
    "RandomResizedCrop",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "RandomRotation",
    "RandomAffine",
    "GaussianBlur",
    "Grayscale",
    "RandomGrayscale",
    "ColorJitter",
    "RandomErasing",
]
