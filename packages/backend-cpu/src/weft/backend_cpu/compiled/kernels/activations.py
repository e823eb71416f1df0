"""Gated linear units: values in one half of a dimension, gates in the other. Activations by a formula have no file."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.elementwise import run_elementwise, scalar_function
from weft.backend_cpu.compiled.codegen.mathematics import like, sigmoid
from weft.backend_cpu.compiled.kernels.pointwise import REAL
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel

EXP = 3  # simple operations that an exponential counts as, where work is handed out


def halves_of(x: Any, dim: int) -> tuple[Any, Any]:
    """The two halves of a dimension, as views."""
    half = x.shape[dim] // 2
    lead = (slice(None),) * dim
    return x[(*lead, slice(half))], x[(*lead, slice(half, None))]


@register_kernel("nn::glu", dtypes=REAL, min_size=MIN_SIZE_FUSED, halves=True)
def glu_kernel(generic: Any) -> Any:
    key = scalar_function("glu", lambda value, gate: value * sigmoid(gate))

    def run(x: Any, dim: int) -> Any:
        made = run_elementwise(key, halves_of(x, dim), x.dtype, EXP)
        return generic(x, dim) if made is None else made

    return run


@register_kernel("nn::glu_backward", dtypes=REAL, min_size=MIN_SIZE_FUSED, halves=True)
def glu_backward_kernel(generic: Any) -> Any:
    of_value = scalar_function("glu_backward value", lambda grad, gate: grad * sigmoid(gate))
    of_gate = scalar_function("glu_backward gate", of_the_gate)

    def run(grad: Any, x: Any, dim: int) -> Any:
        (value, gate), made = halves_of(x, dim), np.empty(x.shape, x.dtype)
        first, second = halves_of(made, dim)
        if run_elementwise(of_value, (grad, gate), x.dtype, EXP, first) is None:
            return generic(grad, x, dim)
        if run_elementwise(of_gate, (grad, value, gate), x.dtype, EXP, second) is None:
            return generic(grad, x, dim)
        return made

    return run


def of_the_gate(grad, value, gate):
    passed = sigmoid(gate)
    return grad * passed * (like(gate, 1.0) - passed) * value
