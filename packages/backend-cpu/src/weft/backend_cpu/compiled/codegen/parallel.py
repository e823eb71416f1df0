"""Loops that Numba compiles, and how they run in parallel.

A kernel is two functions. The loop does the work of the indices from ``lo`` to ``hi``, its last arguments, which are
unsigned so that the compiler knows that no index is negative; the launcher hands out the whole range::

    @loop
    def relu_loop(x, y, lo, hi):
        for i in range(lo, hi):
            y[i] = max(x[i], 0)

    @launcher
    def relu(x, y):
        parallel(relu_loop, (x, y), x.size, x.size)

`parallel` cuts the range into one part for each thread, if there is enough work for them, and runs the parts by
``GOMP_parallel``, OpenMP's entry point, so that they share the pool of oneDNN's loops. That costs about a microsecond;
calling a launcher from Python costs 0.2.

A function is compiled for each combination of the types of its arguments: dtype, number of dimensions and layout. So
arrays are passed flat (``x.reshape(-1)``) or as rows (``x.reshape(-1, n)``) where they are contiguous.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from weft.backend_cpu.compiled import prebuilt
from weft.backend_cpu.compiled.codegen.deferred import (
    Deferred,
    cgutils,
    compiled_with,
    import_numba,
    intrinsic,
    ir,
    llvm,
    types,
    vectors,
)
from weft.backend_cpu.threads import use_openmp

__all__ = ["GRAIN", "launcher", "loop", "parallel", "rounding_loop", "serial_launcher"]

GRAIN = 16384
"""Elements of simple arithmetic that are worth a thread (measured)."""

# Sums may be reordered, which vector code needs, and products contracted into multiply-adds. NaN, infinities and the
# sign of zero keep their meaning.
OPTIONS: dict[str, Any] = {"fastmath": {"reassoc", "contract"}, "error_model": "numpy", "nogil": True}


def loop_with(**options: Any) -> Callable[[Any], Any]:
    """A decorator of functions that compiled code calls: no wrappers for Python are made."""
    return compiled_with(**options, pipeline_class="WideVectors", no_cpython_wrapper=True, no_cfunc_wrapper=True)


def launcher_with(**options: Any) -> Callable[[Any], Any]:
    """A decorator of functions that Python calls."""
    return partial(launched, compiled_with(**options, no_cfunc_wrapper=True))


def launched(decorator: Callable[[Any], Deferred], function: Any) -> Any:
    """What Python calls: kernels that came ready, or Numba's dispatcher."""
    deferred = decorator(function)
    launchers[prebuilt.name_of(function)] = deferred
    return prebuilt.launcher(function, deferred) if prebuilt.library() is not None else deferred.numba


launchers: dict[str, Deferred] = {}
"""The functions that Python calls, by module and name."""

loop = loop_with(**OPTIONS)
launcher = launcher_with(**OPTIONS, pipeline_class="WideVectors")
rounding_loop = loop_with(**{**OPTIONS, "fastmath": False})
"""The decorator of loops in which each step is rounded: no multiply-adds."""
serial_launcher = launcher_with(nogil=True, error_model="numpy")
"""The decorator of functions that Python calls, and that are no loops to make vector code of."""

use_openmp()
if prebuilt.library() is None:
    import_numba()


@intrinsic
def parallel(typingctx: Any, run: Any, args: Any, size: Any, work: Any) -> Any:
    """Run a loop over ``range(size)``, in as many threads as its work is worth.

    ``work`` is the number of elements that the loop touches, or a multiple for costly arithmetic, compared to `GRAIN`.
    An exception in the loop would be lost: arguments are checked before.

    The result does not depend on the number of threads: what is computed for an index must not depend on where the
    range is cut, and the loop is not inlined, since inlined copies may add in another order.
    """
    arguments = (*args.types, types.uintp, types.uintp)
    signature = types.void(run, args, types.uintp, types.intp)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        run_signature = run.get_call_type(typingctx, arguments, {})
        compiled = run.dispatcher.get_compile_result(run_signature)
        context.active_code_library.add_finished_library(compiled.library)
        _, packed, size, work = values

        def call(builder: Any, packed: Any, lo: Any, hi: Any) -> None:
            items = [builder.extract_value(packed, i) for i in range(len(args.types))]
            function = context.declare_function(builder.module, compiled.fndesc)
            operands = [*items, lo, hi]
            convention = context.call_conv
            convention.call_function(builder, function, run_signature.return_type, arguments, operands)

        threads = thread_count(builder, work)
        with builder.if_else(builder.icmp_signed("<=", threads, ir.Constant(threads.type, 1))) as (alone, together):
            with alone:
                call(builder, packed, ir.Constant(size.type, 0), size)
            with together:
                in_threads(builder, call, packed, size, threads)
        return context.get_dummy_value()

    return signature, generate


def runtime(builder: Any, name: str, result: Any, arguments: Any, values: Any) -> Any:
    """A call of one of OpenMP's functions."""
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)
    return builder.call(function, values)


def thread_count(builder: Any, work: Any) -> Any:
    """The number of threads that some work is worth, at most OpenMP's."""
    most = builder.sext(runtime(builder, "omp_get_max_threads", llvm.I32, [], []), work.type)
    worth = builder.sdiv(work, ir.Constant(work.type, GRAIN))
    return builder.select(builder.icmp_signed("<", worth, most), worth, most)


def in_threads(builder: Any, call: Any, packed: Any, size: Any, threads: Any) -> None:
    """Run the parts of a range concurrently: each thread calls a function that finds its own part."""
    module = builder.module
    shared = ir.LiteralStructType([packed.type, size.type])
    part = ir.Function(module, ir.FunctionType(ir.VoidType(), [llvm.POINTER]), module.get_unique_name("part"))
    part.linkage = "internal"
    vectors.widen(part)
    inner = ir.IRBuilder(part.append_basic_block())
    data = inner.load(inner.bitcast(part.args[0], shared.as_pointer()))
    total = inner.extract_value(data, 1)
    number = inner.zext(runtime(inner, "omp_get_thread_num", llvm.I32, [], []), total.type)
    count = inner.zext(runtime(inner, "omp_get_num_threads", llvm.I32, [], []), total.type)
    bounds = [inner.udiv(inner.mul(total, inner.add(number, ir.Constant(total.type, step))), count) for step in (0, 1)]
    call(inner, inner.extract_value(data, 0), *bounds)
    inner.ret_void()

    place = cgutils.alloca_once(builder, shared)
    builder.store(
        builder.insert_value(builder.insert_value(ir.Constant(shared, ir.Undefined), packed, 0), size, 1), place
    )
    values = [part, builder.bitcast(place, llvm.POINTER), builder.trunc(threads, llvm.I32), ir.Constant(llvm.I32, 0)]
    runtime(builder, "GOMP_parallel", ir.VoidType(), [part.type, llvm.POINTER, llvm.I32, llvm.I32], values)
