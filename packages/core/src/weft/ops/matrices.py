"""Products of vectors, matrices and batches of them."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from weft._dtypes.dtypes import float32, int8, int32, int64, result_dtype, uint8
from weft._engine.functions import MatrixProduct, SumWithProduct, transposed_product
from weft._engine.tensor import TensorBase
from weft._errors import warn_deprecated
from weft._interception.torch_function import Unimplemented, asked_with
from weft._tensor.base import Tensor, add_members
from weft.ops._declare import composite, op, with_error_context
from weft.ops._geometry import broadcast_shapes, require_tensors, wrap_dim, wrap_dims
from weft.ops._inplace import view_inplace, write_inplace
from weft.ops.creation import factor, fitting
from weft.ops.pointwise import check_factor, conj
from weft.types import DType, Scalar


def same_dtype(name: str, *tensors: Any) -> None:
    """Products take operands of one dtype.

    Raises
    ------
    TypeError, RuntimeError
        If an operand is no tensor, or they differ.
    """
    for position, each in enumerate(tensors):
        if not isinstance(each, TensorBase):
            raise TypeError(f"{name}(): argument {position + 1} must be Tensor, not {type(each).__name__}")
    first = tensors[0]._key.dtype
    for each in tensors[1:]:
        if each._key.dtype is not first:
            raise RuntimeError(
                f"{name}: expected m1 and m2 to have the same dtype, but got: {first.scalar_type_name.lower()} != "
                f"{each._key.dtype.scalar_type_name.lower()} (expected scalar type {first.scalar_type_name} but found "
                f"{each._key.dtype.scalar_type_name}: {first} and {each._key.dtype}); convert one with .to(dtype)"
            )


@op(
    "matmul __matmul__",
    tensors="input other",
    result="same",
    compute_dtype="float32",
    out="exact",
    linear="input | other",
    autocast="half",
    fast_path=MatrixProduct(dtypes="any"),
    onnx="MatMul",
)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product; of batches of matrices, broadcast; of vectors the inner product.

    Parameters
    ----------
    input : Tensor, shape (..., n, m) or (m,)
    other : Tensor, shape (..., m, p) or (m,)

    Raises
    ------
    RuntimeError
        If the inner sizes differ, or an operand has no dimension.

    Examples
    --------
    >>> weft.matmul(weft.ones(2, 3), weft.ones(3, 4)).shape
    weft.Size([2, 4])
    """
    same_dtype("matmul", input, other)
    check_product("matmul", input._array.shape, other._array.shape)
    return matmul.op(input, other)


def check_product(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """The inner sizes of a matrix product agree, and the batches broadcast."""
    if not a or not b:
        raise RuntimeError(
            f"{name}: both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D; "
            "multiply by a "
            "0-d tensor with *"
        )
    columns, rows = a[-1], b[-2] if len(b) > 1 else b[0]
    if columns != rows:
        if len(b) == 1:
            said = (
                f"inconsistent tensor size, expected tensor {list(a)} and src {list(b)} to have the same number of "
                f"elements, but got {columns} and {rows} elements respectively"
                if len(a) == 1
                else f"size mismatch, got input ({a[0]}), mat ({'x'.join(map(str, a))}), vec ({rows})"
            )
            raise RuntimeError(f"{name}: {said}; the shapes are {list(a)} and {list(b)}")
        hint = " Did you mean input @ other.mT?" if len(b) > 1 and b[-1] == columns else ""
        raise RuntimeError(
            f"{name}: mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, a))} and {'x'.join(map(str, b))}): "
            f"columns of input ({columns}) must equal rows of other ({rows}); got input {a}, other {b}.{hint}"
        )
    if len(a) > 2 and len(b) > 2:
        broadcast_shapes(name, [a[:-2], b[:-2]])


@matmul.kernel
def _(xp, input, other):
    return xp.matmul(input, other)


product_with_transpose = transposed_product(matmul.op)


def times_adjoint(left: Any, right: Any) -> Any:
    """A matrix times the conjugate transpose of another."""
    found = product_with_transpose(left, right, False)
    return matmul.op(left, conj(right.mT)) if found is None else found


def adjoint_times(left: Any, right: Any) -> Any:
    """The conjugate transpose of a matrix times another."""
    found = product_with_transpose(left, right, True)
    return matmul.op(conj(left.mT), right) if found is None else found


@matmul.gradient("input")
def _(grad, other, input_shape):
    if other.ndim == 1:
        if len(input_shape) == 1:
            return grad * conj(other)
        return matmul.op(grad.unsqueeze(-1), conj(other).unsqueeze(0))
    if len(input_shape) == 1:
        return times_adjoint(grad.unsqueeze(-2), other).squeeze(-2)
    return times_adjoint(grad, other)


@matmul.gradient("other")
def _(grad, input, other_shape):
    if input.ndim == 1:
        if len(other_shape) == 1:
            return grad * conj(input)
        column, row = conj(input).unsqueeze(-1), grad.unsqueeze(-2)
        return matmul.op(column, row) if len(other_shape) == 2 else column * row
    if len(other_shape) == 1:
        return adjoint_times(input, grad.unsqueeze(-1)).squeeze(-1)
    if len(other_shape) == 2 and input.ndim > 2:  # one product sums over the batch
        input, grad = input.flatten(0, -2), grad.flatten(0, -2)
    return adjoint_times(input, grad)


@matmul.vmap
def _(batch):
    input, other = batch.args
    ranks = batch.rank(0), batch.rank(1)
    if ranks[0] == 1:
        input = input.unsqueeze(-2)  # a row
    if ranks[1] == 1:
        other = other.unsqueeze(-1)  # a column
    operands = []
    for operand, flag in zip((input, other), batch.flags):
        missing = max(*ranks, 2) - (operand.ndim - 1)  # dimensions between that of the batch and its own
        if flag and missing:
            operand = operand.reshape(batch.size, *(1,) * missing, *operand.shape[1:])
        operands.append(operand)
    result = matmul.op(*operands)
    if ranks[1] == 1:
        result = result.squeeze(-1)
    if ranks[0] == 1:
        result = result.squeeze(-2 if ranks[1] != 1 else -1)
    return result


def _reflected_matmul(self: Tensor, other: Tensor) -> Tensor:
    if not isinstance(other, TensorBase):
        return NotImplemented
    try:
        return matmul(other, self)  # not the other's operator, which compiled asks this one
    except Unimplemented:
        return NotImplemented


add_members(__rmatmul__=_reflected_matmul)


def expect(name: str, **dims: Any) -> None:
    """Each operand has the number of dimensions that it must have."""
    for argument, (tensor, ndim) in dims.items():
        if tensor.ndim != ndim:
            said = {"input": "self"}.get(argument, argument)
            wanted = {
                1: f"Expected 1-D argument {said}, but got {tensor.ndim}-D: 1D tensors expected",
                2: f"{said} must be a matrix",
                3: f"{said} must be a 3D tensor",
            }[ndim]
            raise RuntimeError(
                f"{name}: {wanted}; got {tensor.ndim}-D of shape {tuple(tensor.shape)}, which matmul() would take"
            )


def wider(name: str, out_dtype: Any, *operands: Any) -> list[Any]:
    """The operands of a product, in the dtype that the result is to have."""
    given = operands[0]._key.dtype
    if out_dtype is not given and not (given.is_half and out_dtype is float32):
        raise RuntimeError(
            f"{name}: out_dtype must be the dtype of the operands, or float32 for half-precision ones; got {out_dtype} "
            f"for {given}"
        )
    return [each.to(out_dtype) for each in operands]


@composite("mm", out="exact", autocast="half")
def mm(input: Tensor, mat2: Tensor, *, out_dtype: DType | None = None) -> Tensor:
    """The product of two matrices.

    Parameters
    ----------
    input : Tensor, shape (n, m)
    mat2 : Tensor, shape (m, p), of input's dtype
    out_dtype : dtype, optional
        float32, for matrices of half precision: the sums are not rounded.

    Raises
    ------
    RuntimeError
        If the inner sizes differ, or an operand is no matrix.

    Examples
    --------
    >>> weft.mm(weft.tensor([[1.0, 2.0]]), weft.tensor([[3.0], [4.0]]))
    tensor([[11.]])
    """
    same_dtype("mm", input, mat2)
    if out_dtype is not None:
        input, mat2 = wider("mm", out_dtype, input, mat2)
    expect("mm", input=(input, 2), mat2=(mat2, 2))
    check_product("mm", input._array.shape, mat2._array.shape)
    return matmul.op(input, mat2)


@op(tensors="input mat2", out="exact", dtypes="int", gradient=None, name="int_mm")
def _int_mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of a matrix of int8 or uint8 with one of int8, in int32: what quantized models are made of.

    Parameters
    ----------
    input : Tensor, shape (n, m), of int8 or uint8
    mat2 : Tensor, shape (m, p), of int8

    Raises
    ------
    RuntimeError
        For other dtypes, or if the inner sizes differ.

    Examples
    --------
    >>> weft._int_mm(weft.full((1, 3), 100, dtype=weft.int8), weft.full((3, 2), -100, dtype=weft.int8))
    tensor([[-30000, -30000]], dtype=weft.int32)
    """
    require_tensors("_int_mm", input=input, mat2=mat2)
    expect("_int_mm", input=(input, 2), mat2=(mat2, 2))
    if input.dtype not in (int8, uint8) or mat2.dtype is not int8:
        raise RuntimeError(
            f"_int_mm: input must be int8 or uint8, and mat2 int8; got {input.dtype} and {mat2.dtype}. Convert with "
            ".to(weft.int8)"
        )
    check_product("_int_mm", input._array.shape, mat2._array.shape)
    return _int_mm.op(input, mat2)


@_int_mm.kernel
def _(xp, input, mat2):
    return xp.matmul(input.astype(xp.int32), mat2.astype(xp.int32))


@_int_mm.onnx
def _(graph, input, mat2):
    return graph.MatMulInteger(input, mat2, dtype=int32)


@composite("bmm", out="exact", autocast="half")
def bmm(input: Tensor, mat2: Tensor, *, out_dtype: DType | None = None) -> Tensor:
    """The products of two batches of matrices of one batch size.

    Parameters
    ----------
    input : Tensor, shape (b, n, m)
    mat2 : Tensor, shape (b, m, p), of input's dtype
    out_dtype : dtype, optional
        float32, for matrices of half precision: the sums are not rounded.

    Raises
    ------
    RuntimeError
        If the sizes differ. `matmul` broadcasts.

    Examples
    --------
    >>> weft.bmm(weft.ones(5, 2, 3), weft.ones(5, 3, 4)).shape
    weft.Size([5, 2, 4])
    """
    same_dtype("bmm", input, mat2)
    if out_dtype is not None:
        input, mat2 = wider("bmm", out_dtype, input, mat2)
    expect("bmm", batch1=(input, 3), batch2=(mat2, 3))
    check_batches("bmm", input, mat2)
    return matmul.op(input, mat2)


def check_batches(name: str, a: Any, b: Any) -> None:
    """Two batches of matrices have one size, and the inner sizes agree."""
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"{name}: Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but "
            f"got: [{b.shape[0]}, {b.shape[1]}]; got shapes {tuple(a.shape)} and {tuple(b.shape)}"
        )


@composite("mv", out="exact")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector.

    Parameters
    ----------
    input : Tensor, shape (n, m)
    vec : Tensor, shape (m,), of input's dtype

    Returns
    -------
    Tensor, shape (n,)

    Examples
    --------
    >>> weft.mv(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), weft.tensor([1.0, -1.0]))
    tensor([-1., -1.])
    """
    same_dtype("mv", input, vec)
    expect("mv", input=(input, 2), vec=(vec, 1))
    check_product("mv", input._array.shape, vec._array.shape)
    return matmul.op(input, vec)


@composite("dot", out="exact")
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements.

    Parameters
    ----------
    input, tensor : Tensor, shape (n,)
        Of one dtype. Complex numbers are not conjugated, see `vdot`.

    Returns
    -------
    Tensor, shape ()

    Raises
    ------
    RuntimeError
        If an operand is no vector, or their sizes differ.

    Examples
    --------
    >>> weft.dot(weft.tensor([1, 2]), weft.tensor([3, 4]))
    tensor(11)
    """
    require_tensors("dot", input=input, tensor=tensor)
    sizes = input._array.shape, tensor._array.shape
    if len(sizes[0]) != 1 or len(sizes[1]) != 1:
        raise RuntimeError(
            f"dot: 1D tensors expected, but got {len(sizes[0])}D and {len(sizes[1])}D tensors; it takes two vectors, "
            "and matmul() takes any"
        )
    if input.dtype is not tensor.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {input.dtype.scalar_type_name} and "
            f"{tensor.dtype.scalar_type_name}"
        )
    if sizes[0] != sizes[1]:
        raise RuntimeError(
            f"dot: inconsistent tensor size, expected tensor {list(input.shape)} and src {list(tensor.shape)} to "
            "have the same "
            f"number of elements, but got {input.numel()} and {tensor.numel()} elements respectively"
        )
    return matmul.op(input, tensor)


@composite("vdot", out="exact")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """`dot` with the first vector conjugated.

    Parameters
    ----------
    input, other : Tensor, shape (n,)
        Of one dtype.

    Examples
    --------
    >>> weft.vdot(weft.tensor([1j]), weft.tensor([1j]))
    tensor(1.+0.j)
    """
    return dot(conj(input), other)


@composite("inner", out=True)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Inner products along the last dimension of both.

    Parameters
    ----------
    input : Tensor, shape (..., m) or ()
    other : Tensor, shape (..., m) or ()

    Returns
    -------
    Tensor
        Of the shape of input and then other, both without their last dimension; with a tensor without dimensions,
        the product of the two.

    Examples
    --------
    >>> weft.inner(weft.ones(2, 3), weft.ones(4, 3)).shape
    weft.Size([2, 4])
    """
    require_tensors("inner", input=input, other=other)
    if not input.ndim or not other.ndim:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner: inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} "
            "and "
            f"{list(other.shape)}"
        )
    if other.ndim < 3:
        same_dtype("inner", input, other)
        return matmul.op(input, other if other.ndim == 1 else other.mT)
    return tensordot(input, other, dims=([-1], [-1]))


@composite("outer ger", out=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of all pairs of elements of two vectors.

    Parameters
    ----------
    input : Tensor, shape (n,)
    vec2 : Tensor, shape (m,)

    Returns
    -------
    Tensor, shape (n, m)

    Examples
    --------
    >>> weft.outer(weft.tensor([1, 2]), weft.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    require_tensors("outer", input=input, vec2=vec2)
    expect("outer", input=(input, 1), vec2=(vec2, 1))
    return input.unsqueeze(1) * vec2


ger = outer


def plus_product(name: str, input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """``beta * input + alpha * product``, where beta 0 ignores the input even if it is nan."""
    same_dtype(name, input, product)
    beta, alpha = fitting(name, beta, input._key.dtype), fitting(name, alpha, input._key.dtype)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        broadcast_shapes(name, [input._array.shape, product._array.shape])
        return product
    if (
        input.ndim > product.ndim
        or broadcast_shapes(name, [input._array.shape, product._array.shape]) != product._array.shape
    ):
        raise RuntimeError(
            f"{name}: The expanded size of the tensor {list(product.shape)} must match the existing size of input "
            f"{list(input.shape)}"
        )
    return (input if beta == 1 else input * beta) + product


@op(tensors="input a b", result="same", compute_dtype="float32", name="addmm", vmap="elementwise", autocast="half")
def sum_with_product(input: Tensor, a: Tensor, b: Tensor, beta: Scalar, alpha: Scalar) -> Tensor:
    """``beta * input + alpha * (a @ b)`` for matrices or batches of them."""
    return sum_with_product.op(input, a, b, beta, alpha)


@sum_with_product.kernel
def _(xp, input, a, b, beta, alpha):
    product = xp.matmul(a, b)
    number = product.dtype.type
    if alpha != 1:
        product = product * number(alpha)
    return product + (input if beta == 1 else input * number(beta))


@sum_with_product.gradient("input")
def _(grad, input_shape, beta):
    return (grad * conj(beta) if beta != 1 else grad).sum_to_size(input_shape)


@sum_with_product.gradient("a")
def _(grad, b, alpha):
    return matmul.op(grad if alpha == 1 else grad * conj(alpha), conj(b.mT))


@sum_with_product.gradient("b")
def _(grad, a, alpha):
    return matmul.op(conj(a.mT), grad if alpha == 1 else grad * conj(alpha))


@sum_with_product.onnx
def _(graph, input, a, b, beta, alpha):
    product = graph.MatMul(a, b)
    product = product if alpha == 1 else graph.Mul(product, alpha)
    return graph.Add(product, input if beta == 1 else graph.Mul(input, beta))


def with_product(name: str, input: Any, a: Any, b: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """`plus_product` in one op, which rounds once, where the operands are floating-point numbers and beta is not 0."""
    same_dtype(name, input, a, b)
    if not input._key.is_differentiable or beta == 0:
        return plus_product(name, input, product(a, b), beta, alpha)
    check_product(name, a._array.shape, b._array.shape)
    shape = (*a._array.shape[:-1], b._array.shape[-1])
    have = input._array.shape
    if len(have) > len(shape) or broadcast_shapes(name, [have, shape]) != shape:
        raise RuntimeError(
            f"{name}: The expanded size of the tensor {list(shape)} must match the existing size of input {list(have)}"
        )
    beta, alpha = factor(name, beta, input._key.dtype), factor(name, alpha, input._key.dtype)
    return sum_with_product.op(input, a, b, beta, alpha)


@composite(
    "addmm",
    "addmm_",
    out="exact shared",
    autocast="half",
    fast_path=SumWithProduct(sum_with_product.op, takes="input mat1 mat2", constants=(1, 1)),
)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``.

    Parameters
    ----------
    input : Tensor, broadcastable to (n, p)
    mat1 : Tensor, shape (n, m)
    mat2 : Tensor, shape (m, p)
    beta : number
        With 0 the input is ignored, also what is nan or infinite in it.
    alpha : number

    Raises
    ------
    RuntimeError
        If the sizes do not fit, or the dtypes differ.

    Examples
    --------
    >>> bias, x, weight = weft.tensor([1.0, 2.0]), weft.ones(1, 3), weft.ones(2, 3)
    >>> weft.addmm(bias, x, weight.t())
    tensor([[4., 5.]])
    """
    expect("addmm", mat1=(mat1, 2), mat2=(mat2, 2))
    return with_product("addmm", input, mat1, mat2, mm, beta, alpha)


@composite("addmv", "addmv_", out="exact shared", autocast="half")
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``.

    Parameters
    ----------
    input : Tensor, broadcastable to (n,)
    mat : Tensor, shape (n, m)
    vec : Tensor, shape (m,)
    beta : number
        With 0 the input is ignored, also what is nan or infinite in it.
    alpha : number

    Examples
    --------
    >>> weft.addmv(weft.tensor([1.0]), weft.ones(1, 3), weft.ones(3), alpha=2)
    tensor([7.])
    """
    return plus_product("addmv", input, mv(mat, vec), beta, alpha)


@composite("addr", "addr_", out=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``.

    Parameters
    ----------
    input : Tensor, broadcastable to (n, m)
    vec1 : Tensor, shape (n,)
    vec2 : Tensor, shape (m,)
    beta : number
        With 0 the input is ignored, also what is nan or infinite in it.
    alpha : number

    Examples
    --------
    >>> weft.addr(weft.zeros(2, 2), weft.tensor([1.0, 2.0]), weft.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    require_tensors("addr", input=input, vec1=vec1, vec2=vec2)
    common = result_dtype((input, vec1, vec2))
    for argument, value in (("beta", beta), ("alpha", alpha)):
        check_factor("addr", argument, value, common)
    if input._key is vec1._key is vec2._key and input._key.is_differentiable and vec1.ndim == vec2.ndim == 1:
        return with_product("addr", input, vec1.unsqueeze(1), vec2.unsqueeze(0), matmul, beta, alpha)
    product = outer(vec1, vec2)
    if input.dtype is not product.dtype:
        input, product = input.to(common), product.to(common)
    return plus_product("addr", input, product, beta, alpha)


@composite("baddbmm", "baddbmm_", out="exact shared", autocast="half")
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)``.

    Parameters
    ----------
    input : Tensor, broadcastable to (b, n, p)
    batch1 : Tensor, shape (b, n, m)
    batch2 : Tensor, shape (b, m, p)
    beta : number
        With 0 the input is ignored, also what is nan or infinite in it.
    alpha : number

    Examples
    --------
    >>> weft.baddbmm(weft.ones(1), weft.ones(2, 1, 3), weft.ones(2, 3, 1), alpha=10)
    tensor([[[31.]],
    <BLANKLINE>
            [[31.]]])
    """
    expect("baddbmm", batch1=(batch1, 3), batch2=(batch2, 3))
    check_batches("baddbmm", batch1, batch2)
    return with_product("baddbmm", input, batch1, batch2, bmm, beta, alpha)


@composite("addbmm", out="exact shared", autocast="half")
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2).sum(0)``.

    Parameters
    ----------
    input : Tensor, broadcastable to (n, p)
    batch1 : Tensor, shape (b, n, m)
    batch2 : Tensor, shape (b, m, p)
    beta : number
        With 0 the input is ignored, also what is nan or infinite in it.
    alpha : number

    Examples
    --------
    >>> weft.addbmm(weft.ones(1, 1), weft.ones(2, 1, 3), weft.ones(2, 3, 1))
    tensor([[7.]])
    """
    same_dtype("addbmm", input, batch1, batch2)
    expect("addbmm", batch1=(batch1, 3), batch2=(batch2, 3))
    check_batches("addbmm", batch1, batch2)
    count, rows, inner = batch1.shape
    # The sum of products is one product of matrices side by side, in which nothing is rounded between.
    left, right = batch1.transpose(0, 1).reshape(rows, count * inner), batch2.reshape(count * inner, batch2.shape[2])
    return with_product("addbmm", input, left, right, mm, beta, alpha)


def _addbmm_(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """In-place variant of `weft.addbmm`. Alone of its kind it enlarges a tensor that has to be broadcast."""
    require_tensors("addbmm_", batch1=batch1, batch2=batch2)
    shape = (*batch1.shape[1:2], *batch2.shape[2:3])
    if self.shape != shape and self._view_base is None:
        broadcast_shapes("addbmm_", [self._array.shape, shape])
        view_inplace("addbmm_", self, lambda before: before.expand(shape).clone(), (), {})
    return write_inplace("addbmm_", self, addbmm, (batch1, batch2), {"beta": beta, "alpha": alpha})


add_members(addbmm_=with_error_context(_addbmm_))


@composite(out="exact")
def tensordot(a: Tensor, b: Tensor, dims: int | Sequence[Sequence[int]] | Tensor = 2) -> Tensor:
    """The product of two tensors summed over some dimensions of each.

    Parameters
    ----------
    a, b : Tensor
    dims : int or (sequence of int, sequence of int)
        How many last dimensions of a and first of b, or which ones.

    Returns
    -------
    Tensor, with the other dimensions of a, then those of b.

    Raises
    ------
    RuntimeError
        If the sizes of these dimensions differ.

    Examples
    --------
    >>> weft.tensordot(weft.ones(2, 3, 4), weft.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
    weft.Size([2, 5])
    """
    if isinstance(dims, TensorBase):
        dims = dims.tolist()
    require_tensors("tensordot", a=a, b=b)
    a_shape, b_shape = a._array.shape, b._array.shape
    if isinstance(dims, int):
        if dims < 0 or dims > builtins.min(a.ndim, b.ndim):
            raise RuntimeError(
                f"tensordot: tensordot expects dims >= 0 and at most the dimensions of both, but got dims={dims}"
            )
        dims = (tuple(range(a.ndim - dims, a.ndim)), tuple(range(dims)))
    first = wrap_dims("tensordot", [dims[0]] if isinstance(dims[0], int) else list(dims[0]), a.ndim)
    second = wrap_dims("tensordot", [dims[1]] if isinstance(dims[1], int) else list(dims[1]), b.ndim)
    if len(first) != len(second):
        raise RuntimeError("tensordot: both dimension lists should have same length")
    for i, j in zip(first, second):
        if a_shape[i] != b_shape[j]:
            if a_shape[i] == 1:
                b = b.sum(j, keepdim=True, dtype=b.dtype)
            elif b_shape[j] == 1:
                a = a.sum(i, keepdim=True, dtype=a.dtype)
            else:
                raise RuntimeError(
                    f"tensordot: contracted dimensions need to match, but first has size {a_shape[i]} in dim {i} and "
                    f"second has size {b_shape[j]} in dim {j}"
                )
    same_dtype("tensordot", a, b)
    left = [d for d in range(len(a_shape)) if d not in first]
    right = [d for d in range(len(b_shape)) if d not in second]
    a_sizes, b_sizes = [a_shape[d] for d in left], [b_shape[d] for d in right]
    inner_size = math.prod(a._array.shape[d] for d in first)
    rows, columns = math.prod(a_sizes), math.prod(b_sizes)
    product = matmul.op(
        arranged(a, [*left, *first], (rows, inner_size)), arranged(b, [*second, *right], (inner_size, columns))
    )
    shape = (*a_sizes, *b_sizes)
    return product if shape == (rows, columns) else product.reshape(shape)


def arranged(tensor: Any, order: list[int], shape: tuple[int, ...]) -> Any:
    """A tensor with its dimensions in another order and then of another shape; the tensor where it is so already."""
    if order != list(range(len(order))):
        tensor = tensor.permute(order)
    return tensor if tensor._array.shape == shape else tensor.reshape(shape)


@composite("kron", out=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: each element of ``input`` times all of ``other``, as blocks.

    Parameters
    ----------
    input, other : Tensor
        The one with fewer dimensions gets more of size 1 in front.

    Returns
    -------
    Tensor, whose sizes are the products of theirs.

    Examples
    --------
    >>> weft.kron(weft.eye(2), weft.tensor([[1.0, 2.0]]))
    tensor([[1., 2., 0., 0.],
            [0., 0., 1., 2.]])
    """
    require_tensors("kron", input=input, other=other)
    more = input._array.ndim - other._array.ndim
    if more:
        input = input.reshape((1,) * -more + tuple(input.shape))
        other = other.reshape((1,) * more + tuple(other.shape))
    return blocks.op(input, other)


@op(tensors="input other", name="kron", compute_dtype="float32", promotes=True, linear="input | other")
def blocks(input: Tensor, other: Tensor) -> Tensor:
    """`kron` of tensors of equally many dimensions."""
    return blocks.op(input, other)


@blocks.onnx
def _(graph, input, other):
    first = graph.Unsqueeze(input, graph.sizes(range(1, 2 * input.ndim, 2)))
    second = graph.Unsqueeze(other, graph.sizes(range(0, 2 * input.ndim, 2)))
    return graph.Reshape(graph.Mul(first, second), graph.Mul(graph.shape_of(input), graph.shape_of(other)))


def each_beside(sizes: Any, first: bool) -> list[int]:
    """A shape with a 1 behind each size, or before it."""
    return [n for size in sizes for n in ((size, 1) if first else (1, size))]


@blocks.kernel
def _(xp, input, other):
    products = input.reshape(each_beside(input.shape, True)) * other.reshape(each_beside(other.shape, False))
    return products.reshape([m * n for m, n in zip(input.shape, other.shape)])


def block_sums(grad: Any, factor: Any, shape: Any, other_shape: Any, first: bool) -> Any:
    """The gradient of one of the factors of `blocks`: times the other, summed over its dimensions."""
    if not shape:
        return grad * conj(factor)
    apart = grad.reshape([n for pair in zip(shape, other_shape) for n in pair])
    dims = list(range(1 if first else 0, 2 * len(shape), 2))
    return (apart * conj(factor).reshape(each_beside(factor.shape, not first))).sum(dims)


@blocks.gradient("input")
def _(grad, other, input_shape):
    return block_sums(grad, other, input_shape, other.shape, True)


@blocks.gradient("other")
def _(grad, input, other_shape):
    return block_sums(grad, input, input.shape, other_shape, False)


@blocks.vmap
def _(batch):
    input, other = (batch.spread(arg, flag) for arg, flag in zip(batch.args, batch.flags))
    a, b = tuple(input.shape[1:]), tuple(other.shape[1:])
    products = input.reshape(batch.size, *each_beside(a, True)) * other.reshape(batch.size, *each_beside(b, False))
    return products.reshape(batch.size, *[m * n for m, n in zip(a, b)])


@composite("trace", autocast="float32")
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal.

    Examples
    --------
    >>> weft.trace(weft.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got {input.ndim}-D of shape {list(input.shape)}")
    if input.dtype.name == "bool":
        raise NotImplementedError("trace: not implemented for 'Bool'; convert with .to(weft.int64)")
    return input.diagonal().sum()


@composite("cross", out="exact")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product in three dimensions.

    Parameters
    ----------
    input, other : Tensor
        Of size 3 along ``dim``; the other dimensions broadcast.
    dim : int, optional
        Default: the first of size 3, which is deprecated; `weft.linalg.cross` takes the last.

    Examples
    --------
    >>> weft.cross(weft.tensor([1, 0, 0]), weft.tensor([0, 1, 0]), dim=0)
    tensor([0, 0, 1])
    """
    require_tensors("cross", input=input, other=other)
    if dim is None:
        warn_deprecated("cross without dim", "linalg.cross")
        dim = next((d for d, size in enumerate(input.shape) if size == 3), None)
        if dim is None:
            raise RuntimeError("cross: no dimension of size 3 in input")
    return vector_product("cross", input, other, dim)


def vector_product(name: str, input: Any, other: Any, dim: int) -> Any:
    """The cross product of vectors with three elements along a dimension; the others broadcast."""
    same_dtype(name, input, other)
    if input.ndim != other.ndim:
        raise RuntimeError(f"{name}: inputs must have the same number of dimensions.")
    given, dim = dim, wrap_dim(name, dim, input.ndim)
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"{name}: inputs dimension {given} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
        )
    broadcast_shapes(name, [input._array.shape, other._array.shape])
    return crossed.op(input, other, dim - input.ndim)


@op(
    tensors="input other",
    result="same",
    compute_dtype="float32",
    name="linalg_cross",
    vmap="elementwise",
    linear="input | other",
)
def crossed(input: Tensor, other: Tensor, dim: int) -> Tensor:
    """The cross product of vectors along a dimension that is counted from the end."""
    return crossed.op(input, other, dim)


crossed.declaration.label = "LinalgCrossBackward0"


@crossed.kernel
def _(xp, input, other, dim):
    shape = xp.broadcast_shapes(input.shape, other.shape)
    made = xp.empty(shape, input.dtype)
    first, second = (xp.moveaxis(xp.broadcast_to(each, shape), dim, 0) for each in (input, other))
    product = xp.moveaxis(made, dim, 0)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        product[i] = first[j] * second[k] - first[k] * second[j]
    return made


@crossed.gradient("input")
def _(grad, other, input_shape, dim):
    return crossed.op(conj(other), grad, dim).sum_to_size(input_shape)


@crossed.gradient("other")
def _(grad, input, other_shape, dim):
    return crossed.op(grad, conj(input), dim).sum_to_size(other_shape)


@crossed.onnx
def _(graph, input, other, dim):
    def turned(value, places):
        return graph.Gather(value, graph.sizes(places), axis=dim - ndim + value.ndim)

    ndim = builtins.max(input.ndim, other.ndim)
    first = graph.Mul(turned(input, [1, 2, 0]), turned(other, [2, 0, 1]))
    return graph.Sub(first, graph.Mul(turned(input, [2, 0, 1]), turned(other, [1, 2, 0])))


# einsum


def in_plain_form(equation: Any = "", *operands: Any) -> tuple[Any, ...]:
    """The arguments of `einsum` with an equation, and an operand in each place."""
    if operands and not isinstance(equation, str):
        equation, operands = from_sublists(equation, operands)
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    return equation, *operands


@asked_with(in_plain_form)
@composite(autocast="half")
def einsum(equation: str | Tensor, *operands: Tensor | Sequence[Any]) -> Tensor:
    """Sums of products of elements, by Einstein's convention.

    Parameters
    ----------
    equation : str
        A letter for each dimension of each operand, and behind ``->`` those of the result; ``...`` stands for
        dimensions that broadcast. Letters that the result leaves out are summed over.
    operands : Tensor

    Examples
    --------
    >>> weft.einsum("ij,jk->ik", weft.ones(2, 3), weft.ones(3, 4)).shape
    weft.Size([2, 4])
    """
    if not operands:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    equation, *given = in_plain_form(equation, *operands)
    tensors = tuple(given)
    if not tensors:
        raise RuntimeError("einsum(): must provide at least one operand")
    ndims = tuple(each.ndim for each in tensors)
    plan = plain_product(equation, ndims) if len(tensors) == 2 else None
    if plan is not None and plan.fits(*tensors):
        return plan.run(*tensors)
    terms, result = parse_equation(equation, ndims)
    left: Any = None
    dims: list[Any] = []
    alone = [label for term in terms for label in set(term) if [label in each for each in terms].count(True) == 1]
    if all(each.dtype.category < 2 for each in tensors) and set(alone) - set(result):
        tensors = tuple(each.to(int64) for each in tensors)  # sums of integers are int64, as sum() gives them
    for number, (term, operand) in enumerate(zip(terms, tensors)):
        operand, term = diagonals(operand, term, number)
        later = set(result).union(*terms[number + 1 :]) if number + 1 < len(terms) else set(result)
        if left is None:
            left, dims = summed(operand, term, later)
        else:
            left, dims = pair_product(left, dims, operand, term, later, number)
    order = [dims.index(each) if each in dims else None for each in result]
    return left.permute([place for place in order if place is not None])


def from_sublists(first: Any, rest: Any) -> tuple[str, tuple[Any, ...]]:
    """The equation of the form with operands and lists of dimension numbers in turn."""
    values = [first, *rest]
    operands, lists = values[0::2], values[1::2]
    final = operands.pop() if len(operands) > len(lists) else None

    def letters(sublist: Any) -> str:
        return "".join(
            "..." if each is Ellipsis else (chr(65 + each) if each < 26 else chr(97 + each - 26)) for each in sublist
        )

    equation = ",".join(letters(each) for each in lists)
    return equation + ("" if final is None else "->" + letters(final)), tuple(operands)


class PairPlan:
    """How a product of two tensors with labels becomes one of (batches of) matrices, where nothing is summed before.

    Parameters
    ----------
    first, second, result : list
        The labels of the dimensions of both operands and of the result.
    """

    def __init__(self, first: list[Any], second: list[Any], result: list[Any]) -> None:
        self.shared = [(first.index(label), second.index(label)) for label in first if label in second]
        batch = [label for label in first if label in second and label in result]
        inner = [label for label in first if label in second and label not in result]
        rows = [label for label in first if label not in second]
        columns = [label for label in second if label not in first]
        self.left = [first.index(label) for label in (*batch, *rows, *inner)]
        self.right = [second.index(label) for label in (*batch, *inner, *columns)]
        self.batch, self.inner, self.rows, self.columns = len(batch), len(inner), len(rows), len(columns)
        self.order = [[*batch, *rows, *columns].index(label) for label in result]

    def fits(self, left: Any, right: Any) -> bool:
        """Whether the operands are of one floating dtype, and sizes of shared dimensions equal."""
        a, b = left._array.shape, right._array.shape
        return left._key is right._key and left._key.is_differentiable and all(a[i] == b[j] for i, j in self.shared)

    def run(self, left: Any, right: Any) -> Any:
        """The product."""
        a = [left._array.shape[dim] for dim in self.left]
        b = [right._array.shape[dim] for dim in self.right]
        batch, inner = a[: self.batch], math.prod(b[self.batch : self.batch + self.inner])
        rows, columns = a[self.batch : self.batch + self.rows], b[self.batch + self.inner :]
        first = arranged(left, self.left, (*batch, math.prod(rows), inner))
        second = arranged(right, self.right, (*batch, inner, math.prod(columns)))
        if batch and not rows and not columns and not left._key.dtype.is_half:
            return arranged(
                (first.squeeze(-2) * second.squeeze(-1)).sum(-1), self.order, tuple(a[i] for i in self.order)
            )
        product = matmul.op(first, second)
        shape = (*batch, *rows, *columns)
        product = product if product._array.shape == shape else product.reshape(shape)
        return arranged(product, self.order, tuple(shape[dim] for dim in self.order))


@lru_cache(256)
def plain_product(equation: str, ndims: tuple[int, ...]) -> PairPlan | None:
    """The plan of an equation of two operands; None where one has a diagonal, or labels that are summed alone."""
    (first, second), result = parse_equation(equation, ndims)
    labels = [*first, *second]
    for term, other in ((first, second), (second, first)):
        if any(term.count(label) > 1 or not (label in other or label in result) for label in term):
            return None
    return None if any(label not in labels for label in result) else PairPlan(first, second, result)


@lru_cache(256)
def parse_equation(equation: str, ndims: tuple[int, ...]) -> tuple[list[list[Any]], list[Any]]:
    """Labels of each operand's dimensions and of the result's; numbers stand for those of the ellipsis."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise RuntimeError(
            f"einsum(): {'more' if len(ndims) > len(terms) else 'fewer'} operands were provided than specified in "
            "the equation"
        )
    labelled, widest = [], 0
    for number, (term, ndim) in enumerate(zip(terms, ndims)):
        before, dots, after = term.partition("...")
        check_subscripts(before + after, bool(dots), f"operand {number}", equation)
        extra, count = ndim - len(before) - len(after), len(before) + len(after)
        if extra < 0 or (extra and not dots):
            wrong = "is more than" if dots else "does not match"
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({count}) {wrong} the number of dimensions "
                f"({ndim}) for operand {number}" + ("" if dots else " and no ellipsis was given")
            )
        widest = builtins.max(widest, extra if dots else 0)
        labelled.append([*before, *range(-extra, 0), *after] if dots else list(term))
    if arrow:
        before, dots, after = right.partition("...")
        check_subscripts(before + after, bool(dots), "output", equation)
        result: list[Any] = [*before, *range(-widest, 0), *after] if dots else list(right)
        used = set().union(*labelled)
        for label in result:
            if result.count(label) > 1:
                raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
            if label not in used:
                raise RuntimeError(
                    f"einsum(): output subscript {label} does not appear in the equation for any input operand"
                )
    else:
        letters = [label for term in labelled for label in term if isinstance(label, str)]
        result = [*range(-widest, 0), *sorted(label for label in set(letters) if letters.count(label) == 1)]
    return labelled, result


def check_subscripts(letters: str, dots: bool, where: str, equation: str) -> None:
    """The subscripts of one term, without its ellipsis, are letters.

    Raises
    ------
    RuntimeError
        If one is not.
    """
    for letter in letters:
        if letter == ".":
            ellipsis = "an ellipsis" if where != "output" else "an ellipsis (...)"
            raise RuntimeError(
                f"einsum(): found '.' for {where} for which {ellipsis} was already found"
                if dots
                else f"einsum(): found '.' for {where} that is not part of any {ellipsis.removeprefix('an ')}"
            )
        if not (letter.isascii() and letter.isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {equation.index(letter)} in the equation string, "
                f"subscripts must be in [a-zA-Z]; got {letter!r}"
            )


def diagonals(operand: Any, term: list[Any], number: int) -> tuple[Any, list[Any]]:
    """Repeated labels of one operand, of this number, mean its diagonal."""
    term = list(term)
    for label in set(term):
        while term.count(label) > 1:
            first = term.index(label)
            second = term.index(label, first + 1)
            if operand.shape[first] != operand.shape[second]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {number} but the sizes don't match, "
                    f"{operand.shape[second]} != "
                    f"{operand.shape[first]}"
                )
            operand = operand.diagonal(0, first, second)
            del term[second], term[first]
            term.append(label)
    return operand, term


def summed(operand: Any, term: list[Any], later: set[Any]) -> tuple[Any, list[Any]]:
    """Without the dimensions that nobody needs any more."""
    gone = [d for d, label in enumerate(term) if label not in later]
    if gone:
        operand = operand.sum(gone, dtype=operand.dtype)
    return operand, [label for label in term if label in later]


def pair_product(
    left: Any, a: list[Any], right: Any, b: list[Any], later: set[Any], number: int
) -> tuple[Any, list[Any]]:
    """The product of two labelled tensors, summed over labels that nobody needs, as one batched matrix product.

    The right one is the operand of the given number.
    """
    for label in set(a) & set(b):
        m, n = left.shape[a.index(label)], right.shape[b.index(label)]
        if m != n and 1 not in (m, n):
            raise RuntimeError(
                f"einsum(): subscript {label} has size {n} for operand {number} which does not broadcast with "
                f"previously seen size {m}"
            )
    left, a = summed(left, a, later | set(b))
    right, b = summed(right, b, later | set(a))
    # A label of size 1 on one side broadcasts: there it is left out.
    for label in list(set(a) & set(b)):
        m, n = left.shape[a.index(label)], right.shape[b.index(label)]
        if m != n:
            if m == 1:
                left, a = left.squeeze(a.index(label)), [each for each in a if each != label]
            else:
                right, b = right.squeeze(b.index(label)), [each for each in b if each != label]
    left, a = summed(left, a, later | set(b))
    right, b = summed(right, b, later | set(a))
    batch = [label for label in a if label in b and label in later]
    inner_labels = [label for label in a if label in b and label not in later]
    rows = [label for label in a if label not in b]
    columns = [label for label in b if label not in a]

    def grouped(tensor: Any, labels: list[Any], *groups: list[Any]) -> Any:
        sizes = [[tensor.shape[labels.index(each)] for each in group] for group in groups]
        tensor = tensor.permute([labels.index(each) for group in groups for each in group])
        return tensor.reshape([*sizes[0], math.prod(sizes[1]), math.prod(sizes[2])])

    same_dtype("einsum", left, right)
    product = matmul.op(grouped(left, a, batch, rows, inner_labels), grouped(right, b, batch, inner_labels, columns))
    shape = [left.shape[a.index(each)] for each in [*batch, *rows]] + [right.shape[b.index(each)] for each in columns]
    return product.reshape(shape), [*batch, *rows, *columns]
