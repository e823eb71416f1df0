"""Pooling: the greatest value or the mean of each window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from operator import floordiv, mod
from typing import Any

import numpy

import weft
from weft import Tensor
from weft.backend import in_order
from weft.library.checks import addressable, in_range, values_at_hand
from weft.library.declare import in_full_precision, op, write_out
from weft.library.fast_paths import FastPath
from weft.library.layouts import memory_of
from weft.library.numerics import combine_at, constant, is_numpy
from weft.nn.functional._common import SPATIAL, check_floating, for_axes, in_layout_of, require_flags, sizes
from weft.nn.functional.resampling import resample
from weft.ops.reductions import rows_total

Sizes = tuple[int, ...]


# Geometry


def pooled_sizes(
    name: str, input: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Sizes:
    """The spatial sizes of the output; with ``ceil_mode`` the last window may begin inside, and end outside.

    Raises
    ------
    RuntimeError
        If a size, stride or padding is out of range, or the output would be empty.
    """
    require_flags(name, ceil_mode=ceil_mode)
    return known_sizes(name, input, kernel, stride, padding, dilation, bool(ceil_mode))


@lru_cache(1024)
def known_sizes(
    name: str, input: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Sizes:
    """`pooled_sizes`, cached."""
    check_windows(name, kernel, stride, padding, dilation)
    out = []
    for n, k, s, p, d in zip(input, kernel, stride, padding, dilation):
        room = n + 2 * p - d * (k - 1) - 1
        size = (room + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (size - 1) * s >= n + p:
            size -= 1
        out.append(size)
    if min(out) < 1:
        raise RuntimeError(
            f"{name}: Given input size: {list(input)}. Calculated output size: {out}. Output size is too small for "
            f"kernel_size={list(kernel)}. Invalid computed output size: {min(out)}"
        )
    return tuple(out)


@lru_cache(1024)
def check_windows(name: str, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> None:
    """Windows that any input may have.

    Raises
    ------
    RuntimeError
        If a size, stride, dilation or padding is out of range.
    """
    for argument, words, values in (
        ("kernel_size", "kernel size should", kernel),
        ("stride", "stride should", stride),
        ("dilation", "dilation should", dilation),
    ):
        if min(values) < 1:
            raise RuntimeError(
                f"{name}: {words} be greater than zero, but got {argument}={list(values)}: {argument} must be greater "
                f"than zero, but got {min(values)}"
            )
    for k, p, d in zip(kernel, padding, dilation):
        if p < 0:
            raise RuntimeError(f"{name}: pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                f"{name}: pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                f"dilation={d}; pad the input with pad() first"
            )


def window_sizes(
    name: str, count: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any
) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    """Kernel size, stride (the kernel size unless given), padding and dilation, for each dimension."""
    kernel = sizes(name, "kernel_size", kernel_size, count)
    stride = kernel if stride is None or stride in ([], ()) else sizes(name, "stride", stride, count)
    return kernel, stride, sizes(name, "padding", padding, count), sizes(name, "dilation", dilation, count)


def offsets(kernel: Sizes) -> list[Sizes]:
    """All positions in a window, in order."""
    found: list[Sizes] = [()]
    for size in kernel:
        found = [(*each, i) for each in found for i in range(size)]
    return found


def taps(kernel: Sizes, stride: Sizes, dilation: Sizes, out: Sizes) -> list[tuple[Any, ...]]:
    """For each position in a window the slices of the padded input where it lies, for all windows."""
    return [
        (..., *[slice(i * d, i * d + (o - 1) * s + 1, s) for i, d, s, o in zip(offset, dilation, stride, out)])
        for offset in offsets(kernel)
    ]


SMALL = 1 << 13  # elements of all windows up to which they are copied, so that few calls see all of them


def few_windows(xp: Any, input: Any, value: Any, *windows: Sizes) -> Any:
    """The elements of each window in a row, with `window_places`; None where they are many.

    ``value`` is that of the padding; the windows are given by kernel size, stride, padding, dilation and output size.
    """
    count = math.prod((*input.shape[:2], *windows[-1])) * math.prod(windows[0])
    if type(input) is not numpy.ndarray or not input.size or count > SMALL:
        return None
    found = window_places(input.shape, *windows)
    return in_order(xp, padded_to(xp, input, value, *windows)).reshape(-1).take(found[0]), *found


@lru_cache(64)
def window_places(shape: Sizes, *windows: Sizes) -> tuple[Any, Any, Any]:
    """For each window of images of a shape a row of positions: in the memory of all, padded, and in one's spatial part.

    There -1 is the padding. Last come the positions at which the rows begin.
    """
    kernel, stride, _, dilation, out = windows
    padded = (*shape[:2], *padded_sizes(shape[2:], *windows))
    memory = numpy.arange(math.prod(padded)).reshape(padded)
    spatial = numpy.arange(math.prod(shape[2:])).reshape(1, 1, *shape[2:])
    spatial = numpy.broadcast_to(padded_to(numpy, spatial, -1, *windows), padded)
    flat, places = [
        numpy.stack([each[place] for place in taps(kernel, stride, dilation, out)], -1).reshape(-1, math.prod(kernel))
        for each in (memory, spatial)
    ]
    return flat, places, numpy.arange(0, flat.size, math.prod(kernel))


def padded_to(
    xp: Any, input: Any, value: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
) -> Any:
    """The input between values before each spatial dimension and as many after it as the windows reach."""
    spatial = input.shape[2:]
    whole = padded_sizes(spatial, kernel, stride, padding, dilation, out)
    if whole == spatial:
        return input
    result = xp.full((*input.shape[:2], *whole), value, input.dtype)
    result[(..., *[slice(p, p + n) for p, n in zip(padding, spatial)])] = input
    return result


@lru_cache(256)
def padded_sizes(spatial: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> Sizes:
    """The sizes with padding: as far as the windows reach, and to the end of the input."""
    return tuple(
        max(d * (k - 1) + s * (o - 1) + 1, n + p)
        for n, k, s, p, d, o in zip(spatial, kernel, stride, padding, dilation, out)
    )


def optional_batch(count: int) -> str:
    """What an input with ``count`` spatial dimensions has to be, in PyTorch's words."""
    return f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with optional 0 dim batch size for input"


def prepared(
    name: str, count: int, input: Tensor, wrong: type[Exception] = RuntimeError, needs_channels: bool = True
) -> tuple[Tensor, bool]:
    """The input with a batch dimension, and whether it had one; images without channels only where they will do."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    shape = input._array.shape
    if len(shape) not in (count + 1, count + 2):
        raise wrong(
            f"{name}: Expected {count + 1}D or {count + 2}D input (C, {SPATIAL[count]}) or (N, C, {SPATIAL[count]}): "
            f"non-empty {count + 1}D or {count + 2}D (batch mode) tensor expected for input, but got input of size: "
            f"{list(input.shape)}. Input dimension should be at least {count + 1}; {optional_batch(count)}"
        )
    start = 1 if len(shape) == count + 2 else 0
    if 0 in shape[start if needs_channels else -count :]:
        raise RuntimeError(
            f"{name}: Expected input to have non-zero size for non-batch dimensions, but got {list(input.shape)}. "
            f"Expected input's non-batch dimensions to have positive length; {optional_batch(count)}"
        )
    return (input, True) if start else (input.unsqueeze(0), False)


# Fast paths


def are_batches(array: Any, count: int) -> bool:
    """Whether an array is of contiguous batches."""
    return array.ndim == count + 2 and array.size and array.flags.c_contiguous


def with_windows(name: str, count: int, dilated: bool) -> Any:
    """The arguments of a pooling function as its kernel takes them: `known_windows`."""

    def prepare(values: list[Any], arrays: list[Any]) -> bool:
        input, *windows, ceil_mode = arrays
        if not are_batches(input, count):
            return False
        try:
            found = known_windows(name, input.shape[2:], *windows, *(() if dilated else (1,)), ceil_mode)
        except (RuntimeError, ValueError):
            return False
        values[1:] = arrays[1:] = found if dilated else averaged(found)
        return True

    return prepare


def averaged(windows: tuple[Sizes, ...]) -> tuple[Any, ...]:
    """The options of `avg_pool`, in which all elements count, and the mean is over them."""
    kernel, stride, padding, _, out = windows
    return kernel, stride, padding, out, (True, None)


@lru_cache(1024)
def known_windows(
    name: str, spatial: Sizes, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Sizes, ...]:
    """Kernel size, stride, padding, dilation and output size, cached."""
    windows = window_sizes(name, len(spatial), kernel_size, stride, padding, dilation)
    return (*windows, pooled_sizes(name, spatial, *windows, ceil_mode))


# Windows in ONNX files


def rounds_up(graph: Any, input: Any, *windows: Any) -> bool | None:
    """Whether the output's sizes are rounded up as ONNX does it; None where the example's do not tell, or otherwise.

    The windows are given by kernel size, stride, padding, dilation and output size.
    """
    *geometry, out = windows
    spatial = tuple(map(graph.hint, input.shape[2:]))
    down, up = (known_sizes("onnx.export", spatial, *geometry, mode) for mode in (False, True))
    if down != up and tuple(map(graph.hint, out)) == up:
        # ONNX has a last window that begins in the padding behind, which is left out here
        apart = any(p or s > d * (k - 1) + 1 for k, s, p, d in zip(*geometry))
        return None if apart else True
    if down != up:
        return False
    is_open = any(not isinstance(each, int) and step > 1 for each, step in zip(out, geometry[1]))
    return None if is_open else False


def window_attributes(
    kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool = False
) -> dict[str, Any]:
    """The attributes of ONNX's pooling operators."""
    return {
        "kernel_shape": kernel,
        "strides": stride,
        "pads": [*padding, *padding] if any(padding) else None,
        "dilations": dilation if any(each != 1 for each in dilation) else None,
        "ceil_mode": int(ceil_mode) or None,
    }


def padded_nodes(graph: Any, input: Any, size_of: Any, value: Any, *windows: Any) -> Any:
    """`padded_to` in an ONNX graph, or cropped, so that the windows end where the last one does.

    ``size_of`` gives the size of a dimension of the value that is padded.
    """
    kernel, stride, padding, dilation, out = windows
    after = []
    for dim, (k, s, p, d, o) in enumerate(zip(kernel, stride, padding, dilation, out), start=2):
        start = graph.Mul(graph.Sub(graph.sizes([o]), 1), s)
        after.append(graph.Sub(graph.Add(start, d * (k - 1) + 1 - p), size_of(dim)))
    return graph.Pad(input, graph.sizes([0, 0, *padding, 0, 0, *after]), graph.constant(value, input))


def places_without_padding(graph: Any, places: Any, padded: Any, input: Any, padding: Sizes) -> Any:
    """Places among all elements of padded images as those among the spatial elements of one without padding."""
    factor, found = graph.sizes([1]), graph.sizes([0])
    for dim in reversed(range(2, input.ndim)):
        size = graph.size(padded, dim)
        along = graph.Sub(graph.Mod(places, size), padding[dim - 2])
        found = graph.Add(found, graph.Mul(along, factor))
        places, factor = graph.Div(places, size), graph.Mul(factor, graph.size(input, dim))
    return found


# Max pooling


@op(tensors="input", dtypes="int float", compute_dtype="native", namespace="nn", vmap="merged")
def max_pool_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    out: Sizes,
) -> tuple[Tensor, Tensor]:
    """The greatest element of each window, and its place among the spatial elements (nan counts as greatest)."""
    return max_pool_with_indices.op(input, kernel_size, stride, padding, dilation, out)


@max_pool_with_indices.kernel
def _(xp, input, kernel_size, stride, padding, dilation, out):
    spatial = input.shape[2:]
    lowest = -math.inf if input.dtype.kind not in "iu" else xp.iinfo(input.dtype).min
    few = few_windows(xp, input, lowest, kernel_size, stride, padding, dilation, out)
    found = None if few is None else greatest_of_rows(any(padding), *few)
    if found is not None:
        return tuple(each.reshape((*input.shape[:2], *out)) for each in found)
    padded = padded_to(xp, input, lowest, kernel_size, stride, padding, dilation, out)
    whole = padded.shape[2:]
    places = xp.full(whole, -1, xp.int64)
    places[tuple(slice(p, p + n) for p, n in zip(padding, spatial))] = xp.arange(math.prod(spatial)).reshape(spatial)
    best: Any = None
    index: Any = None
    for place in taps(kernel_size, stride, dilation, out):
        value = padded[place]
        if best is None:
            best = value.copy()
            index = xp.empty(best.shape, xp.int64)
            index[...] = places[place]
            continue
        better = ~(value <= best)
        better &= best == best
        better |= (index < 0) & (places[place] >= 0)
        xp.copyto(best, value, where=better)
        xp.copyto(index, places[place], where=better)
    return best, index


@max_pool_with_indices.onnx
def _(graph, input, kernel_size, stride, padding, dilation, out):
    windows = kernel_size, stride, padding, dilation
    mode = rounds_up(graph, input, *windows, out)
    if mode is not None:
        values, places = graph.MaxPool(input, outputs=2, **window_attributes(*windows, mode))
        return [values, graph.Mod(places, graph.count(input, range(2, input.ndim)))]  # counted over all images
    size_of = partial(graph.size, input)
    padded = padded_nodes(graph, input, size_of, graph.lowest(input), *windows, out)
    values, places = graph.MaxPool(padded, outputs=2, **window_attributes(kernel_size, stride, (), dilation))
    return [values, places_without_padding(graph, places, padded, input, padding)]


def greatest_of_rows(is_padded: bool, rows: Any, flat: Any, places: Any, starts: Any) -> tuple[Any, Any] | None:
    """The results of `max_pool_with_indices`, flat; None where all that a window has is padding and its like."""
    found = rows.argmax(1)
    found += starts
    index = places.take(found)
    if is_padded and index.min() < 0:
        return None
    return rows.take(found), index


@max_pool_with_indices.gradient("input")
def _(grad, later_outputs, input_shape):
    return spread_to_places.op(grad, later_outputs[0], input_shape)


@op(
    tensors="output_grad indices",
    compute_dtype="float32",
    namespace="nn",
    name="max_pool_gradient",
    vmap="merged",
    linear="output_grad",
)
def spread_to_places(output_grad: Tensor, indices: Tensor, shape: Sizes) -> Tensor:
    """Sum each element at its place among the spatial elements of a tensor of this shape."""
    return spread_to_places.op(output_grad, indices, shape)


@spread_to_places.kernel
def _(xp, output_grad, indices, shape):
    rows, size = math.prod(shape[:2]), math.prod(shape[2:])
    flat = indices.reshape(rows, math.prod(indices.shape[2:])) + (xp.arange(rows) * size)[:, None]
    if is_numpy(xp) and output_grad.dtype.kind == "f":  # quicker than to add in place; on a device it would wait
        total = xp.bincount(flat.reshape(-1), in_order(xp, output_grad).reshape(-1), rows * size)
        return total.astype(output_grad.dtype).reshape(shape)
    total = xp.zeros(rows * size, output_grad.dtype)
    combine_at(xp, xp.add, total, (flat.reshape(-1),), output_grad.reshape(-1))
    return total.reshape(shape)


@spread_to_places.gradient("output_grad")
def _(grad, indices):
    return take_at_places(grad, indices)


def max_pool2d_with_indices_backward(
    grad_output: Tensor,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    """The gradient of `max_pool2d` with respect to its input, for the indices that it returned; see `weft.ops.aten`.

    Raises
    ------
    RuntimeError
        If ``grad_output`` or ``indices`` has not the shape of the result, or an index is outside of the input.
    """
    name = "max_pool2d_with_indices_backward"
    whole, batched = prepared(name, 2, input)
    windows = window_sizes(name, 2, kernel_size, stride, padding, dilation)
    out = pooled_sizes(name, whole._array.shape[2:], *windows, ceil_mode)
    wanted = (*input.shape[:-2], *out)
    for word, each in (("grad_output", grad_output), ("indices", indices)):
        if tuple(each.shape) != wanted:
            raise RuntimeError(f"{name}: expected {word} of shape {list(wanted)}, got {list(each.shape)}")
    check_places(name, indices, input.shape[-2] * input.shape[-1], tuple(input.shape[-2:]))
    if input.device.type != "cpu":
        in_range(name, indices, input.shape[-2] * input.shape[-1], input.ndim - 1)
    if not batched:
        grad_output, indices = grad_output.unsqueeze(0), indices.unsqueeze(0)
    found = spread_to_places.op(grad_output, indices, tuple(whole.shape)).reshape(input.shape)
    never = weft.zeros((), dtype=weft.bool, device=input.device)
    return in_layout_of(weft.where(never, input, found), input)  # a function of the input too, with slope 0


def take_at_places(input: Tensor, indices: Tensor) -> Tensor:
    """The spatial elements at these places."""
    flat = input.flatten(2).gather(-1, indices.flatten(2))
    return flat.reshape(indices.shape)


def max_pooling(count: int) -> tuple[Any, Any]:
    """The functions ``max_pool<count>d`` and ``max_pool<count>d_with_indices``."""
    name = f"max_pool{count}d"

    def with_indices(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        return_indices: bool = True,
    ) -> tuple[Tensor, Tensor]:
        windows = window_sizes(name, count, kernel_size, stride, padding, dilation)
        check_windows(name, *windows)
        input, batched = prepared(name, count, input)
        out = pooled_sizes(name, input._array.shape[2:], *windows, ceil_mode)
        found = max_pool_with_indices.op(input, *windows, out)
        values, indices = (in_layout_of(each, input) for each in found)
        values = without_gradient(values)
        return (values, indices) if batched else (values.squeeze(0), indices.squeeze(0))

    @for_axes(name, count, example=MAX_EXAMPLES[count])
    def function(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """The greatest element of each window of an input (N, C, {spatial}) or (C, {spatial}).

        Parameters
        ----------
        input : Tensor
        kernel_size, stride, padding, dilation : int or tuple of {count}
            Stride is the kernel size unless given. Padding is of minus infinity, at most half a window.
        ceil_mode : bool
            Round the output sizes up.
        return_indices : bool
            Return as well where the elements are among the spatial ones.

        Returns
        -------
        Tensor, or with indices a pair
            Each size is ``floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride) + 1``.

        Raises
        ------
        RuntimeError
            If shapes or sizes do not fit together.

        Examples
        --------
        {example}
        """
        found = with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        return found if return_indices else found[0]

    function.fast_path = FastPath(  # type: ignore[attr-defined]
        max_pool_with_indices.op,
        prepare=with_windows(name, count, True),
        takes="input kernel_size stride padding dilation ceil_mode",
        result="first",
    )
    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    with_indices.__doc__ = function.__doc__
    return function, with_indices


MAX_EXAMPLES = {
    1: """>>> weft.nn.functional.max_pool1d(weft.tensor([[1.0, 5.0, 2.0, 3.0]]), 2)
tensor([[5., 3.]])""",
    2: """>>> weft.nn.functional.max_pool2d(weft.tensor([[[1.0, 4.0], [2.0, 3.0]]]), 2, return_indices=True)
(tensor([[[4.]]]), tensor([[[1]]]))""",
    3: """>>> weft.nn.functional.max_pool3d(weft.zeros(2, 3, 8, 9, 9), (2, 3, 3)).shape
weft.Size([2, 3, 4, 3, 3])""",
}

max_pool1d, max_pool1d_with_indices = max_pooling(1)
max_pool2d, max_pool2d_with_indices = max_pooling(2)
max_pool3d, max_pool3d_with_indices = map(in_full_precision, max_pooling(3))


# Average pooling


@lru_cache(256)
def window_counts(
    spatial: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, options: tuple[bool, int | None]
) -> Any:
    """The divisor of each window's sum: an array in double precision, or one number where all are equal."""
    include_pad, divisor = options
    if divisor is not None:
        return float(divisor)
    counts = numpy.ones(())
    for n, k, s, p, o in zip(spatial, kernel, stride, padding, out):
        start = numpy.arange(o) * s - p
        stop = numpy.minimum(start + k, n + p)
        if not include_pad:
            start, stop = numpy.maximum(start, 0), numpy.minimum(stop, n)
        counts = numpy.multiply.outer(counts, (stop - start).astype(numpy.float64))
    return float(counts.flat[0]) if (counts == counts.flat[0]).all() else counts


def divided(xp: Any, array: Any, *windows: Any) -> Any:
    """The array divided by the number of `window_counts`, or by one for each place."""
    counts = window_counts(*windows)
    return array / (counts if isinstance(counts, float) else constant(xp, window_counts, array.dtype, *windows))


@op(
    tensors="input",
    result="same",
    compute_dtype="float32",
    dtypes="int float complex",
    namespace="nn",
    vmap="merged",
    linear="input",
)
def avg_pool(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    out: Sizes,
    options: tuple[bool, int | None],
) -> Tensor:
    """The mean of each window; ``options`` are whether padding counts, and a divisor or None."""
    return avg_pool.op(input, kernel_size, stride, padding, out, options)


@avg_pool.kernel
def _(xp, input, kernel_size, stride, padding, out, options):
    once = (1,) * len(out)
    few = few_windows(xp, input, 0, kernel_size, stride, padding, once, out)
    if few is not None:
        total = rows_total(few[0], False).reshape((*input.shape[:2], *out))
    else:
        padded = padded_to(xp, input, 0, kernel_size, stride, padding, once, out)
        first, *others = taps(kernel_size, stride, once, out)
        total = padded[first].copy()
        for place in others:
            total += padded[place]
    windows = (input.shape[2:], kernel_size, stride, padding, out, options)
    if input.dtype.kind in "iu":
        divisor = constant(xp, window_counts, input.dtype, *windows)
        return xp.sign(total) * xp.sign(divisor) * (xp.absolute(total) // xp.absolute(divisor))  # towards 0
    return divided(xp, total, *windows)


@avg_pool.gradient("input")
def _(grad, input_shape, kernel_size, stride, padding, out, options):
    return avg_pool_gradient.op(grad, input_shape, kernel_size, stride, padding, out, options)


@avg_pool.onnx
def _(graph, input, kernel_size, stride, padding, out, options):
    counts_padding, divisor = options
    if not all(isinstance(each, int) for each in kernel_size):
        if any(each != 1 for each in out):
            graph.refuse("several windows, whose size depends on the input's")
        return graph.reduce("ReduceMean", input, range(2, input.ndim), True)
    once = (1,) * len(out)
    if divisor is None and rounds_up(graph, input, kernel_size, stride, padding, once, out) is False:
        counted = int(counts_padding and any(padding)) or None
        return graph.AveragePool(
            input, count_include_pad=counted, **window_attributes(kernel_size, stride, padding, once)
        )
    windows = kernel_size, stride, padding, once, out
    inner = window_attributes(kernel_size, stride, (), once)
    mean = graph.AveragePool(padded_nodes(graph, input, partial(graph.size, input), 0, *windows), **inner)
    if divisor is not None:
        return graph.Mul(mean, math.prod(kernel_size) / divisor)
    return graph.Div(mean, graph.AveragePool(counted_nodes(graph, input, counts_padding, *windows), **inner))


def counted_nodes(graph: Any, input: Any, counts_padding: bool, *windows: Any) -> Any:
    """An image of ones for what counts in a mean, and zeros for what does not, in an ONNX graph."""
    kernel, stride, padding, dilation, out = windows
    shape = graph.Concat(graph.sizes([1, 1]), graph.shape_of(input, 2), axis=0)
    ones = graph.Expand(graph.constant(1, input), shape)
    if not counts_padding:
        return padded_nodes(graph, ones, partial(graph.size, input), 0, *windows)
    ends = graph.sizes([0, 0, *padding] * 2)
    whole = graph.Pad(ones, ends, graph.constant(1, input))
    none = (0,) * len(padding)
    return padded_nodes(graph, whole, lambda dim: graph.size(whole, dim), 0, kernel, stride, none, dilation, out)


@op(tensors="output_grad", result="same", compute_dtype="float32", namespace="nn", vmap="merged", linear="output_grad")
def avg_pool_gradient(
    output_grad: Tensor,
    shape: Sizes,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    out: Sizes,
    options: tuple[bool, int | None],
) -> Tensor:
    """Each window's share added to all of its elements."""
    return avg_pool_gradient.op(output_grad, shape, kernel_size, stride, padding, out, options)


@avg_pool_gradient.kernel
def _(xp, output_grad, shape, kernel_size, stride, padding, out, options):
    share = divided(xp, output_grad, tuple(shape[2:]), kernel_size, stride, padding, out, options)
    whole = [max(k + s * (o - 1), n + p) for n, k, s, p, o in zip(shape[2:], kernel_size, stride, padding, out)]
    result = xp.zeros((*shape[:2], *whole), output_grad.dtype)
    apart = all(s >= k for s, k in zip(stride, kernel_size))
    for place in taps(kernel_size, stride, (1,) * len(out), out):
        if apart:
            result[place] = share
        else:
            result[place] += share
    inner = (..., *[slice(p, p + n) for p, n in zip(padding, shape[2:])])
    return xp.ascontiguousarray(result[inner])


@avg_pool_gradient.gradient("output_grad")
def _(grad, kernel_size, stride, padding, out, options):
    return avg_pool.op(grad, kernel_size, stride, padding, out, options)


def average_pooling(count: int) -> Any:
    """The function ``avg_pool<count>d``."""
    name = f"avg_pool{count}d"

    @for_axes(name, count, example=AVERAGE_EXAMPLES[count])
    def function(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The mean of each window of an input (N, C, {spatial}) or (C, {spatial}).

        Parameters
        ----------
        input : Tensor
        kernel_size, stride, padding : int or tuple of {count}
            Stride is the kernel size unless given. Padding is of zeros, at most half a window.
        ceil_mode : bool
            Round the output sizes up.
        count_include_pad : bool
            Whether padding counts in the mean.
        divisor_override : int, optional
            Divide each sum by this instead.

        Returns
        -------
        Tensor
            Each size is ``floor((size + 2 * padding - kernel_size) / stride) + 1``.

        Raises
        ------
        RuntimeError
            If shapes or sizes do not fit together.

        Examples
        --------
        {example}
        """
        kernel = sizes(name, "kernel_size", kernel_size, count)
        stride = kernel if stride is None or stride in ([], ()) else sizes(name, "stride", stride, count)
        padding = sizes(name, "padding", padding, count)
        require_flags(name, count_include_pad=count_include_pad)
        if divisor_override is not None:
            (divisor_override,) = sizes(name, "divisor_override", divisor_override, 1)
        if divisor_override == 0:
            raise RuntimeError(f"{name}: divisor must be not zero, got divisor_override=0")
        check_windows(name, kernel, stride, padding, (1,) * count)
        input, batched = prepared(name, count, input)
        spatial = pooled_sizes(name, input._array.shape[2:], kernel, stride, padding, (1,) * count, ceil_mode)
        result = avg_pool.op(input, kernel, stride, padding, spatial, (count_include_pad, divisor_override))
        result = in_layout_of(result, input)
        result = result if batched else result.squeeze(0)
        return result if out is None else write_out(name, out, result)

    function.fast_path = FastPath(  # type: ignore[attr-defined]
        avg_pool.op,
        prepare=with_windows(name, count, False),
        takes="input kernel_size stride padding ceil_mode",
    )
    return function


AVERAGE_EXAMPLES = {
    1: """>>> weft.nn.functional.avg_pool1d(weft.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
tensor([[2., 6.]])""",
    2: """>>> weft.nn.functional.avg_pool2d(weft.ones(1, 2, 2), 2, divisor_override=1)  # the sum
tensor([[[4.]]])""",
    3: """>>> weft.nn.functional.avg_pool3d(weft.zeros(2, 3, 8, 9, 9), (2, 3, 3)).shape
weft.Size([2, 3, 4, 3, 3])""",
}

avg_pool1d = average_pooling(1)
avg_pool2d = average_pooling(2)
avg_pool3d = in_full_precision(average_pooling(3))


# Adaptive pooling: windows that cover the input evenly, from floor(i n / m) to ceil((i + 1) n / m).


def adaptive_sizes(name: str, count: int, input: Tensor, output_size: Any) -> Sizes:
    """The output's spatial sizes; None keeps that of the input."""
    if output_size is None:
        raise TypeError(f"{name}(): argument 'output_size' must be int or tuple of ints, not NoneType")
    shape = input._array.shape
    if type(output_size) is int and 0 < output_size <= min(shape[-count:]):
        return (output_size,) * count  # as most are
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * count
    if len(given) == 1:
        given *= count
    if len(given) != count:
        wanted = "'output_size' should contain one int" if count == 1 else f"output_size must be {count}"
        where = "" if "avg" in name else ": internal error: output_size.size()"  # PyTorch's words
        raise RuntimeError(f"{name}{where}: {wanted}, one for each dimension, got {list(given)}")
    kept = tuple([n if each is None else each for each, n in zip(given, shape[-count:])])
    out = sizes(name, "output_size", kept, count)
    if min(out) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but got {list(out)}: Trying to create "
            f"tensor with negative dimension {min(out)}"
        )
    addressable(name, (*[max(n, 1) for n in shape[:-count]], *out), 2 * input.itemsize)
    return out


def segments(size: int, out: int) -> list[tuple[int, int]]:
    """The begin and end of each of ``out`` windows."""
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def average_adaptively(input: Tensor, out: Sizes) -> Tensor:
    """The mean over windows: plain ones where they divide the sizes, else one dimension after the other."""
    spatial = input._array.shape[2:]
    if out and 0 not in out and not any(map(mod, spatial, out)):
        kernel = tuple(map(floordiv, spatial, out))
        return avg_pool.op(input, kernel, kernel, (0,) * len(out), out, (True, None))
    if 0 in out or not input._array.size:
        return without_gradient(input.flatten()[:0].reshape([*input.shape[:2], *out]))
    return resample.op(input, out, "area", (None,) * len(out), False, False, False)


def without_gradient(result: Tensor) -> Tensor:
    """An empty result of adaptive pooling, whose gradient is refused: no element of the output has a window."""
    if result.requires_grad and 0 in result._array.shape[2:]:
        result.register_hook(refuse_gradient)
    return result


def refuse_gradient(grad: Tensor) -> None:
    """Raise RuntimeError for the gradient of an output without elements."""
    raise RuntimeError(
        "adaptive pooling: Expected grad_output to have non-zero size for non-batch dimensions, but got "
        f"{list(grad.shape)}"
    )


def adaptive_average(count: int) -> Any:
    """The function ``adaptive_avg_pool<count>d``."""
    name = f"adaptive_avg_pool{count}d"

    @for_axes(name, count, ones=", 1" * count, sixes=", 6" * count)
    def function(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
        """The means of windows that cover an input (N, C, {spatial}) evenly.

        Parameters
        ----------
        input : Tensor
        output_size : int, None, or tuple of {count}
            How many windows along each dimension; None as many as there are elements.

        Examples
        --------
        >>> images = weft.arange(4.0).reshape(1, 4{ones}).expand(1, 4{sixes})
        >>> weft.nn.functional.{name}(images, 1).flatten()
        tensor([0., 1., 2., 3.])
        """
        input, batched = prepared(name, count, input, ValueError if count > 1 else RuntimeError, False)
        check_floating(name, input)
        result = in_layout_of(average_adaptively(input, adaptive_sizes(name, count, input, output_size)), input)
        return result if batched else result.squeeze(0)

    def with_even_windows(values: list[Any], arrays: list[Any]) -> bool:
        input, size = arrays
        if not are_batches(input, count) or type(size) is not int or size < 1:
            return False
        out, spatial = (size,) * count, input.shape[2:]
        if any(map(mod, spatial, out)):
            return False
        kernel = tuple(map(floordiv, spatial, out))
        values[1:] = arrays[1:] = averaged((kernel, kernel, (0,) * count, (1,) * count, out))
        return True

    function.fast_path = FastPath(  # type: ignore[attr-defined]
        avg_pool.op, prepare=with_even_windows, takes="input output_size"
    )
    return function


adaptive_avg_pool1d = adaptive_average(1)
adaptive_avg_pool2d = adaptive_average(2)
adaptive_avg_pool3d = in_full_precision(adaptive_average(3))


@op(tensors="input", dtypes="float", compute_dtype="native", namespace="nn", vmap="merged")
def adaptive_max_pool_with_indices(input: Tensor, out: Sizes) -> tuple[Tensor, Tensor]:
    """The greatest element of each of ``out`` windows that cover the input evenly, and its place."""
    return adaptive_max_pool_with_indices.op(input, out)


@adaptive_max_pool_with_indices.kernel
def _(xp, input, out):
    spatial = input.shape[2:]
    values = xp.empty((*input.shape[:2], *out), input.dtype)
    index = xp.empty(values.shape, xp.int64)
    places = xp.arange(math.prod(spatial)).reshape(spatial)
    bounds = [segments(n, o) for n, o in zip(spatial, out)]
    for cell in offsets(out):
        window = tuple(slice(*bounds[d][i]) for d, i in enumerate(cell))
        chosen = input[(..., *window)]
        flat = chosen.reshape(*input.shape[:2], math.prod(chosen.shape[2:]))
        best = xp.argmax(flat, axis=-1)
        values[(..., *cell)] = xp.take_along_axis(flat, best[..., None], axis=-1)[..., 0]
        index[(..., *cell)] = places[window].reshape(-1)[best]
    return values, index


@adaptive_max_pool_with_indices.gradient("input")
def _(grad, later_outputs, input_shape):
    return spread_to_places.op(grad, later_outputs[0], input_shape)


@adaptive_max_pool_with_indices.onnx
def _(graph, input, out):
    flat = graph.Reshape(input, graph.sizes([0, 0, -1]))
    if all(each == 1 for each in out):
        found = graph.ReduceMax(flat, graph.sizes([-1])), graph.ArgMax(flat, axis=-1)
        return [graph.Reshape(each, graph.sizes([0, 0, *out])) for each in found]
    if not all(isinstance(each, int) for each in (*input.shape[2:], *out)):
        graph.refuse("windows whose size depends on the input's")
    places = graph.constant(window_elements(input.shape[2:], out))
    windows = graph.Gather(flat, places, axis=2)  # (N, C, windows, elements)
    best = graph.ArgMax(windows, axis=-1)
    index = graph.GatherElements(graph.Expand(places, graph.shape_of(windows)), best, axis=-1)
    return [
        graph.Reshape(each, graph.sizes([0, 0, *out])) for each in (graph.ReduceMax(windows, graph.sizes([-1])), index)
    ]


def window_elements(spatial: Sizes, out: Sizes) -> Any:
    """For each window of adaptive pooling a row of positions; shorter ones have their last elements again."""
    numbers = numpy.arange(math.prod(spatial)).reshape(spatial)
    bounds = [segments(n, o) for n, o in zip(spatial, out)]
    longest = [max(stop - start for start, stop in each) for each in bounds]
    rows = []
    for cell in offsets(out):
        ends = [bounds[dim][at] for dim, at in enumerate(cell)]
        along = [[min(start + k, stop - 1) for k in range(n)] for (start, stop), n in zip(ends, longest)]
        rows.append(numbers[numpy.ix_(*along)].reshape(-1))
    return numpy.stack(rows)


def adaptive_maximum(count: int) -> tuple[Any, Any]:
    """The functions ``adaptive_max_pool<count>d`` and the same with indices."""
    name = f"adaptive_max_pool{count}d"

    def with_indices(
        input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = True
    ) -> tuple[Tensor, Tensor]:
        input, batched = prepared(name, count, input, ValueError if count > 1 else RuntimeError)
        found = adaptive_max_pool_with_indices.op(input, adaptive_sizes(name, count, input, output_size))
        values, indices = (in_layout_of(each, input) for each in found)
        values = without_gradient(values)
        return (values, indices) if batched else (values.squeeze(0), indices.squeeze(0))

    @for_axes(name, count, elements=f"{4**count}.0", shape=", 4" * count, last=f"{4**count - 1}.")
    def function(
        input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """The greatest elements of windows that cover an input (N, C, {spatial}) evenly.

        Parameters
        ----------
        input : Tensor
        output_size : int, None, or tuple of {count}
            How many windows along each dimension; None as many as there are elements.
        return_indices : bool
            Return as well where the elements are among the spatial ones.

        Examples
        --------
        >>> images = weft.arange({elements}).reshape(1, 1{shape})
        >>> weft.nn.functional.{name}(images, 1).flatten()
        tensor([{last}])
        """
        found = with_indices(input, output_size)
        return found if return_indices else found[0]

    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    with_indices.__doc__ = function.__doc__
    return function, with_indices


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = adaptive_maximum(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = adaptive_maximum(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = map(in_full_precision, adaptive_maximum(3))


# Unpooling


def unpooling(count: int) -> Any:
    """The function ``max_unpool<count>d``."""
    name = f"max_unpool{count}d"

    @for_axes(name, count, shape=", 5" * count)
    def function(
        input: Tensor,
        indices: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor:
        """Put the values of `max_pool{count}d` back to where they came from; the rest is 0.

        Parameters
        ----------
        input : Tensor, shape (N, C, {spatial}) or (C, {spatial})
        indices : Tensor of int64
            What `max_pool{count}d` returned with ``return_indices``.
        kernel_size, stride, padding : int or tuple of {count}
            Those of the pooling.
        output_size : tuple of int, optional
            The size of the pooling's input, as several have the same output size.

        Raises
        ------
        RuntimeError, ValueError
            If shapes or sizes do not fit, or an index is out of range.

        Examples
        --------
        >>> images = weft.rand(1, 3{shape})
        >>> pooled, indices = weft.nn.functional.max_pool{count}d(images, 2, return_indices=True)
        >>> output = weft.nn.functional.{name}(pooled, indices, 2, output_size=images.shape[2:])
        >>> output.shape == images.shape, weft.equal(output[output > 0], images[output > 0])
        (True, True)
        """
        kernel = sizes(name, "kernel_size", kernel_size, count)
        stride = kernel if stride is None else sizes(name, "stride", stride, count)
        padding = sizes(name, "padding", padding, count)
        if indices.shape != input.shape:
            raise RuntimeError(
                f"{name}: Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but "
                f"got indices tensor with shape: {list(indices.shape)}"
            )
        if input.ndim not in (count + 1, count + 2):
            raise RuntimeError(
                f"{name}: Expected {count + 1}D or {count + 2}D input (C, {SPATIAL[count]}) or (N, C, "
                f"{SPATIAL[count]}), but got input of size: {list(input.shape)}"
            )
        check_floating(name, input)
        if 0 in input._array.shape[input.ndim - count - 1 :]:
            raise RuntimeError(
                f"{name}: Expected input to have non-zero size for non-batch dimensions, but got {list(input.shape)}"
            )
        spatial = unpooled_sizes(name, input.shape[-count:], kernel, stride, padding, output_size)
        lead, total = input.shape[:-count], math.prod(spatial)
        check_places(name, indices, total, spatial)
        places = math.prod(input.shape[-count:])
        flat = input.new_zeros(*lead, total).scatter(-1, indices.reshape(*lead, places), input.reshape(*lead, places))
        return in_layout_of(flat.reshape([*lead, *spatial]), input)

    return function


def unpooled_sizes(
    name: str, spatial: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, output_size: Any
) -> tuple[int, ...]:
    """The spatial sizes of an unpooled output: the smallest that pool to the input's, or those asked for."""
    default = tuple((n - 1) * s + k - 2 * p for n, k, s, p in zip(spatial, kernel, stride, padding))
    if min(stride) < 1:
        raise RuntimeError(f"{name}: strides should be greater than zero, but got stride: {list(stride)}")
    if min(default) < 0:
        raise ValueError(f"{name}: output_size must be non-negative; input, kernel and padding give {list(default)}")
    if output_size is None:
        return default
    given = tuple(int(each) for each in output_size)
    given = given[2:] if len(given) == len(kernel) + 2 else given
    if len(given) != len(kernel):
        raise ValueError(
            f"{name}: output_size should be a sequence containing {len(kernel)} or {len(kernel) + 2} elements, but it "
            f"has a length of '{len(output_size)}'"
        )
    for g, d, s in zip(given, default, stride):
        if not d - s < g < d + s:
            raise ValueError(
                f"{name}: invalid output_size {list(given)}: sizes must be less than a stride from {list(default)}"
            )
    return given


def check_places(name: str, indices: Tensor, total: int, spatial: Sizes) -> None:
    """Indices are of int64 and inside the output."""
    if indices.dtype is not weft.int64:
        raise RuntimeError(f"{name}: elements in indices should be type int64 but got: {indices.dtype}")
    values = memory_of(indices)
    if indices.device.type == "cpu" and values.size:
        low, high = int(values.min()), int(values.max())
        if low < 0 or high >= total:
            raise RuntimeError(
                f"{name}: Found an invalid max index: {low if low < 0 else high} (output volumes are of size "
                f"{list(spatial)})"
            )


max_unpool1d = unpooling(1)
max_unpool2d = in_full_precision(unpooling(2))
max_unpool3d = in_full_precision(unpooling(3))


# Norms of windows


def norm_pooling(count: int, average: Any, greatest: Any) -> Any:
    """The function ``lp_pool<count>d``."""
    name = f"lp_pool{count}d"

    @for_axes(name, count, shape=", 2" * count, elements=str(2.0**count))
    def function(
        input: Tensor,
        norm_type: float | Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        """The p-norm of each window of an input (N, C, {spatial}): ``sum(x ** p) ** (1 / p)``.

        Parameters
        ----------
        input : Tensor
        norm_type : float
            p; for inf the greatest absolute value, for -inf the least.
        kernel_size, stride, ceil_mode
            See `avg_pool{count}d`.

        Examples
        --------
        >>> weft.nn.functional.{name}(weft.ones(1, 1{shape}), 1, 2).item()  # p = 1: the sum
        {elements}
        """
        size = math.prod(sizes(name, "kernel_size", kernel_size, count))
        if not isinstance(norm_type, Tensor) and abs(norm_type) == math.inf:  # the greatest or the least, in size
            sign = 1 if norm_type > 0 else -1
            return greatest(input.abs() * sign, kernel_size, stride, 0, 1, ceil_mode) * sign
        mean = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        return (mean.sign() * mean.abs().relu() * size).pow(1.0 / norm_type)

    return function


lp_pool1d = norm_pooling(1, avg_pool1d, max_pool1d)
lp_pool2d = norm_pooling(2, avg_pool2d, max_pool2d)
lp_pool3d = norm_pooling(3, avg_pool3d, max_pool3d)


# Fractional max pooling


@op(tensors="input samples", dtypes="int float", compute_dtype="native", namespace="nn", vmap="merged")
def fractional_max_pool_with_indices(
    input: Tensor, samples: Tensor, kernel_size: Sizes, out: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """The greatest element of each window of a random sequence, and its place among the spatial elements."""
    return fractional_max_pool_with_indices.op(input, samples, kernel_size, out)


def window_starts(xp: Any, samples: Any, size: int, kernel: int, out: int) -> Any:
    """The places where windows begin, (..., out), for one random number in [0, 1) each."""
    number = xp.arange(out, dtype=samples.dtype)
    step = samples.dtype.type((size - kernel) / (out - 1)) if out > 1 else samples.dtype.type(0)
    starts = xp.trunc((samples[..., None] + number) * step) - xp.trunc(samples * step)[..., None]
    starts[..., -1] = size - kernel
    return starts.astype(xp.int64)


@fractional_max_pool_with_indices.kernel
def _(xp, input, samples, kernel_size, out):
    spatial, count = input.shape[2:], len(out)
    order = range(count) if count == 3 else reversed(range(count))  # PyTorch draws the last dimension's first in 2-D
    place = xp.zeros((1,) * (2 + 2 * count), xp.int64)
    for d, draw in enumerate(order):
        starts = window_starts(xp, samples[..., draw], spatial[d], kernel_size[d], out[d])
        positions = starts[..., None] + xp.arange(kernel_size[d])  # (N, C, out, kernel)
        shape = list(positions.shape[:2]) + [1] * (2 * count)
        shape[2 + d], shape[2 + count + d] = out[d], kernel_size[d]
        place = place * spatial[d] + positions.reshape(shape)
    place = place.reshape(*place.shape[:2], math.prod(out), math.prod(kernel_size))
    flat = input.reshape(*input.shape[:2], 1, math.prod(spatial))
    windows = xp.take_along_axis(flat, xp.broadcast_to(place, (*input.shape[:2], *place.shape[2:])), axis=-1)
    best = xp.argmax(windows, axis=-1)[..., None]
    values, index = xp.take_along_axis(windows, best, axis=-1), xp.take_along_axis(place, best, axis=-1)
    return values.reshape(*input.shape[:2], *out), index.reshape(*input.shape[:2], *out)


@fractional_max_pool_with_indices.gradient("input")
def _(grad, later_outputs, input_shape):
    return spread_to_places.op(grad, later_outputs[0], input_shape)


def fractional(count: int) -> tuple[Any, Any]:
    """The functions ``fractional_max_pool<count>d`` and the same with indices."""
    name = f"fractional_max_pool{count}d"

    def with_indices(
        input: Tensor,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int] | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = True,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        kernel = sizes(name, "kernel_size", kernel_size, count)
        input, batched = prepared(name, count, input)
        out = fractional_sizes(name, input.shape[2:], kernel, output_size, output_ratio)
        samples = _random_samples
        if samples is None:
            samples = weft.rand(*input.shape[:2], count, dtype=input.dtype, device=input.device)
        if samples.dtype is not input.dtype or samples.ndim != 3 or samples.shape[2] != count:
            raise RuntimeError(
                f"{name}: Expect _random_samples of the input's dtype {input.dtype} and of shape (N, C, {count}), got "
                f"{samples.dtype} {list(samples.shape)}"
            )
        if samples.shape[0] < input.shape[0] or samples.shape[1] != input.shape[1]:
            raise RuntimeError(
                f"{name}: Expect _random_samples for each image and channel, {list(input.shape[:2])}, got "
                f"{list(samples.shape)}"
            )
        if values_at_hand(samples) and bool(samples.isnan().any()):
            raise RuntimeError(f"{name}: _random_samples must be numbers from 0 to 1, got nan")
        samples = samples.detach()[: input.shape[0]].reshape(*input.shape[:2], count)
        if 0 in out:
            values = input.new_empty((*input.shape[:2], *out))
            indices = input.new_empty((*input.shape[:2], *out), dtype=weft.int64)
        else:
            values, indices = fractional_max_pool_with_indices.op(input, samples, kernel, out)
        return (values, indices) if batched else (values.squeeze(0), indices.squeeze(0))

    @for_axes(name, count, shape=", 8" * count, pooled=", 5" * count)
    def function(
        input: Tensor,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int] | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """The greatest elements of windows at random places of an input (N, C, {spatial}).

        Parameters
        ----------
        input : Tensor
        kernel_size : int or tuple of {count}
        output_size : int or tuple of {count}, optional
        output_ratio : float or tuple of {count}, optional
            In (0, 1); one of the two must be given.
        return_indices : bool
            Return as well where the elements are among the spatial ones.

        Raises
        ------
        ValueError, RuntimeError
            If none of the two is given, or sizes do not fit together.

        References
        ----------
        arXiv:1412.6071.

        Examples
        --------
        >>> weft.nn.functional.{name}(weft.rand(1, 1{shape}), 2, output_size=5).shape
        weft.Size([1, 1{pooled}])
        """
        found = with_indices(input, kernel_size, output_size, output_ratio, _random_samples=_random_samples)
        return found if return_indices else found[0]

    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    with_indices.__doc__ = function.__doc__
    return function, with_indices


def fractional_sizes(name: str, spatial: Sizes, kernel: Sizes, output_size: Any, output_ratio: Any) -> Sizes:
    """The spatial sizes of the output, given or as a ratio, for which there are enough windows."""
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name}: requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * len(kernel)
        if len(ratios) != len(kernel):
            raise ValueError(
                f"{name} requires output_ratio to either be a single Int or tuple of Ints. It needs one ratio, or "
                f"{len(kernel)}, got {list(ratios)}"
            )
        output_size = [int(n * ratio) for n, ratio in zip(spatial, ratios)]
    out = sizes(name, "output_size", output_size, len(kernel))
    for n, k, o in zip(spatial, kernel, out):
        if o < 0 or k < 1 or (o > 0 and o + k - 1 > n):
            raise RuntimeError(
                f"{name}: pool size {list(kernel)} too large relative to input size {list(spatial)}, for {list(out)}"
            )
    return out


fractional_max_pool2d, fractional_max_pool2d_with_indices = map(in_full_precision, fractional(2))
fractional_max_pool3d, fractional_max_pool3d_with_indices = map(in_full_precision, fractional(3))
