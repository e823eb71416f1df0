"""How sparse tensors are printed, in PyTorch's format."""

from __future__ import annotations

from typing import Any

import weft
from weft._devices.devices import backend_of
from weft._engine.unresolved import values_of
from weft._tensor.printing import COMPLEX_OF, body_text, with_suffixes

__all__ = ["compressed_repr", "coo_repr"]


def part_text(name: str, part: Any) -> str:
    """One of the parts, without what the whole says of itself."""
    begin = f"{name}=tensor("
    if not part.numel():
        return f"{begin}[], size={tuple(part.shape)})"
    array = values_of(part.detach()._array)
    return begin + body_text(array, backend_of(part.device).to_numpy, indent=len(f"tensor({begin}")) + ")"


def suffixes(tensor: Any) -> list[str]:
    """What follows the parts."""
    said = [f"size={tuple(tensor.shape)}", f"nnz={tensor._nnz()}"]
    if tensor.device.type != "cpu":
        said.insert(0, f"device='{tensor.device}'")
    default = weft.get_default_dtype()
    told = {default.name, COMPLEX_OF.get(default.name, "complex64")} | ({"int64", "bool"} if tensor._nnz() else set())
    if tensor.dtype.name not in told:
        said.append(f"dtype={tensor.dtype}")
    said.append(f"layout={tensor.layout}")
    if tensor.grad_fn is not None:
        said.append(f"grad_fn=<{tensor.grad_fn.label()}>")
    elif tensor.requires_grad:
        said.append("requires_grad=True")
    return said


def compressed_repr(tensor: Any) -> str:
    """The parts of a compressed tensor, one below the other, and then what it is."""
    by_rows = tensor.layout in (weft.sparse_csr, weft.sparse_bsr)
    first, second = ("crow_indices", "col_indices") if by_rows else ("ccol_indices", "row_indices")
    parts = [
        part_text(first, tensor._sparse_compressed),
        part_text(second, tensor._sparse_plain),
        part_text("values", tensor._inner_values),
    ]
    return with_suffixes("tensor(" + ",\n       ".join(parts), suffixes(tensor), indent=len("tensor("))


def coo_repr(tensor: Any) -> str:
    """Coordinates and values, and on a line of its own what the tensor is."""
    first, *others = suffixes(tensor)
    parts = [part_text("indices", tensor._sparse_indices), part_text("values", tensor._inner_values), first]
    return with_suffixes("tensor(" + ",\n       ".join(parts), others, indent=len("tensor("))
