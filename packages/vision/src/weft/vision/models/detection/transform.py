"""Images and their targets to the size that a detector works at, and its findings back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.vision.models.detection.image_list import ImageList
from weft.vision.models.detection.roi_heads import paste_masks_in_image

__all__ = ["GeneralizedRCNNTransform", "resize_boxes", "resize_keypoints"]

Target = dict[str, Tensor]


class GeneralizedRCNNTransform(nn.Module):
    """Normalize images, resize them with their targets, and pad them to a batch.

    Parameters
    ----------
    min_size : int or sequence of int
        The shorter side of a resized image; in training one of several, by chance, else the last.
    max_size : int
        What the longer side is at most.
    image_mean, image_std : list of float
        Of each channel.
    size_divisible : int
        Height and width of the batch are multiples of it.
    fixed_size : (int, int), optional
        Width and height of all resized images.
    """

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int,
        image_mean: list[float],
        image_std: list[float],
        size_divisible: int = 32,
        fixed_size: tuple[int, int] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.min_size = min_size if isinstance(min_size, (list, tuple)) else (min_size,)
        self.max_size = max_size
        self.image_mean = image_mean
        self.image_std = image_std
        self.size_divisible = size_divisible
        self.fixed_size = fixed_size
        self._skip_resize = kwargs.pop("_skip_resize", False)

    def forward(
        self, images: list[Tensor], targets: list[Target] | None = None
    ) -> tuple[ImageList, list[Target] | None]:
        """Return the batch, and the targets that belong to it.

        Parameters
        ----------
        images : list of Tensor, shape (C, H, W)
            Of a floating dtype, from 0 to 1.
        targets : list of dict, optional
            With ``"boxes"``, and ``"masks"`` and ``"keypoints"`` where there are any; they are not changed.

        Raises
        ------
        ValueError
            For an image of another shape.
        TypeError
            For an image of another dtype.
        """
        resized, found = [], []
        for number, image in enumerate(images):
            if image.dim() != 3:
                raise ValueError(
                    f"images is expected to be a list of 3d tensors of shape [C, H, W], got {tuple(image.shape)}"
                )
            target = None if targets is None else dict(targets[number])
            image, target = self.resize(self.normalize(image), target)
            resized.append(image)
            found.append(target)
        sizes = [(image.shape[-2], image.shape[-1]) for image in resized]
        batch = ImageList(self.batch_images(resized, size_divisible=self.size_divisible), sizes)
        return batch, None if targets is None else [each for each in found if each is not None]

    def normalize(self, image: Tensor) -> Tensor:
        """Subtract the means of the channels, and divide by their deviations."""
        if not image.is_floating_point():
            raise TypeError(
                f"Expected input images to be of floating type (in range [0, 1]), but found type {image.dtype} instead"
            )
        mean, std = (
            weft.as_tensor(values, dtype=image.dtype, device=image.device)[:, None, None]
            for values in (self.image_mean, self.image_std)
        )
        return (image - mean) / std

    def torch_choice(self, k: Sequence[int]) -> int:
        """One of several, by chance from the tensors' generator."""
        return k[int(weft.empty(1).uniform_(0.0, float(len(k))).item())]

    def resize(self, image: Tensor, target: Target | None = None) -> tuple[Tensor, Target | None]:
        """Resize an image (C, H, W) and its target."""
        if self.training and self._skip_resize:
            return image, target
        shorter = self.torch_choice(self.min_size) if self.training else self.min_size[-1]
        before = (image.shape[-2], image.shape[-1])
        after = self._resized_size(before, shorter)
        image = F.interpolate(image[None], size=after, mode="bilinear", align_corners=False)[0]
        if target is not None:
            target["boxes"] = resize_boxes(target["boxes"], before, after)
            if "masks" in target:
                target["masks"] = F.interpolate(target["masks"][:, None].float(), size=after)[:, 0].byte()
            if "keypoints" in target:
                target["keypoints"] = resize_keypoints(target["keypoints"], before, after)
        return image, target

    def _resized_size(self, size: tuple[int, int], shorter: int) -> tuple[int, int]:
        if self.fixed_size is not None:
            return self.fixed_size[1], self.fixed_size[0]
        scale = min(shorter / min(size), self.max_size / max(size))
        return math.floor(size[0] * scale), math.floor(size[1] * scale)

    def max_by_axis(self, the_list: list[list[int]]) -> list[int]:
        """The largest number at each place of several lists."""
        return [max(values) for values in zip(*the_list)]

    def batch_images(self, images: list[Tensor], size_divisible: int = 32) -> Tensor:
        """Images (C, h, w) as one tensor (N, C, H, W), with zeros to the right and below."""
        channels, *sides = self.max_by_axis([list(image.shape) for image in images])
        height, width = (-(-side // size_divisible) * size_divisible for side in sides)
        batch = images[0].new_zeros(len(images), channels, height, width)
        for number, image in enumerate(images):
            batch[number, : image.shape[0], : image.shape[1], : image.shape[2]] = image
        return batch

    def postprocess(
        self,
        result: list[Target],
        image_shapes: list[tuple[int, int]],
        original_image_sizes: list[tuple[int, int]],
    ) -> list[Target]:
        """Findings in the coordinates of the given images; in training, as they are."""
        if self.training:
            return result
        for found, before, after in zip(result, image_shapes, original_image_sizes):
            found["boxes"] = resize_boxes(found["boxes"], before, after)
            if "masks" in found:
                found["masks"] = paste_masks_in_image(found["masks"], found["boxes"], after)
            if "keypoints" in found:
                found["keypoints"] = resize_keypoints(found["keypoints"], before, after)
        return result

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(\n    Normalize(mean={self.image_mean}, std={self.image_std})"
            f"\n    Resize(min_size={self.min_size}, max_size={self.max_size}, mode='bilinear')\n)"
        )


def ratios(before: Sequence[int], after: Sequence[int], device: Any) -> list[Tensor]:
    """The ratios of heights and of widths, rounded to float32."""
    new, old = (weft.tensor(list(sides), dtype=weft.float32, device=device) for sides in (after, before))
    return list((new / old).unbind())


def resize_keypoints(keypoints: Tensor, original_size: Sequence[int], new_size: Sequence[int]) -> Tensor:
    """Key points (N, K, 3) of x, y and visibility in an image of another height and width."""
    height, width = ratios(original_size, new_size, keypoints.device)
    return weft.stack([keypoints[..., 0] * width, keypoints[..., 1] * height, *keypoints[..., 2:].unbind(-1)], dim=-1)


def resize_boxes(boxes: Tensor, original_size: Sequence[int], new_size: Sequence[int]) -> Tensor:
    """Boxes (N, 4) of corners in an image of another height and width."""
    height, width = ratios(original_size, new_size, boxes.device)
    left, top, right, bottom = boxes.unbind(1)
    return weft.stack([left * width, top * height, right * width, bottom * height], dim=1)
