"""Sparse tensors, for graphs and other matrices that are nearly all zeros: coordinates, or compressed rows or columns.

`weft.sparse_coo_tensor`, `weft.sparse_csr_tensor` and its like, and `Tensor.to_sparse` make them; products with dense
matrices, sums, selection, joining and what keeps zeros zero are here, and what else programs want they get from
`to_dense`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from weft._dtypes.dtypes import ALL

__all__ = [
    "CompressedTensor",
    "SparseTensor",
    "addmm",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
]

_HOMES = {
    "CompressedTensor": "_compressed",
    "SparseTensor": "_tensor",
    "check_sparse_tensor_invariants": "_invariants",
    "log_softmax": "_reductions",
    "sampled_addmm": "_compressed_products",
    "softmax": "_reductions",
    "spdiags": "_functions",
    "spsolve": "_compressed_products",
}
_LEGACY = {
    f"{each.scalar_type_name}Tensor": each for each in ALL if not each.name.startswith(("uint16", "uint32", "uint64"))
}


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Any:
    """Product of two matrices of which at least one is sparse.

    Parameters
    ----------
    mat1, mat2 : Tensor
    reduce : "sum", "mean", "amax" (or "max") or "amin" (or "min"), optional
        What is made of the terms of each element, of a CSR and a dense matrix. Default: their sum.

    Raises
    ------
    ValueError or RuntimeError
        If none is sparse, sizes or dtypes do not fit, or ``reduce`` is not there for the layouts.

    Examples
    --------
    >>> swap = weft.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 1.0], (2, 2))
    >>> weft.sparse.mm(swap, weft.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    expect_any("sparse.mm", mat1, mat2)
    if reduce is not None:
        return import_module("weft.sparse._compressed_products").product_reduced(mat1, mat2, reduce)
    return import_module("weft").mm(mat1, mat2)


def expect_any(name: str, *operands: Any) -> None:
    """Raise ValueError unless one of the operands is sparse, of any layout."""
    if not any("sparse" in each.layout.name for each in operands):
        raise ValueError(f"{name}: expected a sparse tensor, but got strided ones; see to_sparse()")


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * mat + alpha * (mat1 @ mat2)``, with a sparse ``mat1``."""
    expect_any("sparse.addmm", mat1)
    return import_module("weft").addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """Sum of a sparse tensor: of all elements a dense number, over some dimensions a sparse tensor of the others."""
    tensors().expect_sparse("sparse.sum", input)
    if dim is None:
        return input.coalesce()._inner_values.sum(dtype=dtype)
    total = input.sum(dim, dtype=dtype)
    return total.to(input.dtype) if dtype is None and total.is_sparse else total  # unlike `Tensor.sum`'s


def tensors() -> Any:
    """The module of `SparseTensor`: defining a class that overrides functions has a cost, paid on its first use."""
    return import_module("weft.sparse._tensor")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"weft.sparse.{_HOMES[name]}"), name)
    if name in _LEGACY:  # the legacy constructors: indices, values, size

        def constructor(*args: Any, **kwargs: Any) -> Any:
            return tensors().sparse_coo_tensor(*args, dtype=_LEGACY[name], **kwargs)

        constructor.__name__ = constructor.__qualname__ = name
        return constructor
    raise AttributeError(f"module 'weft.sparse' has no attribute {name!r}")
