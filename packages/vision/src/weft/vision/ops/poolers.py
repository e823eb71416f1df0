"""Features of regions, from the level of a pyramid that suits their size (arXiv:1612.03144)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import weft
from weft import Tensor, nn
from weft.vision.ops._utils import convert_boxes_to_roi_format
from weft.vision.ops.boxes import box_area
from weft.vision.ops.roi_align import roi_align

__all__ = ["MultiScaleRoIAlign"]


class LevelMapper:
    """The level of a pyramid that each box is taken from.

    Parameters
    ----------
    k_min, k_max : int
        The levels that there are: a level is the binary logarithm of the stride.
    canonical_scale, canonical_level : int
        The side of a square box that belongs to a level.
    eps : float
        Added before rounding down.
    """

    def __init__(
        self, k_min: int, k_max: int, canonical_scale: int = 224, canonical_level: int = 4, eps: float = 1e-6
    ) -> None:
        self.k_min = k_min
        self.k_max = k_max
        self.s0 = canonical_scale
        self.lvl0 = canonical_level
        self.eps = eps

    def __call__(self, boxlists: list[Tensor]) -> Tensor:
        """Return the levels of all boxes, counted from ``k_min``: equation 1 of the paper."""
        sides = weft.cat([box_area(boxes) for boxes in boxlists]).sqrt()
        levels = (self.lvl0 + (sides / self.s0).log2() + self.eps).floor().clamp(self.k_min, self.k_max)
        return levels.long() - self.k_min


class MultiScaleRoIAlign(nn.Module):
    """`roi_align` on the level of a feature pyramid that suits each box's size.

    Parameters
    ----------
    featmap_names : list of str
        The maps to use, of those that are given.
    output_size : int or (int, int)
        Rows and columns of bins.
    sampling_ratio : int
        See `roi_align`.
    canonical_scale, canonical_level : int
        The side of a square box that belongs to a level.

    Examples
    --------
    >>> pooler = MultiScaleRoIAlign(["fine", "coarse"], 3, 2)
    >>> maps = {"fine": weft.ones(1, 5, 64, 64), "coarse": weft.ones(1, 5, 16, 16)}
    >>> boxes = weft.tensor([[0.0, 0.0, 40.0, 40.0], [0.0, 0.0, 250.0, 250.0]])
    >>> tuple(pooler(maps, [boxes], [(256, 256)]).shape)
    (2, 5, 3, 3)
    """

    def __init__(
        self,
        featmap_names: list[str],
        output_size: int | Sequence[int],
        sampling_ratio: int,
        *,
        canonical_scale: int = 224,
        canonical_level: int = 4,
    ) -> None:
        super().__init__()
        self.featmap_names = featmap_names
        self.sampling_ratio = sampling_ratio
        self.output_size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
        self.scales: list[float] | None = None
        self.map_levels: LevelMapper | None = None
        self.canonical_scale = canonical_scale
        self.canonical_level = canonical_level

    def forward(self, x: dict[str, Tensor], boxes: list[Tensor], image_shapes: list[tuple[int, int]]) -> Tensor:
        """Pool each box from its level.

        Parameters
        ----------
        x : dict of Tensor, shapes (N, C, H, W)
        boxes : list of N Tensor, shapes (L, 4)
            Corners x1, y1, x2, y2, in the pixels of the images.
        image_shapes : list of (int, int)
            Heights and widths of the images that the maps are of; the first call's decide the scales.

        Returns
        -------
        Tensor, shape (K, C, rows, columns)
            The boxes of all images.
        """
        maps = [features for name, features in x.items() if name in self.featmap_names]
        if self.scales is None or self.map_levels is None:
            self.scales = scales_of(maps, image_shapes)
            lowest, highest = (int(-math.log2(scale)) for scale in (self.scales[0], self.scales[-1]))
            self.map_levels = LevelMapper(lowest, highest, self.canonical_scale, self.canonical_level)
        rois = convert_boxes_to_roi_format(boxes)
        if len(maps) == 1:
            return roi_align(maps[0], rois, self.output_size, self.scales[0], self.sampling_ratio)
        levels = self.map_levels(boxes)
        result = maps[0].new_zeros((len(rois), maps[0].shape[1], *self.output_size))
        for level, (features, scale) in enumerate(zip(maps, self.scales)):
            index = weft.where(levels == level)[0]
            pooled = roi_align(features, rois[index], self.output_size, scale, self.sampling_ratio)
            result[index] = pooled.to(result.dtype)  # autocast may give levels of different dtypes
        return result

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(featmap_names={self.featmap_names}, "
            f"output_size={self.output_size}, sampling_ratio={self.sampling_ratio})"
        )


def scales_of(maps: list[Tensor], image_shapes: list[tuple[int, int]]) -> list[float]:
    """From pixels of the largest image to those of each map, a power of 2."""
    if not image_shapes:
        raise ValueError("MultiScaleRoIAlign: images list should not be empty")
    height = max(shape[0] for shape in image_shapes)
    return [2.0 ** round(math.log2(features.shape[-2] / height)) for features in maps]
