"""Tensors as text, in the format that PyTorch prints, and the options of that format."""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from weft import _display_name
from weft._devices.devices import backend_of
from weft._dtypes.dtypes import get_default_dtype
from weft._dtypes.float8 import SMALLEST_E8M0FNU
from weft._engine.unresolved import values_of

__all__ = ["get_printoptions", "printoptions", "set_printoptions", "tensor_repr", "tensor_text"]

Array = np.ndarray[Any, Any]


# Beyond these a column of fixed-point numbers says too little, and scientific notation is used.
LARGEST_RATIO: Final = 1000.0
LARGEST_FIXED: Final = 1.0e8
SMALLEST_FIXED: Final = 1.0e-4


# What `set_printoptions` sets; see there.
DEFAULTS: Final = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
PROFILES: Final[dict[str, dict[str, Any]]] = {
    "default": DEFAULTS,
    "short": {**DEFAULTS, "precision": 2, "edgeitems": 2},
    "full": {**DEFAULTS, "threshold": math.inf},
}

options = SimpleNamespace(**DEFAULTS)


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; what is not given stays, but for `sci_mode`.

    Parameters
    ----------
    precision : int, default 4
        Digits after the decimal point.
    threshold : int or math.inf, default 1000
        A tensor of more elements is printed by its edges, with ``...`` between.
    edgeitems : int, default 3
        How many elements at each edge are then printed.
    linewidth : int, default 80
        Columns at which lines are broken.
    profile : {"default", "short", "full"}, optional
        Values to start from: "short" has precision 2 and edgeitems 2, "full" prints every element.
    sci_mode : bool, optional
        Scientific notation always (True) or never (False); None, also where it is not given, chooses by the values.

    Raises
    ------
    ValueError
        If `profile` is not one of the three.
    TypeError
        If a number is not one.

    Examples
    --------
    >>> import weft
    >>> weft.set_printoptions(precision=2)
    >>> weft.tensor([1.2345])
    tensor([1.23])
    >>> weft.set_printoptions(profile="default")
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None and not isinstance(value, (int, float)):
            raise TypeError(f"set_printoptions: {name} must be a number, got {value!r}")
    if profile is not None:
        start = PROFILES.get(profile.lower())
        if start is None:
            raise ValueError(f"set_printoptions: profile must be one of {', '.join(PROFILES)}; got {profile!r}")
        vars(options).update(start)
    vars(options).update({name: value for name, value in given.items() if value is not None})
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the options in force, by the names of `set_printoptions`."""
    return dict(vars(options))


@contextlib.contextmanager
def printoptions(**changes: Any) -> Iterator[None]:
    """Change the options of `set_printoptions` inside a ``with`` block.

    Examples
    --------
    >>> import weft
    >>> with weft.printoptions(precision=1):
    ...     print(weft.tensor([0.25, 2.0]))
    tensor([0.2, 2.0])
    """
    before = get_printoptions()
    set_printoptions(**changes)
    try:
        yield
    finally:
        vars(options).update(before)


def tensor_repr(tensor: Any, name: str = "tensor") -> str:
    """Return the text of a tensor, which begins with a name; subclasses have theirs."""
    where, history = tensor.device, history_of(tensor)
    found = None if tensor._extra is None else tensor._extra.wrapped
    tangent = None if found is None else found.tangent
    return tensor_text(
        values_of(tensor._array),
        dtype=str(tensor.dtype),
        default_dtype=str(get_default_dtype()),
        device=None if where.type == "cpu" else str(where),
        requires_grad=tensor.requires_grad,
        grad_fn=history,
        tangent=None if tangent is None else tensor_repr(tangent),
        name=name,
        to_numpy=None if where.type == "meta" else backend_of(where).to_numpy,
    )


def history_of(tensor: Any) -> str | None:
    """The name of what made a tensor: None for a leaf, Invalid for a view whose history nobody knows any longer."""
    try:
        node = tensor.grad_fn
    except RuntimeError:
        return "Invalid"
    return None if node is None else str(node.label())


def tensor_text(
    array: Any,
    *,
    dtype: str,
    default_dtype: str = "weft.float32",
    device: str | None = None,
    requires_grad: bool = False,
    grad_fn: str | None = None,
    tangent: str | None = None,
    name: str = "tensor",
    to_numpy: Callable[[Any], Array] | None = np.asarray,
) -> str:
    """Return the text of a tensor, ``tensor([1., 2.])`` and the like.

    Parameters
    ----------
    array : array
        The values, of NumPy or of a backend's array library. Of a large one only the edges are taken.
    dtype, default_dtype : str
        As they are printed; `dtype` is left out where the values tell it.
    device : str, optional
        As it is printed, for devices other than the default one.
    requires_grad : bool
    grad_fn : str, optional
        The name of the function that made the tensor.
    tangent : str, optional
        The text of its derivative in forward mode.
    name : str
        What the text begins with.
    to_numpy : callable
        Makes a NumPy array of the backend's; None where there are no values, so that only the shape is told.
    """
    suffixes = [] if device is None else [f"device='{device}'"]
    told = {default_dtype}
    if to_numpy is None:
        suffixes.append(f"size={tuple(array.shape)}")
        body = "..."
    elif array.size == 0:
        if array.ndim != 1:
            suffixes.append(f"size={tuple(array.shape)}")
        body = "[]"
    else:
        complex_default = COMPLEX_OF.get(default_dtype.rpartition(".")[2], "complex64")
        told |= {f"{_display_name.name}.{plain}" for plain in ("int64", "bool", complex_default)}
        body = body_text(array, to_numpy, indent=len(name) + 1)
    if dtype not in told:
        suffixes.append(f"dtype={dtype}")
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return with_suffixes(f"{name}({body}", suffixes, indent=len(name) + 1)


COMPLEX_OF: Final = {"float64": "complex128", "float16": "complex32"}


def with_suffixes(text: str, suffixes: Sequence[str], indent: int) -> str:
    """Append what follows the values, on the last line where it fits, and the closing parenthesis."""
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > options.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


def body_text(array: Any, to_numpy: Callable[[Any], Array], indent: int) -> str:
    """Return the values in their brackets."""
    shortened = array.size > options.threshold
    values = to_numpy(edges(array) if shortened else array)
    deciding = None
    if values.dtype.itemsize < 4 and values.dtype.kind not in "biu":
        powers = values.dtype.name == "float8_e8m0fnu"
        values = values.astype(np.float32)
        deciding = values != SMALLEST_E8M0FNU if powers else None  # which stands for zero; and nan counts
    element, width = formatter(values) if deciding is None else float_formatter(values, deciding)
    skipped = [shortened and length > 2 * options.edgeitems for length in array.shape]
    return nested_text(values, skipped, indent, element, width)


def edges(array: Any) -> Any:
    """Return the elements that are printed of a large array: `edgeitems` at each end of every axis."""
    for axis, length in enumerate(array.shape):
        kept = options.edgeitems
        if length > 2 * kept:
            places = [*range(kept), *range(length - kept, length)]
            array = array[(slice(None),) * axis + (places,)]
    return array


def nested_text(values: Array, skipped: Sequence[bool], indent: int, element: Callable[[Any], str], width: int) -> str:
    """Return an array in nested brackets; `skipped` tells of each axis whether its middle was left out."""
    if values.ndim == 0:
        return element(values.item())
    if values.ndim == 1:
        return row_text([element(value) for value in values.tolist()], skipped[0], indent, width)
    parts = [nested_text(part, skipped[1:], indent + 1, element, width) for part in values]
    if skipped[0]:
        parts.insert(options.edgeitems, "...")
    return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def row_text(parts: list[str], skipped: bool, indent: int, width: int) -> str:
    """Return the elements of the last axis, broken into lines."""
    if skipped:
        parts.insert(options.edgeitems, " ...")
    per_line = max(1, (options.linewidth - indent) // (width + len(", ")))
    lines = [", ".join(parts[start : start + per_line]) for start in range(0, len(parts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def formatter(values: Array) -> tuple[Callable[[Any], str], int]:
    """Return the function that formats an element of `values`, and the width of what it returns."""
    if values.dtype.kind == "f":
        return float_formatter(values)
    if values.dtype.kind == "c":
        return complex_formatter(values)
    width = max(len(str(value)) for value in values.reshape(-1).tolist())
    return lambda value: f"{value!s:>{width}}", width


def complex_formatter(values: Array) -> tuple[Callable[[complex], str], int]:
    """Format real and imaginary parts each by their own range, as 1.0000-2.5000j."""
    real, real_width = float_formatter(values.real)
    imaginary, imaginary_width = float_formatter(values.imag)

    def element(value: complex) -> str:
        second = imaginary(value.imag).lstrip() + "j"
        return real(value.real) + (second if second[0] in "+-" else "+" + second)

    return element, real_width + imaginary_width + 1


def float_formatter(values: Array, deciding: Any = None) -> tuple[Callable[[float], str], int]:
    """Format whole numbers as 1., others with all digits of the precision; scientifically where ranges are wide.

    Only the finite numbers other than zero decide, or those that are asked for, about the notation as about the width.
    """
    deciding = values[np.isfinite(values) & (values != 0) if deciding is None else deciding].astype(np.float64)
    whole = bool((deciding == np.ceil(deciding)).all())
    scientific = False
    if deciding.size:
        scientific = spreads(np.abs(deciding), whole) if options.sci_mode is None else options.sci_mode
    precision = options.precision

    def element(value: float) -> str:
        if scientific:
            return f"{value:{width}.{precision}e}"
        if whole:
            return f"{value:.0f}{'.' if math.isfinite(value) else ''}".rjust(width)
        return f"{value:{width}.{precision}f}"

    width = 1
    width = max((len(element(value)) for value in deciding.tolist()), default=1)
    return element, width


def spreads(magnitudes: Array, whole: bool) -> bool:
    """Tell whether magnitudes lie too far apart, or too far out, for fixed-point notation."""
    largest, least = float(magnitudes.max()), float(magnitudes.min())
    if largest / least > LARGEST_RATIO or largest > LARGEST_FIXED:
        return True
    return not whole and least < SMALLEST_FIXED
