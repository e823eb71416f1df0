"""Dtypes of PyTorch's that no array has, and its schemes of quantization: for tables, observers, quantized tensors."""

from __future__ import annotations

from typing import Any

from weft import _display_name
from weft._dtypes.dtypes import COMPLEX, INTEGER, dtype

__all__ = [
    "NamedDtype",
    "chalf",
    "complex32",
    "per_channel_affine",
    "per_channel_affine_float_qparams",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "qint32",
    "qint8",
    "qscheme",
    "quint2x4",
    "quint4x2",
    "quint8",
]


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
        raise NotImplementedError(f"{self!r}: weft has no arrays of this dtype; {self._instead}")

    def __reduce__(self) -> str:
        return self.name

    @property
    def abbr(self) -> str:
        """The short name."""
        return {"complex32": "c32"}.get(self.name, self.name)


complex32 = NamedDtype("complex32", 4, COMPLEX, "ComplexHalf", "use weft.complex64")
chalf = complex32
QUANTIZED = "make a tensor of it with weft.quantize_per_tensor(x, scale, zero_point, dtype)"
qint8 = NamedDtype("qint8", 1, INTEGER, "QInt8", QUANTIZED)
quint8 = NamedDtype("quint8", 1, INTEGER, "QUInt8", QUANTIZED)
qint32 = NamedDtype("qint32", 4, INTEGER, "QInt32", QUANTIZED)
quint4x2 = NamedDtype("quint4x2", 1, INTEGER, "QUInt4x2", "keep weft.uint8 beside a scale")
quint2x4 = NamedDtype("quint2x4", 1, INTEGER, "QUInt2x4", "keep weft.uint8 beside a scale")


class qscheme:
    """How integers stand for numbers: with a zero point (affine) or without, by one scale or one for each channel."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{_display_name.name}.{self.name}"

    def __reduce__(self) -> str:
        return self.name


per_tensor_affine = qscheme("per_tensor_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_affine = qscheme("per_channel_affine")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
