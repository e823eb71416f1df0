"""The greatest features in the bins of regions (Fast R-CNN, arXiv:1504.08083)."""

from __future__ import annotations

from collections.abc import Sequence

import weft
from weft import Tensor, nn
from weft.library.declare import op
from weft.overrides import handle_torch_function, has_torch_function
from weft.vision.ops._regions import images_of, largest, pixel_rows, run, whole_cells
from weft.vision.ops.roi_align import Boxes

__all__ = ["RoIPool", "roi_pool"]


@op(tensors="input rois", dtypes="float", compute_dtype="float32", autocast="float32", namespace="vision")
def roi_pool(input: Tensor, boxes: Boxes, output_size: int | Sequence[int], spatial_scale: float = 1.0) -> Tensor:
    """Take the greatest of the pixels of each bin.

    Parameters
    ----------
    input : Tensor, shape (N, C, H, W)
    boxes : Tensor, shape (K, 5), or list of N tensors of shape (L, 4)
        The index of the image, and corners x1, y1, x2, y2 in its coordinates; or the corners, image by image. They are
        rounded to whole pixels, halves away from zero.
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float
        From the coordinates of the boxes to those of ``input``.

    Returns
    -------
    Tensor, shape (K, C, rows, columns)
        0 for a bin that has no pixels. A NaN is never the greatest.

    Raises
    ------
    AssertionError, RuntimeError, IndexError
        As `roi_align`.

    Examples
    --------
    >>> image = weft.arange(16.0).reshape(1, 1, 4, 4)
    >>> roi_pool(image, [weft.tensor([[0.0, 0.0, 3.0, 3.0]])], 2).flatten().tolist()
    [5.0, 7.0, 13.0, 15.0]
    """
    if has_torch_function((input, boxes)):
        return handle_torch_function(roi_pool, (input, boxes), input, boxes, output_size, spatial_scale)
    return run(roi_pool.op, "roi_pool", input, boxes, spatial_scale, output_size)[0].to(input.dtype)


@roi_pool.kernel
def _(xp, input, rois, spatial_scale, pooled_height, pooled_width):
    batch, channels, height, width = input.shape
    images = images_of(xp, "roi_pool", rois, batch)
    left, top, right, bottom = (rois[:, 1:] * spatial_scale).T
    top, bottom = whole_cells(xp, top, bottom, pooled_height, height, past_end=1)
    left, right = whole_cells(xp, left, right, pooled_width, width, past_end=1)
    empty = (bottom <= top)[:, :, None] | (right <= left)[:, None, :]
    rows = pixel_rows(xp, input, (1, 1), own=False)
    shape = (len(images), pooled_height, pooled_width, channels)
    greatest = xp.full(shape, xp.finfo(input.dtype).min, input.dtype)
    index = xp.full(shape, -1, xp.int64)
    first = (images * (height * width))[:, None, None]
    for down in range(largest(bottom - top) if rows.size else 0):
        y = (top + down)[:, :, None]
        for along in range(largest(right - left)):
            x = (left + along)[:, None, :]
            inside = (y < bottom[:, :, None]) & (x < right[:, None, :])
            place = xp.where(inside, y * width + x, 0)
            values = rows[first + place]
            better = inside[..., None] & (values > greatest)
            greatest = xp.where(better, values, greatest)
            index = xp.where(better, place[..., None], index)
    greatest = xp.where(empty[..., None], 0, greatest).astype(input.dtype)
    return tuple(xp.ascontiguousarray(each.transpose(0, 3, 1, 2)) for each in (greatest, index))


@roi_pool.meta
def _(xp, input, rois, spatial_scale, pooled_height, pooled_width):
    shape = (rois.shape[0], input.shape[1], pooled_height, pooled_width)
    return xp.empty(shape, input.dtype), xp.empty(shape, xp.int64)


@roi_pool.gradient("input")
def _(grad, later_outputs, rois, input_shape):
    batch, channels, height, width = input_shape
    index = later_outputs[0]
    planes = rois[:, 0].long()[:, None] * channels + weft.arange(channels, device=grad.device)
    place = (planes * (height * width))[:, :, None, None] + index
    found = (index >= 0).flatten()
    total = grad.new_zeros(batch * channels * height * width)
    return total.index_add(0, place.flatten() * found, grad.flatten() * found).reshape(input_shape)


class RoIPool(nn.Module):
    """`roi_pool` as a layer, for boxes as its second argument."""

    def __init__(self, output_size: int | Sequence[int], spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        """Return the features of the regions."""
        return roi_pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale})"
