"""What the namespace can do, for libraries that ask before they call."""

from __future__ import annotations

from typing import Any

from weft import device, dtype, get_default_device, get_default_dtype, int64
from weft._dtypes.dtypes import NAMES
from weft.array_api.data_types import isdtype
from weft.plugins import loaded_backends

__all__ = ["__array_namespace_info__"]

STANDARD = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"  # no half precision
).split()


class Info:
    """Answers to a library's questions; `__array_namespace_info__` makes it."""

    def capabilities(self) -> dict[str, Any]:
        """What the standard leaves to libraries: NumPy's arrays have at most 64 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> device:
        """Where arrays are made that name no device."""
        return get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtype]:
        """The dtypes of arrays that name none, by kind."""
        real = get_default_dtype()
        return {
            "real floating": real,
            "complex floating": real.to_complex(),
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, dtype]:
        """The standard's dtypes by name, perhaps only those of some kinds."""
        return {name: NAMES[name] for name in STANDARD if kind is None or isdtype(NAMES[name], kind)}

    def devices(self) -> list[device]:
        """The CPU, and the devices of the other backends that have been used."""
        found = [device("cpu")]
        for each in loaded_backends():
            if each.device_type != "cpu":
                found += [device(each.device_type, index) for index in range(each.device_count())]
        return found


def __array_namespace_info__() -> Info:
    """What the namespace can do.

    Examples
    --------
    >>> from weft import array_api as xp
    >>> xp.__array_namespace_info__().default_dtypes()["real floating"]
    weft.float32
    """
    return Info()
