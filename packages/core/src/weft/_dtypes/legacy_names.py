"""The names of PyTorch's older types, ``"torch.FloatTensor"`` and its like."""

from __future__ import annotations

from typing import Any

from weft._dtypes.dtypes import ALL, dtype, get_default_dtype

__all__ = ["SCALAR_TYPES", "named_type"]

SCALAR_TYPES = {each.scalar_type_name: each for each in ALL if each.name not in ("uint16", "uint32", "uint64")}


def named_type(name: str, given: Any) -> tuple[dtype, str | None]:
    """The dtype and the kind of device that the name of a legacy type of tensors stands for; None: left open.

    Raises
    ------
    ValueError
        If there is no such type.
    TypeError
        If it is no name.
    """
    if not isinstance(given, str):
        raise TypeError(f"{name}: dtype must be a type, str, or dtype object, not {type(given).__name__}")
    _, *where, last = given.split(".")
    scalar_type_name = last.removesuffix("Tensor")
    known = given.startswith(("torch.", "weft.")) and last.endswith("Tensor") and where in ([], ["cuda"])
    if known and not scalar_type_name:
        return get_default_dtype(), None
    if not known or scalar_type_name not in SCALAR_TYPES:
        raise ValueError(f"{name}: invalid type: {given!r}; pass a dtype such as weft.float32")
    return SCALAR_TYPES[scalar_type_name], where[0] if where else "cpu"
