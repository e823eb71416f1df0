"""A function of tensors that PyTorch keeps here, for programs that import it."""

from __future__ import annotations

import math
from typing import Any

from weft.autograd.function import Function

__all__ = ["Resize"]


class Resize(Function):
    """A contiguous copy or view of a tensor in another shape of as many elements; `weft.reshape` does the same.

    Raises
    ------
    RuntimeError
        If the number of elements differs.
    """

    @staticmethod
    def forward(ctx: Any, tensor: Any, sizes: Any) -> Any:
        """The elements in another shape."""
        if math.prod(sizes) != tensor.numel():
            raise RuntimeError(
                f"Resize: requested resize to {'x'.join(map(str, sizes))} ({math.prod(sizes)} elements in total), but "
                f"the given tensor has a size of {'x'.join(map(str, tensor.shape))} ({tensor.numel()} elements). "
                "Only the shape may change"
            )
        ctx.shape = tensor.shape
        return tensor.contiguous().view(sizes)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> tuple[Any, None]:
        """The gradient in the shape of the tensor."""
        return grad_output.contiguous().view(ctx.shape), None
