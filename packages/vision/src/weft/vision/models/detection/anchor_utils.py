"""Boxes in a grid over the image, from which detectors predict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor, nn
from weft.vision.models.detection.image_list import ImageList

__all__ = ["AnchorGenerator", "DefaultBoxGenerator"]


def grid(rows: Tensor, columns: Tensor) -> Tensor:
    """The x and y (rows * columns, 2) of each pair of a row's y and a column's x."""
    y, x = weft.meshgrid(rows, columns, indexing="ij")
    return weft.stack([x.flatten(), y.flatten()], dim=1)


class AnchorGenerator(nn.Module):
    """Anchors of all sizes and ratios at each place of each map of features.

    Parameters
    ----------
    sizes : tuple of tuples of int
        The roots of the anchors' areas, for each map; a tuple of int stands for one size of each map.
    aspect_ratios : tuple of tuples of float
        Heights over widths, for each map; a tuple of float stands for the same of all maps.
    """

    def __init__(
        self, sizes: Sequence[Any] = ((128, 256, 512),), aspect_ratios: Sequence[Any] = ((0.5, 1.0, 2.0),)
    ) -> None:
        super().__init__()
        if not isinstance(sizes[0], (list, tuple)):
            sizes = tuple((size,) for size in sizes)
        if not isinstance(aspect_ratios[0], (list, tuple)):
            aspect_ratios = (aspect_ratios,) * len(sizes)
        self.sizes = sizes
        self.aspect_ratios = aspect_ratios
        self.cell_anchors = [self.generate_anchors(*pair) for pair in zip(sizes, aspect_ratios)]

    def generate_anchors(
        self, scales: Sequence[float], aspect_ratios: Sequence[float], dtype: Any = weft.float32, device: Any = None
    ) -> Tensor:
        """The anchors (ratios * scales, 4) around the origin, in whole pixels."""
        sides = weft.as_tensor(scales, dtype=dtype, device=device)
        tall = weft.as_tensor(aspect_ratios, dtype=dtype, device=device).sqrt()
        widths = ((1 / tall)[:, None] * sides).flatten()
        heights = (tall[:, None] * sides).flatten()
        return (weft.stack([-widths, -heights, widths, heights], dim=1) / 2).round()

    def set_cell_anchors(self, dtype: Any, device: Any) -> None:
        """Move the anchors around the origin to a dtype and a device."""
        self.cell_anchors = [anchors.to(dtype=dtype, device=device) for anchors in self.cell_anchors]

    def num_anchors_per_location(self) -> list[int]:
        """How many anchors there are at each place of each map."""
        return [len(sizes) * len(ratios) for sizes, ratios in zip(self.sizes, self.aspect_ratios)]

    def grid_anchors(self, grid_sizes: Sequence[Sequence[int]], strides: Sequence[Sequence[Any]]) -> list[Tensor]:
        """The anchors (places * anchors, 4) of each map.

        Parameters
        ----------
        grid_sizes, strides : sequence of pairs
            Rows and columns of each map, and the pixels of the image from one to the next.

        Raises
        ------
        AssertionError
            If there are not as many maps as sizes.
        """
        if not len(grid_sizes) == len(strides) == len(self.cell_anchors):
            raise AssertionError(
                "Anchors should be Tuple[Tuple[int]] because each feature map could potentially have different sizes "
                f"and aspect ratios: there are {len(grid_sizes)} feature maps and {len(self.cell_anchors)} sizes."
            )
        anchors = []
        for size, stride, cell in zip(grid_sizes, strides, self.cell_anchors):
            rows, columns = (weft.arange(count, device=cell.device) * step for count, step in zip(size, stride))
            places = grid(rows, columns)
            anchors.append((weft.cat([places, places], dim=1)[:, None] + cell).reshape(-1, 4))
        return anchors

    def forward(self, image_list: ImageList, feature_maps: list[Tensor]) -> list[Tensor]:
        """The anchors (all of all maps, 4) of each image."""
        height, width = image_list.tensors.shape[-2:]
        sizes = [each.shape[-2:] for each in feature_maps]
        self.set_cell_anchors(feature_maps[0].dtype, feature_maps[0].device)
        anchors = self.grid_anchors(sizes, [(height // rows, width // columns) for rows, columns in sizes])
        return [weft.cat(anchors) for _ in image_list.image_sizes]


class DefaultBoxGenerator(nn.Module):
    """The default boxes of SSD (arXiv:1512.02325, section 2.2).

    Parameters
    ----------
    aspect_ratios : list of lists of int
        Of the boxes of each map, beside the two squares; each ratio is for its inverse too.
    min_ratio, max_ratio : float
        The scales of the first and the last map, if they are not given.
    scales : list of float, optional
        Sides of the squares over the image's, for each map and one more.
    steps : list of int, optional
        The pixels of the image from one place of a map to the next.
    clip : bool
        Keep widths and heights within the image's.

    Raises
    ------
    ValueError
        If there are not as many steps as maps.
    """

    def __init__(
        self,
        aspect_ratios: list[list[int]],
        min_ratio: float = 0.15,
        max_ratio: float = 0.9,
        scales: list[float] | None = None,
        steps: list[int] | None = None,
        clip: bool = True,
    ) -> None:
        super().__init__()
        if steps is not None and len(aspect_ratios) != len(steps):
            raise ValueError("aspect_ratios and steps should have the same length")
        self.aspect_ratios = aspect_ratios
        self.steps = steps
        self.clip = clip
        maps = len(aspect_ratios)
        if scales is None:
            inner = [
                min_ratio + (max_ratio - min_ratio) * number / (maps - 1.0) for number in range(maps if maps > 1 else 0)
            ]
            scales = [*inner, 1.0] if inner else [min_ratio, max_ratio]
        self.scales = scales
        self._wh_pairs = self._generate_wh_pairs(maps)

    def _generate_wh_pairs(self, num_outputs: int, dtype: Any = weft.float32, device: Any = None) -> list[Tensor]:
        """Widths and heights (boxes, 2) of each map."""
        found = []
        for scale, next_scale, ratios in zip(self.scales, self.scales[1:], self.aspect_ratios[:num_outputs]):
            between = math.sqrt(scale * next_scale)
            pairs = [[scale, scale], [between, between]]
            for ratio in ratios:
                width, height = scale * math.sqrt(ratio), scale / math.sqrt(ratio)
                pairs += [[width, height], [height, width]]
            found.append(weft.as_tensor(pairs, dtype=dtype, device=device))
        return found

    def num_anchors_per_location(self) -> list[int]:
        """How many boxes there are at each place of each map."""
        return [2 + 2 * len(ratios) for ratios in self.aspect_ratios]

    def _grid_default_boxes(
        self, grid_sizes: Sequence[Sequence[int]], image_size: Sequence[int], dtype: Any = weft.float32
    ) -> Tensor:
        """Centres and sizes (all of all maps, 4) over the image's."""
        boxes = []
        for number, ((rows, columns), pairs) in enumerate(zip(grid_sizes, self._wh_pairs)):
            down, across = float(rows), float(columns)
            if self.steps is not None:
                down, across = (side / self.steps[number] for side in image_size)
            places = grid(*(((weft.arange(n) + 0.5) / over).to(dtype) for n, over in ((rows, down), (columns, across))))
            sizes = pairs.clamp(min=0, max=1) if self.clip else pairs
            boxes.append(weft.cat([places.repeat_interleave(len(sizes), dim=0), sizes.repeat(len(places), 1)], dim=1))
        return weft.cat(boxes)

    def forward(self, image_list: ImageList, feature_maps: list[Tensor]) -> list[Tensor]:
        """The boxes (all of all maps, 4) of each image, in pixels."""
        height, width = image_list.tensors.shape[-2:]
        first = feature_maps[0]
        sizes = [each.shape[-2:] for each in feature_maps]
        boxes = self._grid_default_boxes(sizes, (height, width), dtype=first.dtype).to(first.device)
        centres, half = boxes[:, :2], 0.5 * boxes[:, 2:]
        image = weft.tensor([width, height], device=first.device)
        pixels = weft.cat([(centres - half) * image, (centres + half) * image], dim=1)
        return [pixels.clone() for _ in image_list.image_sizes]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(aspect_ratios={self.aspect_ratios}, clip={self.clip}, scales={self.scales}, "
            f"steps={self.steps})"
        )
