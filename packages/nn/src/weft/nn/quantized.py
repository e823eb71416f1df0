"""Arithmetic as a module: models that might be quantized add by it, so that its results could be watched.

`weft.ao.quantization` quantizes linear layers and convolutions, and leaves these sums in floating point, as they are in
PyTorch before a model is converted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import weft
from weft import Tensor
from weft.nn.linear import Identity
from weft.nn.module import Module

__all__ = ["FloatFunctional"]


class FloatFunctional(Module):
    """Sums, products and concatenations of tensors, as methods of a module.

    Attributes
    ----------
    activation_post_process : Module
        Takes each result; an `Identity` until somebody puts an observer there.

    Examples
    --------
    >>> weft.nn.quantized.FloatFunctional().add_relu(weft.tensor([1.0, -3.0]), weft.ones(2))
    tensor([2., 0.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process: Module = Identity()

    def _watched(self, result: Tensor) -> Tensor:
        found: Tensor = self.activation_post_process(result)
        return found

    def forward(self, x: Tensor) -> NoReturn:
        """Refuse: a call names what is computed.

        Raises
        ------
        RuntimeError
            Always.
        """
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """``x + y``."""
        return self._watched(weft.add(x, y))

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x + y`` of a number, which no observer sees."""
        return weft.add(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x * y``."""
        return self._watched(weft.mul(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x * y`` of a number, which no observer sees."""
        return weft.mul(x, y)

    def cat(self, x: Sequence[Tensor], dim: int = 0) -> Tensor:
        """`weft.cat`."""
        return self._watched(weft.cat(list(x), dim=dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """``relu(x + y)``."""
        return self._watched(weft.relu(weft.add(x, y)))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x @ y``."""
        return self._watched(weft.matmul(x, y))
