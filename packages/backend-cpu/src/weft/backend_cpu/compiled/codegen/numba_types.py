"""Numba's side: what it is told of weft's functions and of OpenMP when it is imported."""

from __future__ import annotations

from typing import Any

import llvmlite.binding
from numba.core import compiler_lock
from numba.core.registry import cpu_target
from numba.core.typing.typeof import typeof_impl

from weft.backend import hold_during_fork
from weft.backend_cpu.compiled.codegen.deferred import Deferred, overloads
from weft.backend_cpu.memory import is_poisoned

__all__: list[str] = []


@typeof_impl.register(Deferred)
def type_of_deferred(value: Any, context: Any) -> Any:
    """The type of what it stands for, which Numba may have been told of this moment."""
    is_new = "numba" not in vars(value)
    function, typing = value.numba, cpu_target.typing_context
    if is_new:
        typing.refresh()
    return typing.resolve_value_type(function)


llvmlite.binding.load_library_permanently("libgomp.so.1")
hold_during_fork(compiler_lock, "global_compiler_lock", is_inner=True)
if is_poisoned():
    from weft.backend_cpu import poison

    poison.fill_compiled_memory()
while overloads:
    overloads.pop(0)()
