"""torchvision's compiled operators in plain tensor code, differentiated by autograd.

They are registered with whatever `torch` is: with PyTorch they stand in where torchvision's library does not load, with
weft in the name of torch they serve torchvision's own Python source. The definitions are those of the papers (Fast
R-CNN, R-FCN, Mask R-CNN, Deformable ConvNets v2), and of torchvision where they leave room.
"""

import torch

ROI_POOLING = (
    "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width{more}) -> {out}"
)
PAIR = "(Tensor, Tensor)"
SCHEMAS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align": ROI_POOLING.format(more=", int sampling_ratio, bool aligned", out="Tensor"),
    "roi_pool": ROI_POOLING.format(more="", out=PAIR),
    "ps_roi_align": ROI_POOLING.format(more=", int sampling_ratio", out=PAIR),
    "ps_roi_pool": ROI_POOLING.format(more="", out=PAIR),
    "deform_conv2d": (
        "(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, "
        "SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, "
        "bool use_mask) -> Tensor"
    ),
}


def nms(dets, scores, iou_threshold):
    """Take the best box and drop those that overlap it by more than the threshold, until none is left."""
    areas = (dets[:, 2] - dets[:, 0]) * (dets[:, 3] - dets[:, 1])
    left, kept = scores.sort(dim=0, descending=True, stable=True)[1], []
    while len(left):
        best, left = left[0], left[1:]
        kept.append(best)
        sides = torch.minimum(dets[best, 2:], dets[left, 2:]) - torch.maximum(dets[best, :2], dets[left, :2])
        inter = sides.clamp(min=0).prod(1)
        left = left[~((inter / (areas[best] + areas[left] - inter)).double() > iou_threshold)]
    return torch.stack(kept) if kept else torch.empty(0, dtype=torch.int64)


def corners(y, x, height, width):
    """Yield the row, the column and the weight of the four pixels around each point."""
    top, left = y.detach().floor(), x.detach().floor()
    for row, vertical in ((top, 1 - (y - top)), (top + 1, y - top)):
        for column, horizontal in ((left, 1 - (x - left)), (left + 1, x - left)):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            place = row.clamp(0, height - 1).long() * width + column.clamp(0, width - 1).long()
            yield place, vertical * horizontal * inside


def bin_samples(rois, spatial_scale, size, sampling_ratio, aligned):
    """Return the rows and the columns of the samples of each bin, (K, bins, most), and which of them count."""
    corner = rois[:, 1:] * spatial_scale - (0.5 if aligned else 0.0)
    result = []
    for low, high, bins in ((corner[:, 1], corner[:, 3], size[0]), (corner[:, 0], corner[:, 2], size[1])):
        length = high - low if aligned else (high - low).clamp(min=1.0)
        counts = torch.full_like(length, sampling_ratio) if sampling_ratio > 0 else (length / bins).ceil()
        steps = torch.arange(max(int(counts.max()) if len(counts) else 1, 1), dtype=rois.dtype)
        starts = low[:, None] + torch.arange(bins, dtype=rois.dtype) * (length / bins)[:, None]
        places = starts[:, :, None] + (steps + 0.5) * (length / bins / counts)[:, None, None]
        result.append((places, (steps < counts[:, None])[:, None].expand_as(places), counts.clamp(min=0)))
    return result


def sampled(input, rois, spatial_scale, size, sampling_ratio, aligned):
    """Return the sums of the samples of each bin, (C, K, rows, columns), and how many there are, (K,)."""
    _, channels, height, width = input.shape
    rows, columns = bin_samples(rois, spatial_scale, size, sampling_ratio, aligned)
    y, x = torch.broadcast_tensors(rows[0][:, :, None, :, None], columns[0][:, None, :, None, :])
    counted = rows[1][:, :, None, :, None] & columns[1][:, None, :, None, :]
    counted = counted & (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    y, x = y.nan_to_num(0).clamp(0, height - 1), x.nan_to_num(0).clamp(0, width - 1)
    flat = input.permute(1, 0, 2, 3).reshape(channels, -1)
    first = rois[:, 0].long()[:, None, None, None, None] * height * width
    sums = sum(flat[:, first + place] * (weight * counted) for place, weight in corners(y, x, height, width))
    return sums.sum((-2, -1)), rows[2] * columns[2]


def roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    size = pooled_height, pooled_width
    sums, counts = sampled(input, rois.detach(), spatial_scale, size, sampling_ratio, aligned)
    return (sums / counts.clamp(min=1)[:, None, None]).transpose(0, 1)


def of_position(values, size):
    """Of (C * rows * columns, K, rows, columns) take for each bin its own channels: (K, C, rows, columns)."""
    rows, columns = size
    values = values.reshape(-1, rows, columns, *values.shape[1:])
    grid = torch.arange(rows)[:, None], torch.arange(columns)
    return values[:, grid[0], grid[1], :, grid[0], grid[1]].permute(3, 2, 0, 1)


def channel_mapping(output, size):
    """The channel that each element of a position-sensitive result is from."""
    return torch.arange(output.shape[1] * size[0] * size[1], dtype=torch.int32).reshape(-1, *size).expand(output.shape)


def ps_roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio):
    size = pooled_height, pooled_width
    sums, counts = sampled(input, rois.detach(), spatial_scale, size, sampling_ratio, True)
    shares = counts.clamp(min=1)[:, None, None]
    output = of_position((sums / shares).where(counts[:, None, None] > 0, torch.nan), size)
    return output, channel_mapping(output, size)


def rounded(x):
    """Halves away from zero, as C's round()."""
    return torch.where(x < 0, (x - 0.5).ceil(), (x + 0.5).floor())


def pool_bounds(rois, spatial_scale, size, limits, past_end):
    """Return the first and the past-the-last row and column of each bin, (K, bins) each."""
    corner = rounded(rois[:, 1:] * spatial_scale)
    bounds = []
    for low, high, bins, limit in zip((corner[:, 1], corner[:, 0]), (corner[:, 3], corner[:, 2]), size, limits):
        step = ((high - low + past_end).clamp(min=1) / bins)[:, None]
        index = torch.arange(bins, dtype=rois.dtype)
        starts, ends = (index * step).floor() + low[:, None], ((index + 1) * step).ceil() + low[:, None]
        bounds.append((starts.clamp(0, limit).long(), ends.clamp(0, limit).long()))
    return bounds


def zeros(input, *shape):
    """That take part in the input's graph, should nothing be written to them."""
    return input.new_zeros(shape) + input.flatten()[:0].sum()


def roi_pool(input, rois, spatial_scale, pooled_height, pooled_width):
    _, channels, height, width = input.shape
    size = pooled_height, pooled_width
    (top, bottom), (left, right) = pool_bounds(rois.detach(), spatial_scale, size, (height, width), 1)
    output = zeros(input, len(rois), channels, *size)
    argmax = torch.full(output.shape, -1, dtype=torch.int32)
    for k, i, j in torch.cartesian_prod(*map(torch.arange, (len(rois), *size))).tolist():
        rows, columns = slice(top[k, i], bottom[k, i]), slice(left[k, j], right[k, j])
        cells = input[int(rois[k, 0]), :, rows, columns]
        if cells[0].numel():
            place = cells.flatten(1).argmax(1)
            output[k, :, i, j] = cells.flatten(1).gather(1, place[:, None])[:, 0]
            row, column = place // cells.shape[2] + top[k, i], place % cells.shape[2] + left[k, j]
            argmax[k, :, i, j] = (row * width + column).int()
    return output, argmax


def ps_roi_pool(input, rois, spatial_scale, pooled_height, pooled_width):
    """Bins stop a cell before the border. In torchvision's gradient they do not: this one is the derivative."""
    _, channels, height, width = input.shape
    size = pooled_height, pooled_width
    (top, bottom), (left, right) = pool_bounds(rois.detach(), spatial_scale, size, (height - 1, width - 1), 0)
    output = zeros(input, len(rois), channels // (size[0] * size[1]), *size)
    for k, i, j in torch.cartesian_prod(*map(torch.arange, (len(rois), *size))).tolist():
        rows, columns = slice(top[k, i], bottom[k, i]), slice(left[k, j], right[k, j])
        cells = input[int(rois[k, 0]), i * size[1] + j :: size[0] * size[1], rows, columns]
        if cells[0].numel():
            output[k, :, i, j] = cells.mean((1, 2))
    return output, channel_mapping(output, size)


def deform_conv2d(input, weight, offset, mask, bias, *geometry):
    """Sum over the kernel: its weights, times the input where the offset leads, times the mask."""
    stride, padding, dilation = (geometry[0:2], geometry[2:4], geometry[4:6])
    groups, offset_groups, use_mask = geometry[6:]
    batch, channels, height, width = input.shape
    kernel, result = weight.shape[2:], offset.shape[2:]
    axes = []
    for axis in (0, 1):
        starts = torch.arange(result[axis], dtype=input.dtype) * stride[axis] - padding[axis]
        axes.append(torch.arange(kernel[axis], dtype=input.dtype)[:, None] * dilation[axis] + starts)
    moved = offset.reshape(batch * offset_groups, *kernel, 2, *result)
    y = moved[:, :, :, 0] + axes[0][:, None, :, None]
    x = moved[:, :, :, 1] + axes[1][None, :, None, :]
    flat = input.reshape(batch * offset_groups, channels // offset_groups, height * width)
    within = (y > -1) & (y < height) & (x > -1) & (x < width)
    columns = 0
    for place, share in corners(y, x, height, width):
        values = flat.gather(2, place.flatten(1)[:, None].expand(-1, flat.shape[1], -1))
        columns = columns + values.reshape(*flat.shape[:2], *place.shape[1:]) * (share * within)[:, None]
    if use_mask:
        columns = columns * mask.reshape(batch * offset_groups, 1, *kernel, *result)
    columns = columns.reshape(batch, groups, channels // groups, *kernel, *result)
    output = torch.einsum("ngcijyx,gocij->ngoyx", columns, weight.reshape(groups, -1, *weight.shape[1:]))
    return output.reshape(batch, -1, *result) + bias[:, None, None]


def register():
    """Declare the operators that are not there yet."""
    for name, schema in SCHEMAS.items():
        if not hasattr(torch.ops.torchvision, name):
            torch.library.define(f"torchvision::{name}", schema)
            key = "CPU" if name.endswith("nms") else "CompositeImplicitAutograd"
            torch.library.impl(f"torchvision::{name}", key)(globals().get(name, nms))
