"""Products of matrices of 8-bit floats, whose numbers are parts of larger ones: each operand has scales beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft._dtypes.dtypes import dtype as DType
from weft._tensor.base import Tensor

__all__ = ["_scaled_mm", "_scaled_mm_v2"]

EIGHT_BITS = {weft.float8_e4m3fn, weft.float8_e4m3fnuz, weft.float8_e5m2, weft.float8_e5m2fnuz}
TENSORWISE, ROWWISE = 0, 1  # PyTorch's numbers of the recipes


def _scaled_mm(
    input: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: DType | None = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of two matrices of 8-bit floats, each number times its scale; computed in float32.

    Parameters
    ----------
    input : Tensor, shape (n, m), of an 8-bit float
    mat2 : Tensor, shape (m, p), of an 8-bit float
    scale_a, scale_b : Tensor of float32, with one element each, or shape (n, 1) and (1, p)
    bias : Tensor, shape (p,), optional
    scale_result : Tensor, optional
        Has no effect, as on PyTorch's CPU.
    out_dtype : dtype, optional
        Default: that of input.
    use_fast_accum : bool
        Has no effect: sums are of float32.

    Raises
    ------
    RuntimeError
        If shapes do not fit.
    ValueError
        If dtypes or scales are others than the above.
    """
    if input.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError(f"_scaled_mm: mat_a and mat_b must be matrices, got {input.ndim} and {mat2.ndim} dimensions")
    (rows, inner), (depth, columns) = input.shape, mat2.shape
    if inner != depth:
        raise RuntimeError(f"mat_a and mat_b shapes cannot be multiplied ({rows}x{inner} and {depth}x{columns})")
    one_each = scale_a.numel() == scale_b.numel() == 1
    by_rows = tuple(scale_a.shape) == (rows, 1) and tuple(scale_b.shape) == (1, columns)
    floats = scale_a.dtype is scale_b.dtype is weft.float32
    if not (floats and (one_each or by_rows) and {input.dtype, mat2.dtype} <= EIGHT_BITS):
        raise ValueError(
            f"Invalid scaling configuration: _scaled_mm multiplies 8-bit floats, with scales of float32 of one element "
            f"or of shape ({rows}, 1) and (1, {columns}); got matrices of {input.dtype} and {mat2.dtype}, scales of "
            f"{scale_a.dtype} {tuple(scale_a.shape)} and {scale_b.dtype} {tuple(scale_b.shape)}"
        )
    if bias is not None and bias.numel() != columns:
        raise RuntimeError(f"Bias must be size {columns} but got {bias.numel()}")
    scales = scale_a.reshape(()) * scale_b.reshape(()) if one_each else scale_a * scale_b
    result = weft.mm(input.float(), mat2.float()) * scales
    if bias is not None:
        result = result + bias.float()
    return result.to(input.dtype if out_dtype is None else out_dtype)


def _scaled_mm_v2(
    input: Tensor,
    mat2: Tensor,
    scale_a: Sequence[Tensor],
    recipe_a: Sequence[Any],
    swizzle_a: Sequence[Any],
    scale_b: Sequence[Tensor],
    recipe_b: Sequence[Any],
    swizzle_b: Sequence[Any],
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """`_scaled_mm`, told what the scales stand for.

    Parameters
    ----------
    input, mat2, bias, out_dtype, use_fast_accum
        See `_scaled_mm`.
    scale_a, scale_b : list of one Tensor
    recipe_a, recipe_b : list of one int
        0: the scale is of the whole matrix; 1: of each row of input, of each column of mat2.
    swizzle_a, swizzle_b : list of int
        0: scales lie in order.
    contraction_dim : sequence of int
        Has no effect: the last dimension of input, and the first of mat2.

    Raises
    ------
    RuntimeError
        If shapes do not fit.
    ValueError
        For other recipes, and what `_scaled_mm` refuses.
    """
    for recipes, swizzles, scales in ((recipe_a, swizzle_a, scale_a), (recipe_b, swizzle_b, scale_b)):
        known = len(recipes) == len(scales) == 1 and int(recipes[0]) in (TENSORWISE, ROWWISE)
        if not known or any(int(each) for each in swizzles):
            raise ValueError(
                "Invalid scaling configuration: _scaled_mm_v2 knows one scale for a matrix (0) and one for each row "
                f"(1), in order; got recipes {list(recipes)}, swizzles {list(swizzles)} and {len(scales)} scales"
            )
    return _scaled_mm(input, mat2, scale_a[0], scale_b[0], bias, None, out_dtype, use_fast_accum)
