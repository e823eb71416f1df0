"""Sequences, which are lists here, and optionals, which are None where they are empty."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.onnx._importer.operators._common import is_text, number
from weft.onnx._importer.registry import operator


@operator("SequenceEmpty")
def sequence_empty(*, dtype: int | None = None) -> Any:
    return []


@operator("SequenceConstruct")
def sequence_construct(*inputs: Any) -> Any:
    return list(inputs)


@operator("SequenceAt", host="position")
def sequence_at(input_sequence: Any, position: Any) -> Any:
    return input_sequence[number(position)]


@operator("SequenceInsert", host="position")
def sequence_insert(input_sequence: Any, tensor: Any, position: Any = None) -> Any:
    count = len(input_sequence)
    position = count if position is None else number(position)
    if not -count <= position <= count:
        raise IndexError(f"SequenceInsert: position {position} of a sequence with {count} elements")
    return [*input_sequence[:position], tensor, *input_sequence[position:]]


@operator("SequenceErase", host="position")
def sequence_erase(input_sequence: Any, position: Any = -1) -> Any:
    position = range(len(input_sequence))[number(position)]
    return [each for place, each in enumerate(input_sequence) if place != position]


@operator("SequenceLength", shape_only=True)
def sequence_length(input_sequence: Any) -> Any:
    return weft.tensor(len(input_sequence), dtype=weft.int64, device="cpu")


@operator("SequenceMap")
def sequence_map(input_sequence: Any, *additional_inputs: Any, body: Any) -> Any:
    rows = []
    for place, each in enumerate(input_sequence):
        others = [other[place] if isinstance(other, list) else other for other in additional_inputs]
        rows.append(body(each, *others))
    return tuple(list(column) for column in zip(*rows)) if rows else tuple([] for _ in range(body.num_outputs))


@operator("SplitToSequence", host="split")
def split_to_sequence(input: Any, split: Any = None, *, axis: int = 0, keepdims: int = 1) -> Any:
    if split is None:
        parts = input.split(1, axis)
        return [each if keepdims else each.squeeze(axis) for each in parts]
    return list(input.split(split, axis))


@operator("ConcatFromSequence")
def concat_from_sequence(input_sequence: Any, *, axis: int, new_axis: int = 0) -> Any:
    if is_text(input_sequence[0]):
        return (np.stack if new_axis else np.concatenate)(input_sequence, axis)
    return (weft.stack if new_axis else weft.cat)(input_sequence, axis)


@operator("Optional")
def optional(input: Any = None, *, type: Any = None) -> Any:
    return input


@operator("OptionalHasElement", shape_only=True)
def optional_has_element(input: Any = None) -> Any:
    return weft.tensor(input is not None, device="cpu")


@operator("OptionalGetElement")
def optional_get_element(input: Any) -> Any:
    if input is None:
        raise ValueError("OptionalGetElement: the optional is empty")
    return input
