"""The names of ``torchvision.transforms.v2``: the transforms of this package, and those that version 2 added.

A picture is a PIL image or a tensor, as ever; boxes and masks are not transformed with it.
"""

from __future__ import annotations

from typing import Any

from weft.vision import transforms as first
from weft.vision.transforms import *  # noqa: F403
from weft.vision.transforms import __all__ as _first
from weft.vision.transforms.v2.functional import resize

__all__ = [*_first]


class Resize(first.Resize):  # type: ignore[no-redef]  # in place of the first version's
    """As `weft.vision.transforms.Resize`; bytes are resampled in integers."""

    def forward(self, img: Any) -> Any:
        """Return the picture, resized."""
        return resize(img, self.size, self.interpolation, self.max_size, self.antialias)


class RandomResizedCrop(first.RandomResizedCrop):  # type: ignore[no-redef]  # likewise
    """As `weft.vision.transforms.RandomResizedCrop`; bytes are resampled in integers."""

    def forward(self, img: Any) -> Any:
        """Return a random part of the picture, resized."""
        part = first.functional.crop(img, *self.get_params(img, self.scale, self.ratio))
        return resize(part, self.size, self.interpolation, antialias=self.antialias)
