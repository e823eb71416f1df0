"""CuPy's ufuncs: its loops decide the dtypes, and what has no loop is refused; NumPy's or SciPy's function computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from cupy_stand_in.array import BFLOAT16, ndarray, of_interface, unwrap, wrap
from cupy_stand_in.events import note
from cupy_stand_in.indices import as_numpy_index

DTYPES = {char: numpy.dtype(char) for char in "?bBhHiIlLqQefdFD"} | {"E": BFLOAT16}
KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}
SCANNED = ("add", "multiply")  # the only ufuncs with `reduce` and `accumulate`
SCATTERED = {  # those with `at`, and the dtypes that there are atomic operations for
    "add": "iIlLqQefd",
    "subtract": "iI",
    "maximum": "iIlLqQfd",
    "minimum": "iIlLqQfd",
    "bitwise_and": "iIlLqQ",
    "bitwise_or": "iIlLqQ",
    "bitwise_xor": "iIlLqQ",
}


class ufunc:
    """A ufunc with CuPy's loops.

    Parameters
    ----------
    name : str
        CuPy's name.
    described : str
        Its line of the table: ``"ufunc 2 1 ff->f dd->d"``.
    implementation : callable
        What computes, on NumPy's arrays.
    """

    def __init__(self, name: str, described: str, implementation: Callable[..., Any] | None) -> None:
        _, inputs, outputs, *self.types = described.split()
        self.name = self.__name__ = name
        self.nin, self.nout = int(inputs), int(outputs)
        self.nargs = self.nin + self.nout
        self.implementation = implementation
        self.loops = []
        for each in self.types:
            taken, given = each.split("->")
            if all(char in DTYPES for char in taken + given):
                self.loops.append(([DTYPES[char] for char in taken], [DTYPES[char] for char in given]))

    def __call__(self, *args: Any, out: Any = None, dtype: Any = None, casting: str = "same_kind", **other: Any) -> Any:
        note("call", self.name)
        if other:
            raise TypeError(f"{self.name}: Wrong arguments {sorted(other)}")
        if not self.nin <= len(args) <= self.nargs:
            raise TypeError(f"Wrong number of arguments for {self.name}")
        if len(args) > self.nin:
            out = args[self.nin :] if self.nout > 1 else args[self.nin]
        results = self.compute(args[: self.nin], dtype)
        if out is None:
            return wrap(results[0]) if self.nout == 1 else tuple(map(wrap, results))
        for target, result in zip(out if isinstance(out, tuple) else (out,), results):
            if target is not None:
                self.write(result, target, casting)
        return out

    def compute(self, args: tuple[Any, ...], dtype: Any) -> list[numpy.ndarray]:
        """The results, in the dtypes of the loop."""
        if self.implementation is None:
            raise NotImplementedError(f"the stand-in has nothing to compute cupy.{self.name} by")
        operands = [operand(self.name, each) for each in args]
        inputs, outputs = self.loop_giving(dtype) if dtype is not None else self.loop(operands)
        values = [numpy.asarray(value).astype(wanted, copy=False) for (value, _, _), wanted in zip(operands, inputs)]
        with numpy.errstate(all="ignore"):
            found = self.implementation(*values)
        found = found if isinstance(found, tuple) else (found,)
        return [numpy.asarray(each).astype(wanted, copy=False) for each, wanted in zip(found, outputs)]

    def loop(self, operands: list[tuple[Any, Any, Any]]) -> tuple[list[Any], list[Any]]:
        """The first loop that all operands can be cast to; Python's numbers give way to arrays of their kind."""
        numbers = [kind_of(each) for _, each, number in operands if number]
        arrays = [kind_of(each) for _, each, number in operands if not number]
        gives_way = bool(numbers and arrays and max(arrays) >= max(numbers))
        for inputs, outputs in self.loops:
            if all(fits(each, wanted, gives_way) for each, wanted in zip(operands, inputs)):
                return inputs, outputs
        names = tuple(str(each) for _, each, _ in operands)
        raise TypeError(f"Wrong type {names} of arguments for cupy_{self.name}")

    def loop_giving(self, dtype: Any) -> tuple[list[Any], list[Any]]:
        """The loop whose results have the dtype that was asked for."""
        for inputs, outputs in self.loops:
            if all(each == dtype for each in outputs):
                return inputs, outputs
        raise TypeError(f"Wrong type ({numpy.dtype(dtype)}) of arguments for cupy_{self.name}")

    def write(self, result: numpy.ndarray, target: Any, casting: Any) -> None:
        """Put a result where ``out`` says."""
        if not isinstance(target, ndarray):
            raise TypeError("return arrays must be cupy.ndarray")
        if not numpy.can_cast(result.dtype, target.dtype, casting):
            raise TypeError(
                f"output (typecode {result.dtype.char!r}) could not be coerced to provided output parameter (typecode "
                f"{target.dtype.char!r}) according to the casting rule '{casting}'"
            )
        if numpy.broadcast_shapes(result.shape, target.shape) != target.shape:
            raise ValueError(f"operands could not be broadcast together with shapes {result.shape} {target.shape}")
        with numpy.errstate(all="ignore"):
            unwrap(target)[...] = result

    def outer(self, A: Any, B: Any, **options: Any) -> Any:
        """Every element of one with every element of the other."""
        return self(A.reshape(A.shape + (1,) * B.ndim), B, **options)

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """Compute in place at positions that may repeat."""
        note("call", f"{self.name}.at")
        if self.name not in SCATTERED:
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        if a.dtype == BFLOAT16 or a.dtype.char not in SCATTERED[self.name]:
            raise TypeError(f"{self.name}.at has no atomic operation for {a.dtype}")
        index, _ = as_numpy_index(indices, unwrap(a), ndarray)
        self.implementation.at(a.host, index if isinstance(indices, tuple) else index[0], unwrap(b))  # type: ignore[union-attr]

    def scan(self, method: str, array: Any, axis: Any, dtype: Any, out: Any, **options: Any) -> Any:
        """`reduce` and `accumulate`, of those that have them."""
        note("call", f"{self.name}.{method}")
        if self.name not in SCANNED:
            raise NotImplementedError(f"`{self.name}.{method}` is not supported yet")
        result = getattr(self.implementation, method)(unwrap(array), axis, dtype, **options)
        if out is None:
            return wrap(result)
        unwrap(out)[...] = result
        return out

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """The ufunc between all elements along axes."""
        return self.scan("reduce", array, axis, dtype, out, keepdims=keepdims)

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """The same, with every step."""
        return self.scan("accumulate", array, axis, dtype, out)

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """The ufunc between the elements of slices."""
        note("call", f"{self.name}.reduceat")
        if self.name != "add":
            raise NotImplementedError(f"`{self.name}.reduceat` is not supported yet")
        return wrap(numpy.add.reduceat(unwrap(array), unwrap(indices), axis, dtype))


def operand(name: str, value: Any) -> tuple[Any, Any, Any]:
    """NumPy's value of an argument, its dtype, and the class of one of Python's numbers."""
    if isinstance(value, ndarray):
        return unwrap(value), value.dtype, None
    if isinstance(value, numpy.generic | bool):
        return value, numpy.dtype(type(value)), None
    if type(value) is int:
        fits_int64 = -(2**63) <= value < 2**63
        return value, numpy.dtype(int) if fits_int64 else numpy.min_scalar_type(value), int
    if type(value) in (float, complex):
        return value, numpy.dtype(type(value)), type(value)
    if hasattr(value, "__cuda_array_interface__"):
        return operand(name, of_interface(value))
    raise TypeError(f"{name}: Unsupported type {type(value)}")


def kind_of(dtype: Any) -> int:
    """The order of kinds: bool, integers, floating-point, complex."""
    return 2 if dtype == BFLOAT16 else KINDS[dtype.kind]


def fits(given: tuple[Any, Any, Any], wanted: Any, gives_way: bool) -> bool:
    """Whether an operand can be cast to the dtype of a loop."""
    _, dtype, number = given
    if numpy.can_cast(dtype, wanted):
        return True
    if not (number and gives_way):
        return False
    try:
        return bool(numpy.result_type(number(0), wanted) == wanted)
    except TypeError:
        return False
