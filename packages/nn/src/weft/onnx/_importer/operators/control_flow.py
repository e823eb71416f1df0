"""If, Loop, Scan."""

from __future__ import annotations

from typing import Any

import weft
from weft.onnx._importer.operators._common import number
from weft.onnx._importer.registry import operator

FOREVER = 2**63 - 1


@operator("If", host="cond")
def if_else(cond: Any, *, then_branch: Any, else_branch: Any) -> Any:
    return tuple((then_branch if number(cond) else else_branch)())


@operator("Loop", host="M cond")
def loop(M: Any = None, cond: Any = None, *v_initial: Any, body: Any, context: Any) -> Any:
    count, going = number(M), number(cond)
    count, going = FOREVER if count is None else count, going is None or going
    carried, states = list(v_initial), len(v_initial)
    scanned: list[list[Any]] = [[] for _ in range(body.num_outputs - 1 - states)]
    step = 0
    while step < count and going:
        place = weft.tensor(step, dtype=weft.int64, device=context.device)
        again, *values = body(place, weft.tensor(True, device=context.device), *carried)
        carried = values[:states]
        for column, value in zip(scanned, values[states:]):
            column.append(value)
        going = bool(again)
        step += 1
    return *carried, *(weft.stack(column) if column else weft.zeros(0, device=context.device) for column in scanned)


@operator("Scan", since=9)
def scan(
    *inputs: Any,
    body: Any,
    num_scan_inputs: int,
    scan_input_axes: Any = None,
    scan_input_directions: Any = None,
    scan_output_axes: Any = None,
    scan_output_directions: Any = None,
) -> Any:
    if not 0 < num_scan_inputs <= len(inputs):
        raise ValueError(f"Scan: num_scan_inputs is {num_scan_inputs}, and the node has {len(inputs)} inputs")
    number = len(inputs) - num_scan_inputs
    state, sequences = list(inputs[:number]), inputs[number:]
    results = body.num_outputs - number
    if results < 0:
        raise ValueError(f"Scan: its body has {body.num_outputs} outputs and {number} states")
    input_axes, output_axes = scan_input_axes or [0] * num_scan_inputs, scan_output_axes or [0] * results
    backward_in, backward_out = scan_input_directions or [0] * num_scan_inputs, scan_output_directions or [0] * results
    rows = [
        (each.flip(axis) if backward else each).unbind(axis)
        for each, axis, backward in zip(sequences, input_axes, backward_in)
    ]
    scanned: list[list[Any]] = [[] for _ in range(results)]
    for elements in zip(*rows):
        values = body(*state, *elements)
        state = values[:number]
        for column, value in zip(scanned, values[number:]):
            column.append(value)
    stacked = [
        weft.stack(column[::-1] if backward else column, axis)
        for column, axis, backward in zip(scanned, output_axes, backward_out)
    ]
    return *state, *stacked


@operator("Scan")
def scan_8(sequence_lens: Any = None, *inputs: Any, body: Any, num_scan_inputs: int, directions: Any = None) -> Any:
    if sequence_lens is not None:
        raise NotImplementedError("Scan: sequence_lens, of opset 8 alone")
    options = {"num_scan_inputs": num_scan_inputs, "scan_input_directions": directions}
    batches = [scan(*each, body=body, **options) for each in zip(*inputs)]
    return tuple(weft.stack(column) for column in zip(*batches))
