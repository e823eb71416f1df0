"""Averages of windows, and their gradient, from arrays with the channels first or last, as they are.

What the library counts otherwise, or has only plain loops for, is left to the compiled loops; so are maxima, as it does
not keep NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy

from weft.backend_cpu.onednn.convolution import is_last, new
from weft.backend_cpu.onednn.library import UnsupportedError, make
from weft.backend_cpu.onednn.primitives import (
    DIFF_DST,
    DIFF_SRC,
    DST,
    SRC,
    WIDTHS,
    Handle,
    Primitive,
    address,
    attributes,
    described,
    engine,
    implementation,
    on_this_thread,
    pool,
    sizes,
)
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel

Array = numpy.ndarray[Any, Any]
Sizes = tuple[int, ...]
Kernel = Callable[..., Any]

FORWARD_INFERENCE = 96
WITH_PADDING, WITHOUT_PADDING = 0x2FF, 0x3FF  # whether padding counts as elements of a window


class Average:
    """The primitive of one geometry, or of its gradient, and how its result lies in memory.

    Parameters
    ----------
    given : (tuple of int, tuple of int)
        Shape and strides of the array that it takes.
    shape : tuple of int
        The result's.
    """

    def __init__(self, given: tuple[Sizes, Sizes], shape: Sizes, gradient: bool, *geometry: Any) -> None:
        last = is_last(*given)
        self.shape, self.order = shape, None
        if last:
            self.shape = (shape[0], *shape[2:], shape[1])
            self.order = (0, len(shape) - 1, *range(1, len(shape) - 1))
        taken, made = described(*given), described(*new(shape, last, "float32"))
        if gradient:
            description = backward(made, taken, forward(made, taken, shape, given[0], *geometry))
            arguments = [(DIFF_DST, taken), (DIFF_SRC, made)]
        else:
            description = forward(taken, made, given[0], shape, *geometry)[0]
            arguments = [(SRC, taken), (DST, made)]
        if not implementation(description).startswith(b"jit"):
            raise UnsupportedError("only the plain loops")
        self.primitive = Primitive(description, arguments, WIDTHS["float32"] * prod(shape))

    def run(self, given: Array) -> Array:
        """The result for an array."""
        result = numpy.empty(self.shape, numpy.float32)
        self.primitive.run(address(given), address(result))
        return result if self.order is None else result.transpose(self.order)


def forward(
    x: Handle, y: Handle, input: Sizes, output: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, counts: bool
) -> tuple[Handle, Any]:
    """The description of the average, and all that describes its windows."""
    spatial, out = input[2:], output[2:]
    after = [(o - 1) * s + k - n - p for o, s, k, n, p in zip(out, stride, kernel, spatial, padding)]
    counts = counts and any(padding)
    if counts and any(a > p for a, p in zip(after, padding)):
        raise UnsupportedError("a window reaches beyond the padding, where nothing counts")
    if any(p >= k for p, k in zip([*padding, *after], [*kernel, *kernel])):
        raise UnsupportedError("a window of padding alone")
    once = (0,) * len(out)
    algorithm = WITH_PADDING if counts else WITHOUT_PADDING
    geometry = algorithm, [sizes(each) for each in (stride, kernel, once, padding, after)]
    create = "dnnl_pooling_forward_primitive_desc_create"
    handle = make(create, engine(), FORWARD_INFERENCE, algorithm, x, y, *geometry[1], attributes())
    return Handle("primitive_desc", handle), geometry


def backward(x: Handle, y: Handle, described: tuple[Handle, Any]) -> Handle:
    """The description of the gradient."""
    hint, (algorithm, steps) = described
    create = "dnnl_pooling_backward_primitive_desc_create"
    return Handle("primitive_desc", make(create, engine(), algorithm, x, y, *steps, hint, attributes()))


def average(shape: Sizes, strides: Sizes, to: Sizes, gradient: bool, *geometry: Any) -> Average:
    """The average of windows of an array of this shape, or the gradient of one whose result has it."""
    return Average((shape, strides), to, gradient, *geometry)


def is_taken(windows: Sizes, elements: int, options: Any) -> bool:
    """Whether the library is the faster one: several windows, divided by their sizes."""
    return options[1] is None and prod(windows) > 1 and elements >= MIN_SIZE_FUSED


@register_kernel("nn::avg_pool", dtypes="float32", min_size=MIN_SIZE_FUSED)
def avg_pool(generic: Kernel) -> Kernel:
    """The mean of each window."""

    def run(input: Array, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, options: Any) -> Any:
        if is_taken(out, input.size, options):
            on_this_thread()
            to = (*input.shape[:2], *out)
            found = pool(average, input.shape, input.strides, to, False, kernel, stride, padding, options[0])
            if found is not None:
                return found.run(input)
        return generic(input, kernel, stride, padding, out, options)

    return run


@register_kernel("nn::avg_pool_gradient", dtypes="float32", min_size=0, checks_size=True)
def avg_pool_gradient(generic: Kernel) -> Kernel:
    """Each window's share added to all of its elements."""

    def run(grad: Array, shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, options: Any) -> Any:
        if is_taken(out, prod(shape), options):
            on_this_thread()
            found = pool(average, grad.shape, grad.strides, tuple(shape), True, kernel, stride, padding, options[0])
            if found is not None:
                return found.run(grad)
        return generic(grad, shape, kernel, stride, padding, out, options)

    return run
