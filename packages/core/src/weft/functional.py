"""Functions of tensors by the module that PyTorch has them in; all of them are ``weft``'s own too."""

from __future__ import annotations

from typing import Any

import weft

NAMES = """
atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul
einsum istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive unravel_index
""".split()


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module 'weft.functional' has no attribute {name!r}")
    return getattr(weft, name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(NAMES))
