"""Activation functions and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.backend import BySize
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel
from weft.backend_cpu.libraries import LEAST, serves


@loop
def relu_loop(x, y, lo, hi):
    for i in range(lo, hi):
        y[i] = x[i] if x[i] > 0 or x[i] != x[i] else 0


@launcher
def relu(x, y):
    parallel(relu_loop, (x, y), x.size, x.size)


@serves("core::relu", "float32 float64")
def relu_kernel(generic: Any) -> Any:
    def run(x: Any) -> Any:
        if not x.flags.c_contiguous:
            return generic(x)
        y = np.empty(x.shape, x.dtype)
        relu(x.reshape(-1), y.reshape(-1))
        return y

    return BySize(generic, run, LEAST)
