"""The rows of a table, whose gradient is a sparse tensor: with only the rows that were looked up."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.autograd import Function


class Rows(Function):
    """Looks rows up; imported when an embedding is first asked for sparse gradients."""

    _is_one_op = False

    @staticmethod
    def forward(ctx: Any, weight: Tensor, indices: Tensor, padding_idx: int | None, scale_grad_by_freq: bool) -> Tensor:
        """Return ``weight[indices]``."""
        ctx.save_for_backward(indices)
        ctx.size, ctx.padding_idx, ctx.scale_grad_by_freq = tuple(weight.shape), padding_idx, scale_grad_by_freq
        return weight[indices]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Return the gradient, in which a row is as often as it was looked up."""
        if ctx.scale_grad_by_freq:
            raise RuntimeError("embedding: scale_grad_by_freq is not supported with sparse gradients")
        (indices,) = ctx.saved_tensors
        indices, values = indices.reshape(-1), grad.reshape(indices.numel(), ctx.size[1])
        if ctx.padding_idx is not None:
            kept = indices != ctx.padding_idx
            indices, values = indices[kept], values[kept]
        # a copy: who writes to the indices afterwards (a reused batch) must not move the gradient to other rows
        indices = indices.to(weft.int64, copy=True).unsqueeze(0)
        return weft.sparse_coo_tensor(indices, values, ctx.size), None, None, None
