"""Comparisons of two values of one kind, which test suites derive their own from: torchvision's one of PIL images.

`not_close_error_metas` walks through containers, and makes of each two values the first pair of the given kinds that
takes them. How values are compared says `weft.testing.assert_close`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any, NoReturn

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

    @abstractmethod
    def compare(self) -> None:
        """Raise an `ErrorMeta` if the values are not close."""


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
        self._check_inputs_isinstance(actual, expected, cls=(bool, np.bool_))
        super().__init__(bool(actual), bool(expected), id=id, **other_parameters)

    def compare(self) -> None:
        """Raise an `ErrorMeta` if they differ."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class _ToleratedPair(Pair):
    """Two values that are equal to within a tolerance, of which `_comparison.Comparison` decides."""

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
        checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout}
        self._comparison = _comparison.Comparison(
            allow_subclasses, rtol, atol, equal_nan, [each for each in checks if checks[each]], check_stride, None
        )
        self.rtol, self.atol = self._comparison.tolerances(*self._dtype_names())
        self.equal_nan = equal_nan
        self.check_device, self.check_dtype = check_device, check_dtype
        self.check_layout, self.check_stride = check_layout, check_stride

    @abstractmethod
    def _process_inputs(self, actual: Any, expected: Any, *, id: Id, allow_subclasses: bool) -> tuple[Any, Any]:
        """The values as they are compared, if they are of this kind."""

    @abstractmethod
    def _dtype_names(self) -> tuple[str, str]:
        """Of the values, for their default tolerances."""

    def _passing(self, check: Callable[..., None], *args: Any) -> None:
        try:
            check(*args)
        except AssertionError as error:
            self._fail(AssertionError, str(error))


class NumberPair(_ToleratedPair):
    """Two numbers of Python or NumPy."""

    def _process_inputs(self, actual: Any, expected: Any, *, id: Id, allow_subclasses: bool) -> tuple[Any, Any]:
        self._check_inputs_isinstance(actual, expected, cls=(Number, np.number))
        return tuple(each.item() if isinstance(each, np.generic) else each for each in (actual, expected))  # type: ignore[return-value]

    def _dtype_names(self) -> tuple[str, str]:
        return str(np.asarray(self.actual).dtype), str(np.asarray(self.expected).dtype)

    def compare(self) -> None:
        """Raise an `ErrorMeta` if they are not close, or of other types where these count."""
        self._passing(self._comparison.compare, self.actual, self.expected, ())


class TensorLikePair(_ToleratedPair):
    """Two tensors, or what `weft.as_tensor` makes tensors of."""

    def _process_inputs(self, actual: Any, expected: Any, *, id: Id, allow_subclasses: bool) -> tuple[Any, Any]:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or (not allow_subclasses and type(actual) is not type(expected)):
            self._inputs_not_supported()
        return self._to_tensor(actual), self._to_tensor(expected)

    def _to_tensor(self, value: Any) -> Any:
        if isinstance(value, weft.Tensor):
            return value
        try:
            return weft.as_tensor(value)
        except Exception:
            self._inputs_not_supported()

    def _dtype_names(self) -> tuple[str, str]:
        return self.actual.dtype.name, self.expected.dtype.name

    def compare(self) -> None:
        """Raise an `ErrorMeta` if they are not close, or differ in shape, device, dtype or layout where these count."""
        self._compare_attributes(self.actual, self.expected)
        self._compare_values(*self._equalize_attributes(self.actual, self.expected))

    def _compare_attributes(self, actual: Any, expected: Any) -> None:
        self._passing(self._comparison.compare_attributes, actual, expected, ())

    def _equalize_attributes(self, actual: Any, expected: Any) -> tuple[Any, Any]:
        """Both on the CPU, and of one dtype."""
        if actual.device != expected.device:
            actual, expected = actual.cpu(), expected.cpu()
        if actual.dtype is not expected.dtype:
            dtype = weft.promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(dtype), expected.to(dtype)
        return actual, expected

    def _compare_values(self, actual: Any, expected: Any) -> None:
        self._passing(self._comparison.compare_elements, actual, expected, (), (self.rtol, self.atol))


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
