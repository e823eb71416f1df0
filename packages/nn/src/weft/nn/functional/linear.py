"""Affine maps: a matrix product with a bias, a bilinear form, and the products of groups."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Tensor
from weft.backend import in_order
from weft.library.declare import op, write_out
from weft.library.fast_paths import Affine
from weft.ops.matrices import adjoint_times, matmul, same_dtype
from weft.ops.pointwise import conj
from weft.ops.reductions import sum

__all__ = ["bilinear", "grouped_mm", "linear"]


@op(
    tensors="input weight bias",
    result="same",
    compute_dtype="float32",
    namespace="nn",
    autocast="half",
    fast_path=Affine(dtypes="complex"),
)
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
        raise RuntimeError(
            f"linear: both arguments to linear need to be at least 1D, but they are 0D and {len(weight)}D"
        )
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
    flat = input if input.ndim == 2 else in_order(xp, input).reshape(math.prod(input.shape[:-1]), input.shape[-1])
    product = (xp.matmul if flat.shape[1] == 1 else xp.dot)(flat, weight.T)  # NumPy's dot leaves out 0 times nan there
    if bias is not None:
        product += bias
    return product if input.ndim == 2 else product.reshape(*input.shape[:-1], weight.shape[0])


@linear.onnx
def _(graph, input, weight, bias):
    if input.ndim == weight.ndim == 2 and graph.is_floating(input):
        return graph.Gemm(input, weight, bias, transB=1)
    product = graph.MatMul(input, graph.Transpose(weight, perm=[1, 0]) if weight.ndim == 2 else weight)
    return product if bias is None else graph.Add(product, bias)


@linear.gradient("input")
def _(grad, weight):
    return matmul.op(grad, conj(weight))


@linear.gradient("weight")
def _(grad, input):
    return adjoint_times(conj(rows(grad)), conj(rows(input)))


@linear.gradient("bias")
def _(grad, bias_shape):
    total = sum.op(rows(grad), (0,), False)
    return total if total._array.shape == bias_shape else total.sum_to_size(bias_shape)


@linear.vmap
def _(batch):
    input, weight, bias = batch.args
    if not batch.flags[1] and not batch.flags[2]:
        return linear.op(input, weight, bias)
    input, weight, bias = batch.as_seen()
    product = input @ weight.mT
    return batch.whole(product if bias is None else product + bias)


def rows(tensor: Any) -> Any:
    """All but the last dimension as one."""
    shape = tensor._array.shape
    return tensor if len(shape) == 2 else tensor.reshape(math.prod(shape[:-1]), shape[-1])


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

    Raises
    ------
    RuntimeError
        If the shapes do not fit together.

    Examples
    --------
    >>> weight = weft.tensor([[[1.0, 0.0], [0.0, 1.0]]])  # an inner product
    >>> weft.nn.functional.bilinear(weft.tensor([[1.0, 2.0]]), weft.tensor([[3.0, 4.0]]), weight)
    tensor([[11.]])
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
    same_dtype("bilinear", input1, input2, weight, *(() if bias is None else (bias,)))
    batch = input1.shape[:-1]
    first, second = rows(input1), rows(input2)  # (M, I), (M, J)
    out_features, in1_features, in2_features = weight.shape
    element = input1.dtype
    if element.is_half:
        first, second, weight = first.float(), second.float(), weight.float()
    mixed = weft.matmul(first, weight.permute(1, 0, 2).reshape(in1_features, out_features * in2_features))
    mixed = mixed.reshape(first.shape[0], out_features, in2_features)  # (M, K, J)
    result = (mixed * second.unsqueeze(1)).sum(-1, dtype=mixed.dtype).to(element)
    if bias is not None:
        result = result + bias
    return result.reshape([*batch, out_features])


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: weft.dtype | None = None,
) -> Tensor:
    """Several matrix products at once, of groups that need not be of one size: the experts of a mixture.

    Parameters
    ----------
    mat_a, mat_b : Tensor, of float32, float16 or bfloat16
        (G, M, K) and (G, K, N): one product each. (T, K) and (G, K, N): each matrix takes its own rows. (G, M, K) and
        (K, T): each makes its own columns. (M, T) and (T, N): the common dimension is cut.
    offs : Tensor of int32, shape (G,), optional
        Where each group ends along T; needed unless both operands have three dimensions. Rows or columns after the
        last are 0.
    bias : Tensor, optional
        Added to each group's product.
    out_dtype : dtype, optional
        float32 keeps half-precision products in single precision.

    Returns
    -------
    Tensor, shape (G, M, N), (T, N), (M, T) or (G, M, N).

    Raises
    ------
    RuntimeError
        If shapes, dtypes or offsets do not fit together.

    Examples
    --------
    >>> experts = weft.stack([weft.eye(2), 2 * weft.eye(2)])
    >>> grouped_mm(weft.ones(3, 2), experts, offs=weft.tensor([1, 3], dtype=weft.int32))
    tensor([[1., 1.],
            [2., 2.],
            [2., 2.]])
    """
    check_groups(mat_a, mat_b, offs)
    element = mat_a.dtype
    if out_dtype is not None and out_dtype is not element:
        if not element.is_half or out_dtype is not weft.float32:
            raise RuntimeError(
                f"grouped_mm: out_dtype must be {element} or, for half precision, float32; got {out_dtype}"
            )
        mat_a, mat_b = mat_a.float(), mat_b.float()
    if offs is None:
        result = weft.bmm(mat_a, mat_b)
        return result if bias is None else result + bias
    ends = offs.tolist()
    groups = [slice(start, stop) for start, stop in zip([0, *ends], ends)]
    if mat_a.ndim == 2 and mat_b.ndim == 2:
        return weft.stack([plus(weft.mm(mat_a[:, group], mat_b[group]), bias) for group in groups])
    if mat_a.ndim == 2:
        parts = [plus(weft.mm(mat_a[group], matrix), bias) for group, matrix in zip(groups, mat_b)]
        rest = mat_a.new_zeros(mat_a.shape[0] - ends[-1], mat_b.shape[-1])
        return weft.cat([*parts, rest])
    parts = [plus(weft.mm(matrix, mat_b[:, group]), bias) for group, matrix in zip(groups, mat_a)]
    rest = mat_b.new_zeros(mat_a.shape[1], mat_b.shape[1] - ends[-1])
    return weft.cat([*parts, rest], 1)


def plus(product: Tensor, bias: Tensor | None) -> Tensor:
    return product if bias is None else product + bias


def check_groups(mat_a: Tensor, mat_b: Tensor, offs: Tensor | None) -> None:
    """Operands and offsets of `grouped_mm` fit together."""
    shown = f"got mat_a {list(mat_a.shape)} and mat_b {list(mat_b.shape)}"
    for argument, each in (("mat_a", mat_a), ("mat_b", mat_b)):
        if each.ndim not in (2, 3):
            raise RuntimeError(f"grouped_mm: {argument} has to be 2 or 3d, {shown}")
        if each.dtype not in (weft.float32, weft.float16, weft.bfloat16):
            raise RuntimeError(f"grouped_mm: Expected {argument} of float32, bfloat16 or float16, got {each.dtype}")
    same_dtype("grouped_mm", mat_a, mat_b)
    both = mat_a.ndim == mat_b.ndim == 3
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError(f"grouped_mm: contraction dimension of mat_a and mat_b must match, {shown}")
    if both != (offs is None):
        raise RuntimeError(
            f"grouped_mm: offs must be given if there is a 2d matrix, and must not if both matrices are 3d; {shown}"
        )
    if offs is None:
        if mat_a.shape[0] != mat_b.shape[0]:
            raise RuntimeError(f"grouped_mm: matrix batch sizes have to match, {shown}")
        return
    if offs.dtype is not weft.int32 or offs.ndim != 1 or not offs.numel():
        raise RuntimeError(f"grouped_mm: offs has to be int32, of shape (G,), got {offs.dtype} {list(offs.shape)}")
    batch = mat_a.shape[0] if mat_a.ndim == 3 else mat_b.shape[0] if mat_b.ndim == 3 else offs.shape[0]
    if batch != offs.shape[0]:
        raise RuntimeError(f"grouped_mm: matrix batch sizes have to match offs {list(offs.shape)}, {shown}")
    total = mat_a.shape[0] if mat_b.ndim == 3 else mat_b.shape[1] if mat_a.ndim == 3 else mat_a.shape[1]
    ends = offs.tolist()
    if sorted(ends) != ends or ends[0] < 0 or ends[-1] > total:
        raise RuntimeError(f"grouped_mm: offs must not decrease, in [0, {total}], got {ends}")
