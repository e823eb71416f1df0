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
from weft.utils._pytree import tree_flatten, tree_map, tree_map_only

__all__ = ["exported", "load", "save", "shown"]


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
        If nothing is known of its arguments, or its calls had different ones.
    UserError
        If it does what a graph cannot: see `weft.export.export`.
    """
    if isinstance(obj, ProgramModule):
        return obj._program
    example: Example | None = obj._example
    advice = "weft.jit.trace(module, example_inputs), weft.jit.script(module, example_inputs=[...])"
    if example is None:
        raise RuntimeError(
            f"{type(obj).__name__}: a program is recorded with example inputs, and there are none. Call the module "
            f"once, or give them: {advice}"
        )
    if isinstance(obj, ScriptModule) and obj._is_called_otherwise:
        raise RuntimeError(
            f"{type(obj).__name__}: a program takes arguments of one kind, and the module was called with others than "
            f"the first time: another number or structure, dtype or value. Say which it is for: {advice}"
        )
    args, kwargs = tree_map_only(InputShape, InputShape.zeros, tuple(example))
    module = obj if isinstance(obj, Module) else Calling(obj)
    shapes = {name: tree_map(each_dimension, value) for name, value in named_arguments(module, args, kwargs).items()}
    return export(module, args, kwargs, dynamic_shapes=shapes)


def shown(obj: Any) -> ExportedProgram:
    """The same for those who look at it: exported again where the modules that it is of have changed."""
    state = state_of(obj)
    known = obj.__dict__.get("_shown")
    if known is None or known[0] != state:
        known = obj.__dict__["_shown"] = state, exported(obj)
    program: ExportedProgram = known[1]
    return program


def state_of(obj: Any) -> list[Any]:
    """What a program depends on beside its inputs: attributes of modules, with tensors as their shapes."""
    function = getattr(obj, "_function", None)
    held = [obj, getattr(function, "__self__", None)]
    held += [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    modules = [each for one in held if isinstance(one, Module) for each in one.modules()]
    found: list[Any] = [obj._example]
    for module in modules:
        for name, value in vars(module).items():
            if name == "_shown":
                continue
            leaves, spec = tree_flatten(value)
            found.append((id(module), name, spec, [seen(each) for each in leaves]))
    return found


def seen(value: Any) -> Any:
    """What of an attribute is compared."""
    if isinstance(value, weft.Tensor):
        return InputShape.of(value)
    return value if isinstance(value, (bool, int, float, complex, str)) else id(value)


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
