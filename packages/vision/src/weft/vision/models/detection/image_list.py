"""Images of different sizes as one tensor."""

from __future__ import annotations

from typing import Any

from weft import Tensor

__all__ = ["ImageList"]


class ImageList:
    """A batch of padded images, and the size of each within it.

    Parameters
    ----------
    tensors : Tensor, shape (N, C, H, W)
    image_sizes : list of (int, int)
        Height and width of each image.
    """

    def __init__(self, tensors: Tensor, image_sizes: list[tuple[int, int]]) -> None:
        self.tensors = tensors
        self.image_sizes = image_sizes

    def to(self, device: Any) -> ImageList:
        """Return the same images on another device."""
        return ImageList(self.tensors.to(device), self.image_sizes)
