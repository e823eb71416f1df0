"""The ops by the names that torchvision's operators have: ``torch.ops.torchvision.nms`` and its kin.

Importing the module defines them. Boxes are Tensor[K, 5], and what torchvision's backward kernels need comes as a
second result: the place of each greatest pixel, or the channel that each bin is from.
"""

from __future__ import annotations

import weft
from weft import Tensor
from weft.library import Library
from weft.vision.ops.deform_conv import deform_conv2d
from weft.vision.ops.ps_roi_align import ps_roi_align
from weft.vision.ops.ps_roi_pool import ps_roi_pool
from weft.vision.ops.roi_align import roi_align
from weft.vision.ops.roi_pool import roi_pool
from weft.vision.ops.suppression import nms

__all__: list[str] = []

_POOLING = "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SCHEMAS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align": f"{_POOLING}, int sampling_ratio, bool aligned) -> Tensor",
    "roi_pool": f"{_POOLING}) -> (Tensor, Tensor)",
    "ps_roi_align": f"{_POOLING}, int sampling_ratio) -> (Tensor, Tensor)",
    "ps_roi_pool": f"{_POOLING}) -> (Tensor, Tensor)",
    "deform_conv2d": (
        "(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, "
        "SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, "
        "bool use_mask) -> Tensor"
    ),
}


def _roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, rows: int, columns: int, sampling_ratio: int, aligned: bool
) -> Tensor:
    return roi_align(input, rois, (rows, columns), spatial_scale, sampling_ratio, aligned)


def _roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    output, places = roi_pool.op(input, rois, float(spatial_scale), rows, columns)
    return output, places.to(weft.int32)


def _ps_roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, rows: int, columns: int, sampling_ratio: int
) -> tuple[Tensor, Tensor]:
    output = ps_roi_align(input, rois, (rows, columns), spatial_scale, sampling_ratio)
    return output, _channels_of(output)


def _ps_roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    output = ps_roi_pool(input, rois, (rows, columns), spatial_scale)
    return output, _channels_of(output)


def _channels_of(output: Tensor) -> Tensor:
    """The channel of the input that each bin (K, C, rows, columns) is from."""
    channels = weft.arange(output.shape[1:].numel(), dtype=weft.int32, device=output.device)
    return channels.reshape(output.shape[1:]).expand(output.shape)


def _deform_conv2d(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, *geometry: int) -> Tensor:
    stride, padding, dilation, use_mask = geometry[0:2], geometry[2:4], geometry[4:6], geometry[8]
    return deform_conv2d(input, offset, weight, bias, stride, padding, dilation, mask if use_mask else None)


_library = Library("torchvision", "FRAGMENT")
for _name, _function in {
    "nms": nms,
    "roi_align": _roi_align,
    "roi_pool": _roi_pool,
    "ps_roi_align": _ps_roi_align,
    "ps_roi_pool": _ps_roi_pool,
    "deform_conv2d": _deform_conv2d,
}.items():
    _library.define(_name + _SCHEMAS[_name])
    _library.impl(_name, _function, "CompositeImplicitAutograd")
