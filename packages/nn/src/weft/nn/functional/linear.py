"""Affine maps: a matrix product with a bias, and a bilinear form."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.ops._declare import op
from weft.ops._inplace import write_out
from weft.ops.matrices import same_dtype
from weft.ops.pointwise import conj

__all__ = ["bilinear", "linear"]


@op(tensors="input weight bias", result="same", half="float32", namespace="nn")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    Parameters
    ----------
    input : Tensor, shape (..., in_features)
    weight : Tensor, shape (out_features, in_features) or (in_features,)
    bias : Tensor, shape (out_features,) or (), optional

    Returns
    -------
    Tensor, shape (..., out_features), or (...) for a vector as weight.

    Raises
    ------
    RuntimeError
        If the features differ, or the dtypes.

    Examples
    --------
    >>> linear(weft.ones(4, 3), weft.ones(2, 3), weft.tensor([0.0, 1.0]))[0]
    tensor([3., 4.])
    """
    operands = (input, weight) if bias is None else (input, weight, bias)
    same_dtype("linear", *operands)
    check_features(input._array.shape, weight._array.shape, None if bias is None else bias._array.shape)
    if input.ndim == 0 or weight.ndim == 1:
        result = weft.matmul(input, weight)
        result = result if bias is None else result + bias
    else:
        result = linear.op(input, weight, bias)
    return result if out is None else write_out("linear", out, result)


def check_features(input: tuple[int, ...], weight: tuple[int, ...], bias: tuple[int, ...] | None) -> None:
    if len(weight) not in (1, 2):
        raise RuntimeError(
            f"linear: weight must have 1 or 2 dimensions, (out_features, in_features), got shape {list(weight)}"
        )
    if not input:
        raise RuntimeError("linear: input needs at least 1 dimension, (..., in_features), got a 0-dimensional tensor")
    if input[-1] != weight[-1]:
        raise RuntimeError(
            f"linear: mat1 and mat2 shapes cannot be multiplied: input {input} has {input[-1]} features in its last "
            f"dimension, weight {weight} takes {weight[-1]}. The last sizes must be equal"
        )
    if bias not in (None, (), (1,), weight[:-1]):
        raise RuntimeError(
            f"linear: bias {bias} must have one element for each of the {weight[0]} output features of weight {weight}"
        )


@linear.kernel
def _(xp, input, weight, bias):
    flat = input if input.ndim == 2 else xp.ascontiguousarray(input).reshape(-1, input.shape[-1])
    product = xp.matmul(flat, weight.T)
    if bias is not None:
        product += bias
    return product if input.ndim == 2 else product.reshape(*input.shape[:-1], weight.shape[0])


@linear.gradient("input")
def _(grad, weight):
    return weft.matmul(grad, conj(weight))


@linear.gradient("weight")
def _(grad, input):
    return weft.matmul(rows(grad).t(), conj(rows(input)))


@linear.gradient("bias")
def _(grad, bias_shape):
    return rows(grad).sum(0).sum_to_size(bias_shape)


def rows(tensor: Any) -> Any:
    """All but the last dimension as one."""
    return tensor if tensor.ndim == 2 else tensor.reshape(-1, tensor.shape[-1])


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each output feature k.

    Parameters
    ----------
    input1 : Tensor, shape (..., in1_features)
    input2 : Tensor, shape (..., in2_features)
    weight : Tensor, shape (out_features, in1_features, in2_features)
    bias : Tensor, shape (out_features,), optional

    Returns
    -------
    Tensor, shape (..., out_features).
    """
    if input1.ndim != input2.ndim or input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear: input batch dimensions do not match: got input1 {tuple(input1.shape)} and input2 "
            f"{tuple(input2.shape)}"
        )
    if weight.ndim != 3 or weight.shape[1] != input1.shape[-1] or weight.shape[2] != input2.shape[-1]:
        raise RuntimeError(
            f"bilinear: weight must be (out_features, {input1.shape[-1]}, {input2.shape[-1]}) for input1 "
            f"{tuple(input1.shape)} and input2 {tuple(input2.shape)}, got {tuple(weight.shape)}"
        )
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise RuntimeError(
            f"bilinear: bias must have {weight.shape[0]} elements, one for each output feature, got {tuple(bias.shape)}"
        )
    batch = input1.shape[:-1]
    first, second = rows(input1), rows(input2)  # (M, I), (M, J)
    out_features, in1_features, in2_features = weight.shape
    element = input1.dtype
    if element.is_half:
        first, second, weight = first.float(), second.float(), weight.float()
    mixed = weft.matmul(first, weight.permute(1, 0, 2).reshape(in1_features, out_features * in2_features))
    mixed = mixed.reshape(-1, out_features, in2_features)  # (M, K, J)
    result = (mixed * second.unsqueeze(1)).sum(-1, dtype=mixed.dtype).to(element)
    if bias is not None:
        result = result + bias
    return result.reshape([*batch, out_features])
