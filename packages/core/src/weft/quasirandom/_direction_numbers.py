"""The direction numbers of Joe and Kuo, from which Sobol sequences are made.

``joe_kuo.npz`` has their file new-joe-kuo-6.21201: a primitive polynomial for each dimension, whose bits are its
coefficients, and the initial numbers m_1, ..., m_degree, each odd and below 2**i. Of m_i the bits 1 to i - 1 are kept,
the lowest first, one dimension after the other from the second on.

References
----------
S. Joe and F. Y. Kuo, Constructing Sobol sequences with better two-dimensional projections, SIAM J. Sci. Comput. 30
(2008).
"""

from __future__ import annotations

import functools
import io
import pkgutil
from typing import Any

import numpy

__all__ = ["BITS", "DIMENSIONS", "direction_numbers"]

BITS = 30  # of a coordinate
DIMENSIONS = 21201


@functools.cache
def joe_kuo() -> tuple[Any, Any, Any]:
    """Each dimension's polynomial, its degree, and all bits of the initial numbers."""
    file = io.BytesIO(pkgutil.get_data(__package__, "joe_kuo.npz") or b"")
    with numpy.load(file) as arrays:
        polynomials = arrays["polynomials"].astype(numpy.int64)
        bits = numpy.unpackbits(arrays["initial"])
    degrees = numpy.frexp(polynomials.astype(numpy.float64))[1] - 1
    return polynomials, degrees, bits


def direction_numbers(dimension: int) -> Any:
    """The direction numbers of the first dimensions, an array of shape (dimension, BITS), each of `BITS` bits."""
    polynomials, degrees, bits = joe_kuo()
    numbers = numpy.ones((dimension, BITS), numpy.int64)
    begin = 0
    for row, degree in enumerate(degrees[:dimension].tolist()):
        for i in range(degree):
            powers = 1 << numpy.arange(1, i + 1)
            numbers[row, i] = 1 + (bits[begin : begin + i] * powers).sum()
            begin += i
    for degree in range(1, int(degrees[:dimension].max(initial=0)) + 1):
        rows = numpy.flatnonzero(degrees[:dimension] == degree)
        numbers[rows] = recurrence(numbers[rows], polynomials[rows], degree)
    return numbers << numpy.arange(BITS)[::-1]


def recurrence(numbers: Any, polynomials: Any, degree: int) -> Any:
    """The numbers of some dimensions of one degree, of which the first ``degree`` are given.

    m_j = 2 a_1 m_(j-1) ^ 4 a_2 m_(j-2) ^ ... ^ 2**degree m_(j-degree) ^ m_(j-degree), with the polynomial's
    coefficients a.
    """
    for j in range(degree, BITS):
        following = numbers[:, j - degree].copy()
        for k in range(1, degree + 1):
            coefficient = polynomials >> (degree - k) & 1
            following ^= coefficient * (numbers[:, j - k] << k)
        numbers[:, j] = following
    return numbers
