"""Converters of ops on complex numbers: ONNX's operators take none but DFT, which takes pairs.

A value of a complex dtype is a tensor of the file with a last dimension more: the real and the imaginary part. Its
`Value` has the shape and dtype that the program knows; `parts` gives the tensor that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

import weft
from weft.onnx._builder import Value

__all__ = ["CONVERTERS", "REAL", "is_complex"]

REAL = {weft.complex64: weft.float32, weft.complex128: weft.float64}
Converter = Callable[..., Any]
CONVERTERS: dict[str, Converter] = {}


def is_complex(value: Any) -> bool:
    """Whether an argument of an op is a tensor of complex numbers, or has one among its entries."""
    if isinstance(value, (list, tuple)):
        return any(map(is_complex, value))
    return isinstance(value, Value) and value.dtype in REAL


def converter(*names: str) -> Callable[[Converter], Converter]:
    """Declare the converter of ops for complex arguments."""

    def declare(function: Converter) -> Converter:
        CONVERTERS.update(dict.fromkeys(names, function))
        return function

    return declare


def parts(value: Any) -> Any:
    """The pairs of a value."""
    return Value(value.name, (*value.shape, 2), REAL[value.dtype])


def part(graph: Any, value: Any, place: int) -> Any:
    """The real (0) or the imaginary (1) part."""
    return graph.pick(parts(value), value.ndim, place)


def joined(graph: Any, real: Any, imaginary: Any) -> Any:
    last = graph.sizes([-1])
    return graph.Concat(graph.Unsqueeze(real, last), graph.Unsqueeze(imaginary, last), axis=-1)


@converter("core::view_as_real", "core::clone", "core::contiguous")
def _(graph: Any, input: Any, **options: Any) -> Any:
    return graph.Identity(parts(input))


@converter("core::real")
def _(graph: Any, input: Any) -> Any:
    return part(graph, input, 0)


@converter("core::imag")
def _(graph: Any, input: Any) -> Any:
    return part(graph, input, 1)


@converter("core::abs")
def _(graph: Any, input: Any) -> Any:
    return graph.emit("ReduceL2", parts(input), graph.sizes([-1]), keepdims=0)


@converter("core::conj", "core::conj_physical")
def _(graph: Any, input: Any) -> Any:
    return graph.Mul(parts(input), graph.constant(numpy.array([1, -1]), dtype=REAL[input.dtype]))


@converter("core::transpose")
def _(graph: Any, input: Any, dim0: int, dim1: int) -> Any:
    order = list(range(input.ndim + 1))
    order[dim0], order[dim1] = dim1, dim0
    return graph.Transpose(parts(input), perm=order)


@converter("core::neg")
def _(graph: Any, input: Any) -> Any:
    return graph.Neg(parts(input))


@converter("core::add")
def _(graph: Any, input: Any, other: Any, alpha: Any = 1) -> Any:
    return added(graph, "Add", input, other, alpha)


@converter("core::sub")
def _(graph: Any, input: Any, other: Any, alpha: Any = 1) -> Any:
    return added(graph, "Sub", input, other, alpha)


def added(graph: Any, operator: str, input: Any, other: Any, alpha: Any) -> Any:
    if alpha != 1 or not (is_complex(input) and is_complex(other)):
        graph.refuse("a sum of complex and real numbers; convert the real ones")
    return graph.emit(operator, parts(input), parts(other))


@converter("core::mul")
def _(graph: Any, input: Any, other: Any) -> Any:
    if not is_complex(input):
        input, other = other, input
    if is_complex(other) or isinstance(other, complex):
        a, b = (part(graph, input, place) for place in (0, 1))
        c, d = (
            (other.real, other.imag) if isinstance(other, complex) else (part(graph, other, place) for place in (0, 1))
        )
        real = graph.Sub(graph.Mul(a, c), graph.Mul(b, d))
        return joined(graph, real, graph.Add(graph.Mul(a, d), graph.Mul(b, c)))
    if isinstance(other, Value):
        other = graph.Unsqueeze(graph.cast(other, REAL[input.dtype]), graph.sizes([-1]))
    return graph.Mul(parts(input), other)


def transformed(graph: Any, pairs: Any, dims: Sequence[int], inverse: bool = False, onesided: bool = False) -> Any:
    """The transform of pairs along some dimensions; of the last one the first half, if so asked."""
    for place, dim in enumerate(reversed(dims)):
        options = {"inverse": int(inverse), "onesided": int(onesided and place == 0)}
        if graph.opset < 20:
            pairs = graph.DFT(pairs, axis=dim, **options)
        else:
            pairs = graph.DFT(pairs, None, graph.scalar(dim), **options)
    return pairs


def scaled(graph: Any, pairs: Any, scale: float) -> Any:
    return pairs if scale == 1 else graph.Mul(pairs, scale)


@converter("core::fft_r2c")
def _(graph: Any, input: Any, dims: Sequence[int], scale: float) -> Any:
    pairs = graph.Unsqueeze(input, graph.sizes([-1]))
    return scaled(graph, transformed(graph, pairs, dims, onesided=True), scale)


@converter("core::view_as_complex")
def _(graph: Any, input: Any) -> Any:
    return graph.Identity(input)


@converter("core::fft_c2c")
def _(graph: Any, input: Any, dims: Sequence[int], forward: bool, scale: float) -> Any:
    made = scaled(graph, transformed(graph, parts(input), dims, not forward), scale)
    if forward:
        return made
    return graph.Mul(made, graph.cast(graph.count(input, dims), made.dtype))  # ONNX's inverse is divided by it


@converter("core::fft_c2r")
def _(graph: Any, input: Any, dims: Sequence[int], size: Any, scale: float) -> Any:
    """Of the whole signal, whose second half is the conjugate of the first."""
    if not isinstance(size, int):
        graph.refuse("an inverse transform of a length that changes")
    *others, last = dims
    half = parts(input)
    if others:
        half = transformed(graph, half, others, inverse=True)
        half = graph.Mul(half, graph.cast(graph.count(input, others), half.dtype))
    rest = size - size // 2 - 1
    if rest:
        mirrored = graph.Slice(half, *[graph.sizes([each]) for each in (rest, 0, last, -1)])
        sign = graph.constant(numpy.array([1, -1]), dtype=half.dtype)
        half = graph.Concat(half, graph.Mul(mirrored, sign), axis=last)
    whole = transformed(graph, half, [last], inverse=True)
    return graph.Mul(graph.pick(whole, input.ndim, 0), size * scale)
