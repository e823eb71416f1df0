"""Norms and products of matrices by their older names; `weft.linalg` has them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft import linalg
from weft._errors import warn_deprecated
from weft._tensor.base import Tensor
from weft.ops._declare import composite
from weft.ops._geometry import require_tensors, wrap_dim
from weft.ops.matrices import expect


@composite(out="exact")
def frobenius_norm(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """The root of the sum of squares over some dimensions.

    Parameters
    ----------
    input : Tensor of floating-point or complex dtype
    dim : int or sequence of int
        The empty sequence: all.
    keepdim : bool
        Keep the reduced dimensions, with size 1.

    Raises
    ------
    RuntimeError
        If the input holds integers, or a dimension is named twice.

    Examples
    --------
    >>> weft.frobenius_norm(weft.tensor([[3.0, 0.0], [0.0, 4.0]]), (0, 1))
    tensor(5.)
    """
    return linalg.vector_norm(differentiable("frobenius_norm", input), 2, all_or(dim), keepdim)


@composite(out="exact")
def nuclear_norm(input: Tensor, dim: Sequence[int] | bool | None = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of matrices.

    Called as ``nuclear_norm(input, keepdim)`` or ``nuclear_norm(input, dim, keepdim)``.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
    dim : two ints, optional
        The dimensions of the matrices. Default: the last two.
    keepdim : bool
        Keep the reduced dimensions, with size 1.

    Examples
    --------
    >>> weft.nuclear_norm(weft.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(7.)
    """
    if isinstance(dim, bool):
        return linalg.matrix_norm(input, "nuc", (-2, -1), dim)
    return linalg.matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)


@composite()
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The p-norm over all dimensions but one, which keeps its place; over all for ``dim=-1``.

    Parameters
    ----------
    v : Tensor
    pow : int
        The exponent p.
    dim : int

    Examples
    --------
    >>> weft.norm_except_dim(weft.ones(2, 4))
    tensor([[2.],
            [2.]])
    """
    v = differentiable("norm_except_dim", v)
    if dim == -1:
        return linalg.vector_norm(v, pow)
    if not v.ndim:
        raise IndexError("norm_except_dim: a 0-dim tensor has no dimension to keep; reshape(1) it first")
    kept = wrap_dim("norm_except_dim", dim, v.ndim)
    if v.ndim == 1:
        return v.abs()
    return linalg.vector_norm(v, pow, [each for each in range(v.ndim) if each != kept], True)


@composite(out="exact", autocast="half")
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of several matrices, in the order that needs the fewest multiplications.

    `weft.linalg.multi_dot` is the newer name; it takes a list.
    """
    warn_deprecated("chain_matmul", "linalg.multi_dot")
    if not matrices:
        raise RuntimeError("chain_matmul: Expected one or more matrices; linalg.multi_dot takes a list of them")
    for place, each in enumerate(matrices):
        require_tensors("chain_matmul", **{f"matrices[{place}]": each})
        expect("chain_matmul", **{f"matrices[{place}]": (each, 2)})
    return matrices[0] if len(matrices) == 1 else linalg.multi_dot(matrices)


def all_or(dim: Any) -> Any:
    """Dimensions, or None for all, which older functions are given as an empty list."""
    return None if isinstance(dim, list | tuple) and not dim else dim


def differentiable(name: str, input: Any) -> Any:
    """The tensor, if it holds floating-point or complex numbers.

    Raises
    ------
    RuntimeError
        If it does not.
    """
    if not input._key.is_differentiable:
        raise RuntimeError(
            f"{name}: input dtype should be either floating point or complex. Got {input.dtype.scalar_type_name} "
            "instead; "
            "convert it with .float()"
        )
    return input
