"""Numba compilers for the widest vectors, and for several vectors per iteration.

By default LLVM takes half of the width on Intel's processors with AVX-512, the first of which slowed down with the
whole; loops that compute much, such as exponentials, then take up to a third longer (measured on one of these first).
And where a loop's body is long it computes one vector after another: each instruction waits for the one before, and the
processor does not look far enough ahead to begin with the next vector. With four vectors at a time logarithms, softplus
and their like take two thirds of the time (measured with AVX-512 and with AVX2), and simple loops no longer.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from llvmlite import ir
from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering, NativeLowering

__all__ = ["SeveralVectors", "WideVectors", "widen"]

WIDTH = '"prefer-vector-width"="512"'  # bits; on processors with less, the widest
SEVERAL = 4


def widen(function: Any) -> None:
    """Have a function of LLVM's language compiled to the widest vectors."""
    set.add(function.attributes, WIDTH)  # llvmlite's own method knows attributes of one word alone


class WideLower(Lower):  # type: ignore[misc]
    """Numba's lowering to LLVM, with the widest vectors."""

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        widen(self.function)
        if not (self.flags.no_cpython_wrapper and self.flags.no_cfunc_wrapper):
            self.function.attributes.add("noinline")  # else the wrapper, without the attribute, would inline it


class SeveralAtOnce(ir.values.MDValue):  # type: ignore[misc]
    """LLVM's metadata of a loop: a list that begins with itself, and the number of iterations to interleave."""

    def __init__(self, module: Any) -> None:
        hint = module.add_metadata([ir.MetaDataString(module, "llvm.loop.interleave.count"), ir.IntType(32)(SEVERAL)])
        super().__init__(module, [self, hint], name=str(len(module.metadata)))

    __hash__ = object.__hash__


class SeveralLower(WideLower):
    """The same, with several vectors per iteration."""

    def lower_function_body(self) -> Any:
        entry, passed = super().lower_function_body(), set()
        for block in self.function.blocks:
            passed.add(block)
            end = block.terminator
            if end is not None and end.opname == "br" and len(end.operands) == 1 and end.operands[0] in passed:
                end.set_metadata("llvm.loop", SeveralAtOnce(self.module))  # a branch back to where a loop begins
        return entry


class OwnCode(JITCodeLibrary):  # type: ignore[misc]
    """The code of a compiled function, with private copies of the functions that it calls.

    LLVM optimizes a copy together with its caller, which may put a sum in another order. Numba gives all copies of a
    function one name, and the process takes the first with that name: one where a kernel is compiled, another where it
    is read from disk. So that both compute the same bits, a copy's name has a suffix of its owner.
    """

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._finished: list[Any] = []

    def add_finished_library(self, library: Any) -> None:
        """Link a function without optimizing it again, which makes some loops a third slower."""
        library._ensure_finalized()
        self._finished.append(library)

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        for library in self._finished:
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        functions = [each for each in self._final_module.functions if not each.is_declaration]
        owner = next((each.name for each in functions if each.linkage == Linkage.external), self.name)
        mark = sha256(owner.encode()).hexdigest()[:12]
        for each in functions:
            if each.linkage == Linkage.linkonce_odr and each.name.startswith("_Z"):  # Numba's own are known by name
                each.name = f"{each.name}.{mark}"


@register_pass(mutates_CFG=True, analysis_only=False)
class WideLowering(BaseNativeLowering):  # type: ignore[misc]
    """The compiler pass of `WideLower`."""

    _name = "wide_native_lowering"

    def run_pass(self, state: Any) -> bool:
        if state.library is None:
            state.library = OwnCode(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        return bool(super().run_pass(state))

    @property
    def lowering_class(self) -> type[Lower]:
        return WideLower


@register_pass(mutates_CFG=True, analysis_only=False)
class SeveralLowering(WideLowering):
    """The compiler pass of `SeveralLower`."""

    _name = "several_native_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return SeveralLower


class WideVectors(CompilerBase):  # type: ignore[misc]
    """Numba's compiler with wide vectors, for ``pipeline_class=``."""

    lowering: type[WideLowering] = WideLowering

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [(self.lowering if step is NativeLowering else step, what) for step, what in manager.passes]
        manager.finalize()
        return [manager]


class SeveralVectors(WideVectors):
    """The same with several vectors per iteration: for functions that are one loop over many elements."""

    lowering = SeveralLowering
