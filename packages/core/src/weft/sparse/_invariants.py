"""What has to hold of the parts of a compressed tensor, and the switch that programs set for it."""

from __future__ import annotations

import functools
import math
from typing import Any

import weft
from weft._tensor.layout import sparse_bsc, sparse_bsr, sparse_csr

__all__ = ["check_compressed", "check_sparse_tensor_invariants", "settled_size"]


def names_of(layout: Any) -> tuple[str, str]:
    """What the compressed and the plain indices are called."""
    return ("crow_indices", "col_indices") if layout in (sparse_csr, sparse_bsr) else ("ccol_indices", "row_indices")


def settled_size(compressed: Any, plain: Any, values: Any, layout: Any) -> Any:
    """The smallest size that the parts fit in.

    Raises
    ------
    RuntimeError
        If the indices have no dimensions.
    """
    check_dims(compressed, plain, values, layout)
    batch, blocks = plain.ndim - 1, 2 * (layout in (sparse_bsr, sparse_bsc))
    height, width = values.shape[batch + 1 : batch + 3] if blocks else (1, 1)
    major, minor = compressed.shape[-1] - 1, int(plain.max()) + 1 if plain.numel() else 0
    rows, columns = (major, minor) if layout in (sparse_csr, sparse_bsr) else (minor, major)
    return weft.Size((*plain.shape[:-1], rows * height, columns * width, *values.shape[batch + 1 + blocks :]))


def require(claim: bool, message: str) -> None:
    if not claim:
        raise RuntimeError(message)


def check_dims(compressed: Any, plain: Any, values: Any, layout: Any) -> None:
    """Refuse parts whose numbers of dimensions do not fit together."""
    first, second = names_of(layout)
    blocks = 2 * (layout in (sparse_bsr, sparse_bsc))
    require(compressed.ndim >= 1, f"{first} must have dimensionality >= 1 but got {compressed.ndim}")
    require(
        compressed.ndim == plain.ndim,
        f"{first} and {second} dimensionalities must be equal but got {compressed.ndim} and {plain.ndim}",
    )
    require(
        values.ndim >= plain.ndim + blocks,
        f"values must have dimensionality > sum of batch and block dimensionalities (={plain.ndim - 1} + {blocks}) but "
        f"got {values.ndim}",
    )


def check_compressed(compressed: Any, plain: Any, values: Any, size: tuple[int, ...], layout: Any) -> None:
    """Refuse parts that make no tensor of a layout.

    Raises
    ------
    RuntimeError
        If dimensions, sizes, dtypes or devices do not fit together, or indices are out of range or not in order.
    """
    check_structure(compressed, plain, values, size, layout)
    check_indices(compressed, plain, minor_size(values, size, plain, layout), layout)


def check_structure(compressed: Any, plain: Any, values: Any, size: tuple[int, ...], layout: Any) -> None:
    """Refuse parts whose sizes, dtypes or devices do not fit together; see `check_compressed`."""
    check_dims(compressed, plain, values, layout)
    check_sizes(compressed, plain, values, size, layout)
    first, second = names_of(layout)
    require(
        compressed.dtype is plain.dtype and compressed.dtype in (weft.int32, weft.int64),
        f"{first} and {second} must have the same dtype, int32 or int64, but got {compressed.dtype} and {plain.dtype}",
    )
    require(
        compressed.device == plain.device == values.device,
        f"device of {first} (={compressed.device}), {second} (={plain.device}) and values (={values.device}) must "
        "match",
    )


def minor_size(values: Any, size: tuple[int, ...], plain: Any, layout: Any) -> int:
    """How many columns (or rows), or of blocks, plain indices count."""
    batch, by_rows = plain.ndim - 1, layout in (sparse_csr, sparse_bsr)
    length = size[batch + by_rows]
    return length // values.shape[batch + 1 + by_rows] if layout in (sparse_bsr, sparse_bsc) else length


def check_sizes(compressed: Any, plain: Any, values: Any, size: tuple[int, ...], layout: Any) -> None:
    """Refuse parts whose sizes do not fit together."""
    first, second = names_of(layout)
    batch, blocks = plain.ndim - 1, 2 * (layout in (sparse_bsr, sparse_bsc))
    dense = values.ndim - batch - 1 - blocks
    require(
        len(size) == batch + 2 + dense,
        f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch} + 2 + {dense}) but "
        f"got {len(size)}",
    )
    require(min(size) >= 0 and math.prod(size) < 1 << 63, f"size {size}: no memory has that many elements")
    block = tuple(values.shape[batch + 1 : batch + 3]) if blocks else (1, 1)
    require(0 not in block, f"values: blocks must have elements, but their shape is {block}")
    for part, length, step in zip(("rows", "columns"), size[batch : batch + 2], block):
        require(length % step == 0, f"tensor {part} ({length}) must be divisible by the blocksize ({step})")
    groups = tuple(size[:batch])
    nnz = plain.shape[-1]
    by_rows = layout in (sparse_csr, sparse_bsr)
    major = size[batch] // block[0] if by_rows else size[batch + 1] // block[1]
    require(
        tuple(compressed.shape) == (*groups, major + 1),
        f"{first}.shape must be {(*groups, major + 1)} for a tensor of size {size}, but got {tuple(compressed.shape)}",
    )
    require(
        tuple(plain.shape) == (*groups, nnz), f"{second}.shape must be {(*groups, nnz)} but got {tuple(plain.shape)}"
    )
    expected = (*groups, nnz, *(block if blocks else ()), *size[batch + 2 :])
    require(tuple(values.shape) == expected, f"values.shape must be {expected} but got {tuple(values.shape)}")


def check_indices(compressed: Any, plain: Any, minor: int, layout: Any) -> None:
    """Refuse indices that are out of range or not in order."""
    first, second = names_of(layout)
    nnz = plain.shape[-1]
    require(bool((compressed[..., 0] == 0).all()), f"`{first}[..., 0] == 0` is not satisfied.")
    require(bool((compressed[..., -1] == nnz).all()), f"`{first}[..., -1] == nnz` is not satisfied (nnz is {nnz}).")
    counts = compressed.diff()
    require(
        bool(((counts >= 0) & (counts <= minor)).all()),
        f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= {minor}` is not satisfied.",
    )
    if not nnz:
        return
    require(bool(((plain >= 0) & (plain < minor)).all()), f"`0 <= {second} < {minor}` is not satisfied.")
    begins = plain.new_zeros((*plain.shape[:-1], nnz + 1), dtype=weft.bool)
    begins = begins.scatter(-1, compressed.to(weft.int64), True)[..., 1:-1]  # where a row begins, order begins anew
    require(
        bool(((plain.diff() > 0) | begins).all()),
        f"`{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i are sorted and distinct along the last "
        "dimension values` is not satisfied.",
    )


class check_sparse_tensor_invariants:
    """Ask for checks of the parts that sparse tensors are made of.

    weft always makes these checks, so that no kernel reads outside of its arrays: the setting is kept for programs
    that ask for it, and changes nothing. It is a context manager, a decorator, and has a switch.

    Parameters
    ----------
    enable : bool

    Examples
    --------
    >>> with weft.sparse.check_sparse_tensor_invariants():
    ...     weft.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self._before: list[bool] = []

    @staticmethod
    def is_enabled() -> bool:
        """Whether checks are asked for."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Ask for checks."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Ask for none."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> None:
        self._before.append(self.is_enabled())
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *exception: object) -> None:
        check_sparse_tensor_invariants._enabled = self._before.pop()

    def __call__(self, function: Any) -> Any:
        """Return the function, with the setting while it runs."""

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return called
