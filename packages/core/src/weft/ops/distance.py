"""Distances and similarities of vectors."""

from __future__ import annotations

from typing import Any

from weft._tensor.base import Tensor
from weft.autograd.grad_mode import no_grad
from weft.ops._declare import composite
from weft.ops._geometry import broadcast_shapes, wrap_dim
from weft.ops.creation import triu_indices
from weft.ops.joining import broadcast_tensors
from weft.ops.softmax import vector_norm


@composite()
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` along the last dimension.

    Parameters
    ----------
    x1, x2 : Tensor, shape (..., D)
        Broadcast to one shape.
    p : float
    eps : float
        Keeps the gradient finite where the two are equal.
    keepdim : bool
        The last dimension stays, of size 1.

    Examples
    --------
    >>> weft.pairwise_distance(weft.zeros(1, 2), weft.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    difference = x1 - x2 + eps
    return vector_norm.op(difference, float(p), (difference.ndim - 1,) if difference.ndim else (), keepdim)


@composite()
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension: ``sum(x1 * x2) / (norm(x1) * norm(x2))``.

    Parameters
    ----------
    x1, x2 : Tensor, floating
        Broadcast to one shape.
    dim : int
        It is removed.
    eps : float
        Norms below it count as it.

    Raises
    ------
    RuntimeError
        For integers, or shapes that do not broadcast.

    Examples
    --------
    >>> weft.cosine_similarity(weft.tensor([1.0, 0.0]), weft.tensor([[2.0, 0.0], [0.0, 2.0], [-1.0, 0.0]]))
    tensor([ 1.,  0., -1.])
    """
    if x1._key is not x2._key:
        common = (x1.new_empty(0) + x2.new_empty(0)).dtype
        x1, x2 = x1.to(common), x2.to(common)
    if not x1.dtype.is_floating_point:
        raise RuntimeError(
            f"cosine_similarity: expected common dtype to be floating point, yet common dtype is {x1.dtype}"
        )
    if x1._array.shape != x2._array.shape:
        x1, x2 = broadcast_tensors(x1, x2)
    dim = wrap_dim("cosine_similarity", dim, x1.ndim)
    first, second = length_of(x1, dim, eps), length_of(x2, dim, eps)
    # The second length divides the sum, which is far less to do; the first one's part keeps products from overflowing.
    return (x1 / first * x2).sum(dim) / (second.squeeze(dim) if x2.ndim else second)


def length_of(tensor: Any, dim: int, eps: float) -> Any:
    """The norms of vectors, but at least eps; that does not stop their gradients."""
    length = vector_norm.op(tensor, 2.0, (dim,) if tensor.ndim else (), True)
    with no_grad():
        least = length.clamp_min(eps) - length
    return length + least


def check_vectors(name: str, x1: Any, x2: Any, p: float) -> None:
    if not (x1.dtype.is_floating_point and x2.dtype.is_floating_point):
        raise RuntimeError(f"{name}: only supports floating-point dtypes, got {x1.dtype} and {x2.dtype}")
    if x1.ndim < 2 or x2.ndim < 2:
        raise RuntimeError(
            f"{name}: only supports at least 2D tensors, X1 got: {list(x1.shape)}, X2 got: {list(x2.shape)}"
        )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"{name}: X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}; got "
            f"{list(x1.shape)} and {list(x2.shape)}"
        )
    if p < 0:
        raise RuntimeError(f"{name}: only supports non-negative p values, got p={p}")


@composite(autocast="float32")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norm distances of each vector of ``x1`` to each of ``x2``.

    Parameters
    ----------
    x1 : Tensor, shape (..., P, M)
    x2 : Tensor, shape (..., R, M)
    p : float
        Not negative; 0 counts the elements that differ, infinity takes the largest difference.
    compute_mode : str
        Whether Euclidean distances come from a matrix product, which is faster and less exact: by
        default where P or R is above 25.

    Returns
    -------
    Tensor, shape (..., P, R).

    Examples
    --------
    >>> weft.cdist(weft.tensor([[0.0, 0.0]]), weft.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    check_vectors("cdist", x1, x2, p)
    if x1.dtype is not x2.dtype:
        raise RuntimeError(
            f"cdist: expected scalar type {x1.dtype.scalar_type_name} but found {x2.dtype.scalar_type_name}"
        )
    modes = {
        "use_mm_for_euclid_dist_if_necessary": x1.shape[-2] > 25 or x2.shape[-2] > 25,
        "use_mm_for_euclid_dist": True,
        "donot_use_mm_for_euclid_dist": False,
    }
    if compute_mode not in modes:
        raise ValueError(
            f"cdist: {compute_mode!r} is not a valid value for compute_mode; expected one of {', '.join(modes)}"
        )
    broadcast_shapes("cdist", [x1._array.shape[:-2], x2._array.shape[:-2]])
    if p == 2 and modes[compute_mode] and x1.shape[-1]:
        return euclidean(x1, x2)
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return vector_norm.op(difference, float(p), (difference.ndim - 1,), False)


def euclidean(x1: Any, x2: Any) -> Any:
    """Distances by ``|a|**2 + |b|**2 - 2 a b``; both are centred first, or large offsets would cancel."""
    with no_grad():
        centre = x1.mean(-2, keepdim=True) if x1.shape[-2] else 0
    x1, x2 = x1 - centre, x2 - centre
    square = x1.square().sum(-1, keepdim=True) + x2.square().sum(-1, keepdim=True).mT - 2 * (x1 @ x2.mT)
    zero = square <= 0
    return square.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


@composite()
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances of each pair of rows, in the order of the upper triangle.

    Parameters
    ----------
    input : Tensor, shape (N, M)
    p : float
        As for `cdist`.

    Returns
    -------
    Tensor, shape (N * (N - 1) / 2,)

    Examples
    --------
    >>> weft.pdist(weft.tensor([[0.0], [1.0], [5.0]]))
    tensor([1., 5., 4.])
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist: only supports 2D tensors, got: {input.ndim}D of shape {list(input.shape)}")
    check_vectors("pdist", input, input, p)
    rows = input.shape[0]
    first, second = triu_indices(rows, rows, 1, device=input.device).unbind()
    difference = input.index_select(0, first) - input.index_select(0, second)
    return vector_norm.op(difference, float(p), (1,), False)
