"""Comparisons of two values of one kind, which test suites derive their own from: torchvision's one of PIL images.

`not_close_error_metas` walks through containers, and makes of each two values the first pair of the given kinds that
takes them. How values are compared says `weft.testing.assert_close`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

import weft
from weft.testing import _comparison

__all__ = [
    "BooleanPair",
    "ErrorMeta",
    "NonePair",
    "NumberPair",
    "ObjectPair",
    "Pair",
    "TensorLikePair",
    "UnsupportedInputs",
    "not_close_error_metas",
    "originate_pairs",
]

Id = tuple[Any, ...]


class UnsupportedInputs(Exception):
    """A kind of pair does not take two values: another may."""


class ErrorMeta(Exception):
    """What is wrong with two values, and where in their containers they are.

    Parameters
    ----------
    type : type of exception
    msg : str
    id : tuple
        The keys and indices that lead to the values.
    """

    def __init__(self, type: type[Exception], msg: str, *, id: Id = ()) -> None:
        super().__init__(msg)
        self.type = type
        self.msg = msg
        self.id = id

    def to_error(self, msg: str | Callable[[str], str] | None = None) -> Exception:
        """The exception to raise: with a message of one's own, or what a function makes of this one."""
        text = self.msg if not callable(msg) and msg is not None else self.msg + _comparison.place_of(self.id)
        return self.type(msg(text) if callable(msg) else msg if msg is not None else text)


class Pair(ABC):
    """Two values that are to be compared. What a kind does not take, it refuses as it is made.

    Parameters
    ----------
    actual, expected
    id : tuple
        Where they are.
    **unknown_parameters
        Options of other kinds.
    """

    def __init__(self, actual: Any, expected: Any, *, id: Id = (), **unknown_parameters: Any) -> None:
        self.actual = actual
        self.expected = expected
        self.id = id
        self._unknown_parameters = unknown_parameters

    @staticmethod
    def _inputs_not_supported() -> NoReturn:
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs: Any, cls: type | tuple[type, ...]) -> None:
        if not all(isinstance(each, cls) for each in inputs):
            Pair._inputs_not_supported()

    def _fail(self, type: type[Exception], msg: str, *, id: Id = ()) -> NoReturn:
        raise ErrorMeta(type, msg, id=id or self.id)

    def _passing(self, check: Callable[..., None], *args: Any) -> None:
        try:
            check(*args)
        except AssertionError as error:
            self._fail(AssertionError, str(error))

    @abstractmethod
    def compare(self) -> None:
        """Raise an `ErrorMeta` if the values are not close."""

    def extra_repr(self) -> Sequence[str | tuple[str, Any]]:
        """The options of this kind, as names of attributes or with their values: they are shown with the values."""
        return ()

    def __repr__(self) -> str:
        options = [each if isinstance(each, tuple) else (each, getattr(self, each)) for each in self.extra_repr()]
        shown = [("id", self.id), ("actual", self.actual), ("expected", self.expected), *options]
        lines = [f"{type(self).__name__}(", *(f"    {name}={value!s}," for name, value in shown), ")"]
        return "\n".join(lines)


class ObjectPair(Pair):
    """Two values of any type, compared by ``==``."""

    def compare(self) -> None:
        """Raise an `ErrorMeta` if they are not equal."""
        try:
            equal = bool(self.actual == self.expected)
        except Exception as error:
            raise ErrorMeta(
                ValueError, f"{self.actual} == {self.expected} failed with:\n{error}", id=self.id
            ) from error
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """Two values of which one is None: then the other is."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self) -> None:
        """Raise an `ErrorMeta` if one is not None."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """Two truth values, of Python or NumPy."""

    def __init__(self, actual: Any, expected: Any, *, id: Id = (), **other_parameters: Any) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return bool, np.bool_

    def _process_inputs(self, actual: Any, expected: Any, *, id: Id) -> Sequence[Any]:
        """The values as they are compared, if they are of this kind."""
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return [self._to_bool(each, id=id) for each in (actual, expected)]

    def _to_bool(self, value: Any, *, id: Id) -> bool:
        if not isinstance(value, self._supported_types):
            raise ErrorMeta(TypeError, f"Unknown boolean type {type(value)}.", id=id)
        return bool(value)

    def compare(self) -> None:
        """Raise an `ErrorMeta` if they differ."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class NumberPair(Pair):
    """Two numbers of Python or NumPy, equal to within a tolerance that comes from their types."""

    _TYPE_TO_DTYPE: ClassVar[dict[type, Any]] = {int: weft.int64, float: weft.float64, complex: weft.complex128}

    def __init__(
        self,
        actual: Any,
        expected: Any,
        *,
        id: Id = (),
        rtol: float | None = None,
        atol: float | None = None,
        equal_nan: bool = False,
        check_dtype: bool = False,
        **other_parameters: Any,
    ) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)
        dtypes = [self._TYPE_TO_DTYPE[type(each)].name for each in (actual, expected)]
        self.rtol, self.atol = _tolerances(dtypes, rtol, atol, id)
        self.equal_nan = equal_nan
        self.check_dtype = check_dtype

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return (*self._TYPE_TO_DTYPE, np.number)

    def _process_inputs(self, actual: Any, expected: Any, *, id: Id) -> Sequence[Any]:
        """The values as they are compared, if they are of this kind."""
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return [self._to_number(each, id=id) for each in (actual, expected)]

    def _to_number(self, value: Any, *, id: Id) -> Any:
        if not isinstance(value, self._supported_types):
            raise ErrorMeta(TypeError, f"Unknown number type {type(value)}.", id=id)
        return value.item() if isinstance(value, np.number) else value

    def compare(self) -> None:
        """Raise an `ErrorMeta` if they are not close, or of other types where these count."""
        attributes = ["dtype"] if self.check_dtype else []
        comparison = _comparison.Comparison(True, self.rtol, self.atol, self.equal_nan, attributes, False, None)
        self._passing(comparison.compare, self.actual, self.expected, ())

    def extra_repr(self) -> Sequence[str]:
        return "rtol", "atol", "equal_nan", "check_dtype"


_COMPRESSED = {
    weft.sparse_csr: ("crow_indices", "col_indices"),
    weft.sparse_csc: ("ccol_indices", "row_indices"),
    weft.sparse_bsr: ("crow_indices", "col_indices"),
    weft.sparse_bsc: ("ccol_indices", "row_indices"),
}


class TensorLikePair(Pair):
    """Two tensors, or what `weft.as_tensor` makes tensors of."""

    def __init__(
        self,
        actual: Any,
        expected: Any,
        *,
        id: Id = (),
        allow_subclasses: bool = True,
        rtol: float | None = None,
        atol: float | None = None,
        equal_nan: bool = False,
        check_device: bool = True,
        check_dtype: bool = True,
        check_layout: bool = True,
        check_stride: bool = False,
        **other_parameters: Any,
    ) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id, allow_subclasses=allow_subclasses)
        super().__init__(actual, expected, id=id, **other_parameters)
        self.rtol, self.atol = _tolerances([actual.dtype.name, expected.dtype.name], rtol, atol, id)
        self.equal_nan = equal_nan
        self.check_device, self.check_dtype = check_device, check_dtype
        self.check_layout, self.check_stride = check_layout, check_stride

    def _process_inputs(self, actual: Any, expected: Any, *, id: Id, allow_subclasses: bool) -> Sequence[Any]:
        """The values as they are compared, if they are of this kind."""
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or (not allow_subclasses and type(actual) is not type(expected)):
            self._inputs_not_supported()
        tensors = [self._to_tensor(each) for each in (actual, expected)]
        for tensor in tensors:
            self._check_supported(tensor, id=id)
        return tensors

    def _to_tensor(self, value: Any) -> Any:
        if isinstance(value, weft.Tensor):
            return value
        try:
            return weft.as_tensor(value)
        except Exception:
            self._inputs_not_supported()

    def _check_supported(self, tensor: Any, *, id: Id) -> None:
        if tensor.layout not in (weft.strided, weft.jagged, weft.sparse_coo, *_COMPRESSED):
            raise ErrorMeta(ValueError, f"Unsupported tensor layout {tensor.layout}", id=id)

    def compare(self) -> None:
        """Raise an `ErrorMeta` if they are not close, or differ in shape, device, dtype or layout where these count."""
        self._compare_attributes(self.actual, self.expected)
        if any(each.device.type == "meta" for each in (self.actual, self.expected)):
            return  # no values
        self._compare_values(*self._equalize_attributes(self.actual, self.expected))

    def _compare_attributes(self, actual: Any, expected: Any) -> None:
        checks = {"device": self.check_device, "dtype": self.check_dtype, "layout": self.check_layout}
        strided = actual.layout == expected.layout == weft.strided
        comparison = self._comparison([each for each in checks if checks[each]], self.check_stride and strided)
        self._passing(comparison.compare_attributes, actual, expected, ())

    def _comparison(self, attributes: list[str], check_stride: bool) -> _comparison.Comparison:
        return _comparison.Comparison(True, self.rtol, self.atol, self.equal_nan, attributes, check_stride, None)

    def _equalize_attributes(self, actual: Any, expected: Any) -> tuple[Any, Any]:
        """Both on the CPU, of one dtype and one layout."""
        if actual.device != expected.device:
            actual, expected = actual.cpu(), expected.cpu()
        if actual.dtype is not expected.dtype:
            wide = [weft.int64 if each.dtype in _UNSIGNED else each.dtype for each in (actual, expected)]
            dtype = weft.promote_types(*wide)
            actual, expected = actual.to(dtype), expected.to(dtype)
        if actual.layout != expected.layout:
            dense = [each if each.layout == weft.strided else each.to_dense() for each in (actual, expected)]
            actual, expected = dense
        return actual, expected

    def _compare_values(self, actual: Any, expected: Any) -> None:
        if actual.layout == weft.sparse_coo:
            if actual._nnz() != expected._nnz():
                text = f"The number of specified values in sparse COO tensors does not match: {actual._nnz()} != "
                self._fail(AssertionError, f"{text}{expected._nnz()}")
            parts = [("_indices", (0.0, 0.0)), ("_values", (self.rtol, self.atol))]
        elif actual.layout in _COMPRESSED:
            parts = [(name, (0.0, 0.0)) for name in _COMPRESSED[actual.layout]] + [("values", (self.rtol, self.atol))]
        elif actual.layout == weft.jagged:
            parts = [("values", (self.rtol, self.atol))]
        else:
            self._compare_elements(actual, expected, (self.rtol, self.atol))
            return
        for name, tolerances in parts:
            self._compare_elements(getattr(actual, name)(), getattr(expected, name)(), tolerances)

    def _compare_elements(self, actual: Any, expected: Any, tolerances: tuple[float, float]) -> None:
        self._passing(self._comparison([], False).compare_elements, actual, expected, (), tolerances)

    def extra_repr(self) -> Sequence[str]:
        return "rtol", "atol", "equal_nan", "check_device", "check_dtype", "check_layout", "check_stride"


_UNSIGNED = weft.uint16, weft.uint32, weft.uint64  # which have no common dtype with signed integers


def _tolerances(dtypes: Sequence[str], rtol: float | None, atol: float | None, id: Id) -> tuple[float, float]:
    if (rtol is None) != (atol is None):
        missing = "atol" if atol is None else "rtol"
        text = f"Both 'rtol' and 'atol' must be either specified or unspecified, but got no {missing}."
        raise ErrorMeta(ValueError, text, id=id)
    pairs = [_comparison.TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    if rtol is not None and atol is not None:
        return rtol, atol
    return max(each for each, _ in pairs), max(each for _, each in pairs)


def originate_pairs(
    actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]], id: Id = (), **options: Any
) -> Iterator[Pair]:
    """The pairs of two values: of all that their containers hold.

    Raises
    ------
    ErrorMeta
        If containers have other lengths or keys, or no kind takes two values.
    """
    if _comparison.is_sequence(actual) and _comparison.is_sequence(expected):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise ErrorMeta(AssertionError, text, id=id)
        items = [(index, actual[index], expected[index]) for index in range(len(actual))]
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            raise ErrorMeta(AssertionError, _comparison.describe_keys(actual, expected), id=id)
        items = [(key, actual[key], expected[key]) for key in actual]
    else:
        yield new_pair(actual, expected, pair_types, id, options)
        return
    for key, one, other in items:
        yield from originate_pairs(one, other, pair_types=pair_types, id=(*id, key), **options)


def new_pair(actual: Any, expected: Any, pair_types: Sequence[type[Pair]], id: Id, options: dict[str, Any]) -> Pair:
    """The pair of the first kind that takes two values."""
    for each in pair_types:
        try:
            return each(actual, expected, id=id, **options)
        except UnsupportedInputs:
            continue
    kinds = ", ".join(each.__name__ for each in pair_types)
    text = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}; tried: {kinds}"
    raise ErrorMeta(TypeError, text, id=id)


def not_close_error_metas(
    actual: Any,
    expected: Any,
    *,
    pair_types: Sequence[type[Pair]] = (ObjectPair,),
    **options: Any,
) -> list[ErrorMeta]:
    """What is wrong with two values, all of it; an empty list if they are close.

    Parameters
    ----------
    actual, expected
        Values, or sequences and mappings of them.
    pair_types : sequence of types
        The kinds of pairs, asked in this order.
    **options
        Of the pairs.

    Examples
    --------
    >>> found = not_close_error_metas([1, 2.0], [1, 2.5], pair_types=[NumberPair])
    >>> [each.id for each in found]
    [(1,)]
    """
    try:
        pairs = list(originate_pairs(actual, expected, pair_types=pair_types, **options))
    except ErrorMeta as error:
        return [error]
    found = []
    for pair in pairs:
        try:
            pair.compare()
        except ErrorMeta as error:
            found.append(error)
    return found
