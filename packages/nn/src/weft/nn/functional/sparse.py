"""Embeddings: rows of a table, chosen by index."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.ops._declare import op
from weft.ops.indexing import in_range

__all__ = ["embedding", "one_hot"]


def checked_indices(name: str, indices: Any, rows: int) -> None:
    """Indices are int32 or int64, and in range.

    Raises
    ------
    RuntimeError, IndexError
        If they are not.
    """
    if not isinstance(indices, Tensor):
        raise TypeError(f"{name}(): argument 'indices' must be Tensor, not {type(indices).__name__}")
    if indices.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            f"{name}: Expected tensor for argument #1 'indices' to have one of the following scalar types: int64, int32; "
            f"but got {indices.dtype} instead. Convert with .long()"
        )
    in_range(name, indices, rows, 0, IndexError)


@op(tensors="weight indices", namespace="nn", name="embedding")
def embedding_op(weight, indices, padding_idx, scale_grad_by_freq):
    """Rows of a table."""
    return embedding_op.op(weight, indices, padding_idx, scale_grad_by_freq)


@embedding_op.kernel
def _(xp, weight, indices, padding_idx, scale_grad_by_freq):
    return xp.take(weight, indices, axis=0)


@embedding_op.gradient("weight")
def _(grad, indices, weight_shape, padding_idx, scale_grad_by_freq):
    return embedding_gradient.op(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


@op(tensors="output_grad indices", half="float32", namespace="nn")
def embedding_gradient(output_grad, indices, rows, padding_idx, scale_grad_by_freq):
    """Sum the gradients of equal indices into the rows of a table."""
    return embedding_gradient.op(output_grad, indices, rows, padding_idx, scale_grad_by_freq)


@embedding_gradient.kernel
def _(xp, output_grad, indices, rows, padding_idx, scale_grad_by_freq):
    flat = indices.reshape(-1)
    grad = output_grad.reshape(flat.size, *output_grad.shape[indices.ndim :])
    result = xp.zeros((rows, *grad.shape[1:]), grad.dtype)
    if not flat.size:
        return result
    order = xp.argsort(flat, kind="stable")
    ordered = flat[order]
    starts = xp.flatnonzero(xp.concatenate([xp.ones(1, bool), ordered[1:] != ordered[:-1]]))
    result[ordered[starts]] = xp.add.reduceat(grad[order], starts, axis=0)
    if scale_grad_by_freq:
        counts = xp.bincount(flat, minlength=rows)
        result /= xp.maximum(counts, 1).astype(grad.dtype).reshape(-1, *(1,) * (grad.ndim - 1))
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


@embedding_gradient.gradient("output_grad")
def _(grad, indices, padding_idx, scale_grad_by_freq):
    if padding_idx is not None:
        keep = weft.arange(grad.shape[0], device=grad.device) != padding_idx
        grad = grad * keep.to(grad.dtype).reshape(-1, *[1] * (grad.ndim - 1))
    result = embedding_op.op(grad, indices, None, False)
    if scale_grad_by_freq:
        counts = indices.reshape(-1).bincount(minlength=grad.shape[0]).to(grad.dtype)
        result = result / counts[indices].unsqueeze(-1)
    return result


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` at these indices.

    Parameters
    ----------
    input : Tensor of int64 or int32
    weight : Tensor, shape (num_embeddings, embedding_dim)
    padding_idx : int, optional
        This row gets no gradient.
    max_norm : float, optional
        Rows that are looked up are first scaled down in place to at most this norm.
    norm_type : float
    scale_grad_by_freq : bool
        Divide each row's gradient by how often it was looked up.
    sparse : bool
        Accepted; gradients are dense.

    Raises
    ------
    IndexError
        If an index is out of range.
    RuntimeError
        If the indices are no integers.
    """
    if padding_idx is not None:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"embedding: padding_idx must be within num_embeddings ({rows}), got {padding_idx}")
        padding_idx %= rows
    checked_indices("embedding", input, weight.shape[0])
    if weight.ndim != 2:
        raise RuntimeError(f"embedding: 'weight' must be 2-D, (num_embeddings, embedding_dim), got {list(weight.shape)}")
    if max_norm is not None:
        shrink_rows(weight, input, max_norm, norm_type)
    return embedding_op.op(weight, input, padding_idx, scale_grad_by_freq)


def shrink_rows(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are looked up down to a norm, in place."""
    with weft.no_grad():
        chosen = indices.reshape(-1).unique()
        if chosen.numel():
            weight.index_copy_(0, chosen, weight.detach()[chosen].renorm(norm_type, 0, max_norm))


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the place of each class along a new last dimension, and 0 elsewhere.

    Raises
    ------
    RuntimeError
        If a class is negative or not below ``num_classes``.
    """
    if tensor.dtype is not weft.int64:
        raise RuntimeError(f"one_hot: one_hot is only applicable to index tensor of dtype int64, got {tensor.dtype}")
    if not tensor.numel():
        if num_classes <= 0:
            raise RuntimeError("one_hot: Can not infer total number of classes from empty tensor.")
        return tensor.new_zeros(*tensor.shape, num_classes)
    low, high = int(tensor.min()), int(tensor.max())
    if low < 0:
        raise RuntimeError(f"one_hot: Class values must be non-negative, got {low}.")
    if num_classes == -1:
        num_classes = high + 1
    elif num_classes < 1:
        raise RuntimeError(f"one_hot: num_classes should be positive, got {num_classes}")
    if high >= num_classes:
        raise RuntimeError(f"one_hot: Class values must be smaller than num_classes, got class {high}, num_classes {num_classes}")
    return tensor.new_zeros(*tensor.shape, num_classes).scatter(-1, tensor.unsqueeze(-1), 1)
