"""Where each step runs: sizes are computed on the CPU, so that no accelerator is waited for to know a shape.

A value is *wanted on the host* if an operator reads it (the shape of a Reshape, the axes of a sum) or computes from it
what one reads. Steps that make such values run on the CPU if all their inputs are there: constants of the file and what
follows from shapes. Everything else runs where the module is.
"""

from __future__ import annotations

from weft.onnx._importer.building import Constant
from weft.onnx._importer.program import Program, Step, python_value

__all__ = ["place"]


def place(program: Program, constants: list[Constant], outer: frozenset[str] = frozenset()) -> None:
    """Decide where a program's steps run and its constants are, and what is released when.

    Parameters
    ----------
    program : Program
        Changed in place, with the graphs inside it.
    constants : list of Constant
        Of the file; it is noted where each is wanted.
    outer : frozenset of str
        Values on the CPU that the program sees.
    """
    wanted, names = wanted_on_host(program), program.names
    host = set(outer)
    for step in program.steps:
        inputs = [name for name in step.inputs if name]
        computes_sizes = wanted.intersection(step.outputs) and not step.graphs
        at_hand = all(name in host or (name in names and not constants[names[name]].is_parameter) for name in inputs)
        step.runs_on_host = step.operator.shape_only or bool(computes_sizes and at_hand)
        place_inputs(program, step, constants, host)
        if step.runs_on_host:
            host.update(step.outputs)
        for graph in step.graphs.values():
            place(graph, constants, frozenset(host))
    for position, name in enumerate(program.outputs):
        if name in names:
            use_on_device(program, name, constants)
        elif name in host:
            program.moved.append(position)
    release(program)


def wanted_on_host(program: Program) -> set[str]:
    """The values that operators read, and those from which they are computed."""
    wanted: set[str] = set()
    for step in reversed(program.steps):
        if step.operator.shape_only:
            continue
        leads_to_wanted = not wanted.isdisjoint(step.outputs)
        for position, name in enumerate(step.inputs):
            own = step.operator.input_name(position)
            if name and (leads_to_wanted or own in step.operator.host | step.operator.host_tensors):
                wanted.add(name)
    return wanted


def place_inputs(program: Program, step: Step, constants: list[Constant], host: set[str]) -> None:
    """Decide from where a step's inputs are taken."""
    names = program.names
    for position, name in enumerate(step.inputs):
        if not name:
            continue
        own = step.operator.input_name(position)
        is_read, stays = own in step.operator.host, step.runs_on_host or own in step.operator.host_tensors
        constant = constants[names[name]] if name in names else None
        if constant is None:
            if name in host and not is_read and not stays:
                step.moved.append(position)
        elif (is_read or stays) and not constant.is_parameter:
            step.inputs[position] = ""
            if is_read:
                step.values[position] = python_value(constant.value)
                continue
            constant.on_host = True
            step.from_host[position] = names[name]
        else:
            use_on_device(program, name, constants)
        if is_read:
            step.read.append(position)


def use_on_device(program: Program, name: str, constants: list[Constant]) -> None:
    """Note that a program wants a constant where the module is."""
    number = program.constants[name] = program.names[name]
    constants[number].on_device = True


def release(program: Program) -> None:
    """Note after which step each value is no longer needed, so that its memory is free for the next."""
    last: dict[str, Step] = {}
    for step in program.steps:
        for name in [*step.inputs, *step.outputs]:
            last[name] = step
        for graph in step.graphs.values():
            for name in graph.captured:
                last[name] = step
    for name, step in last.items():
        if name and name not in program.outputs and name not in program.constants:
            step.released.append(name)
