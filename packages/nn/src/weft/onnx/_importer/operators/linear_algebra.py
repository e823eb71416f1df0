"""Products of matrices, determinants."""

from __future__ import annotations

from typing import Any

import weft
import weft.nn.functional as F
from weft.onnx._importer.operators._common import to_dtype
from weft.onnx._importer.registry import operator


@operator("MatMul")
def matmul(a: Any, b: Any) -> Any:
    return weft.matmul(a, b)


@operator("Gemm")
def gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,  # ONNX's name
    transB: int = 0,
    broadcast: int = 1,
) -> Any:
    if transB and not transA and alpha == beta == 1 and c is not None and c.ndim == 1 and c.shape[0] == b.shape[0]:
        return F.linear(a, b, c)
    a, b = a.mT if transA else a, b.mT if transB else b
    if c is not None and a.dtype.is_floating_point and c.ndim in (1, 2):
        return weft.addmm(c, a, b, beta=beta, alpha=alpha)
    product = weft.matmul(a, b)
    product = product if alpha == 1 else to_dtype(product * alpha, a.dtype)
    if c is None:
        return product
    return product + (c if beta == 1 else to_dtype(c * beta, c.dtype))


@operator("Einsum")
def einsum(*inputs: Any, equation: str) -> Any:
    return weft.einsum(equation, *inputs)


@operator("Det")
def det(x: Any) -> Any:
    return weft.linalg.det(x)
