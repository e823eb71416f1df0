"""Padding at the ends of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import weft
from weft import Tensor
from weft.library.checks import elements, integers
from weft.library.declare import ALL_DTYPES, op
from weft.library.numerics import is_numpy
from weft.nn.functional._common import in_layout_of
from weft.ops.creation import fitting
from weft.types import Number

__all__ = ["pad"]

Sizes = tuple[int, ...]

FEW = 4096  # elements up to which all are filled, and the inner ones written over


@op(tensors="input", dtypes=ALL_DTYPES, namespace="nn")
def pad_constant(input: Tensor, before: Sizes, after: Sizes, value: Number) -> Tensor:
    """Values before and after each dimension; negative numbers crop."""
    return pad_constant.op(input, before, after, value)


@pad_constant.kernel
def _(xp, input, before, after, value):
    result, inner, taken = room(xp, input, before, after)
    filling = xp.asarray(value).astype(input.dtype) if is_numpy(xp) else value
    if result.size <= FEW:
        result[...] = filling
    else:
        for dim, place in enumerate(inner):
            for edge in (slice(None, place.start), slice(place.stop, None)):
                result[(*inner[:dim], edge)] = filling
    result[inner] = taken
    return result


@pad_constant.onnx
def _(graph, input, before, after, value):
    return graph.Pad(input, graph.sizes([*before, *after]), graph.value(value, input))


def room(xp: Any, input: Any, before: Any, after: Any) -> tuple[Any, tuple[slice, ...], Any]:
    """An array of the padded shape with any contents, where the input stands in it, and what of the input is kept."""
    shape = [n + b + a for n, b, a in zip(input.shape, before, after)]
    inner = tuple([slice(max(b, 0), n - max(a, 0)) for n, b, a in zip(shape, before, after)])
    if min((*before, *after), default=0) < 0:
        input = input[tuple([slice(max(-b, 0), n - max(-a, 0)) for n, b, a in zip(input.shape, before, after)])]
    return xp.empty(shape, input.dtype), inner, input


@pad_constant.gradient("input")
def _(grad, before, after):
    return pad_constant.op(grad, [-b for b in before], [-a for a in after], 0)


@pad_constant.vmap
def _(batch):
    input, before, after, value = batch.args
    return pad_constant.op(input, (0, *before), (0, *after), value)


# Padding with the input's own elements. Dimension after dimension is padded, with what stands in the result already.


def edges(mode: str, first: int, last: int, size: int) -> list[tuple[slice, slice]]:
    """For the padding before and behind of a dimension of the result: where it is, and where its elements come from."""
    total = first + size + last
    if mode == "reflect":
        sources = (slice(2 * first, first, -1), slice(first + size - 2, first + size - 2 - last, -1))
        if first + size - 2 - last < 0:  # a slice that goes on to the first element has no number for its end
            sources = sources[0], slice(first + size - 2, None, -1)
    elif mode == "circular":
        sources = slice(size, size + first), slice(first, first + last)
    else:
        sources = slice(first, first + 1), slice(first + size - 1, first + size)
    places = slice(0, first), slice(first + size, total)
    return [(place, source) for place, source in zip(places, sources) if place.start != place.stop]


@op(tensors="input", dtypes=ALL_DTYPES, namespace="nn", linear="input")
def pad_inside(input: Tensor, before: Sizes, after: Sizes, mode: str) -> Tensor:
    """The input's own elements before and after each dimension."""
    return pad_inside.op(input, before, after, mode)


@pad_inside.kernel
def _(xp, input, before, after, mode):
    result, inner, _ = room(xp, input, before, after)
    result[inner] = input
    spread_edges(result, inner, before, after, mode)
    return result


@pad_inside.onnx
def _(graph, input, before, after, mode):
    if mode != "circular":
        return graph.Pad(input, graph.sizes([*before, *after]), mode="edge" if mode == "replicate" else mode)
    for dim, (first, last) in enumerate(zip(before, after)):
        ends = [graph.slice(input, dim, -first, None)] * (first > 0), [graph.slice(input, dim, None, last)] * (last > 0)
        input = graph.Concat(*ends[0], input, *ends[1], axis=dim)
    return input


def spread_edges(result: Any, inner: tuple[slice, ...], before: Any, after: Any, mode: str) -> None:
    """Fill the padding of an array whose inner part is there."""
    for dim in reversed(range(result.ndim)):
        size = result.shape[dim] - before[dim] - after[dim]
        for place, source in edges(mode, before[dim], after[dim], size):
            result[(*inner[:dim], place)] = result[(*inner[:dim], source)]


@pad_inside.gradient("input")
def _(grad, before, after, mode):
    return pad_inside_backward.op(grad, before, after, mode)


@pad_inside.vmap
def _(batch):
    input, before, after, mode = batch.args
    return pad_inside.op(input, (0, *before), (0, *after), mode)


@op(tensors="output_grad", compute_dtype="float32", namespace="nn", linear="output_grad")
def pad_inside_backward(output_grad: Tensor, before: Sizes, after: Sizes, mode: str) -> Tensor:
    """The gradients of padding, added to those of the elements that it comes from."""
    return pad_inside_backward.op(output_grad, before, after, mode)


@pad_inside_backward.kernel
def _(xp, output_grad, before, after, mode):
    total = xp.array(output_grad, order="C")
    sizes = [n - b - a for n, b, a in zip(total.shape, before, after)]
    inner = tuple(slice(b, b + n) for b, n in zip(before, sizes))
    for dim in range(total.ndim):
        for place, source in edges(mode, before[dim], after[dim], sizes[dim]):
            added = total[(*inner[:dim], place)]
            if mode == "replicate":
                added = added.sum(dim, keepdims=True)
            total[(*inner[:dim], source)] += added
    return xp.ascontiguousarray(total[inner])


@pad_inside_backward.gradient("output_grad")
def _(grad, before, after, mode):
    return pad_inside.op(grad, before, after, mode)


@pad_inside_backward.vmap
def _(batch):
    output_grad, before, after, mode = batch.args
    return pad_inside_backward.op(output_grad, (0, *before), (0, *after), mode)


MODES = ("constant", "reflect", "replicate", "circular")


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Add values before and after the last dimensions.

    Parameters
    ----------
    input : Tensor
    pad : sequence of int
        Before and after the last dimension, then before and after the one before it, and so on. Negative numbers
        crop.
    mode : "constant", "reflect", "replicate" or "circular"
        Where the values come from. All but the first pad the last 1, 2 or 3 dimensions of an input with channels.
    value : float, optional
        For "constant"; 0 unless given.

    Raises
    ------
    RuntimeError
        If there are more amounts than dimensions, or the mode cannot reach as far.
    NotImplementedError
        If the mode does not take as many dimensions.

    Examples
    --------
    >>> weft.nn.functional.pad(weft.tensor([[1.0, 2.0]]), (1, 2))
    tensor([[0., 1., 2., 0., 0.]])
    >>> weft.nn.functional.pad(weft.tensor([[1.0, 2.0, 3.0]]), (2, 0), mode="reflect")
    tensor([[3., 2., 1., 2., 3.]])
    >>> weft.nn.functional.pad(weft.tensor([[1.0, 2.0]]), (0, 0, 1, -1), value=9.0)  # a row before, and one less behind
    tensor([[9., 9.]])
    """
    amounts = integers("pad", (tuple(pad),), "pad")
    if mode not in MODES:
        raise NotImplementedError(f"pad: Unrecognised padding mode {mode!r}; expected one of {', '.join(MODES)}")
    before, after = at_ends(input._array.shape, amounts)
    if mode != "constant":
        if value is not None and value != 0:
            raise RuntimeError(f"pad: Padding mode {mode!r} doesn't take in value argument, got {value}")
        return in_layout_of(pad_from_inside(input, amounts, before, after, mode), input)
    number: Any = value
    if isinstance(number, int) and number.bit_length() > 64:  # a float is meant, though integers keep their digits
        number = float(number)
    filling = 0 if number is None else fitting("pad", number, input.dtype)
    return in_layout_of(pad_constant.op(input, before, after, filling), input)


@lru_cache(maxsize=1024)
def at_ends(shape: Sizes, amounts: Sizes) -> tuple[Sizes, Sizes]:
    """The padding before and after each dimension, from amounts for the last ones, the last first."""
    if len(amounts) % 2 or len(amounts) // 2 > len(shape):
        raise RuntimeError(
            f"pad: Padding length should be even and at most twice the number of dimensions of the input; got "
            f"pad={list(amounts)} and input {list(shape)}"
        )
    rest = (0,) * (len(shape) - len(amounts) // 2)
    before, after = (*rest, *amounts[-2::-2]), (*rest, *amounts[-1::-2])
    made = [n + b + a for n, b, a in zip(shape, before, after)]
    if min(made, default=0) < 0:
        raise RuntimeError(f"pad: pad={list(amounts)} would make a negative size: input {list(shape)}, result {made}")
    elements("pad", made)
    return before, after


def pad_from_inside(input: Tensor, amounts: Sizes, before: Sizes, after: Sizes, mode: str) -> Tensor:
    """Padding with the input's own elements; where it is cropped too, rows are chosen one dimension after another."""
    count = len(amounts) // 2
    if count == 0 or count > 3 or input.ndim not in (count + 1, count + 2):
        raise NotImplementedError(
            f"pad: Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: mode {mode!r} pads the "
            "last "
            f"1, 2 or 3 dimensions of an input with channels; got pad={list(amounts)} and input {list(input.shape)}"
        )
    if mode != "circular" and 0 in input._array.shape[input.ndim - count - 1 :]:
        raise RuntimeError(
            f"pad: Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got {list(input.shape)}"
        )
    padded = [dim for dim in range(input.ndim - count, input.ndim) if before[dim] or after[dim]]
    for dim in padded:
        check_amounts(mode, dim, before[dim], after[dim], input._array.shape[dim], amounts, input)
    if min(amounts) >= 0:
        return pad_inside.op(input, before, after, mode)
    for dim in padded:
        first, last, size = before[dim], after[dim], input._array.shape[dim]
        rows = weft.arange(-first, size + last, device=input.device)
        if mode == "replicate":
            rows = rows.clamp(0, size - 1)
        elif mode == "circular":
            cropped, kept = max(-first, 0), size - max(-first, 0) - max(-last, 0)  # what is cropped does not come back
            rows = weft.arange(-max(first, 0), kept + max(last, 0), device=input.device) % max(kept, 1) + cropped
        elif size > 1:
            rows = ((rows + size - 1) % (2 * size - 2) - (size - 1)).abs()
        else:
            rows = weft.zeros_like(rows)
        input = input.index_select(dim, rows)
    return input


def check_amounts(mode: str, dim: int, first: int, last: int, size: int, amounts: Sizes, input: Tensor) -> None:
    if size == 0:
        raise RuntimeError(
            f"pad: Expected input to have non-zero size along the padded dimensions for mode {mode!r}, but got "
            f"{list(input.shape)}"
        )
    if mode == "reflect" and max(first, last) >= size:
        raise RuntimeError(
            f"pad: Padding size should be less than the corresponding input dimension, but got: padding ({first}, "
            f"{last}) at dimension {dim} of input {list(input.shape)}"
        )
    if mode == "circular" and max(first, last) > size:
        raise RuntimeError(
            f"pad: Padding value causes wrapping around more than once: got pad={list(amounts)} for input "
            f"{list(input.shape)}"
        )
