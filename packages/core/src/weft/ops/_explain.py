"""Exceptions of Python's and of the array library's own, put into the words of the op that they came out of.

Each op checks its arguments and says what is wrong. What it does not foresee (text where a number belongs, a list where
a tensor does, an array larger than memory) ends in an exception that knows nothing of the op: "'list' object has no
attribute 'ndim'". Here it gets the op's name, the argument's, and PyTorch's type. The exceptions of the op itself, and
those of functions that the user gave it, pass unchanged.
"""

from __future__ import annotations

import re
from typing import Any

from weft._engine.fast_paths import OutOfRange
from weft._engine.tensor import TensorBase
from weft._errors import OutOfMemoryError
from weft._plugins.access import plugins

OURS = re.compile(
    r"[\w.<>]+(\(\)( missing| takes| got| received)|(\(\))?: )"
)  # how messages of ops, and of calls, begin
LIBRARIES = ("weft", "numpy", "scipy", "ml_dtypes", "cupy")
EXPECTED = {"dtype": "weft.dtype", "device": "weft.device", "generator": "weft.Generator", "out": "Tensor"}
OVERFLOW = "Storage size calculation overflowed, or exceeds memory"
# What the array library says, the type that PyTorch raises for it, and our words.
MEANINGS = tuple(
    (re.compile(pattern), kind, words)
    for pattern, kind, words in (
        ("is too big|iterator is too large|Maximum allowed|cannot fit|too large to convert", RuntimeError, OVERFLOW),
        ("not be broadcast|cannot be broadcast", RuntimeError, ""),
        ("number of dimensions|maximum supported dimension", RuntimeError, "tensors have at most 64 dimensions"),
        ("negative dimensions", RuntimeError, "sizes start at 0"),
        ("read-only", RuntimeError, "the tensor's memory is not writable; clone() it first"),
        ("cannot convert float (NaN|inf)", RuntimeError, "value cannot be converted to an integer without overflow"),
        ("string to float|malformed string|invalid literal|Cannot cast|cast ufunc|no loop|ufunc '", TypeError, ""),
    )
)


def explained(name: str, error: Exception, parameters: tuple[str, ...], args: Any, kwargs: Any) -> Exception:
    """The exception to raise for one that a function of this name ended with: often the same.

    Parameters
    ----------
    name : str
        The op's, which the message begins with.
    error : Exception
    parameters : tuple of str
        The names of the function's parameters.
    args, kwargs
        What it was called with.
    """
    message = str(error)
    if isinstance(error, OutOfMemoryError):
        return error
    if isinstance(error, MemoryError):
        refusal = OutOfMemoryError if any(is_elsewhere(each) for each in (*args, *kwargs.values())) else RuntimeError
        return refusal(f"{name}: not enough memory for the result: {message or 'too many parts'}")
    for backend in plugins().loaded_backends():
        meant = backend.explain(error)
        if meant is not None:
            return meant
    if OURS.match(message) or isinstance(error, OutOfRange) or not from_library(error):
        return error
    arguments = dict(zip(parameters, args)) | kwargs
    if isinstance(error, AttributeError):
        return wrong_argument(name, error, arguments)
    for pattern, kind, words in MEANINGS:
        if isinstance(error, (ValueError, TypeError, OverflowError, IndexError)) and pattern.search(message):
            return kind(f"{name}: {words}{': ' if words else ''}{message}")
    given = ", ".join(f"{key}: {type(value).__name__}" for key, value in arguments.items())
    if isinstance(error, KeyError) and "dtype" in message:  # what the array library made of an object
        return TypeError(f"{name}: an argument is no number; called with ({given})")
    for known in (TypeError, IndexError, OverflowError, ValueError, ZeroDivisionError):  # NumPy's own are subclasses
        if isinstance(error, known):
            return known(f"{name}: {message}; called with ({given})")
    return error


def is_elsewhere(value: Any) -> bool:
    """Whether a value is a tensor on another device than the CPU."""
    return isinstance(value, TensorBase) and bool(value._key.device.type != "cpu")


def from_library(error: Exception) -> bool:
    """Whether an exception was raised by our code or the array library's, not by a function of the user's."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else str(trace.tb_frame.f_globals.get("__package__", ""))
    return module.partition(".")[0] in LIBRARIES


def wrong_argument(name: str, error: AttributeError, arguments: dict[str, Any]) -> Exception:
    """The error for an object that was used as a tensor: which argument it is, or whose element."""
    wrong = error.obj
    for position, (argument, value) in enumerate(arguments.items()):
        expected = EXPECTED.get(argument, "Tensor")
        if value is wrong and not (expected == "Tensor" and isinstance(wrong, TensorBase)):
            hint = "; make one with weft.as_tensor(...)" if expected == "Tensor" else ""
            return TypeError(
                f"{name}(): argument '{argument}' (position {position + 1}) must be {expected}, not "
                f"{type(wrong).__name__}{hint}"
            )
        if isinstance(value, (list, tuple)) and any(each is wrong for each in value):
            return TypeError(f"{name}(): argument '{argument}' must hold Tensors, but has {type(wrong).__name__}")
    if isinstance(wrong, TensorBase) or type(wrong).__name__ == "module":  # a fault of ours
        return error
    return TypeError(f"{name}: {error}")
