"""Dtypes of PyTorch's that no tensor of weft's has: libraries list them in tables of names."""

from __future__ import annotations

from typing import Any

from weft._dtypes.dtypes import COMPLEX, INTEGER, dtype

__all__ = ["NamedDtype", "complex32", "qint32", "qint8", "quint2x4", "quint4x2", "quint8"]


class NamedDtype(dtype):
    """A dtype that has a name and a size, and no arrays."""

    def __init__(self, name: str, itemsize: int, category: int, scalar_type_name: str, instead: str) -> None:
        self.name = name
        self.itemsize = itemsize
        self.category = category
        self.scalar_type_name = scalar_type_name
        self.is_floating_point = self.is_float8 = False
        self.is_complex = category == COMPLEX
        self.is_signed = not name.startswith("quint")
        self._instead = instead

    @property
    def numpy(self) -> Any:  # type: ignore[override]  # it is what an array would need
        """Raise NotImplementedError: there are no arrays of it."""
        raise NotImplementedError(f"{self!r}: weft has no tensors of this dtype; {self._instead}")

    def __reduce__(self) -> str:
        return self.name

    @property
    def abbr(self) -> str:
        """The short name."""
        return {"complex32": "c32"}.get(self.name, self.name)


complex32 = NamedDtype("complex32", 4, COMPLEX, "ComplexHalf", "use weft.complex64")
qint8 = NamedDtype("qint8", 1, INTEGER, "QInt8", "keep weft.int8 beside a scale")
quint8 = NamedDtype("quint8", 1, INTEGER, "QUInt8", "keep weft.uint8 beside a scale")
qint32 = NamedDtype("qint32", 4, INTEGER, "QInt32", "keep weft.int32 beside a scale")
quint4x2 = NamedDtype("quint4x2", 1, INTEGER, "QUInt4x2", "keep weft.uint8 beside a scale")
quint2x4 = NamedDtype("quint2x4", 1, INTEGER, "QUInt2x4", "keep weft.uint8 beside a scale")
