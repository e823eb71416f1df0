"""The ways to reduce the losses of a batch to a number, as names and as the numbers that compiled operators take."""

from __future__ import annotations

from weft.library.checks import warn_caller

DEPRECATED_MEAN = "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead."
NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    if reduction not in NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction; it is 'none', 'mean' or 'sum'")
    if reduction == "elementwise_mean":
        warn_caller(DEPRECATED_MEAN)
    return NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that two truth values meant, of which None is True."""
    meant = "none" if reduce is False else "sum" if size_average is False else "mean"
    if emit_warning:
        warn_caller(f"size_average and reduce args will be deprecated, please use reduction={meant!r} instead.")
    return meant


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction that two truth values meant."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
