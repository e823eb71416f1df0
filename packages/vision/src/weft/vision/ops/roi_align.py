"""Features of regions of an image, sampled between its pixels."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor, nn

__all__ = ["RoIAlign", "roi_align"]


def roi_align(
    input: Tensor,
    boxes: Tensor | list[Tensor] | tuple[Tensor, ...],
    output_size: int | tuple[int, int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Average the features in a grid of bins over each box, by bilinear interpolation.

    Parameters
    ----------
    input : Tensor, shape (N, C, H, W)
    boxes : Tensor, shape (K, 5), or list of N tensors of shape (L, 4)
        The index of the image, and corners x1, y1, x2, y2 in its coordinates; or the corners, image by image.
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float
        From the coordinates of the boxes to those of ``input``.
    sampling_ratio : int
        Samples of a bin along each axis; 0 or less: about one for each pixel.
    aligned : bool
        Coordinates are of pixels' centres: half a pixel less. Otherwise boxes are at least one pixel wide.

    Returns
    -------
    Tensor, shape (K, C, rows, columns)

    Raises
    ------
    ValueError
        If ``boxes`` has neither of the two forms.

    Notes
    -----
    He et al., Mask R-CNN, 2017. Interpolation along rows and along columns are independent, so the bins of a box are
    the product of a matrix for its rows, the features and a matrix for its columns.

    Examples
    --------
    >>> image = weft.arange(16.0).reshape(1, 1, 4, 4)
    >>> roi_align(image, [weft.tensor([[0.0, 0.0, 4.0, 4.0]])], 2, sampling_ratio=2, aligned=True).flatten().tolist()
    [2.5, 4.5, 10.5, 12.5]
    """
    rois = numbered(boxes)
    rows, columns = (output_size, output_size) if isinstance(output_size, int) else output_size
    corners = rois[:, 1:] * spatial_scale - (0.5 if aligned else 0.0)
    left, top, right, bottom = corners.unbind(1)
    vertical = bin_weights(top, bottom, rows, input.shape[2], sampling_ratio, aligned)
    horizontal = bin_weights(left, right, columns, input.shape[3], sampling_ratio, aligned)
    features = input[rois[:, 0].long()]
    return weft.einsum("krh,kchw,kqw->kcrq", vertical.to(input.dtype), features, horizontal.to(input.dtype))


def numbered(boxes: Any) -> Tensor:
    """Boxes with the index of their image in front, shape (K, 5)."""
    if isinstance(boxes, (list, tuple)):
        if any(each.dim() != 2 or each.shape[1] != 4 for each in boxes):
            raise ValueError("roi_align: The boxes of each image must be Tensor[L, 4]")
        parts = [weft.cat([weft.full_like(each[:, :1], image), each], 1) for image, each in enumerate(boxes)]
        return weft.cat(parts)
    if boxes.dim() != 2 or boxes.shape[1] != 5:
        raise ValueError(f"roi_align: boxes must be Tensor[K, 5] or a list of Tensor[L, 4], got {tuple(boxes.shape)}")
    given: Tensor = boxes
    return given


def bin_weights(low: Tensor, high: Tensor, bins: int, size: int, sampling_ratio: int, aligned: bool) -> Tensor:
    """What each pixel along an axis weighs in each bin of each box, shape (K, bins, size)."""
    length = high - low if aligned else (high - low).clamp(min=1.0)
    counts = weft.full_like(length, sampling_ratio) if sampling_ratio > 0 else (length / bins).ceil().clamp(min=1.0)
    most = sampling_ratio if sampling_ratio > 0 else int(counts.max()) if len(counts) else 1
    steps = weft.arange(most, dtype=low.dtype, device=low.device)
    inner = (steps + 0.5) / counts[:, None]  # the places of the samples in a bin
    starts = weft.arange(bins, dtype=low.dtype, device=low.device)
    places = low[:, None, None] + (starts[:, None] + inner[:, None]) * (length / bins)[:, None, None]
    counted = (steps < counts[:, None])[:, None] & (places >= -1.0) & (places <= size)
    pixels = weft.arange(size, dtype=low.dtype, device=low.device)
    weights = (1.0 - (places.clamp(0.0, size - 1.0)[..., None] - pixels).abs()).clamp(min=0.0)
    return (weights * counted[..., None]).sum(2) / counts[:, None, None]


class RoIAlign(nn.Module):
    """`roi_align` as a layer, for boxes as its second argument."""

    def __init__(
        self, output_size: int | tuple[int, int], spatial_scale: float, sampling_ratio: int, aligned: bool = False
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned

    def forward(self, input: Tensor, rois: Any) -> Tensor:
        return roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio}, aligned={self.aligned}"
        )
