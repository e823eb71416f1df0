"""Unresolved: an array whose conjugation or negation is postponed until its values are asked for."""

from __future__ import annotations

from typing import Any, Final

CONJUGATE: Final = 1
NEGATIVE: Final = 2


class Unresolved:
    """What a conjugate or negative view has in place of an array.

    It answers for the geometry of its memory, can be sliced and written to, and becomes an array of the values
    wherever an array library takes one (``__array__``). It is no array itself, so that code that reads memory cannot
    take what is stored for what is meant.

    Attributes
    ----------
    memory : array
        What is stored.
    bits : int
        ``CONJUGATE``, ``NEGATIVE``, or both.
    """

    def __init__(self, memory: Any, bits: int) -> None:
        self.memory = memory
        self.bits = bits

    @property
    def shape(self) -> Any:
        return self.memory.shape

    @property
    def strides(self) -> Any:
        return self.memory.strides

    @property
    def dtype(self) -> Any:
        return self.memory.dtype

    @property
    def ndim(self) -> Any:
        return self.memory.ndim

    @property
    def size(self) -> Any:
        return self.memory.size

    @property
    def itemsize(self) -> Any:
        return self.memory.itemsize

    @property
    def flags(self) -> Any:
        return self.memory.flags

    @property
    def base(self) -> Any:
        return self.memory.base

    @property
    def nbytes(self) -> Any:
        return self.memory.nbytes

    @property
    def T(self) -> Any:
        return Unresolved(self.memory.T, self.bits)

    def resolve(self) -> Any:
        """A new array of the values."""
        array = self.memory
        if self.bits & CONJUGATE:
            array = array.conj()
        if self.bits & NEGATIVE:
            array = -array
        return array if array.ndim else array[...]  # of arrays without dimensions NumPy makes scalars

    def stored(self, values: Any) -> Any:
        """What to store, so that these are the values: an array, or a number."""
        if isinstance(values, Unresolved) and values.bits == self.bits:
            return values.memory
        if isinstance(values, Unresolved):
            values = values.resolve()
        if self.bits & CONJUGATE and hasattr(values, "conjugate"):
            values = values.conjugate()
        if not self.bits & NEGATIVE:
            return values
        if hasattr(values, "astype"):  # bool has no negative
            return -values.astype(self.memory.dtype, copy=False)
        return -self.memory.dtype.type(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if copy is False:
            raise ValueError("an array without a copy: conjugation or negation is postponed in this memory")
        array = self.resolve()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __bool__(self) -> bool:
        return bool(self.memory)  # neither bit makes zero of a number

    def __len__(self) -> int:
        return len(self.memory)

    def __getitem__(self, key: Any) -> Any:
        return Unresolved(self.memory[key], self.bits)

    def __setitem__(self, key: Any, values: Any) -> None:
        self.memory[key] = self.stored(values)

    def reshape(self, *shape: Any) -> Any:
        return Unresolved(self.memory.reshape(*shape), self.bits)

    def transpose(self, *order: Any) -> Any:
        return Unresolved(self.memory.transpose(*order), self.bits)

    def swapaxes(self, first: Any, second: Any) -> Any:
        return Unresolved(self.memory.swapaxes(first, second), self.bits)

    def copy(self) -> Any:
        return Unresolved(self.memory.copy(), self.bits)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        return self.resolve().astype(dtype)

    def item(self) -> Any:
        return self.resolve().item()

    def tolist(self) -> Any:
        return self.resolve().tolist()

    def __repr__(self) -> str:
        return f"Unresolved({self.memory!r}, {self.bits})"


def memory_of(array: Any) -> Any:
    """The array that is in memory: itself, or what an `Unresolved` stands for."""
    return array.memory if isinstance(array, Unresolved) else array


def values_of(array: Any) -> Any:
    """An array of the values: itself, or a new one for an `Unresolved`."""
    return array.resolve() if isinstance(array, Unresolved) else array
