"""What `weft.jit` saves and loads: the exported programs of modules and functions, without their Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import weft
from weft.export._archive import load as load_program
from weft.export._archive import save as save_program
from weft.export._export import export, named_arguments
from weft.export._program import ExportedProgram, ProgramModule
from weft.export.dynamic_shapes import Dim
from weft.nn import Module
from weft.nn.compiled import Example, InputShape, ScriptModule, scripted
from weft.utils._pytree import tree_map, tree_map_only

__all__ = ["exported", "load", "save"]


class Calling(Module):
    """Calls a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.__dict__["function"] = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def exported(obj: Any) -> ExportedProgram:
    """The program of a scripted or traced module or function. Sizes of inputs may change where it lets them.

    Raises
    ------
    RuntimeError
        If nothing is known of its arguments.
    UserError
        If it does what a graph cannot: see `weft.export.export`.
    """
    if isinstance(obj, ProgramModule):
        return obj._program
    example: Example | None = obj._example
    if example is None:
        raise RuntimeError(
            f"{type(obj).__name__}: a program is recorded with example inputs, and there are none. Call the module "
            "once, or give them: weft.jit.trace(module, example_inputs), weft.jit.script(module, example_inputs=[...])"
        )
    args, kwargs = tree_map_only(InputShape, InputShape.zeros, tuple(example))
    module = obj if isinstance(obj, Module) else Calling(obj)
    shapes = {name: tree_map(each_dimension, value) for name, value in named_arguments(module, args, kwargs).items()}
    return export(module, args, kwargs, dynamic_shapes=shapes)


def each_dimension(value: Any) -> Any:
    """All dimensions of a tensor as such that may change."""
    return (Dim.AUTO,) * value.ndim if isinstance(value, weft.Tensor) else None


def save(obj: Any, f: str | os.PathLike[str] | Any, extra_files: Mapping[str, Any] | None) -> None:
    """Write the program of what `weft.jit.script`, `trace` or `load` gave."""
    save_program(exported(obj), f, extra_files=extra_files)


def load(f: str | os.PathLike[str] | Any, device: Any, extra_files: dict[str, Any] | None) -> ScriptModule:
    """The module of a file that `save` wrote.

    Raises
    ------
    RuntimeError
        If it is another file.
    """
    try:
        program = load_program(f, extra_files=extra_files)
    except RuntimeError as error:
        raise RuntimeError(
            f"jit.{error}. weft reads what its own jit.save and export.save wrote, and does not run TorchScript: build "
            "PyTorch's model in Python and load its numbers, model.load_state_dict(weft.load(path))"
        ) from error
    module = scripted(program.module())
    return module if device is None else module.to(device)
