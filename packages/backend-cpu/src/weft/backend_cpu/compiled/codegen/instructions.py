"""Instructions of AVX-512 that the compiler does not generate from arithmetic, in loops that it vectorizes.

A loop is written for one number, and vectorized by the compiler. To it each of these instructions is a function of one
number that has a vector form, the instruction: the attribute ``vector-function-abi-variant``, by which compilers find
the vector forms of a math library, says so. It has a letter for each argument: ``v`` for what becomes a vector, ``u``
for what is the same for all. The function itself is called for the numbers that are left over, and must not be inlined
before the loop is vectorized.
"""

from __future__ import annotations

from typing import Any

from weft.backend_cpu.compiled import prebuilt
from weft.backend_cpu.compiled.codegen.deferred import intrinsic, ir, llvm, types

__all__ = [
    "FEATURES",
    "HAS_CONVERSIONS",
    "HAS_FUSED",
    "HAS_INSTRUCTIONS",
    "IS_X86",
    "power_in",
    "rest_of",
    "times_power",
]


FEATURES = prebuilt.features()
IS_X86 = "sse2" in FEATURES
HAS_INSTRUCTIONS = "avx512f" in FEATURES
HAS_FUSED = "fma" in FEATURES or not IS_X86  # multiply-adds that are rounded once
HAS_CONVERSIONS = "f16c" in FEATURES or not IS_X86  # of float16

NEAREST = 4  # rounding as it is set


def call_instruction(name: str, immediate: int | None, builder: Any, values: list[Any]) -> Any:
    """Call the scalar function that stands for an instruction on vectors of 512 bits."""
    element = values[0].type
    lanes, suffix = (16, "ps") if isinstance(element, ir.FloatType) else (8, "pd")
    vector, mask = ir.VectorType(element, lanes), ir.IntType(lanes)
    given = [] if immediate is None else [llvm.I32(immediate)]
    kept = mask(-1), llvm.I32(NEAREST)  # all lanes are computed

    def signature(operand: Any) -> ir.FunctionType:
        kinds = [operand] * len(values) + [each.type for each in given] + [operand] + [each.type for each in kept]
        return ir.FunctionType(operand, kinds)

    module, own = builder.module, f"weft.{name}.{suffix}"
    function = module.globals.get(own)
    if function is None:
        full = f"llvm.x86.avx512.mask.{name}.{suffix}.512"
        instruction = ir.Function(module, signature(vector), full)
        function = ir.Function(module, signature(element), own)
        function.linkage = "linkonce_odr"
        letters = "v" * len(values) + "u" * len(given) + "vuu"
        form = f'"vector-function-abi-variant"="_ZGVeN{lanes}{letters}_{own}({full})"'
        for attribute in ("noinline", "nounwind", "willreturn", "memory(none)", form):
            set.add(function.attributes, attribute)  # llvmlite's own method knows attributes of one word alone
        one = ir.IRBuilder(function.append_basic_block())
        undefined = ir.Constant(vector, ir.Undefined)
        operands = [one.insert_element(undefined, each, llvm.I32(0)) for each in function.args[: len(values)]]
        made = one.call(instruction, [*operands, *given, ir.Constant(vector, None), *kept])
        one.ret(one.extract_element(made, llvm.I32(0)))
    return builder.call(function, [*values, *given, ir.Constant(element, 0.0), *kept])


@intrinsic
def times_power(typingctx: Any, x: Any, power: Any) -> Any:
    """``x * 2**power`` for a whole number, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return call_instruction("scalef", None, builder, values)

    return (x(x, x), generate) if isinstance(x, types.Float) else None


@intrinsic
def power_in(typingctx: Any, x: Any) -> Any:
    """The power of two that is not above ``abs(x)``: of 0 it is -inf, of infinities inf, of nan that."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return call_instruction("getexp", None, builder, values)

    return (x(x), generate) if isinstance(x, types.Float) else None


FROM_ONE, POSITIVE = 0b0000, 0b1100


@intrinsic
def rest_of(typingctx: Any, x: Any) -> Any:
    """``x`` divided by that power, from 1 up to 2; of 0 and infinity it is 1, of numbers below 0 nan."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return call_instruction("getmant", FROM_ONE | POSITIVE, builder, values)

    return (x(x), generate) if isinstance(x, types.Float) else None
