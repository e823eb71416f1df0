"""Position-sensitive pooling of regions: the mean of whole pixels, in channels of each bin's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft import Tensor, nn
from weft.library.declare import op
from weft.overrides import handle_torch_function, has_torch_function
from weft.vision.ops._regions import (
    images_of,
    largest,
    region_sums,
    region_sums_gradient,
    run,
    whole_cells,
)
from weft.vision.ops.roi_align import Boxes

__all__ = ["PSRoIPool", "ps_roi_pool"]


@op(
    tensors="input rois",
    dtypes="float",
    result="same",
    compute_dtype="float32",
    autocast="float32",
    linear="input",
    namespace="vision",
)
def ps_roi_pool(input: Tensor, boxes: Boxes, output_size: int | Sequence[int], spatial_scale: float = 1.0) -> Tensor:
    """Average the pixels of each bin, in channels of its own.

    Parameters
    ----------
    input : Tensor, shape (N, C * rows * columns, H, W)
        Channel ``(c * rows + i) * columns + j`` is for bin (i, j) of channel c.
    boxes, output_size, spatial_scale
        See `roi_align`. Coordinates are rounded to whole pixels.

    Returns
    -------
    Tensor, shape (K, C, rows, columns)
        0 for a bin that has no pixels.

    Raises
    ------
    AssertionError, RuntimeError, IndexError
        As `roi_align`, and if the channels are no multiple of the bins.

    Notes
    -----
    As in torchvision, the last row and the last column of the image belong to no bin. The gradient here is that of the
    result; torchvision's gives these pixels a share.

    References
    ----------
    Dai et al., R-FCN, arXiv:1605.06409.

    Examples
    --------
    >>> image = weft.arange(4.0).reshape(1, 4, 1, 1).expand(1, 4, 5, 5)
    >>> ps_roi_pool(image, [weft.tensor([[0.0, 0.0, 4.0, 4.0]])], 2)[0, 0]
    tensor([[0., 1.],
            [2., 3.]])
    """
    if has_torch_function((input, boxes)):
        return handle_torch_function(ps_roi_pool, (input, boxes), input, boxes, output_size, spatial_scale)
    return run(ps_roi_pool.op, "ps_roi_pool", input, boxes, spatial_scale, output_size, own=True).to(input.dtype)


def weights_of(xp: Any, rois: Any, sizes: Any, spatial_scale: float, bins: Any) -> list[Any]:
    """The pixels and weights of the rows and of the columns."""
    left, top, right, bottom = (rois[:, 1:] * spatial_scale).T
    edges = ((top, bottom), (left, right))
    return [cell_weights(xp, edge[0], edge[1], count, size) for edge, count, size in zip(edges, bins, sizes)]


def cell_weights(xp: Any, low: Any, high: Any, bins: int, size: int) -> tuple[Any, Any]:
    """The cells of each bin, and what each weighs in their mean, (K, bins, cells)."""
    starts, ends = whole_cells(xp, low, high, bins, size - 1, past_end=0)
    counts = (ends - starts)[:, :, None]
    steps = xp.arange(largest(counts))
    weights = xp.where(steps < counts, 1.0 / xp.maximum(counts, 1), 0.0).astype(low.dtype)
    return (starts[:, :, None] + steps).clip(0, size - 1), weights


@ps_roi_pool.kernel
def _(xp, input, rois, spatial_scale, pooled_height, pooled_width):
    images = images_of(xp, "ps_roi_pool", rois, input.shape[0])
    axes = weights_of(xp, rois, input.shape[2:], spatial_scale, (pooled_height, pooled_width))
    return region_sums(xp, input, images, axes[0], axes[1], own=True)


@ps_roi_pool.meta
def _(xp, input, rois, spatial_scale, pooled_height, pooled_width):
    channels = input.shape[1] // (pooled_height * pooled_width)
    return xp.empty((rois.shape[0], channels, pooled_height, pooled_width), input.dtype)


@ps_roi_pool.gradient("input")
def _(grad, rois, input_shape, spatial_scale):
    return ps_roi_pool_gradient.op(grad, rois, input_shape, spatial_scale)


@op(
    tensors="output_grad rois",
    dtypes="float",
    result="same",
    compute_dtype="float32",
    linear="output_grad",
    namespace="vision",
)
def ps_roi_pool_gradient(output_grad: Tensor, rois: Tensor, shape: tuple[int, ...], spatial_scale: float) -> Tensor:
    """The gradient of `ps_roi_pool` with respect to an input of a shape."""
    return ps_roi_pool_gradient.op(output_grad, rois, shape, spatial_scale)


@ps_roi_pool_gradient.kernel
def _(xp, output_grad, rois, shape, spatial_scale):
    images = images_of(xp, "ps_roi_pool", rois, shape[0])
    axes = weights_of(xp, rois, shape[2:], spatial_scale, output_grad.shape[2:])
    return region_sums_gradient(xp, output_grad, images, axes[0], axes[1], shape, own=True)


@ps_roi_pool_gradient.meta
def _(xp, output_grad, rois, shape, spatial_scale):
    return xp.empty(shape, output_grad.dtype)


@ps_roi_pool_gradient.gradient("output_grad")
def _(grad, output_grad_shape, rois, spatial_scale):
    return ps_roi_pool.op(grad, rois, spatial_scale, *output_grad_shape[2:])


class PSRoIPool(nn.Module):
    """`ps_roi_pool` as a layer, for boxes as its second argument."""

    def __init__(self, output_size: int | Sequence[int], spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        """Return the features of the regions."""
        return ps_roi_pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale})"
