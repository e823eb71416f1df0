"""gather whose gradient is a sparse tensor: with only the elements that were looked up."""

from __future__ import annotations

from typing import Any

import weft
from weft.autograd import Function


class Gather(Function):
    """Imported when gather is first asked for sparse gradients."""

    _is_one_op = False

    @staticmethod
    def forward(ctx: Any, input: Any, dim: int, index: Any) -> Any:
        """Return the elements."""
        ctx.save_for_backward(index)
        ctx.dim, ctx.shape = dim, tuple(input.shape)
        return weft.gather(input, dim, index)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """Return the gradient, in which an element is as often as it was looked up."""
        (index,) = ctx.saved_tensors
        count = index.numel()
        if not ctx.shape:
            return weft.sparse_coo_tensor(index.new_zeros(0, 1), grad.sum().reshape(1), ()), None, None
        places = [
            index
            if dim == ctx.dim
            else weft.arange(size, device=index.device).reshape(size, *(1,) * (index.ndim - dim - 1))
            for dim, size in enumerate(index.shape)
        ] or [index]
        # a copy: who writes to the index afterwards must not move the gradient to other elements
        rows = weft.stack([each.expand(index.shape).reshape(count) for each in places])
        return weft.sparse_coo_tensor(rows, grad.reshape(count), ctx.shape), None, None
