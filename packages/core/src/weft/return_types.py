"""The types of named results: ``weft.return_types.max`` has ``values`` and ``indices``.

They are named tuples, made when first asked for.

Examples
--------
>>> weft.tensor([[1, 5, 2]]).max(1)
weft.return_types.max(
values=tensor([5]),
indices=tensor([1]))
>>> isinstance(weft.tensor([[1, 5, 2]]).max(1), weft.return_types.max)
True
"""

from __future__ import annotations

from typing import Any

from weft._tensor.named_results import named

FIELDS = {
    "values indices": "cummax cummin kthvalue max median min mode nanmedian sort topk",
    "min max": "aminmax",
    "mantissa exponent": "frexp",
    "a tau": "geqrf",
    "hist bin_edges": "histogram histogramdd",
    "L info": "linalg_cholesky_ex",
    "eigenvalues eigenvectors": "linalg_eig linalg_eigh",
    "inverse info": "linalg_inv_ex",
    "LD pivots": "linalg_ldl_factor",
    "LD pivots info": "linalg_ldl_factor_ex",
    "solution residuals rank singular_values": "linalg_lstsq",
    "P L U": "linalg_lu lu_unpack",
    "LU pivots": "linalg_lu_factor",
    "LU pivots info": "linalg_lu_factor_ex",
    "Q R": "linalg_qr qr",
    "sign logabsdet": "linalg_slogdet slogdet",
    "result info": "linalg_solve_ex",
    "U S Vh": "linalg_svd",
    "U S V": "svd",
    "solution cloned_coefficient": "triangular_solve",
}


def __getattr__(name: str) -> Any:
    for fields, names in FIELDS.items():
        if name.removesuffix("_out") in names.split():  # PyTorch has a second type for calls with out=
            return named(name, fields)
    if name == "all_return_types":
        return [__getattr__(each) for each in " ".join(FIELDS.values()).split()]
    raise AttributeError(f"module 'weft.return_types' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(" ".join(FIELDS.values()).split()))
