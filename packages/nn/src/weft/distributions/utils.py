"""What the distributions share: parameters of one shape, probabilities and logits, and values that are made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
from weft import Tensor
from weft.nn import functional as F

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060  # Euler-Mascheroni


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Numbers of mean 0 and variance 1."""
    return weft.normal(weft.zeros(shape, dtype=dtype, device=device), weft.ones(shape, dtype=dtype, device=device))


def _sum_rightmost(value: Tensor, count: int) -> Tensor:
    """The sum over the last ``count`` dimensions."""
    return value if count == 0 else value.reshape(*value.shape[: value.dim() - count], -1).sum(-1)


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape.

    Raises
    ------
    ValueError
        For anything that is neither.

    Examples
    --------
    >>> broadcast_all(weft.ones(2), 3.0)
    (tensor([1., 1.]), tensor([3., 3.]))
    """
    if not all(isinstance(each, weft.Tensor | int | float) for each in values):
        raise ValueError(
            "broadcast_all: Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            f"__torch_function__; got {', '.join(type(each).__name__ for each in values)}"
        )
    tensors = [each for each in values if isinstance(each, weft.Tensor)]
    if tensors:
        like = tensors[0]
        made = [each if isinstance(each, weft.Tensor) else like.new_tensor(float(each)) for each in values]
    else:
        made = [weft.tensor(each, dtype=weft.get_default_dtype()) for each in values]
    return tuple(weft.broadcast_tensors(*made))


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities away from 0 and 1, where their logits are infinite."""
    eps = weft.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log-odds, or, if there are several classes, of unnormalized log-probabilities."""
    return weft.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The inverse of `logits_to_probs`, up to a constant if there are several classes."""
    inside = clamp_probs(probs)
    return weft.log(inside) - weft.log1p(-inside) if is_binary else weft.log(inside)


class lazy_property:
    """A property that is computed once, with gradients on, and then an attribute."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with weft.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Lower triangular matrices from vectors (..., n) of their elements, row by row, up to a diagonal."""
    count = matrix_size(vec.shape[-1], diag)
    matrix = vec.new_zeros((*vec.shape[:-1], count, count))
    rows, columns = weft.tril_indices(count, count, diag, device=vec.device)
    return put_triangle(matrix, rows, columns, vec)


def matrix_size(count: int, diag: int) -> int:
    """The rows of the square matrix that has ``count`` elements up to a diagonal.

    Raises
    ------
    ValueError
        If there is none.
    """
    rows = have = 0
    while have < count:
        rows += 1
        have = sum(max(0, min(row + 1 + diag, rows)) for row in range(rows))
    if have != count:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a "
            "square D x D matrix."
        )
    return rows


def put_triangle(matrix: Tensor, rows: Tensor, columns: Tensor, vec: Tensor) -> Tensor:
    """A matrix with elements at some places, so that gradients flow to them."""
    flat = rows * matrix.shape[-1] + columns
    whole = matrix.reshape(*matrix.shape[:-2], -1)
    return whole.scatter(-1, flat.expand(vec.shape), vec).reshape(matrix.shape)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of the lower triangles of matrices, row by row, up to a diagonal.

    Raises
    ------
    ValueError
        If the matrix has no such diagonal.
    """
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    rows, columns = weft.tril_indices(size, size, diag, device=mat.device)
    return mat[..., rows, columns]
