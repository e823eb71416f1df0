"""A function of numbers over many arrays side by side, as vector code.

In a plain loop the compiler must know that no array that is written overlaps one that is read. It cannot check that for
a dozen arrays at run time, and would compute one number after another. Here it is told so.
"""

from __future__ import annotations

from typing import Any

from weft.backend_cpu.compiled.codegen.deferred import cgutils, intrinsic, types

__all__ = ["simd_loop"]


@intrinsic
def simd_loop(typingctx: Any, function: Any, arrays: Any, size: Any) -> Any:
    """Replace the first ``size`` elements of vectors, which do not overlap, by a function of them.

    The function takes one number of each vector, and returns those of the first vectors, as many as it has values.
    """
    vectors = arrays.types
    numbers = tuple(each.dtype for each in vectors)
    signature = types.void(function, arrays, types.uintp)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        call_signature = function.get_call_type(typingctx, numbers, {})
        compiled = function.dispatcher.get_compile_result(call_signature)
        context.active_code_library.add_linking_library(compiled.library)
        _, packed, count = values
        given = zip(vectors, cgutils.unpack_tuple(builder, packed))
        places = [context.make_array(kind)(context, builder, value).data for kind, value in given]
        scopes = scopes_of(builder, len(places))

        with cgutils.for_range(builder, count) as loop:
            addresses = [builder.gep(place, [loop.index]) for place in places]
            found = [builder.load(address) for address in addresses]
            _, result = context.call_internal_no_propagate(builder, compiled.fndesc, call_signature, found)
            stored = [builder.store(*each) for each in zip(cgutils.unpack_tuple(builder, result), addresses)]
            for accesses in (found, stored):
                for access, (own, others) in zip(accesses, scopes):
                    access.set_metadata("alias.scope", own)
                    access.set_metadata("noalias", others)
        return context.get_dummy_value()

    return signature, generate


def scopes_of(builder: Any, count: int) -> list[tuple[Any, Any]]:
    """The alias scopes of each array: its own, and those of the others, which it does not overlap."""
    add, name = builder.module.add_metadata, builder.module.get_unique_name(f"{builder.function.name}.simd_loop")
    domain = add([name])
    scopes = [add([f"{name}.{number}", domain]) for number in range(count)]
    return [(add([scope]), add([each for each in scopes if each is not scope])) for scope in scopes]
