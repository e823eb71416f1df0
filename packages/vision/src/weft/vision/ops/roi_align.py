"""Features of regions of an image, interpolated between its pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor, nn
from weft.library.declare import op
from weft.overrides import handle_torch_function, has_torch_function
from weft.vision.ops._regions import images_of, region_sums, region_sums_gradient, run, sample_weights

__all__ = ["RoIAlign", "roi_align"]

Boxes = Tensor | list[Tensor] | tuple[Tensor, ...]


@op(
    tensors="input rois",
    dtypes="float",
    result="same",
    compute_dtype="float32",
    autocast="float32",
    linear="input",
    namespace="vision",
)
def roi_align(
    input: Tensor,
    boxes: Boxes,
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Average the features in a grid of bins over each box, by bilinear interpolation.

    Parameters
    ----------
    input : Tensor, shape (N, C, H, W)
    boxes : Tensor, shape (K, 5), or list of N tensors of shape (L, 4)
        The index of the image, and corners x1, y1, x2, y2 in its coordinates; or the corners, image by image. They get
        no gradient.
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float
        From the coordinates of the boxes to those of ``input``.
    sampling_ratio : int
        Samples of a bin along each axis; 0 or less: about one for each pixel, as many as the largest box needs.
    aligned : bool
        Coordinates are of pixels' centres: half a pixel less. Otherwise boxes are at least one pixel wide.

    Returns
    -------
    Tensor, shape (K, C, rows, columns)

    Raises
    ------
    AssertionError
        If ``boxes`` has neither of the two forms.
    RuntimeError
        If the dtypes differ, or ``input`` has other dimensions.
    IndexError
        If there is no such image.
    ValueError
        If a box would have thousands of samples; on a GPU it may.

    References
    ----------
    He et al., Mask R-CNN, arXiv:1703.06870.

    Examples
    --------
    >>> image = weft.arange(16.0).reshape(1, 1, 4, 4)
    >>> roi_align(image, [weft.tensor([[0.0, 0.0, 4.0, 4.0]])], 2, sampling_ratio=2, aligned=True).flatten().tolist()
    [2.5, 4.5, 10.5, 12.5]
    """
    if isinstance(input, Tensor) and input.is_quantized:
        return _quantized_roi_align(input, boxes, output_size, spatial_scale, sampling_ratio, aligned)
    if has_torch_function((input, boxes)):
        return handle_torch_function(
            roi_align, (input, boxes), input, boxes, output_size, spatial_scale, sampling_ratio, aligned
        )
    options = int(sampling_ratio), bool(aligned)
    return run(roi_align.op, "roi_align", input, boxes, spatial_scale, output_size, *options).to(input.dtype)


def _quantized_roi_align(input: Tensor, boxes: Boxes, *options: Any) -> Tensor:
    """`roi_align` of the numbers of one quantized image, with quantized boxes, rounded as those of the image are."""
    if input.shape[0] > 1:
        raise RuntimeError("roi_align: Only one image per batch is allowed when quantized tensors are passed")
    parts = [boxes] if isinstance(boxes, Tensor) else list(boxes)
    if not all(each.dtype is input.dtype for each in parts):
        raise RuntimeError(f"roi_align: boxes must be quantized to {input.dtype}, as the input is")
    numbers = [each.dequantize() for each in parts]
    result = roi_align(input.dequantize(), numbers[0] if isinstance(boxes, Tensor) else numbers, *options)
    return weft.quantize_per_tensor(result, input.q_scale(), input.q_zero_point(), input.dtype)


def weights_of(xp: Any, rois: Any, sizes: Any, spatial_scale: float, bins: Any, options: Any) -> list[Any]:
    """The pixels and weights of the rows and of the columns."""
    sampling_ratio, aligned = options
    left, top, right, bottom = (rois[:, 1:] * spatial_scale - (0.5 if aligned else 0.0)).T
    least = 0.0 if aligned else 1.0
    edges = ((top, bottom), (left, right))
    return [
        sample_weights(xp, edge[0], edge[1], count, size, sampling_ratio, least)[:2]
        for edge, count, size in zip(edges, bins, sizes)
    ]


@roi_align.kernel
def _(xp, input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    images = images_of(xp, "roi_align", rois, input.shape[0])
    bins, options = (pooled_height, pooled_width), (sampling_ratio, aligned)
    axes = weights_of(xp, rois, input.shape[2:], spatial_scale, bins, options)
    return region_sums(xp, input, images, axes[0], axes[1], own=False)


@roi_align.meta
def _(xp, input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    return xp.empty((rois.shape[0], input.shape[1], pooled_height, pooled_width), input.dtype)


@roi_align.onnx
def _(graph, input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    images = graph.cast(graph.pick(rois, 1, 0), weft.int64)
    return graph.RoiAlign(
        input,
        graph.slice(rois, 1, 1, None),
        images,
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
        output_height=pooled_height,
        output_width=pooled_width,
        sampling_ratio=max(sampling_ratio, 0),
        spatial_scale=spatial_scale,
    )


@roi_align.gradient("input")
def _(grad, rois, input_shape, spatial_scale, sampling_ratio, aligned):
    return roi_align_gradient.op(grad, rois, input_shape, spatial_scale, sampling_ratio, aligned)


@op(
    tensors="output_grad rois",
    dtypes="float",
    result="same",
    compute_dtype="float32",
    linear="output_grad",
    namespace="vision",
)
def roi_align_gradient(
    output_grad: Tensor,
    rois: Tensor,
    shape: tuple[int, ...],
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """The gradient of `roi_align` with respect to an input of a shape."""
    return roi_align_gradient.op(output_grad, rois, shape, spatial_scale, sampling_ratio, aligned)


@roi_align_gradient.kernel
def _(xp, output_grad, rois, shape, spatial_scale, sampling_ratio, aligned):
    images = images_of(xp, "roi_align", rois, shape[0])
    axes = weights_of(xp, rois, shape[2:], spatial_scale, output_grad.shape[2:], (sampling_ratio, aligned))
    return region_sums_gradient(xp, output_grad, images, axes[0], axes[1], shape, own=False)


@roi_align_gradient.meta
def _(xp, output_grad, rois, shape, spatial_scale, sampling_ratio, aligned):
    return xp.empty(shape, output_grad.dtype)


@roi_align_gradient.gradient("output_grad")
def _(grad, output_grad_shape, rois, spatial_scale, sampling_ratio, aligned):
    return roi_align.op(grad, rois, spatial_scale, *output_grad_shape[2:], sampling_ratio, aligned)


class RoIAlign(nn.Module):
    """`roi_align` as a layer, for boxes as its second argument."""

    def __init__(
        self, output_size: int | Sequence[int], spatial_scale: float, sampling_ratio: int, aligned: bool = False
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        """Return the features of the regions."""
        return roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio}, aligned={self.aligned})"
        )
