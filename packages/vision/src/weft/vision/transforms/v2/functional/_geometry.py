"""Size and position, in one namespace; each family has a module."""

from weft.vision.transforms.v2.functional._flip import *  # noqa: F403
