"""Images sampled at the places of a grid, and the derivatives of that.

A sample is a sum of pixels times weights, which are products of one function of the place along each dimension. The
derivative with respect to a place has that dimension's function differentiated. So three ops, which say how often it
is along each dimension (``orders``), are closed under differentiation: the samples, what they are for the gradient of
the image, and what for that of the grid.
"""

from __future__ import annotations

import math
from typing import Any

from weft import Tensor
from weft.library.declare import op
from weft.library.numerics import combine_at, is_numpy

__all__ = ["sample"]

CUBIC = -0.75  # of R. Keys's kernel; PyTorch's choice
Orders = tuple[int, ...]
Options = tuple[str, str, bool | None]


# Places, one dimension at a time


def pixels(xp: Any, coordinate: Any, size: int, align_corners: bool | None) -> tuple[Any, float]:
    """From [-1, 1] to pixels, with the slope; in float32 rounded once, as by PyTorch's fused multiply and add."""
    if align_corners is None:
        return coordinate, 1.0
    if align_corners:
        return (coordinate + 1) / 2 * (size - 1), (size - 1) / 2
    if coordinate.dtype == xp.float32:
        return ((coordinate + 1).astype(xp.float64) * (size / 2) - 0.5).astype(xp.float32), size / 2
    return ((coordinate + 1) * size - 1) / 2, size / 2


def inside(xp: Any, coordinate: Any, size: int, padding_mode: str, align_corners: bool | None) -> tuple[Any, Any]:
    """Coordinates moved into the image, as the padding mode says, and the slope of that."""
    if padding_mode == "zeros":
        return coordinate, 1
    slope: Any = 1
    if padding_mode == "reflection":
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        coordinate, slope = reflected(xp, coordinate, low, high)
    within = (coordinate > 0) & (coordinate < size - 1)
    limited = xp.minimum(xp.maximum(coordinate, 0), size - 1)
    return xp.where(xp.isnan(coordinate), 0, limited).astype(coordinate.dtype), within * slope


def reflected(xp: Any, coordinate: Any, low: float, high: float) -> tuple[Any, Any]:
    """Coordinates mirrored at the limits, as often as needed, and the slope of that."""
    span = high - low
    if span == 0:
        return coordinate * 0, 0
    distance = xp.absolute(coordinate - low)
    turns = xp.floor(distance / span)
    rest = distance - turns * span
    even = turns % 2 == 0
    return xp.where(even, rest + low, high - rest), xp.where(even, 1, -1) * xp.where(coordinate < low, -1, 1)


def cubic_weights(share: Any, order: int) -> list[Any]:
    """Keys's kernel, or a derivative of it, for the four pixels around a place.

    R. Keys, Cubic convolution interpolation for digital image processing, 1981.
    """
    a = CUBIC
    near, far = (a + 2, -(a + 3), 0.0, 1.0), (a, -5 * a, 8 * a, -4 * a)
    found = []
    for offset, sign, polynomial in ((1, 1, far), (0, 1, near), (1, -1, near), (2, -1, far)):
        x = offset + share if sign > 0 else offset - share
        factors = list(polynomial)
        for _ in range(order):
            factors = [0.0] + [f * (3 - at) * sign for at, f in enumerate(factors[:3])]
        found.append(((factors[0] * x + factors[1]) * x + factors[2]) * x + factors[3])
    return found


def neighbours(xp: Any, coordinate: Any, size: int, options: Options, order: int) -> list[tuple[Any, Any]]:
    """The pixels along one dimension that a sample is made of, -1 for none, and their weights."""
    mode, padding_mode, align_corners = options
    place, slope = pixels(xp, coordinate, size, align_corners)
    if mode == "bicubic":
        low = xp.floor(place)
        found = []
        for offset, weight in zip((-1, 0, 1, 2), cubic_weights(place - low, order)):
            pixel, _ = inside(xp, low + offset, size, padding_mode, align_corners)
            found.append((whole(xp, xp.rint(pixel), size), weight * slope**order))
        return found
    place, moved = inside(xp, place, size, padding_mode, align_corners)
    if mode == "nearest":
        return [(whole(xp, xp.rint(place), size), xp.full(place.shape, order == 0, place.dtype))]
    low = xp.floor(place)
    slope = (moved * slope) ** order
    if order == 0:
        weights = [low + 1 - place, place - low]
    else:
        weights = [sign * (order == 1) * xp.broadcast_to(slope, place.shape) for sign in (-1, 1)]
    return [(whole(xp, low + offset, size), each.astype(place.dtype)) for offset, each in enumerate(weights)]


def whole(xp: Any, pixel: Any, size: int) -> Any:
    """The number of a pixel, -1 outside."""
    valid = (pixel >= 0) & (pixel <= size - 1)
    return xp.where(valid, pixel, -1).astype(xp.int64)


def taps(xp: Any, grid: Any, spatial: Any, options: Options, orders: Orders) -> list[tuple[Any, Any]]:
    """The pixels that each sample is made of (N, places), as numbers in the image, one past its end for none."""
    flat = grid.reshape(grid.shape[0], math.prod(grid.shape[1:-1]), len(spatial))
    found: list[tuple[Any, Any]] = [(xp.zeros((), xp.int64), 1)]
    for dim, (size, order) in enumerate(zip(spatial, orders)):
        along = neighbours(xp, flat[..., len(spatial) - 1 - dim], size, options, order)
        found = [
            (xp.where((number < 0) | (pixel < 0), -1, number * size + pixel), factor * weight)
            for number, factor in found
            for pixel, weight in along
        ]
    return [(xp.where(number < 0, math.prod(spatial), number), weight) for number, weight in found]


def raised(orders: Orders) -> list[Orders]:
    """The orders of the derivatives along x, y, (z)."""
    count = len(orders)
    return [tuple(each + (at == count - 1 - dim) for at, each in enumerate(orders)) for dim in range(count)]


# The samples


@op(
    tensors="input grid",
    dtypes="float",
    result="same",
    compute_dtype="float32",
    namespace="nn",
    vmap="merged",
    name="sample",
)
def sample(input: Tensor, grid: Tensor, options: Options, orders: Orders) -> Tensor:
    """The pixels around each place of a grid, times weights.

    Parameters
    ----------
    options : tuple
        Mode, padding mode and ``align_corners`` of `grid_sample`; None for the last: places are in pixels already.
    orders : tuple of int
        How often the weights are differentiated, for each spatial dimension.
    """
    return sample.op(input, grid, options, orders)


@sample.onnx
def _(graph, input, grid, options, orders):
    mode, padding_mode, align_corners = options
    if any(orders) or align_corners is None or (input.ndim != 4 and graph.opset < 20):
        graph.refuse("derivatives of samples, and volumes before opset 20")
    if graph.opset >= 20:
        mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return graph.GridSample(input, grid, mode=mode, padding_mode=padding_mode, align_corners=int(align_corners))


def flat_with_zero(xp: Any, input: Any) -> Any:
    """The pixels of each image in a row (N, C, pixels), and a zero after them."""
    flat = input.reshape(*input.shape[:2], math.prod(input.shape[2:]))
    return xp.concatenate([flat, xp.zeros((*input.shape[:2], 1), input.dtype)], axis=2)


@sample.kernel
def _(xp, input, grid, options, orders):
    flat = flat_with_zero(xp, input)
    total: Any = 0
    for number, weight in taps(xp, grid, input.shape[2:], options, orders):
        total = total + xp.take_along_axis(flat, number[:, None], axis=2) * weight[:, None]
    return total.astype(input.dtype, copy=False).reshape(*input.shape[:2], *grid.shape[1:-1])


@sample.gradient("input")
def _(grad, input_shape, grid, options, orders):
    return sample_input_gradient.op(grad, grid, input_shape, options, orders)


@sample.gradient("grid")
def _(grad, input, grid, options, orders):
    return sample_grid_gradient.op(grad, input, grid, options, orders)


@op(tensors="output_grad grid", dtypes="float", result="same", compute_dtype="float32", namespace="nn", vmap="merged")
def sample_input_gradient(
    output_grad: Tensor, grid: Tensor, shape: tuple[int, ...], options: Options, orders: Orders
) -> Tensor:
    """Each place's gradient times weights added to the pixels around it, of images of a shape."""
    return sample_input_gradient.op(output_grad, grid, shape, options, orders)


@sample_input_gradient.kernel
def _(xp, output_grad, grid, shape, options, orders):
    rows, size = math.prod(shape[:2]), math.prod(shape[2:]) + 1
    flat = output_grad.reshape(*shape[:2], math.prod(output_grad.shape[2:]))
    starts = (xp.arange(rows) * size).reshape(*shape[:2], 1)
    total = xp.zeros(rows * size, xp.float64)
    for number, weight in taps(xp, grid, shape[2:], options, orders):
        places, values = (starts + number[:, None]).reshape(-1), (flat * weight[:, None]).reshape(-1)
        if is_numpy(xp):
            total += xp.bincount(places, values, rows * size)
        else:
            combine_at(xp, xp.add, total, (places,), values)
    found = total.astype(output_grad.dtype).reshape(*shape[:2], size)[..., :-1]
    return found.reshape(shape)


@sample_input_gradient.meta
def _(xp, output_grad, grid, shape, options, orders):
    return xp.empty(shape, output_grad.dtype)


@sample_input_gradient.gradient("output_grad")
def _(grad, grid, options, orders):
    return sample.op(grad, grid, options, orders)


@sample_input_gradient.gradient("grid")
def _(grad, output_grad, grid, options, orders):
    return sample_grid_gradient.op(output_grad, grad, grid, options, orders)


@op(
    tensors="output_grad input grid",
    dtypes="float",
    result="same",
    compute_dtype="float32",
    namespace="nn",
    vmap="merged",
)
def sample_grid_gradient(output_grad: Tensor, input: Tensor, grid: Tensor, options: Options, orders: Orders) -> Tensor:
    """The gradient of the samples with respect to the grid."""
    return sample_grid_gradient.op(output_grad, input, grid, options, orders)


@sample_grid_gradient.kernel
def _(xp, output_grad, input, grid, options, orders):
    flat = flat_with_zero(xp, input)
    wanted = output_grad.reshape(*output_grad.shape[:2], math.prod(output_grad.shape[2:]))
    result = xp.zeros((grid.shape[0], wanted.shape[2], grid.shape[-1]), grid.dtype)
    if options[0] == "nearest":
        return result.reshape(grid.shape)
    for dim, each in enumerate(raised(orders)):
        for number, weight in taps(xp, grid, input.shape[2:], options, each):
            products = (xp.take_along_axis(flat, number[:, None], axis=2) * wanted).sum(1)
            result[..., dim] += products * weight
    return result.reshape(grid.shape)


@sample_grid_gradient.gradient("output_grad input grid")
def _(grad, output_grad, input, grid, options, orders):
    by_grad: Any = 0
    by_input: Any = 0
    by_grid: Any = 0
    for dim, each in enumerate(raised(orders)):
        factor = grad[..., dim].unsqueeze(1)
        by_grad = by_grad + factor * sample.op(input, grid, options, each)
        by_input = by_input + sample_input_gradient.op(output_grad * factor, grid, tuple(input.shape), options, each)
        by_grid = by_grid + sample_grid_gradient.op(output_grad * factor, input, grid, options, each)
    return by_grad, by_input, by_grid
