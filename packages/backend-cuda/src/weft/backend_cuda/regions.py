"""Poolings of regions of images: each thread goes over its own bin's samples or pixels, however many these are.

What they compute is said in `weft.vision.ops`. The kernels there gather the pixels of all bins at once, as many as the
largest bin has, which the host would have to wait for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import cupy

from weft.library.checks import check_positions

COMMON = """
template <typename T>
__device__ T larger(T a, T b) {  // nan is the largest
    return a != a || a > b ? a : b;
}
__device__ inline long long image_of(double number, long long count) {  // inside, even if there is none of this number
    long long image = (long long)number % count;
    return image < 0 ? image + count : image;
}
"""
SAMPLES = (
    COMMON
    + """
template <typename T>
struct Samples {  // of a bin along one axis
    T start, step, shares, count, size;
    long long first, length;

    __device__ Samples(T low, T high, long long bin, long long bins, long long pixels, long long ratio, T least) {
        T whole = high - low;
        if (least > T(0)) whole = larger(whole, least);
        T own = whole / T(bins);
        size = T(pixels);
        count = ratio > 0 ? T(ratio) : own != own ? T(1) : larger(T(ceil(own)), T(0));
        shares = larger(count, T(1));
        start = low + T(bin) * own;
        step = own / shares;
        double many = count, begin = 0, end = many;
        if (start != start || step != step) {
            end = many < 1 ? many : 1;
        } else if (step > T(0)) {  // those that may be inside the image
            begin = floor((-1.0 - double(start)) / double(step)) - 2;
            end = ceil((double(pixels) - double(start)) / double(step)) + 2;
            begin = begin < 0 ? 0 : begin > many ? many : begin;
            end = end < begin ? begin : end > many ? many : end;
        }
        first = (long long)(begin < 9e18 ? begin : 9e18);
        length = (long long)(end - begin);
    }

    // The pixel before one of the samples and what that one and the next weigh; false if it is outside.
    __device__ bool at(long long sample, long long& pixel, long long& next, T& weight, T& next_weight) const {
        T place = start + (T(first + sample) + T(0.5)) * step;
        if (place < T(-1) || place > size) return false;
        place = place < T(0) ? T(0) : place > size - T(1) ? size - T(1) : place;
        T before = floor(place);
        pixel = before == before ? (long long)before : 0;
        next = T(pixel + 1) < size ? pixel + 1 : pixel;
        next_weight = (place - before) / shares;
        weight = (T(1) - (place - before)) / shares;
        return true;
    }
};
"""
)
CELLS = (
    COMMON
    + """
template <typename T>
__device__ T whole(T place) {  // halves away from zero
    return trunc(place + (place < T(0) ? T(-0.5) : T(0.5)));
}

template <typename T>
__device__ long long clipped(T place, long long limit) {
    return place > T(0) ? (place < T(limit) ? (long long)place : limit) : 0;  // nan is 0
}

template <typename T>
struct Cells {  // of a bin along one axis
    long long begin, end;

    __device__ Cells(T low, T high, long long bin, long long bins, long long limit, int past_end) {
        low = whole(low);
        high = whole(high);
        T step = larger(T(high - low + T(past_end)), T(1)) / T(bins);
        begin = clipped(T(floor(T(bin) * step) + low), limit);
        end = clipped(T(ceil(T(bin + 1) * step) + low), limit);
    }
};
"""
)
# Which bin an element of the features of regions (K, C, rows, columns) is of, and where its channel begins.
BIN = """
long long place = i, column = place % columns, row = place / columns % rows;
long long channel = place / (columns * rows) % channels, region = place / (columns * rows * channels);
long long plane = own ? (channel * rows + row) * columns + column : channel;
long long planes = own ? channels * rows * columns : channels;
T left = rois[5 * region + 1] * T(scale), top = rois[5 * region + 2] * T(scale);
T right = rois[5 * region + 3] * T(scale), bottom = rois[5 * region + 4] * T(scale);
long long origin = (image_of(rois[5 * region], images) * planes + plane) * height * width;
"""
AXES = """
T shift = T(half_pixel ? 0.5 : 0.0), least = T(half_pixel ? 0.0 : 1.0);
Samples<T> down(top - shift, bottom - shift, row, rows, height, ratio, least);
Samples<T> along(left - shift, right - shift, column, columns, width, ratio, least);
"""
EACH_SAMPLE = """
for (long long y = 0; y < down.length; ++y) {{
    long long above, below;
    T over, under;
    if (!down.at(y, above, below, over, under)) continue;
    for (long long x = 0; x < along.length; ++x) {{
        long long before, after;
        T nearer, farther;
        if (!along.at(x, before, after, nearer, farther)) continue;
        {0}
    }}
}}
"""
FOUR_PIXELS = """
        long long first = origin + above * width, second = origin + below * width;
"""
INTERPOLATE = (
    FOUR_PIXELS
    + """
        sum += over * (nearer * image[first + before] + farther * image[first + after])
            + under * (nearer * image[second + before] + farther * image[second + after]);
"""
)
SPREAD = (
    FOUR_PIXELS
    + """
        atomicAdd(&image[first + before], value * over * nearer);
        atomicAdd(&image[first + after], value * over * farther);
        atomicAdd(&image[second + before], value * under * nearer);
        atomicAdd(&image[second + after], value * under * farther);
"""
)
MEAN = """
Cells<T> down(top, bottom, row, rows, height - 1, 0), along(left, right, column, columns, width - 1, 0);
T share = T(1) / T((down.end - down.begin) * (along.end - along.begin));
"""
EACH_CELL = """
for (long long y = down.begin; y < down.end; ++y) {{
    for (long long x = along.begin; x < along.end; ++x) {{
        {0}
    }}
}}
"""
SIZES = "float64 scale, int64 images, int64 channels, int64 height, int64 width, int64 rows, int64 columns"
# Each kernel's other inputs, its outputs, what it is made of.
SOURCES = {
    "align": (
        "raw T image, raw T rois, bool own, int64 ratio, bool half_pixel",
        "T features",
        SAMPLES,
        BIN
        + AXES
        + "T sum = 0;"
        + EACH_SAMPLE.format(INTERPOLATE)
        + 'features = !own || (down.count > T(0) && along.count > T(0)) ? sum : T(nan(""));',
    ),
    "align_gradient": (
        "T value, raw T rois, bool own, int64 ratio, bool half_pixel",
        "raw T image",
        SAMPLES,
        BIN + AXES + EACH_SAMPLE.format(SPREAD),
    ),
    "mean": (
        "raw T image, raw T rois, bool own",
        "T features",
        CELLS,
        BIN
        + MEAN
        + "T sum = 0;"
        + EACH_CELL.format("sum += image[origin + y * width + x] * share;")
        + "features = sum;",
    ),
    "mean_gradient": (
        "T value, raw T rois, bool own",
        "raw T image",
        CELLS,
        BIN + MEAN + EACH_CELL.format("atomicAdd(&image[origin + y * width + x], value * share);"),
    ),
    "greatest": (
        "raw T image, raw T rois, bool own",
        "T features, int64 pixel",
        CELLS,
        BIN
        + """
Cells<T> down(top, bottom, row, rows, height, 1), along(left, right, column, columns, width, 1);
T found = sizeof(T) == 4 ? T(-3.4028234663852886e38) : T(-1.7976931348623157e308);
long long index = -1;
"""
        + EACH_CELL.format("""
        T each = image[origin + y * width + x];
        if (each > found) {
            found = each;
            index = y * width + x;
        }
""")
        + """
features = down.end > down.begin && along.end > along.begin ? found : T(0);
pixel = index;
""",
    ),
}


@cache
def compiled(name: str) -> Any:
    """One of the kernels."""
    inputs, outputs, preamble, body = SOURCES[name]
    return cupy.ElementwiseKernel(f"{inputs}, {SIZES}", outputs, body, f"weft_region_{name}", preamble=preamble)


def pool(name: str, own: bool, op: str, input: Any, rois: Any, scale: float, *options: Any) -> Any:
    """The features of regions (K, C, rows, columns), of what a kernel makes of images."""
    rows, columns, *others = options
    batch, planes, height, width = input.shape
    check_positions(cupy, op, rois[:, 0].astype("int64"), 0, batch)
    shape = len(rois), planes // (rows * columns if own else 1), rows, columns
    features = cupy.zeros(shape, input.dtype)
    outputs = [features, cupy.full(shape, -1, "int64")] if name == "greatest" else [features]
    if input.size and features.size:
        sizes = batch, shape[1], height, width, rows, columns
        compiled(name)(input, rois, own, *others, scale, *sizes, *outputs)
    return tuple(outputs) if name == "greatest" else features


def pool_gradient(name: str, own: bool, op: str, grad: Any, rois: Any, shape: Any, scale: float, *options: Any) -> Any:
    """The gradient with respect to images of a shape."""
    _, channels, rows, columns = grad.shape
    check_positions(cupy, op, rois[:, 0].astype("int64"), 0, shape[0])
    image = cupy.zeros(shape, grad.dtype)
    if image.size and grad.size:
        sizes = shape[0], channels, *shape[2:], rows, columns
        compiled(name)(grad, rois, own, *options, scale, *sizes, image)
    return image


KERNELS: dict[str, Callable[..., Any]] = {
    "vision::roi_align": partial(pool, "align", False, "roi_align"),
    "vision::roi_align_gradient": partial(pool_gradient, "align_gradient", False, "roi_align"),
    "vision::ps_roi_align": lambda *args: pool("align", True, "ps_roi_align", *args, True),
    "vision::ps_roi_align_gradient": lambda *args: pool_gradient("align_gradient", True, "ps_roi_align", *args, True),
    "vision::ps_roi_pool": partial(pool, "mean", True, "ps_roi_pool"),
    "vision::ps_roi_pool_gradient": partial(pool_gradient, "mean_gradient", True, "ps_roi_pool"),
    "vision::roi_pool": partial(pool, "greatest", False, "roi_pool"),
}
NAMES = frozenset(KERNELS)


def kernel(name: str, generic: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of a pooling of regions."""
    return KERNELS[name]
