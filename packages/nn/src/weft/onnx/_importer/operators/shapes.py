"""Operators that change shapes, make tensors of shapes, join and split."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import weft
import weft.nn.functional as F
from weft.library.interceptors import is_watched
from weft.onnx._importer.operators._common import is_text, normalized_axes, number
from weft.onnx._importer.reading import dtype_of
from weft.onnx._importer.registry import operator


@operator("Shape", shape_only=True)
def shape(data: Any, *, start: int = 0, end: int | None = None) -> Any:
    sizes = list(data.shape)
    limit = len(sizes)
    first = min(max(start + limit if start < 0 else start, 0), limit)
    last = limit if end is None else min(max(end + limit if end < 0 else end, 0), limit)
    return sizes_as_tensor(sizes[first:last])


@operator("Size", shape_only=True)
def size(data: Any) -> Any:
    return sizes_as_tensor([math.prod(data.shape)])[0]


def sizes_as_tensor(sizes: list[int]) -> Any:
    """Sizes as a tensor on the CPU; a recording of the program is shown each, as it may be another one next time."""
    if not sizes or not is_watched():
        return weft.tensor(sizes, dtype=weft.int64, device="cpu")
    return weft.stack([weft.full((), size, dtype=weft.int64, device="cpu") for size in sizes])


@operator("Reshape", host="shape")
def reshape(data: Any, shape: Any, *, allowzero: int = 0) -> Any:
    if not allowzero:
        shape = [data.shape[axis] if size == 0 and axis < data.ndim else size for axis, size in enumerate(shape)]
    return data.reshape(tuple(shape))


@operator("Flatten")
def flatten(input: Any, *, axis: int = 1) -> Any:
    if not -input.ndim <= axis <= input.ndim:
        raise IndexError(f"Flatten: axis {axis} of a tensor with {input.ndim} axes")
    first = axis + input.ndim if axis < 0 else axis
    rows = math.prod(input.shape[:first])
    return input.reshape(rows, math.prod(input.shape[first:]))


@operator("Transpose")
def transpose(data: Any, *, perm: Any = None) -> Any:
    order = list(range(data.ndim))[::-1] if perm is None else perm
    return data.transpose(order) if is_text(data) else data.permute(order)


@operator("Squeeze", host="axes")
def squeeze(data: Any, axes: Any = None) -> Any:
    if axes is None:
        return data.squeeze()
    axes = normalized_axes(axes, data.ndim, "Squeeze")
    if any(data.shape[axis] != 1 for axis in axes):
        raise ValueError(f"Squeeze: axes {axes} of the shape {tuple(data.shape)} are not all of size 1")
    return data.reshape([size for axis, size in enumerate(data.shape) if axis not in axes])


@operator("Unsqueeze", host="axes")
def unsqueeze(data: Any, axes: Any) -> Any:
    axes = [axes] if isinstance(axes, int) else axes
    axes = normalized_axes(axes, data.ndim + len(axes), "Unsqueeze")
    sizes = iter(data.shape)
    return data.reshape([1 if axis in axes else next(sizes) for axis in range(data.ndim + len(axes))])


@operator("Expand", host="shape")
def expand(input: Any, shape: Any) -> Any:
    if is_text(input):
        return np.broadcast_to(input, np.broadcast_shapes(input.shape, tuple(shape)))
    return input.expand(weft.broadcast_shapes(tuple(input.shape), tuple(shape)))


@operator("Tile", since=6, host="repeats")
def tile(input: Any, repeats: Any) -> Any:
    return np.tile(input, repeats) if is_text(input) else input.tile(repeats)


@operator("Tile", host="tiles axis")
def tile_1(input: Any, tiles: Any, axis: Any) -> Any:
    tiles, axis = int(number(tiles)), int(number(axis))
    return input.tile([tiles if each == axis else 1 for each in range(input.ndim)])


@operator("Concat")
def concat(*inputs: Any, axis: int = 1) -> Any:
    if is_text(inputs[0]):
        return np.concatenate(inputs, axis)
    return weft.cat([each.expand(each.shape) for each in inputs], normalized_axes(axis, inputs[0].ndim, "Concat")[0])


@operator("Split", host="split")
def split(input: Any, split: Any = None, *, axis: int = 0, num_outputs: int | None = None, outputs: int) -> Any:
    axis = normalized_axes(axis, input.ndim, "Split")[0]
    length = input.shape[axis]
    if num_outputs is not None and num_outputs < outputs:
        raise ValueError(f"Split: num_outputs is {num_outputs}, and the node has {outputs} outputs")
    if split is None:
        count = outputs if num_outputs is None else num_outputs
        each = -(-length // count)
        split = [max(min(each, length - k * each), 0) for k in range(outputs)]
        split.append(length - sum(split))  # outputs at the end that nothing uses
    return tuple(input.split(split, axis))


@operator("Slice", host="starts ends axes steps")
def slice_of(data: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    axes = normalized_axes(range(len(starts)) if axes is None else axes, data.ndim, "Slice")
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise ValueError(f"Slice: starts {starts}, ends {ends}, axes {axes} and steps {steps} do not fit together")
    index: list[Any] = [slice(None)] * data.ndim
    flipped = []
    for start, stop, axis, step in zip(starts, ends, axes, steps):
        first, last, stride = clamped(start, stop, step, data.shape[axis])
        if stride < 0:  # the same elements from the last to the first, then flipped
            count = max(-(-(last - first) // stride), 0)
            first, last, stride = first + (count - 1) * stride, first + 1, -stride
            flipped.append(axis)
            if not count:
                first = last = 0
        index[axis] = slice(first, max(last, first), stride)
    result = data[tuple(index)]
    return (np.flip(result, tuple(flipped)) if is_text(result) else result.flip(flipped)) if flipped else result


def clamped(start: int, stop: int, step: int, length: int) -> tuple[int, int, int]:
    """A range of positions, with bounds beyond the ends brought to them."""
    start, stop = (each + length if each < 0 else each for each in (start, stop))
    if step > 0:
        return min(max(start, 0), length), min(max(stop, 0), length), step
    return min(max(start, 0), length - 1), min(max(stop, -1), length - 1), step


@operator("Pad", since=2, host="pads axes", frozen="constant_value")
def pad(
    data: Any, pads: Any, constant_value: Any = None, axes: Any = None, *, mode: str = "constant", value: float = 0
) -> Any:
    axes = range(data.ndim) if axes is None else axes
    axes = normalized_axes(axes, data.ndim, "Pad")
    if len(pads) != 2 * len(axes):
        raise ValueError(f"Pad: {len(pads)} pads for {len(axes)} axes; two for each are wanted")
    before, after = pads[: len(axes)], pads[len(axes) :]
    if mode == "constant":
        return pad_constant(data, axes, before, after, value if constant_value is None else constant_value)
    for axis, low, high in zip(axes, before, after):
        data = pad_from_data(data, axis, low, high, mode)
    return data


def pad_constant(data: Any, axes: list[int], before: Any, after: Any, value: Any) -> Any:
    """A tensor with a border of one value; negative widths cut."""
    widths = dict(zip(axes, zip(before, after)))
    flat = [width for axis in reversed(range(data.ndim)) for width in widths.get(axis, (0, 0))]
    if not isinstance(value, weft.Tensor):
        return F.pad(data, flat, value=value)
    if data.dtype == weft.bool or value.device.type == "cpu":
        return F.pad(data, flat, value=value.item())
    inside = F.pad(weft.ones_like(data, dtype=weft.bool), flat, value=False)  # no value is read back
    return weft.where(inside, F.pad(data, flat), value.reshape(()))


def pad_from_data(data: Any, axis: int, low: int, high: int, mode: str) -> Any:
    """A tensor with more positions at the ends of an axis, which take what a mode says."""
    length = data.shape[axis]
    if (low, high) == (0, 0):
        return data
    places = np.arange(-low, length + high)
    if mode == "edge":
        places = places.clip(0, length - 1)
    elif mode == "wrap":
        places = places % length
    elif mode == "reflect" and length > 1:
        places = length - 1 - abs(places % (2 * length - 2) - (length - 1))
    elif mode == "reflect":
        places = places * 0
    else:
        raise ValueError(f"Pad: the mode {mode!r} is not known")
    return data.index_select(axis, weft.tensor(places, device=data.device))


@operator("Pad")
def pad_1(data: Any, *, paddings: Any, mode: str = "constant", value: float = 0.0) -> Any:
    return pad(data, paddings, mode=mode, value=value)


@operator("ConstantOfShape", host="input")
def constant_of_shape(input: Any, *, value: Any = None, context: Any) -> Any:
    if value is None:
        return weft.zeros(input, device=context.device)
    dtype = getattr(weft, value.dtype.name, None)
    if dtype is None:  # strings, and numbers of 2 and 4 bits
        return np.full(input, value.item(), value.dtype)
    return weft.full(input, value.item(), dtype=dtype, device=context.device)


@operator("Range", host="limit delta", host_tensors="start")
def range_of(start: Any, limit: Any, delta: Any, *, stash_type: int = 1, context: Any) -> Any:
    first, stop, step = start.item(), number(limit), number(delta)
    count = max(math.ceil((stop - first) / step), 0)
    places = weft.arange(count, device=context.device)
    if start.dtype in (weft.float16, weft.bfloat16):
        return (places.float() * step + first).to(start.dtype)
    return places.to(start.dtype) * step + first


@operator("EyeLike")
def eye_like(input: Any, *, dtype: int | None = None, k: int = 0) -> Any:
    rows, columns = input.shape
    kind = input.dtype if dtype is None else dtype_of(dtype)
    ones = weft.ones(rows, columns, dtype=weft.uint8, device=input.device)
    return (ones.triu(k) * ones.tril(k)).to(kind)


@operator("Trilu", host="k")
def trilu(input: Any, k: Any = 0, *, upper: int = 1) -> Any:
    k = number(k)
    return input.triu(k) if upper else input.tril(k)


@operator("DepthToSpace")
def depth_to_space(input: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    if mode == "CRD":
        return F.pixel_shuffle(input, blocksize)
    batch, channels, height, width = input.shape
    blocks = input.reshape(batch, blocksize, blocksize, channels // blocksize**2, height, width)
    return blocks.permute(0, 3, 4, 1, 5, 2).reshape(batch, -1, height * blocksize, width * blocksize)


@operator("SpaceToDepth")
def space_to_depth(input: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    if mode == "CRD":
        return F.pixel_unshuffle(input, blocksize)
    batch, channels, height, width = input.shape
    blocks = input.reshape(batch, channels, height // blocksize, blocksize, width // blocksize, blocksize)
    return blocks.permute(0, 3, 5, 1, 2, 4).reshape(batch, -1, height // blocksize, width // blocksize)


@operator("CenterCropPad", host="shape")
def center_crop_pad(input_data: Any, shape: Any, *, axes: Any = None) -> Any:
    axes = normalized_axes(range(input_data.ndim) if axes is None else axes, input_data.ndim, "CenterCropPad")
    for axis, wanted in zip(axes, shape):
        excess = input_data.shape[axis] - wanted
        if excess > 0:
            input_data = input_data.narrow(axis, excess // 2, wanted)
        elif excess < 0:
            input_data = pad_constant(input_data, [axis], [-excess // 2], [-excess - -excess // 2], 0)
    return input_data


@operator("ReverseSequence", host="sequence_lens")
def reverse_sequence(input: Any, sequence_lens: Any, *, batch_axis: int = 1, time_axis: int = 0) -> Any:
    length = input.shape[time_axis]
    order = [[*range(count - 1, -1, -1), *range(count, length)] for count in sequence_lens]
    places = weft.tensor(order, device=input.device)  # (batch, time)
    moved = input.movedim((batch_axis, time_axis), (0, 1))
    places = places.reshape([*places.shape, *[1] * (input.ndim - 2)]).expand(moved.shape)
    return moved.gather(1, places).movedim((0, 1), (batch_axis, time_axis))
