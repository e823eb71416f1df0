"""Programs as lines of Python, run side by side on PyTorch and on the library under test.

A program is a list of lines over the names ``torch``, ``numpy`` and variables of its own, so that a failure prints as
a file that runs. After each line both libraries must have raised the same class of exception, or neither, and all
variables must agree: values, dtypes, shapes, strides, offsets, gradients.
"""

from __future__ import annotations

import re
import tomllib
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import torch

TORN = re.compile("out of bounds|out of range|nElements|ZeroDivision")  # PyTorch looks at positions as it writes
TOLERANCES = {"bfloat16": 2e-2, "float16": 2e-3, "float32": 2e-5, "complex64": 2e-5, "complex32": 2e-3}
EXACT = 1e-6  # where float32 went before
WIDE = {"bfloat16": "float32", "float16": "float32", "complex32": "complex64"}


class Difference(AssertionError):
    """Where the libraries part: the program up to there, and what each has.

    Attributes
    ----------
    what : str
        ``"raises"``, ``"values"``, ``"strides"``, … or ``"type"``.
    """

    def __init__(self, lines: list[str], what: str, where: str, expected: Any, found: Any) -> None:
        self.lines, self.what, self.where, self.expected, self.found = list(lines), what, where, expected, found
        program = "\n".join(f"    {line}" for line in lines)
        super().__init__(
            f"{what} of {where}\n    import numpy, torch\n{program}\n  PyTorch: {expected}\n  here:    {found}"
        )


class Run:
    """One program that runs on both libraries.

    Attributes
    ----------
    lines : list of str
    over : bool
        PyTorch has raised in the middle of a write, of backward, or after a resize: what it left is not judged, nor is
        what follows.
    tensors : dict
        PyTorch's variables that are tensors: what the choice of the next line may look at.
    """

    def __init__(self, library: ModuleType, versions: bool = True) -> None:
        self.versions = versions  # of fresh results they say how a library makes them, and no more
        self.lines: list[str] = []
        self.spaces: list[dict[str, Any]] = [{"torch": each, "numpy": numpy} for each in (torch, library)]
        self.count = 0
        self.over = False

    @property
    def tensors(self) -> dict[str, torch.Tensor]:
        return {name: value for name, value in self.spaces[0].items() if isinstance(value, torch.Tensor)}

    def name(self) -> str:
        """A variable that is not yet used."""
        self.count += 1
        return f"x{self.count - 1}"

    def run(self, line: str) -> bool:
        """Run a line on both; whether it went through.

        Raises
        ------
        Difference
            If they part.
        """
        self.lines.append(line)
        code = compile(line, "<program>", "exec")
        expected, found = (attempt(code, space) for space in self.spaces)
        if not same_outcome(expected, found):
            raise Difference(self.lines, "raises", line, said(expected), said(found))
        if expected is not None and (TORN.search(str(expected)) or ".backward(" in line or "out=" in line):
            self.over = True
            return False
        for name, value in self.spaces[0].items():
            if not isinstance(value, ModuleType) and not name.startswith("__"):
                self.compare(name, value, self.spaces[1][name])
        return expected is None

    def compare(self, where: str, expected: Any, found: Any) -> None:
        if isinstance(expected, (tuple, list)):
            if not isinstance(found, (tuple, list)) or len(found) != len(expected):
                raise Difference(self.lines, "type", where, expected, found)
            for place, (one, other) in enumerate(zip(expected, found)):
                self.compare(f"{where}[{place}]", one, other)
            return
        if not isinstance(expected, torch.Tensor):
            if isinstance(expected, torch.dtype):
                expected, found = str(expected).split(".")[-1], str(found).split(".")[-1]
            equal = type(expected) is type(found) and (expected == found or expected != expected)
            if not (equal or (isinstance(expected, (float, complex)) and numpy.isclose(expected, found, 1e-5))):
                raise Difference(self.lines, "type", where, expected, found)
            return
        if not hasattr(found, "stride"):
            raise Difference(self.lines, "type", where, expected, found)
        for what, one, other in facts(expected, found):
            if one != other and not (what == "version" and (where.endswith(".grad") or not self.versions)):
                raise Difference(self.lines, what, where, one, other)
        if not alike(expected, found):
            raise Difference(self.lines, "values", where, expected, found)
        if asked(expected, "is_leaf") is True and (expected.grad is not None or found.grad is not None):
            if expected.grad is None or found.grad is None:
                raise Difference(self.lines, "grad", where, expected.grad, found.grad)
            self.compare(f"{where}.grad", expected.grad, found.grad)


def attempt(code: Any, space: dict[str, Any]) -> Exception | None:
    try:
        exec(code, space)
    except Exception as error:
        return error
    return None


def same_outcome(expected: Exception | None, found: Exception | None) -> bool:
    if expected is None or found is None:
        return expected is found
    return isinstance(found, kind_of(expected))


def kind_of(error: Exception) -> type[Exception]:
    """The built-in class that a library's exception stands for."""
    return next(each for each in type(error).__mro__ if each.__module__ == "builtins")


def said(error: Exception | None) -> str:
    return "nothing raised" if error is None else f"{type(error).__name__}: {str(error)[:300]}"


def facts(expected: Any, found: Any) -> Iterable[tuple[str, Any, Any]]:
    """What two tensors have beside their values."""
    yield "dtype", str(expected.dtype).split(".")[-1], str(found.dtype).split(".")[-1]
    yield "shape", tuple(expected.shape), tuple(found.shape)
    yield "strides", strides_of(expected), strides_of(found)
    if expected.numel():
        yield "offset", expected.storage_offset(), found.storage_offset()
    yield "requires_grad", expected.requires_grad, found.requires_grad
    yield "is_leaf", asked(expected, "is_leaf"), asked(found, "is_leaf")
    if not expected.is_inference():
        yield "version", expected._version, found._version


def asked(tensor: Any, name: str) -> Any:
    """An attribute, or the class of exception: a view may be asked for its history too late."""
    try:
        return getattr(tensor, name)
    except Exception as error:
        return kind_of(error)


def strides_of(tensor: Any) -> list[Any]:
    """Strides of dimensions along which there are several elements: no others say where one is."""
    if not tensor.numel():
        return []
    return [stride if size > 1 else None for stride, size in zip(tensor.stride(), tensor.shape)]


def alike(expected: Any, found: Any) -> bool:
    """Whether the values of two tensors of one dtype and shape agree."""
    name = str(expected.dtype).split(".")[-1]
    one, other = array_of(expected, torch, name), array_of(found, None, name)
    if one.dtype.kind in "biu":
        return bool(numpy.array_equal(one, other))
    bound = TOLERANCES.get(name, EXACT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        close = numpy.isclose(other, one, bound, bound, equal_nan=True)
        if one.dtype.kind == "c":  # NumPy wants all of an infinite number to be equal, to the last digit of a part
            parts = [numpy.isclose(b, a, bound, bound) for a, b in ((one.real, other.real), (one.imag, other.imag))]
            close |= numpy.isinf(one) & parts[0] & parts[1]
        return bool(close.all())


def array_of(tensor: Any, library: Any, name: str) -> Any:
    tensor = tensor.detach().clone()  # PyTorch resizes no memory that NumPy has seen
    if name in WIDE:
        tensor = tensor.to(
            getattr(library or __import__("sys").modules[type(tensor).__module__.split(".")[0]], WIDE[name])
        )
    return tensor.resolve_conj().resolve_neg().numpy()


# What differs on purpose

TABLE = Path(__file__).parent.parent / "differences.toml"


def listed() -> list[dict[str, str]]:
    """The table's differences.

    Each has what differs, regular expressions of the program, its last line, and of what PyTorch and weft have, an
    example, a reason. Where it says ``apart``, PyTorch has what weft has once the operands are copies.
    """
    return list(tomllib.loads(TABLE.read_text(encoding="utf-8")).get("programs", []))


LISTED = listed()


def on_purpose(difference: Difference) -> bool:
    """Whether a difference is one of the table's."""
    return any(matches(entry, difference) for entry in LISTED)


def matches(entry: dict[str, str], difference: Difference) -> bool:
    looked_at = {
        "line": difference.lines[-1],
        "program": "\n".join(difference.lines),
        "pytorch": str(difference.expected),
        "weft": str(difference.found),
    }
    if difference.what not in entry["what"].split() or any(
        not re.search(entry.get(key, ""), text) for key, text in looked_at.items()
    ):
        return False
    return "apart" not in entry or agrees_apart(difference)


def agrees_apart(difference: Difference) -> bool:
    """Whether PyTorch agrees, where operands of the last line share no memory with what it writes to."""
    *before, last = difference.lines
    kept = re.match(r"x\d* = torch|.*?\bx\d*\b", last)  # the name of the result, or what is written in place
    assert kept is not None
    operands, *out = re.split("(out=)", last[kept.end() :])
    last = kept[0] + re.sub(r"\bx\d*\b", r"\g<0>.clone()", operands) + "".join(out)
    space: dict[str, Any] = {"torch": torch, "numpy": numpy}
    for line in (*before, last):
        attempt(compile(line, "<program>", "exec"), space)
    written = space.get(difference.where)
    same = isinstance(written, torch.Tensor) and written.shape == tuple(difference.found.shape)
    return same and alike(written, difference.found)


def check(library: ModuleType, kind: ModuleType, random: Any) -> Run:
    """Make and run one program of a kind, a module with ``start``, ``line`` and perhaps ``finish``.

    A difference that is not on purpose is raised.

    Raises
    ------
    Difference
        If there is one.
    """
    run = Run(library, getattr(kind, "VERSIONS", True))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind.start(random, run)
            for _ in range(random.randint(3, 8)):
                run.run(kind.line(random, run))
                if run.over:
                    return run
            if hasattr(kind, "finish"):
                kind.finish(random, run)
    except Difference as difference:
        if not on_purpose(difference):
            raise
    return run
