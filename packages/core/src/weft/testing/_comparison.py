"""Comparison of tensors with tolerances that come from their dtype."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from numbers import Number
from typing import Any

import numpy as np

import weft

# (rtol, atol) by dtype; whatever is not here is compared exactly.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}

NUMBERS = Number, np.bool_
Message = str | Callable[[str], str] | None


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Assert that two values are equal to within ``atol + rtol * abs(expected)``, element by element.

    Parameters
    ----------
    actual, expected : Tensor, number, NumPy array, None, or sequences and mappings of these
    allow_subclasses : bool
        If False, the two must be of the same type.
    rtol, atol : float
        Give both or neither. By default the larger ones of the two dtypes: 1.3e-6 and 1e-5 for float32, 1e-7 and
        1e-7 for float64, 1e-3 and 1e-5 for float16, 1.6e-2 and 1e-5 for bfloat16, 0 for integers and bool.
    equal_nan : bool
        Whether NaN equals NaN.
    check_device, check_dtype, check_layout, check_stride : bool
        Whether these must be equal, too.
    msg : str or callable
        The error's message, or a function that makes it from the usual one.

    Raises
    ------
    AssertionError
        If they are not close; the message has the number and the place of the largest differences.
    ValueError
        If one tolerance is given without the other.
    TypeError
        If values of these types cannot be compared.

    Examples
    --------
    >>> assert_close(weft.tensor([1.0, 2.0]) / 3, weft.tensor([1 / 3, 2 / 3]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            f"assert_close: give both rtol and atol, or neither; got no {'atol' if atol is None else 'rtol'}"
        )
    attributes = [
        name for name, wanted in (("device", check_device), ("dtype", check_dtype), ("layout", check_layout)) if wanted
    ]
    comparison = Comparison(allow_subclasses, rtol, atol, equal_nan, attributes, check_stride, msg)
    comparison.compare(*_unwrap_dtensor_for_comparison(actual, expected), ())


def _unwrap_dtensor_for_comparison(actual: Any, expected: Any) -> tuple[Any, Any]:
    """Return what two values are compared by: of tensors distributed alike, this process's parts."""
    distributed = sys.modules.get("weft.distributed.tensor")  # where it is not loaded, there are none
    if distributed is None:
        return actual, expected
    kinds = [isinstance(value, distributed.DTensor) for value in (actual, expected)]
    if not any(kinds):
        return actual, expected
    if not all(kinds):
        raise TypeError(
            "assert_close: comparing a DTensor to a non-DTensor is ambiguous; compare its .full_tensor(), or its "
            ".to_local() with a part"
        )
    for name, words in (("placements", "placements"), ("device_mesh", "device meshes")):
        one, other = getattr(actual, name), getattr(expected, name)
        if one != other:
            raise AssertionError(f"DTensor {words} do not match: {one} != {other}")
    return actual.to_local(), expected.to_local()


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: Message = "",
) -> None:
    """Assert that two values are equal to within a tolerance, whatever their dtypes; `assert_close` took its place.

    Parameters
    ----------
    actual, expected : Tensor, number or sequence of numbers
    rtol, atol : float
        Give both or neither. By default as in `assert_close`.
    equal_nan : bool
        Whether NaN equals NaN.
    msg : str or callable
    """
    warnings.warn("assert_allclose is deprecated; use weft.testing.assert_close instead", FutureWarning, stacklevel=2)
    tensors = [each if isinstance(each, weft.Tensor) else weft.tensor(each) for each in (actual, expected)]
    assert_close(
        *tensors, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, msg=msg or None
    )


class Comparison:
    """The options of one call, and the walk through containers."""

    def __init__(
        self,
        allow_subclasses: bool,
        rtol: float | None,
        atol: float | None,
        equal_nan: bool,
        attributes: list[str],
        check_stride: bool,
        msg: Message,
    ) -> None:
        self.allow_subclasses = allow_subclasses
        self.rtol = rtol
        self.atol = atol
        self.equal_nan = equal_nan
        self.attributes = attributes
        self.check_stride = check_stride
        self.msg = msg

    def compare(self, actual: Any, expected: Any, path: tuple[Any, ...]) -> None:
        if not self.allow_subclasses and type(actual) is not type(expected):
            raise self.incomparable(actual, expected)
        if isinstance(actual, weft.Tensor) and isinstance(expected, weft.Tensor):
            self.compare_tensors(actual, expected, path)
        elif isinstance(actual, NUMBERS) and isinstance(expected, NUMBERS):
            kinds = [type(each.item() if isinstance(each, np.generic) else each) for each in (actual, expected)]
            if "dtype" in self.attributes and kinds[0] is not kinds[1]:
                self.fail(f"The (d)types do not match: {kinds[0]} != {kinds[1]}.", path)
            self.compare_values(np.asarray(actual), np.asarray(expected), "Scalars", path)
        elif isinstance(actual, np.ndarray) and isinstance(expected, np.ndarray):
            self.compare_tensors(weft.from_numpy(actual), weft.from_numpy(expected), path)
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            self.compare_mappings(actual, expected, path)
        elif is_sequence(actual) and is_sequence(expected):
            if len(actual) != len(expected):
                self.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
            for index, pair in enumerate(zip(actual, expected)):
                self.compare(*pair, (*path, index))
        elif actual is not None or expected is not None:
            raise self.incomparable(actual, expected)

    def compare_mappings(self, actual: Mapping[Any, Any], expected: Mapping[Any, Any], path: tuple[Any, ...]) -> None:
        if set(actual) != set(expected):
            self.fail(describe_keys(actual, expected), path)
        for key in actual:
            self.compare(actual[key], expected[key], (*path, key))

    def compare_tensors(self, actual: Any, expected: Any, path: tuple[Any, ...]) -> None:
        self.compare_attributes(actual, expected, path)
        self.compare_elements(actual, expected, path, self.tolerances(actual.dtype.name, expected.dtype.name))

    def compare_attributes(self, actual: Any, expected: Any, path: tuple[Any, ...]) -> None:
        for name in ("shape", *self.attributes):
            a, b = getattr(actual, name), getattr(expected, name)
            if a != b:
                self.fail(f"The values for attribute {name!r} do not match: {a} != {b}.", path)
        if self.check_stride and actual.stride() != expected.stride():
            a, b = actual.stride(), expected.stride()
            self.fail(f"The values for attribute 'stride()' do not match: {a} != {b}.", path)

    def compare_elements(
        self, actual: Any, expected: Any, path: tuple[Any, ...], tolerances: tuple[float, float]
    ) -> None:
        kind = "Scalars" if actual.ndim == 0 else "Tensor-likes"
        self.compare_values(as_numpy(actual), as_numpy(expected), kind, path, tolerances)

    def tolerances(self, *dtypes: str) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        pairs = [TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(rtol for rtol, _ in pairs), max(atol for _, atol in pairs)

    def compare_values(
        self,
        actual: np.ndarray[Any, Any],
        expected: np.ndarray[Any, Any],
        kind: str,
        path: tuple[Any, ...],
        tolerances: tuple[float, float] | None = None,
    ) -> None:
        rtol, atol = tolerances or self.tolerances(actual.dtype.name, expected.dtype.name)
        with np.errstate(all="ignore"):
            if rtol == atol == 0:
                close = actual == expected
                if self.equal_nan:
                    close = close | ((actual != actual) & (expected != expected))
            else:
                close = np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
            if not np.all(close):
                self.fail(describe(actual, expected, close, kind, rtol, atol), path)

    def fail(self, message: str, path: tuple[Any, ...]) -> None:
        message += place_of(path)
        if self.msg is not None:
            message = self.msg(message) if callable(self.msg) else self.msg
        raise AssertionError(message)

    @staticmethod
    def incomparable(actual: Any, expected: Any) -> TypeError:
        return TypeError(
            f"assert_close: cannot compare {type(actual)} with {type(expected)}; "
            "both must be tensors, numbers, NumPy arrays, None, or containers of these"
        )


def place_of(path: tuple[Any, ...]) -> str:
    """What a message says of where in containers two values are; nothing of those that are in none."""
    return f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}" if path else ""


def describe_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any]) -> str:
    """Which keys one of two mappings has and the other has not."""
    missing = [key for key in expected if key not in actual]
    additional = [key for key in actual if key not in expected]
    return (
        "The keys of the mappings do not match:\n"
        f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {additional}"
    )


def as_numpy(tensor: Any) -> np.ndarray[Any, Any]:
    """The values of a tensor of any device and dtype, in a dtype of NumPy's own that holds them exactly."""
    tensor = tensor.detach().cpu()
    if tensor.dtype.is_complex:
        tensor = tensor.to(weft.complex128)
    elif tensor.dtype.is_floating_point:
        tensor = tensor.to(weft.float64)
    array: np.ndarray[Any, Any] = tensor.numpy(force=True)
    return array


def describe(
    actual: np.ndarray[Any, Any],
    expected: np.ndarray[Any, Any],
    close: Any,
    kind: str,
    rtol: float,
    atol: float,
) -> str:
    """How many elements differ, and where they differ most."""
    exact = rtol == atol == 0
    title = f"{kind} are not {'equal' if exact else 'close'}!\n\n"
    wide = np.complex128 if actual.dtype.kind == "c" or expected.dtype.kind == "c" else np.float64
    absolute = np.abs(actual.astype(wide) - expected.astype(wide))
    absolute = np.where(close, 0, absolute)
    relative = np.where(close, 0, absolute / np.abs(expected.astype(wide)))
    allowed = ("", "") if exact else (f" (up to {atol} allowed)", f" (up to {rtol} allowed)")
    if actual.ndim == 0:
        return (
            f"{title}Expected {expected.item()} but got {actual.item()}.\n"
            f"Absolute difference: {absolute.item()}{allowed[0]}\n"
            f"Relative difference: {relative.item()}{allowed[1]}"
        )
    wrong = int(np.sum(~close))
    lines = [f"Mismatched elements: {wrong} / {actual.size} ({wrong / actual.size:.1%})"]
    for name, difference, limit in (("absolute", absolute, allowed[0]), ("relative", relative, allowed[1])):
        place = np.unravel_index(int(np.argmax(difference)), difference.shape)
        where = tuple(int(index) for index in place)
        lines.append(f"Greatest {name} difference: {float(difference[place])} at index {where}{limit}")
    return title + "\n".join(lines)


def is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def __getattr__(name: str) -> Any:
    """The pairs, which suites of tests derive their own comparisons from."""
    pairs = import_module("weft.testing._pairs")
    if name not in pairs.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(pairs, name)
