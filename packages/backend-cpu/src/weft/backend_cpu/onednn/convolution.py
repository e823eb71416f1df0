"""Convolutions over 1, 2 and 3 dimensions, and their gradients with respect to the input and to the weight.

Arrays with the channels first are brought into the library's own blocked layouts and back, inside of the call; those
with the channels last (``channels_last``) are taken as they are, and so is the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy

from weft._layout import in_order
from weft.backend_cpu import libraries
from weft.backend_cpu.libraries import serves
from weft.backend_cpu.onednn.library import UnsupportedError, make
from weft.backend_cpu.onednn.primitives import (
    BIAS,
    DIFF_DST,
    DIFF_SRC,
    DIFF_WEIGHTS,
    DST,
    SRC,
    WEIGHTS,
    Arranged,
    Handle,
    Pool,
    address,
    any_layout,
    attributes,
    described,
    engine,
    is_fast,
    on_this_thread,
    pool,
    sizes,
)

Array = numpy.ndarray[Any, Any]
Sizes = tuple[int, ...]
Kernel = Callable[..., Array]

FORWARD_TRAINING, DIRECT = 64, 1

FEW = 4
"""Channels up to which the input's gradient is better found as a matrix product than in blocks of 16 (measured)."""

LEAST = 20_000 if libraries.LEAST else 0
"""Multiplications from which the library is faster than NumPy (measured)."""


class Geometry:
    """A convolution's sizes as the library takes them, and the layouts of its three arrays.

    Each array is given by its shape and strides. The weight gets the groups as a dimension of its own.
    """

    def __init__(
        self,
        input: tuple[Sizes, Sizes],
        weight: tuple[Sizes, Sizes],
        output: tuple[Sizes, Sizes],
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        groups: int,
    ) -> None:
        kernel, spatial, out = weight[0][2:], input[0][2:], output[0][2:]
        reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
        after = [(o - 1) * s + r - n - p for o, s, r, n, p in zip(out, stride, reach, spatial, padding)]
        self.steps = sizes(stride), sizes([d - 1 for d in dilation]), sizes(padding), sizes(after)
        self.is_pointwise = groups == 1 and max(kernel) == 1
        self.is_dense = self.is_pointwise and max(stride) == 1
        self.has_few_channels = groups == 1 and input[0][1] <= FEW
        self.is_last = is_last(*input) or is_last(*output)
        shape, strides = grouped(*weight, groups)
        self.input, self.weight, self.output = described(*input), described(shape, strides), described(*output)
        self.free = any_layout(input[0]), any_layout(shape), any_layout(output[0])

    def layouts(self, keeps: bool) -> list[tuple[Handle, Handle, Handle]]:
        """Layouts of input, weight and output to ask for, the best first.

        Where the input and the output keep their layouts, no reorders are needed; else the library chooses.
        """
        kept = self.input, self.free[1], self.output
        return [kept, self.free] if keeps or self.is_last else [self.free]

    def forward(self, bias: Handle | None, x: Handle, w: Handle, y: Handle) -> Handle:
        """The convolution's own description, which its gradients' ask for too."""
        create = "dnnl_convolution_forward_primitive_desc_create"
        options = attributes()
        handle = make(create, engine(), FORWARD_TRAINING, DIRECT, x, w, bias, y, *self.steps, options)
        return Handle("primitive_desc", handle)


def grouped(shape: Sizes, strides: Sizes, groups: int) -> tuple[Sizes, Sizes]:
    """A weight's shape and strides with the groups in front, if there are several."""
    if groups == 1:
        return shape, strides
    each = shape[0] // groups
    return (groups, each, *shape[1:]), (strides[0] * each, *strides)


def is_last(shape: Sizes, strides: Sizes) -> bool:
    """Whether the channels are innermost in memory, and not also the only ones or all that there is."""
    return shape[1] > 1 and prod(shape[2:]) > 1 and strides[1] < min(strides[2:])


def first_fast(describe: Callable[..., Handle], candidates: Sequence[Any]) -> Handle:
    """The description for the first layouts for which the library has a fast primitive."""
    for layouts in candidates:
        try:
            description = describe(*layouts)
        except UnsupportedError:
            continue
        if is_fast(description):
            return description
    raise UnsupportedError("no fast convolution of this geometry")


def forward(with_bias: bool, *geometry: Any) -> Arranged:
    """The convolution: input, weight, bias if there is one, output."""
    found = Geometry(*geometry)
    channels = geometry[1][0][0]
    bias = described((channels,), (4,)) if with_bias else None
    arguments = [(SRC, found.input), (WEIGHTS, found.weight), (BIAS, bias), (DST, found.output)]
    given = [(number, layout) for number, layout in arguments if layout is not None]
    description = first_fast(partial(found.forward, bias), found.layouts(found.is_pointwise))
    return Arranged(description, given, [DST])


def by_input(*geometry: Any) -> Arranged:
    """The gradient with respect to the input: the output's gradient, weight, input's gradient."""
    found = Geometry(*geometry)

    def describe(x: Handle, w: Handle, y: Handle) -> Handle:
        create = "dnnl_convolution_backward_data_primitive_desc_create"
        hint, options = found.forward(None, x, w, y), attributes()
        return Handle("primitive_desc", make(create, engine(), DIRECT, x, w, y, *found.steps, hint, options))

    arguments = [(DIFF_DST, found.output), (WEIGHTS, found.weight), (DIFF_SRC, found.input)]
    layouts = found.layouts(found.is_pointwise or found.has_few_channels)
    return Arranged(first_fast(describe, layouts), arguments, [DIFF_SRC])


def by_weight(*geometry: Any) -> Arranged:
    """The gradient with respect to the weight: the output's gradient, input, weight's gradient."""
    found = Geometry(*geometry)

    def describe(x: Handle, w: Handle, y: Handle) -> Handle:
        create = "dnnl_convolution_backward_weights_primitive_desc_create"
        hint, options = found.forward(None, x, w, y), attributes()
        return Handle("primitive_desc", make(create, engine(), DIRECT, x, w, None, y, *found.steps, hint, options))

    arguments = [(DIFF_DST, found.output), (SRC, found.input), (DIFF_WEIGHTS, found.weight)]
    return Arranged(first_fast(describe, found.layouts(found.is_dense)), arguments, [DIFF_WEIGHTS])


# Kernels


def layout(array: Array) -> tuple[Sizes, Sizes]:
    """What the library has to know of an array."""
    return array.shape, array.strides


def plain(array: Array) -> Array:
    """An array that the library takes: itself, unless its elements are expanded or go backwards."""
    return array if min(array.strides) > 0 else in_order(numpy, array)


def result_like(shape: Sizes, last: bool) -> Array:
    """A new array (N, C, *spatial), with the channels last in memory if that is asked for."""
    if not last or len(shape) < 4:
        return numpy.empty(shape, numpy.float32)
    moved = numpy.empty((shape[0], *shape[2:], shape[1]), numpy.float32)
    return moved.transpose(0, len(shape) - 1, *range(1, len(shape) - 1))


@serves("nn::conv1d nn::conv2d nn::conv3d")
def convolution(generic: Kernel) -> Kernel:
    """The convolution with its bias."""

    def run(
        input: Array,
        weight: Array,
        bias: Array | None,
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        groups: int,
    ) -> Array:
        out = tuple(
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(input.shape[2:], weight.shape[2:], stride, padding, dilation)
        )
        shape = (input.shape[0], weight.shape[0], *out)
        work = prod(shape) * prod(weight.shape[1:])
        if work < LEAST or not work:
            return generic(input, weight, bias, stride, padding, dilation, groups)
        input, weight = plain(input), plain(weight)
        result = result_like(shape, is_last(*layout(input)) or is_last(*layout(weight)))
        arrays = [input, weight, result] if bias is None else [input, weight, in_order(numpy, bias), result]
        geometry = layout(input), layout(weight), layout(result), stride, padding, dilation, groups
        if not run_on(pool_of(forward, bias is not None, *geometry), arrays):
            return generic(input, weight, bias, stride, padding, dilation, groups)
        return result

    return run


@serves("nn::conv1d_input_gradient nn::conv2d_input_gradient nn::conv3d_input_gradient")
def input_gradient(generic: Kernel) -> Kernel:
    """The transposed convolution."""

    def run(
        grad: Array, weight: Array, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
    ) -> Array:
        work = grad.size * prod(weight.shape[1:])
        if work < LEAST or not work or not prod(shape):
            return generic(grad, weight, shape, stride, padding, dilation, groups)
        grad, weight = plain(grad), plain(weight)
        result = result_like(shape, is_last(*layout(grad)))
        geometry = layout(result), layout(weight), layout(grad), stride, padding, dilation, groups
        if not run_on(pool_of(by_input, *geometry), [grad, weight, result]):
            return generic(grad, weight, shape, stride, padding, dilation, groups)
        return result

    return run


@serves("nn::conv1d_weight_gradient nn::conv2d_weight_gradient nn::conv3d_weight_gradient")
def weight_gradient(generic: Kernel) -> Kernel:
    """What the output's gradient is for the weight."""

    def run(
        grad: Array, input: Array, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
    ) -> Array:
        work = grad.size * prod(shape[1:])
        if work < LEAST or not work or not input.size:
            return generic(grad, input, shape, stride, padding, dilation, groups)
        grad, input = plain(grad), plain(input)
        result = numpy.empty(shape, numpy.float32)
        geometry = layout(input), layout(result), layout(grad), stride, padding, dilation, groups
        if not run_on(pool_of(by_weight, *geometry), [grad, input, result]):
            return generic(grad, input, shape, stride, padding, dilation, groups)
        return result

    return run


def pool_of(build: Callable[..., Arranged], *key: Any) -> Pool | None:
    """The pool of a primitive, with OpenMP ready."""
    on_this_thread()
    return pool(build, *key)


def run_on(found: Pool | None, arrays: list[Array]) -> bool:
    """Run a primitive on arrays; False where there is none."""
    if found is None:
        return False
    found.run(*[address(each) for each in arrays])
    return True
