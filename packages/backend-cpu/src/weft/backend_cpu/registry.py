"""Where kernels of the libraries register: oneDNN's, and the compiled loops.

A kernel says beside its definition which op it is for::

    @register_kernel("nn::gelu", dtypes="float32 float64", min_size=MIN_SIZE_FUSED)
    def gelu(generic):
        def run(x, approximate): ...
        return run

The decorated function is called once for each dtype, when the op first runs on it. It gets the op's own kernel, to fall
back on for arguments that it does not take, and returns the kernel, or None where this machine has nothing better.

For ``float16`` and ``bfloat16`` the kernel takes arrays of these. Where the op is declared to compute them in float32
it is `weft.backend.Backend.half_kernel`, and ``generic`` converts, and runs the kernel of float32.

Nothing may be imported to know which kernels there are. So ``scripts/make_kernel_table.py`` writes `kernel_table` from
what is registered; ``./dev lint`` compares the two.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from weft.backend import KernelBySize, check_kernel_names, small_arrays

__all__ = ["HALF", "MIN_SIZE", "MIN_SIZE_FUSED", "Registered", "Row", "register_kernel", "registered"]

Kernel = Callable[..., Any]
Maker = Callable[[Any], Any]

HALF = "float16 bfloat16"

MIN_SIZE = int(os.environ.get("WEFT_CPU_LEAST", 8192))
"""The number of elements from which compiled loops beat NumPy's (measured); tests set it to 0, to run them all."""

MIN_SIZE_FUSED = min(MIN_SIZE, 512)
"""The same for a loop that does the work of several of NumPy's functions."""


class Registered(NamedTuple):
    """A kernel of an op for a dtype: see `register_kernel`."""

    make: Maker
    min_size: int
    bitwise: bool


class Row(NamedTuple):
    """A line of the table: ops of a module, and what is registered for them in some dtypes."""

    min_size: int
    bitwise: bool
    dtypes: str
    ops: str


registered: dict[tuple[str, str, str], Registered] = {}
"""By the package of the library (``"compiled"``), the op and the dtype."""


def register_kernel(
    names: str,
    *,
    dtypes: str,
    min_size: int,
    checks_size: bool = False,
    halves: bool = False,
    bitwise: bool = False,
) -> Callable[[Maker], Maker]:
    """Register the function that makes the kernel of ops.

    Parameters
    ----------
    names, dtypes : str
        The ops' full names, and the dtypes of the first array, both separated by spaces.
    min_size : int
        The number of elements of the first array from which the kernel runs; 0: always. A smaller array stays with the
        generic kernel, and with a library that is not imported yet. Multiples of `MIN_SIZE` and `MIN_SIZE_FUSED`.
    checks_size : bool
        The kernel is called for all sizes, and looks itself whether it is worth it, as where other arrays than the
        first tell. Until the library is imported ``min_size`` keeps smaller first arrays from it: unless it is bitwise
        it has to leave these to the generic kernel afterwards too, or results depend on what ran before.
    halves : bool
        ``float16`` and ``bfloat16`` too, from `MIN_SIZE_FUSED` on: the generic kernel would convert them.
    bitwise : bool
        The results are NumPy's to the bit: NumPy may go on until compiling the kernel is worth it.

    Raises
    ------
    TypeError
        If there is no such op.
    """
    listed = names.split()

    def register(maker: Maker) -> Maker:
        check_kernel_names(listed, maker.__module__)
        library = maker.__module__.split(".")[2]
        for each, size in [(dtypes, min_size)] + [(HALF, MIN_SIZE_FUSED)] * halves:
            make = maker if checks_size else from_size(maker, size)
            for name in listed:
                for element in each.split():
                    registered[library, name, element] = Registered(make, size, bitwise)
        return maker

    return register


def from_size(maker: Maker, min_size: int) -> Maker:
    """A maker of the same kernel for arrays of so many elements."""

    def make(generic: Any) -> Any:
        made = maker(generic)
        return None if made is None else KernelBySize(small_arrays.small_of(generic), made, min_size)

    return make
