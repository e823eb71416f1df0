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

from weft.backend import in_order
from weft.backend_cpu import libraries
from weft.backend_cpu.onednn.library import UnsupportedError, make
from weft.backend_cpu.onednn.primitives import (
    BIAS,
    DIFF_DST,
    DIFF_SRC,
    DIFF_WEIGHTS,
    DST,
    SCALES,
    SRC,
    WEIGHTS,
    WIDTHS,
    Arranged,
    Handle,
    address,
    any_layout,
    attributes,
    described,
    engine,
    implementation,
    is_fast,
    on_this_thread,
    pool,
    sizes,
)
from weft.backend_cpu.registry import MIN_SIZE, register_kernel

Array = numpy.ndarray[Any, Any]
Sizes = tuple[int, ...]
Kernel = Callable[..., Array]

FORWARD_TRAINING, DIRECT = 64, 1

DTYPES = "float32 bfloat16"

MAX_FEW_CHANNELS = 4
"""Channels up to which the input's gradient is better found as a matrix product than in blocks of 16 (measured)."""

MAX_SMALL_IMAGE = 64
"""Places of an image up to which several images are better brought into blocks, even for a kernel of one place."""

MIN_MULTIPLICATIONS = 1_000 if MIN_SIZE else 0
"""Multiplications from which the library is faster than NumPy (measured)."""


class Geometry:
    """A convolution's sizes as the library takes them, and the layouts of its three arrays.

    Each array is given by its shape and strides. The weight gets the groups as a dimension of its own. The elements
    are one dtype for all three, or that of each.
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
        *elements: str,
    ) -> None:
        if groups > 1 and len(stride) == 1:
            input, weight, output = (as_image(*each) for each in (input, weight, output))
            stride, padding, dilation = (1, *stride), (0, *padding), (1, *dilation)
        kernel, spatial, out = weight[0][2:], input[0][2:], output[0][2:]
        reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
        after = [(o - 1) * s + r - n - p for o, s, r, n, p in zip(out, stride, reach, spatial, padding)]
        self.steps = sizes(stride), sizes([d - 1 for d in dilation]), sizes(padding), sizes(after)
        self.is_pointwise = groups == 1 and max(kernel) == 1 and not (input[0][0] > 2 and prod(out) < MAX_SMALL_IMAGE)
        self.is_dense = groups == 1 and max(kernel) == 1 and max(stride) == 1
        self.has_few_channels = groups == 1 and input[0][1] <= MAX_FEW_CHANNELS
        self.is_depthwise = groups > 1 and weight[0][1] == 1 and max(stride) == 1
        self.is_last = is_last(*input) or is_last(*output)
        shape, strides = grouped(*weight, groups)
        arrays = input, (shape, strides), output
        each = elements * 3 if len(elements) == 1 else elements
        self.input, self.weight, self.output = (described(*array, of) for array, of in zip(arrays, each))
        self.free = tuple(any_layout(array[0], of) for array, of in zip(arrays, each))
        self.channels = 1 if groups == 1 else 3  # bits of the weight's dimensions that are the output's channels

    def layouts(self, keeps: bool) -> list[tuple[Handle, Handle, Handle]]:
        """Layouts of input, weight and output to ask for, the best first.

        Where the input and the output keep their layouts, no reorders are needed; else the library chooses.
        """
        input, weight, output = self.free
        kept = self.input, weight, self.output
        return [kept, (input, weight, output)] if keeps or self.is_last else [(input, weight, output)]

    def forward(self, bias: Handle | None, x: Handle, w: Handle, y: Handle, scaled: bool = False) -> Handle:
        """The convolution's own description, which its gradients' ask for too."""
        create = "dnnl_convolution_forward_primitive_desc_create"
        options = attributes(scales=self.channels * scaled)
        handle = make(create, engine(), FORWARD_TRAINING, DIRECT, x, w, bias, y, *self.steps, options)
        return Handle("primitive_desc", handle)


def as_image(shape: Sizes, strides: Sizes) -> tuple[Sizes, Sizes]:
    """A sequence as an image of one row: the library has fast kernels of groups only for these."""
    return (*shape[:2], 1, *shape[2:]), (*strides[:2], 0, *strides[2:])


def grouped(shape: Sizes, strides: Sizes, groups: int) -> tuple[Sizes, Sizes]:
    """A weight's shape and strides with the groups in front, if there are several."""
    if groups == 1:
        return shape, strides
    each = shape[0] // groups
    return (groups, each, *shape[1:]), (strides[0] * each, *strides)


def is_last(shape: Sizes, strides: Sizes) -> bool:
    """Whether the channels are innermost in memory, and not also the only ones or all that there is."""
    return shape[1] > 1 and prod(shape[2:]) > 1 and strides[1] < min(strides[2:])


def first_fast(describe: Callable[..., Handle], candidates: Sequence[Any], depthwise: bool) -> Handle:
    """The description for the first layouts for which the library has a fast primitive.

    Depthwise and without strides it may have none but products of tiny matrices, which take a multiple of what compiled
    loops do.
    """
    for layouts in candidates:
        try:
            description = describe(*layouts)
        except UnsupportedError:
            continue
        if is_fast(description) and not (
            depthwise and libraries.has_loops() and b"gemm" in implementation(description)
        ):
            return description
    raise UnsupportedError("no fast convolution of this geometry")


class Convolution:
    """A convolution or one of its gradients for arrays of certain shapes and strides.

    Parameters
    ----------
    primitive : Arranged
        It takes the operands and then the result.
    shape : tuple of int
        The result's.
    last : bool
        The result gets its channels innermost in memory.
    element : numpy.dtype, optional
        The result's; default that of the first operand.
    """

    def __init__(self, primitive: Arranged, shape: Sizes, last: bool, element: Any = None) -> None:
        self.primitive, self.element = primitive, element
        self.shape, self.order = shape, None
        if last:
            self.shape = (shape[0], *shape[2:], shape[1])
            self.order = (0, len(shape) - 1, *range(1, len(shape) - 1))

    def run(self, *operands: Array) -> Array:
        """The result for operands in the order of the primitive."""
        result = numpy.empty(self.shape, self.element or operands[0].dtype)
        self.primitive.run(*map(address, operands), address(result))
        return result if self.order is None else result.transpose(self.order)


def require_work(*sizes: int) -> None:
    """Refuse what NumPy does as fast, or what is empty."""
    work = prod(sizes)
    if work < MIN_MULTIPLICATIONS or not work:
        raise UnsupportedError("too small")


def new(shape: Sizes, last: bool, element: str) -> tuple[Sizes, Sizes]:
    """Shape and strides of a result."""
    width = WIDTHS[element]
    strides = tuple(width * prod(shape[dim + 1 :]) for dim in range(len(shape)))
    return shape, (strides[0], width, *[stride * shape[1] for stride in strides[2:]]) if last else strides


def forward(
    input: Sizes,
    input_strides: Sizes,
    weight: Sizes,
    weight_strides: Sizes,
    with_bias: bool,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    element: str,
) -> Convolution:
    """The convolution: input, weight, bias if there is one."""
    shape = shape_of(input, weight, stride, padding, dilation)
    require_work(*shape, *weight[1:])
    last = len(shape) > 3 and (is_last(input, input_strides) or is_last(weight, weight_strides))
    operands = (input, input_strides), (weight, weight_strides), new(shape, last, element)
    found = Geometry(*operands, stride, padding, dilation, groups, element)
    bias = described(weight[:1], (WIDTHS[element],), element) if with_bias else None
    arguments = [(SRC, found.input), (WEIGHTS, found.weight), (BIAS, bias), (DST, found.output)]
    given = [(number, layout) for number, layout in arguments if layout is not None]
    description = first_fast(partial(found.forward, bias), found.layouts(found.is_pointwise), found.is_depthwise)
    return Convolution(Arranged(description, given, WIDTHS[element] * prod(shape)), shape, last)


def shape_of(input: Sizes, weight: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Sizes:
    """The shape of a convolution's result."""
    places = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(input[2:], weight[2:], stride, padding, dilation)
    ]
    return (input[0], weight[0], *places)


def of_bytes(
    input: Sizes,
    input_strides: Sizes,
    weight: Sizes,
    weight_strides: Sizes,
    with_bias: bool,
    with_scale: bool,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    element: str,
) -> Convolution:
    """That of 8-bit integers, with sums of 32 bits: input, weight, then bias and scale if there are such."""
    shape = shape_of(input, weight, stride, padding, dilation)
    require_work(*shape, *weight[1:])
    last = len(shape) > 3 and (is_last(input, input_strides) or is_last(weight, weight_strides))
    into = "float32" if with_scale else "int32"
    operands = (input, input_strides), (weight, weight_strides), new(shape, last, into)
    found = Geometry(*operands, stride, padding, dilation, groups, element, "int8", into)
    bias = described(weight[:1], (4,), into) if with_bias else None
    scale = described(weight[:1], (4,)) if with_scale else None
    arguments = [(SRC, found.input), (WEIGHTS, found.weight), (BIAS, bias), (SCALES | WEIGHTS, scale)]
    given = [(number, layout) for number, layout in arguments if layout is not None]
    description = first_fast(partial(found.forward, bias, scaled=with_scale), found.layouts(False), found.is_depthwise)
    arranged = Arranged(description, [*given, (DST, found.output)], WIDTHS[into] * prod(shape))
    return Convolution(arranged, shape, last, numpy.dtype(into))


def by_input(
    grad: Sizes, grad_strides: Sizes, weight: Sizes, weight_strides: Sizes, shape: Sizes, *geometry: Any
) -> Convolution:
    """The gradient with respect to the input: the output's gradient, weight."""
    require_work(*grad, *weight[1:], *shape)
    last = len(shape) > 3 and is_last(grad, grad_strides)
    found = Geometry(new(shape, last, geometry[-1]), (weight, weight_strides), (grad, grad_strides), *geometry)

    def describe(x: Handle, w: Handle, y: Handle) -> Handle:
        create = "dnnl_convolution_backward_data_primitive_desc_create"
        hint, options = found.forward(None, x, w, y), attributes()
        return Handle("primitive_desc", make(create, engine(), DIRECT, x, w, y, *found.steps, hint, options))

    arguments = [(DIFF_DST, found.output), (WEIGHTS, found.weight), (DIFF_SRC, found.input)]
    layouts = found.layouts(found.is_pointwise or found.has_few_channels)
    description = first_fast(describe, layouts, found.is_depthwise and weight[0] == shape[1])
    return Convolution(Arranged(description, arguments, WIDTHS[geometry[-1]] * prod(shape)), shape, last)


def by_weight(
    grad: Sizes, grad_strides: Sizes, input: Sizes, input_strides: Sizes, shape: Sizes, *geometry: Any
) -> Convolution:
    """The gradient with respect to the weight: the output's gradient, input."""
    require_work(*grad, *shape[1:], *input)
    if geometry[-1] != "float32" and any(step > size for step, size in zip(geometry[0], input[2:])):
        raise UnsupportedError("oneDNN leaves what only padding meets unwritten where a step is beyond the image")
    if len(input) == 5 and not suits_volumes(input[2:], shape[2:], *geometry):
        raise UnsupportedError("oneDNN writes beyond the gradient, or never ends, where padded windows reach both ends")
    found = Geometry((input, input_strides), new(shape, False, geometry[-1]), (grad, grad_strides), *geometry)

    def describe(x: Handle, w: Handle, y: Handle) -> Handle:
        create = "dnnl_convolution_backward_weights_primitive_desc_create"
        hint, options = found.forward(None, x, w, y), attributes()
        return Handle("primitive_desc", make(create, engine(), DIRECT, x, w, None, y, *found.steps, hint, options))

    arguments = [(DIFF_DST, found.output), (SRC, found.input), (DIFF_WEIGHTS, found.weight)]
    description = first_fast(describe, found.layouts(found.is_dense), found.is_depthwise)
    return Convolution(Arranged(description, arguments, WIDTHS[geometry[-1]] * prod(shape)), shape, False)


def suits_volumes(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, *other: Any) -> bool:
    """Whether oneDNN's gradient of the weight of a convolution with three dimensions is right.

    It was seen to be wrong, to write beyond its arrays, and to hang where windows reach beyond both ends of the image,
    or far beyond one: in bfloat16 in each dimension, else in the first one with steps of more than 1.
    """
    is_bfloat16 = other[-1] == "bfloat16"
    for dim in range(len(size)) if is_bfloat16 else (0,):
        reach = dilation[dim] * (kernel[dim] - 1) + 1
        is_usual = padding[dim] == 0 or (size[dim] > reach and 2 * padding[dim] <= reach)
        if not is_usual and (is_bfloat16 or stride[dim] > 1):
            return False
    return True


# Kernels


def prepared(build: Callable[..., Convolution], a: Array, b: Array, *options: Any) -> tuple[Any, Array, Array]:
    """A convolution for two arrays, or None; arrays that are expanded or go backwards are copied."""
    element = a.dtype.type.__name__  # its name takes NumPy a microsecond
    found = pool(build, a.shape, a.strides, b.shape, b.strides, *options, element)
    if found is None and a.size and b.size and min(*a.strides, *b.strides) <= 0:
        a, b = in_order(numpy, a), in_order(numpy, b)
        found = pool(build, a.shape, a.strides, b.shape, b.strides, *options, element)
    return found, a, b


@register_kernel("nn::conv1d nn::conv2d nn::conv3d", dtypes=DTYPES, min_size=0, checks_size=True)
def convolution(generic: Kernel) -> Kernel:
    """The convolution with its bias."""

    def run(input: Array, weight: Array, bias: Array | None, *geometry: Any) -> Array:
        on_this_thread()
        found, input, weight = prepared(forward, input, weight, bias is not None, *geometry)
        if found is None:
            return generic(input, weight, bias, *geometry)
        if bias is None:
            return found.run(input, weight)
        return found.run(input, weight, in_order(numpy, bias))

    return run


@register_kernel("nn::conv1d nn::conv2d nn::conv3d", dtypes="int16 int32 int64", min_size=0, checks_size=True)
def convolution_of_integers(generic: Kernel) -> Kernel:
    """That of wider integers: in float32 where all sums are exact in it."""

    def run(input: Array, weight: Array, bias: Array | None, *geometry: Any) -> Array:
        if not input.size or not weight.size or most(input) * most(weight) * prod(weight.shape[1:]) >= EXACT:
            return generic(input, weight, bias, *geometry)
        on_this_thread()
        found, *operands = prepared(
            forward, input.astype(numpy.float32), weight.astype(numpy.float32), False, *geometry
        )
        if found is None:
            return generic(input, weight, bias, *geometry)
        result = found.run(*operands).astype(numpy.int32).astype(input.dtype, copy=False)
        if bias is not None:
            result += bias.reshape(-1, *(1,) * (input.ndim - 2))
        return result

    return run


EXACT = 2**24
"""Whole numbers up to this are exact in float32."""


def most(integers: Array) -> int:
    """The largest of their absolute values."""
    return max(abs(int(integers.min())), abs(int(integers.max())))


def bilinear(build: Callable[..., Convolution], generic: Kernel) -> Kernel:
    """A kernel of two arrays."""

    def run(a: Array, b: Array, *geometry: Any) -> Array:
        on_this_thread()
        found, a, b = prepared(build, a, b, *geometry)
        return generic(a, b, *geometry) if found is None else found.run(a, b)

    return run


@register_kernel("nn::int_conv1d nn::int_conv2d nn::int_conv3d", dtypes="int8 uint8", min_size=0, checks_size=True)
def convolution_of_bytes(generic: Kernel) -> Kernel:
    """That of 8-bit integers, in int32, or scaled in float32."""

    def run(input: Array, weight: Array, bias: Array | None, scale: Array | None, *geometry: Any) -> Array:
        on_this_thread()
        wanted = bias is not None, scale is not None
        found, input, weight = prepared(of_bytes, input, weight, *wanted, *geometry)
        if found is None:
            return generic(input, weight, bias, scale, *geometry)
        return found.run(input, weight, *[in_order(numpy, each) for each in (bias, scale) if each is not None])

    return run


@register_kernel("nn::conv1d nn::conv2d nn::conv3d", dtypes="int8 uint8", min_size=0, checks_size=True)
def convolution_modulo(generic: Kernel) -> Kernel:
    """That of 8-bit integers in their own dtype: the lowest 8 bits of a sum are the same whatever their signs."""

    def run(input: Array, weight: Array, bias: Array | None, *geometry: Any) -> Array:
        on_this_thread()
        signed = input.view(numpy.int8), weight.view(numpy.int8)
        found, *operands = prepared(of_bytes, *signed, False, False, *geometry)
        if found is None:
            return generic(input, weight, bias, *geometry)
        result = found.run(*operands).astype(input.dtype)
        if bias is not None:
            result += bias.reshape(-1, *(1,) * (input.ndim - 2))
        return result

    return run


@register_kernel(
    "nn::conv1d_input_gradient nn::conv2d_input_gradient nn::conv3d_input_gradient",
    dtypes=DTYPES,
    min_size=0,
    checks_size=True,
)
def input_gradient(generic: Kernel) -> Kernel:
    """The transposed convolution: of the output's gradient and the weight."""
    return bilinear(by_input, generic)


@register_kernel(
    "nn::conv1d_weight_gradient nn::conv2d_weight_gradient nn::conv3d_weight_gradient",
    dtypes=DTYPES,
    min_size=0,
    checks_size=True,
)
def weight_gradient(generic: Kernel) -> Kernel:
    """What the output's gradient is for the weight: of that and the input."""
    return bilinear(by_weight, generic)
