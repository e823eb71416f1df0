"""Joining axes into one, and splitting one into several."""

from __future__ import annotations

from typing import Any

from weft import Tensor
from weft.nn.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Join the axes from ``start_dim`` to ``end_dim`` (inclusive) into one; by default all but the batch axis.

    Parameters
    ----------
    start_dim, end_dim : int

    Shapes
    ------
    input : (*before, *joined, *after)
    output : (*before, product of joined, *after)

    Examples
    --------
    >>> weft.nn.Flatten()(weft.zeros(32, 1, 5, 5)).shape
    weft.Size([32, 25])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Flatten ``input``."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Return the axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split the axis ``dim`` into axes of the sizes ``unflattened_size``.

    Parameters
    ----------
    dim : int
    unflattened_size : tuple or list of int
        One of them may be -1.

    Shapes
    ------
    input : (*before, product of unflattened_size, *after)
    output : (*before, *unflattened_size, *after)

    Raises
    ------
    TypeError
        If the sizes are not ints, or not in a tuple or list.
    RuntimeError
        If they do not multiply to the size of the axis.

    Examples
    --------
    >>> weft.nn.Unflatten(1, (2, -1))(weft.zeros(32, 50)).shape
    weft.Size([32, 2, 25])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self._check(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    @staticmethod
    def _check(sizes: Any) -> None:
        if not isinstance(sizes, (tuple, list)):
            raise TypeError(f"Unflatten: unflattened_size must be a tuple, but found type {type(sizes).__name__}")
        for position, size in enumerate(sizes):
            if not isinstance(size, int):
                raise TypeError(
                    "Unflatten: unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {position}"
                )

    def forward(self, input: Tensor) -> Tensor:
        """Unflatten ``input``."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Return the axis and the sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
