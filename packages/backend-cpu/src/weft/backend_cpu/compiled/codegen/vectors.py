"""Have loops compiled to vectors as wide as the processor has them, and to several of them side by side.

LLVM takes half of that width on Intel's processors with AVX-512, the first of which ran slower with the whole. Loops
that compute much, such as exponentials, take up to a third longer so (measured on one of these first). And it computes
one vector after the other where a loop's body is long: then each instruction waits for the one before, and the
processor looks ahead too few of them to begin with the next vector. With four at a time logarithms, softplus and their
like take two thirds of the time (measured with AVX-512 and with AVX2), and simple loops no longer.
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

WIDTH = '"prefer-vector-width"="512"'  # in bits; where there are none so wide, it means the widest
SEVERAL = 4


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


class SeveralAtOnce(ir.values.MDValue):  # type: ignore[misc]
    """What LLVM is told of a loop: a list that begins with itself, by which it knows the loop, and a hint."""

    def __init__(self, module: Any) -> None:
        hint = module.add_metadata([ir.MetaDataString(module, "llvm.loop.interleave.count"), ir.IntType(32)(SEVERAL)])
        super().__init__(module, [self, hint], name=str(len(module.metadata)))

    __hash__ = object.__hash__


class SeveralLower(WideLower):
    """The same step, which asks for several vectors in each loop too."""

    def lower_function_body(self) -> Any:
        entry, passed = super().lower_function_body(), set()
        for block in self.function.blocks:
            passed.add(block)
            end = block.terminator
            if end is not None and end.opname == "br" and len(end.operands) == 1 and end.operands[0] in passed:
                end.set_metadata("llvm.loop", SeveralAtOnce(self.module))  # it goes back to where the loop begins
        return entry


class OwnCode(JITCodeLibrary):  # type: ignore[misc]
    """The code of a compiled function, with copies of its own of the functions that it calls.

    LLVM optimizes a copy once more together with its caller, which may put a sum in another order. Numba gives all
    copies of a function one name, under which the process takes the first that it meets: another one where a kernel is
    compiled than where it is read from disk. So that both compute the same bits, a copy's name ends with its owner's.
    """

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._finished: list[Any] = []

    def add_finished_library(self, library: Any) -> None:
        """Add a function that is called as it is: not optimized again, which makes some loops a third slower."""
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
    """The pass that makes this step."""

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
    """The pass that makes the other."""

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
    """The same with several of them at once: for functions that are a loop over many elements."""

    lowering = SeveralLowering
