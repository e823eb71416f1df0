"""A process of ``make_prebuilt.py``: it runs its share of the workloads, and writes an object for each kernel."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.core.registry import cpu_target

import weft
from weft._command import warm
from weft.backend_cpu.compiled import prebuilt
from weft.backend_cpu.compiled.codegen import elementwise, numba_types, parallel  # noqa: F401 - Numba, ready

I32, I64 = ir.IntType(32), ir.IntType(64)


def main(folder: Path, share: str, dtypes: list[str], titles: list[str]) -> None:
    """Compile part ``share`` ("0/2") of the workloads, or of those with these titles."""
    part, parts = map(int, share.split("/"))
    backend = weft.plugins.backend("cpu")
    backend.compile_at_once()
    chosen = {title: run for title, run in warm.workloads().items() if not titles or title in titles}
    work = [(dtype, *each) for dtype in dtypes for each in chosen.items()]
    for dtype, title, run in work[part::parts]:
        warm.attempt(f"{dtype} {title}", run, warm.Maker("cpu", getattr(weft, dtype)), backend)
    processor = os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"]
    emitter, found = Emitter(folder, f"weft_{part}_", *processor), []
    for name, deferred in parallel.launchers.items():
        if "numba" in vars(deferred):
            found += emitter.launcher(name, deferred.numba)
    found += [emitter.loop(name, function) for name, function in elementwise.loops.items()]
    (folder / "kernels.json").write_text(json.dumps(found))


class Emitter:
    """Writes kernels as objects, each with one function that others can call.

    Parameters
    ----------
    folder : Path
    prefix : str
        Of the functions' names.
    processor, features : str
        As Numba compiles for.
    """

    def __init__(self, folder: Path, prefix: str, processor: str, features: str) -> None:
        self.folder, self.prefix, self.count = folder, prefix, 0
        self.context = cpu_target.target_context
        target = llvm.Target.from_triple(llvm.get_process_triple())
        self.machine = target.create_target_machine(processor, features, 3, reloc="pic", codemodel="small")

    def launcher(self, name: str, dispatcher: Any) -> Iterator[dict[str, str]]:
        """The kernels of a launcher, one for each combination of types that can be described."""
        for compiled in dispatcher.overloads.values():
            described = [letters(each) for each in compiled.signature.args]
            result = letters(compiled.signature.return_type, is_result=True)
            if None in described or result is None:
                print(f"left out: {name}{compiled.signature}")
                continue
            symbol = self.symbol()
            fndesc = compiled.fndesc
            before = entry_of(self.context, symbol, fndesc.llvm_func_name, fndesc.restype, fndesc.argtypes)
            yield {"name": name, "types": "".join(map(str, described)), "result": result} | self.write(
                compiled.library, before, symbol
            )

    def loop(self, name: str, function: Any) -> dict[str, str]:
        """A loop over elements, which is called with its arguments."""
        symbol, signature = self.symbol(), function._sig
        own = function._wrapper_name.removeprefix("cfunc.")
        before = direct_entry_of(self.context, symbol, own, signature)
        return {"name": name} | self.write(function._library, before, symbol)

    def symbol(self) -> str:
        self.count += 1
        return f"{self.prefix}{self.count}"

    def write(self, library: Any, before: Any, symbol: str) -> dict[str, str]:
        """Write Numba's optimized code with the function ``symbol`` before it, all else unknown to the linker."""
        module = library._final_module.clone()
        module.link_in(llvm.parse_assembly(str(before)))
        for each in [*module.functions, *module.global_variables]:
            if not each.is_declaration and each.name != symbol:
                each.linkage = "internal"
        passes = llvm.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, llvm.create_pass_builder(self.machine, llvm.create_pipeline_tuning_options()))
        file = f"{symbol}.o"
        (self.folder / file).write_bytes(self.machine.emit_object(module))
        return {"object": file}


def letters(kind: Any, is_result: bool = False) -> str | None:
    """The description of an argument's type, or a result's, as ``launch.c`` has it; None for what it does not take."""
    if isinstance(kind, types.Array) and not is_result:
        return letters_of_array(kind)
    if isinstance(kind, types.BaseTuple):
        items = [letters(each, is_result) for each in kind]
        return None if None in items else f"({''.join(map(str, items))})"
    if kind == types.none:
        return "n"
    if kind == types.boolean:
        return "b"
    if kind == types.float64 or (is_result and kind == types.float32):
        return "f"
    if isinstance(kind, types.Integer) and is_result:
        return "i" if kind.signed else "u"
    if kind == types.int64:
        return "i"
    return f"#{dtype_letters(kind)}" if isinstance(kind, types.Integer | types.Float) else None


def letters_of_array(kind: Any) -> str | None:
    """The description of an array."""
    dtype = dtype_letters(kind.dtype)
    access = "w" if kind.mutable else "r"
    mark = "u" if isinstance(kind.dtype, types.Record) else ""
    return None if dtype is None else f"[{dtype}{kind.ndim}{kind.layout}{access}{mark}"


def dtype_letters(kind: Any) -> str | None:
    """Kind and size of a dtype."""
    if isinstance(kind, types.Record):
        return f"{prebuilt.KINDS[next(iter(kind.fields))]}2"
    if kind == types.boolean:
        return "b1"
    sort = {types.Integer: "i" if getattr(kind, "signed", False) else "u", types.Float: "f", types.Complex: "c"}
    found = next((letter for each, letter in sort.items() if isinstance(kind, each)), None)
    return None if found is None else f"{found}{kind.bitwidth // 8}"


def entry_of(context: Any, symbol: str, name: str, restype: Any, argtypes: Any) -> Any:
    """A module with a function that takes a kernel's arguments from slots and leaves its result there."""
    module = ir.Module(symbol)
    function = ir.Function(module, context.call_conv.get_function_type(restype, argtypes), name)
    entry = ir.Function(module, ir.FunctionType(I32, [I64.as_pointer()]), symbol)
    builder = ir.IRBuilder(entry.append_basic_block())
    slots = Slots(context, builder, entry.args[0])
    values = [slots.take(each) for each in argtypes]
    status, result = context.call_conv.call_function(builder, function, restype, argtypes, values)
    slots.place = 0
    with builder.if_then(status.is_ok):
        slots.leave(restype, result)
    builder.ret(builder.zext(status.is_error, I32))
    return module


def direct_entry_of(context: Any, symbol: str, name: str, signature: Any) -> Any:
    """A module with a function that has a loop's arguments, as C does."""
    module = ir.Module(symbol)
    function = ir.Function(module, context.call_conv.get_function_type(types.void, signature.args), name)
    kinds = [context.get_value_type(each) for each in signature.args]
    entry = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), symbol)
    builder = ir.IRBuilder(entry.append_basic_block())
    context.call_conv.call_function(builder, function, types.void, signature.args, entry.args)
    builder.ret_void()
    return module


class Slots:
    """Reads arguments from slots of 8 bytes, and writes results there."""

    def __init__(self, context: Any, builder: Any, start: Any) -> None:
        self.context, self.builder, self.start, self.place = context, builder, start, 0

    def next(self) -> Any:
        """The address of the next slot."""
        self.place += 1
        return self.builder.gep(self.start, [I64(self.place - 1)])

    def word(self) -> Any:
        """The value of the next slot."""
        return self.builder.load(self.next())

    def take(self, kind: Any) -> Any:
        """An argument."""
        builder, context = self.builder, self.context
        if isinstance(kind, types.BaseTuple):
            return context.make_tuple(builder, kind, [self.take(each) for each in kind])
        if isinstance(kind, types.Array):
            return self.take_array(kind)
        if kind == types.none:
            return context.get_dummy_value()
        if kind == types.boolean:
            return builder.trunc(self.word(), ir.IntType(1))
        value = context.get_value_type(kind)
        return builder.load(builder.bitcast(self.next(), value.as_pointer()))

    def take_array(self, kind: Any) -> Any:
        """An array, of which the caller keeps hold."""
        builder = self.builder
        array = self.context.make_array(kind)(self.context, builder)
        data, elements, item = self.word(), self.word(), self.word()
        sizes, strides = [self.word() for _ in range(kind.ndim)], [self.word() for _ in range(kind.ndim)]
        array.data = builder.inttoptr(data, array.data.type)
        array.nitems, array.itemsize = elements, item
        array.shape, array.strides = self.packed(sizes), self.packed(strides)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()

    def packed(self, words: list[Any]) -> Any:
        """Some integers as an LLVM array."""
        value = ir.Constant(ir.ArrayType(I64, len(words)), ir.Undefined)
        for place, word in enumerate(words):
            value = self.builder.insert_value(value, word, place)
        return value

    def leave(self, kind: Any, value: Any) -> None:
        """Write a result."""
        builder = self.builder
        if isinstance(kind, types.BaseTuple):
            for place, each in enumerate(kind):
                self.leave(each, builder.extract_value(value, place))
        elif kind == types.boolean:
            builder.store(builder.zext(value, I64), self.next())
        elif kind == types.float32:
            self.leave(types.float64, builder.fpext(value, ir.DoubleType()))
        elif isinstance(kind, types.Integer):
            wide = builder.sext if kind.signed else builder.zext
            builder.store(value if kind.bitwidth == 64 else wide(value, I64), self.next())
        elif kind != types.none:
            builder.store(value, builder.bitcast(self.next(), value.type.as_pointer()))
