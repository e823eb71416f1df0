"""The class of test cases that compare tensors: timm's tests of optimizers use it."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from weft._tensor.base import Tensor
from weft._tensor.interop import as_tensor
from weft.testing._comparison import assert_close

__all__ = ["TestCase"]


class TestCase(unittest.TestCase):
    """Test cases whose `assertEqual` compares tensors, arrays and numbers as `weft.testing.assert_close` does."""

    def assertEqual(  # type: ignore[override]  # PyTorch's
        self,
        x: Any,
        y: Any,
        msg: str | Callable[[str], str] | None = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
    ) -> None:
        """Assert that two values are equal, or close where they are tensors, arrays or numbers.

        Parameters
        ----------
        x, y : any
            Mappings and sequences are compared entry by entry. A tensor may be compared with an array, a list of
            numbers, or one number.
        msg : str or callable, optional
            Added to the error's message; or a function that makes it from the usual one.
        atol, rtol : float, optional
            Give both or neither.
        exact_dtype, exact_device, exact_layout, exact_stride : bool
            Whether these must be equal, too; the dtype only of two tensors or arrays.

        Raises
        ------
        AssertionError
            If they are not equal.
        """
        options: dict[str, Any] = {
            "atol": atol,
            "rtol": rtol,
            "equal_nan": equal_nan,
            "check_device": exact_device,
            "check_layout": exact_layout,
            "check_stride": exact_stride,
        }
        plain = super().assertEqual
        text = msg if msg is None or callable(msg) else f"{{}}\n{msg}".format

        def compare(first: Any, second: Any) -> None:
            if is_array(first) or is_array(second):
                both = is_array(first) and is_array(second)
                pair = as_tensors(first, second)
                assert_close(*pair, check_dtype=exact_dtype and both, msg=text, **options)
            elif isinstance(first, Mapping) and isinstance(second, Mapping):
                plain(first.keys(), second.keys(), msg)
                for key in first:
                    compare(first[key], second[key])
            elif is_sequence(first) and is_sequence(second):
                plain(len(first), len(second), msg)
                for one, other in zip(first, second):
                    compare(one, other)
            elif isinstance(first, Number) and isinstance(second, Number):
                assert_close(first, second, check_dtype=False, msg=text, **options)
            else:
                plain(first, second, msg)

        compare(x, y)


def is_array(value: Any) -> bool:
    """Whether a value has dimensions of its own."""
    return isinstance(value, (Tensor, np.ndarray))


def is_sequence(value: Any) -> bool:
    """Whether a value is compared entry by entry."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def as_tensors(first: Any, second: Any) -> tuple[Any, Any]:
    """Two tensors; a number is one of the other's shape."""
    one, other = (each if isinstance(each, Tensor) else as_tensor(each) for each in (first, second))
    if isinstance(first, Number):
        one = one.expand(other.shape)
    if isinstance(second, Number):
        other = other.expand(one.shape)
    return one, other
