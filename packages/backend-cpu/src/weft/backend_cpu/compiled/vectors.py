"""Have loops compiled to vectors as wide as the processor has them.

LLVM takes half of that on Intel's processors with AVX-512, the first of which ran slower with the whole. Loops that
compute much, such as exponentials, take up to a third longer so (measured on one of these first).
"""

from __future__ import annotations

from typing import Any

from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering, NativeLowering

__all__ = ["WideVectors", "widen"]

WIDTH = '"prefer-vector-width"="512"'  # in bits; where there are none so wide, it means the widest


def widen(function: Any) -> None:
    """Ask it of a function of LLVM's language."""
    set.add(function.attributes, WIDTH)  # llvmlite's own method knows attributes of one word alone


class WideLower(Lower):  # type: ignore[misc]
    """Numba's step from its own language to LLVM's, which asks it of each function."""

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        widen(self.function)
        if not (self.flags.no_cpython_wrapper and self.flags.no_cfunc_wrapper):
            self.function.attributes.add("noinline")  # of the wrapper that Python or C calls it is not asked


@register_pass(mutates_CFG=True, analysis_only=False)
class WideLowering(BaseNativeLowering):  # type: ignore[misc]
    """The pass that makes this step."""

    _name = "wide_native_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return WideLower


class WideVectors(CompilerBase):  # type: ignore[misc]
    """Numba's compiler with it, for ``pipeline_class=``."""

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [(WideLowering if step is NativeLowering else step, what) for step, what in manager.passes]
        manager.finalize()
        return [manager]
