"""Position-sensitive features of regions, interpolated between pixels: each bin has channels of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft import Tensor, nn
from weft.library.declare import op
from weft.overrides import handle_torch_function, has_torch_function
from weft.vision.ops._regions import (
    images_of,
    region_sums,
    region_sums_gradient,
    run,
    sample_weights,
)
from weft.vision.ops.roi_align import Boxes

__all__ = ["PSRoIAlign", "ps_roi_align"]


@op(
    tensors="input rois",
    dtypes="float",
    result="same",
    compute_dtype="float32",
    autocast="float32",
    linear="input",
    namespace="vision",
)
def ps_roi_align(
    input: Tensor,
    boxes: Boxes,
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
) -> Tensor:
    """`roi_align` in which each bin averages channels of its own.

    Parameters
    ----------
    input : Tensor, shape (N, C * rows * columns, H, W)
        Channel ``(c * rows + i) * columns + j`` is for bin (i, j) of channel c.
    boxes, output_size, spatial_scale, sampling_ratio
        See `roi_align`. Coordinates are of pixels' centres.

    Returns
    -------
    Tensor, shape (K, C, rows, columns)
        NaN for a box of no length whose samples are as many as its pixels.

    Raises
    ------
    AssertionError, RuntimeError, IndexError, ValueError
        As `roi_align`, and if the channels are no multiple of the bins.

    References
    ----------
    Li et al., Light-Head R-CNN, arXiv:1711.07264.

    Examples
    --------
    >>> image = weft.arange(4.0).reshape(1, 4, 1, 1).expand(1, 4, 3, 3)
    >>> ps_roi_align(image, [weft.tensor([[0.0, 0.0, 2.0, 2.0]])], 2)[0, 0]
    tensor([[0., 1.],
            [2., 3.]])
    """
    if has_torch_function((input, boxes)):
        return handle_torch_function(
            ps_roi_align, (input, boxes), input, boxes, output_size, spatial_scale, sampling_ratio
        )
    regions = input, boxes, spatial_scale, output_size
    return run(ps_roi_align.op, "ps_roi_align", *regions, int(sampling_ratio), own=True).to(input.dtype)


def weights_of(xp: Any, rois: Any, sizes: Any, spatial_scale: float, bins: Any, sampling_ratio: int) -> list[Any]:
    """The pixels, weights and numbers of samples of the rows and of the columns."""
    left, top, right, bottom = (rois[:, 1:] * spatial_scale - 0.5).T
    edges = ((top, bottom), (left, right))
    return [
        sample_weights(xp, edge[0], edge[1], count, size, sampling_ratio, 0.0)
        for edge, count, size in zip(edges, bins, sizes)
    ]


@ps_roi_align.kernel
def _(xp, input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio):
    images = images_of(xp, "ps_roi_align", rois, input.shape[0])
    bins = pooled_height, pooled_width
    rows, columns = weights_of(xp, rois, input.shape[2:], spatial_scale, bins, sampling_ratio)
    sums = region_sums(xp, input, images, rows[:2], columns[:2], own=True)
    return xp.where((rows[2] * columns[2] > 0)[:, None, None, None], sums, xp.nan).astype(sums.dtype)


@ps_roi_align.meta
def _(xp, input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio):
    channels = input.shape[1] // (pooled_height * pooled_width)
    return xp.empty((rois.shape[0], channels, pooled_height, pooled_width), input.dtype)


@ps_roi_align.gradient("input")
def _(grad, rois, input_shape, spatial_scale, sampling_ratio):
    return ps_roi_align_gradient.op(grad, rois, input_shape, spatial_scale, sampling_ratio)


@op(
    tensors="output_grad rois",
    dtypes="float",
    result="same",
    compute_dtype="float32",
    linear="output_grad",
    namespace="vision",
)
def ps_roi_align_gradient(
    output_grad: Tensor, rois: Tensor, shape: tuple[int, ...], spatial_scale: float, sampling_ratio: int
) -> Tensor:
    """The gradient of `ps_roi_align` with respect to an input of a shape."""
    return ps_roi_align_gradient.op(output_grad, rois, shape, spatial_scale, sampling_ratio)


@ps_roi_align_gradient.kernel
def _(xp, output_grad, rois, shape, spatial_scale, sampling_ratio):
    images = images_of(xp, "ps_roi_align", rois, shape[0])
    rows, columns = weights_of(xp, rois, shape[2:], spatial_scale, output_grad.shape[2:], sampling_ratio)
    return region_sums_gradient(xp, output_grad, images, rows[:2], columns[:2], shape, own=True)


@ps_roi_align_gradient.meta
def _(xp, output_grad, rois, shape, spatial_scale, sampling_ratio):
    return xp.empty(shape, output_grad.dtype)


@ps_roi_align_gradient.gradient("output_grad")
def _(grad, output_grad_shape, rois, spatial_scale, sampling_ratio):
    return ps_roi_align.op(grad, rois, spatial_scale, *output_grad_shape[2:], sampling_ratio)


class PSRoIAlign(nn.Module):
    """`ps_roi_align` as a layer, for boxes as its second argument."""

    def __init__(self, output_size: int | Sequence[int], spatial_scale: float, sampling_ratio: int) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        """Return the features of the regions."""
        return ps_roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio})"
        )
