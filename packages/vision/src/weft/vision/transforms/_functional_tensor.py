"""The ranges of pixel values, under the name that torchvision's module of this name has."""

from weft.vision.transforms.v2.functional._misc import greatest_value as _max_value  # noqa: F401
