"""Compare a result of the library under test with PyTorch's."""

import builtins
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._comparison import default_tolerances
from torch.testing._internal.common_device_type import precisionOverride, toleranceOverride

from harness.translate import Library, array_of

# What these leave in memory is not defined: shape, dtype and device are compared, values are not.
UNDEFINED_VALUES = {
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_",
}  # fmt: skip
# On Intel's processors PyTorch draws these from MKL's generator, which the library does not follow.
DRAWN_FROM_MKL = {
    "bernoulli", "exponential", "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
    "nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout",
    "nn.functional.scaled_dot_product_attention",
}  # fmt: skip


class Mismatch(AssertionError):
    """A result that differs from PyTorch's; ``cause`` leaves out what is particular to the sample."""

    def __init__(self, cause: str, detail: str = "") -> None:
        super().__init__(f"{cause}: {detail}" if detail else cause)
        self.cause = cause


def drawn_from_mkl() -> bool:
    """Whether this processor's maker is the one for whose machines PyTorch uses MKL's generator."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return "GenuineIntel" in file.read()
    except OSError:
        return True


def tolerances(entry: Any, dtype: torch.dtype) -> tuple[float, float]:
    """(rtol, atol) of PyTorch's tests: its default for the dtype, or the widest that ``entry`` asks for."""
    rtol, atol = default_tolerances(dtype)
    decorators = [inner for outer in entry.decorators for inner in getattr(outer, "decorators", [outer])]
    for override in decorators:
        if isinstance(override, toleranceOverride) and dtype in override.d:
            rtol, atol = max(rtol, override.d[dtype].rtol), max(atol, override.d[dtype].atol)
        if isinstance(override, precisionOverride) and dtype is torch.float64:
            atol = max(atol, override.d.get(dtype, 0))  # PyTorch's kernel is coarser (bessel_*), and nothing judges it
    return rtol, atol


class Comparison:
    """Compare results of one operator; ``loosen`` multiplies tolerances (for gradients, which add up more terms)."""

    def __init__(self, library: Library, entry: Any, loosen: float = 1.0) -> None:
        self.library, self.entry, self.loosen = library, entry, loosen
        unknown = entry.name in UNDEFINED_VALUES or (entry.name in DRAWN_FROM_MKL and drawn_from_mkl())
        self.values = not unknown

    def __call__(self, expected: Any, got: Any, exact: Callable[[], Any] | None = None) -> None:
        """Raise `Mismatch` unless ``got`` is ``expected``.

        ``exact`` computes the result in double precision. Values outside the tolerance still pass when they are not
        farther from that than twice PyTorch's own distance: rounding may differ, accuracy may not.
        """
        try:
            self.compare(expected, got, "")
        except Mismatch as mismatch:
            if exact is None or mismatch.cause != "values differ":
                raise
            try:
                judge = list(tensors(exact()))
            except Exception:
                raise mismatch from None
            if not self.as_accurate(list(tensors(expected)), got, judge):
                raise

    def compare(self, expected: Any, got: Any, where: str) -> None:
        """Compare any two results; ``where`` is the place in a nested one."""
        if isinstance(expected, torch.Tensor):
            self.compare_tensors(expected, got, where)
        elif isinstance(expected, tuple | list):
            self.compare_sequences(expected, got, where)
        elif isinstance(expected, torch.dtype | torch.device | torch.layout | torch.memory_format):
            if str(expected).split(".")[-1] != str(got).split(".")[-1]:
                raise Mismatch("another object", f"{got} instead of {expected}{where}")
        elif isinstance(expected, dict):
            for key, item in expected.items():
                self.compare(item, got[key], f"{where}[{key!r}]")
        else:
            self.compare_numbers(expected, got, where)

    def compare_sequences(self, expected: Any, got: Any, where: str) -> None:
        """Compare two sequences: kind, length, names of fields, items."""
        kind = list if isinstance(expected, list) else tuple
        if not isinstance(got, kind):
            raise Mismatch(f"{type(got).__name__} instead of a {kind.__name__}", where)
        if len(got) != len(expected):
            raise Mismatch("another number of results", f"{len(got)} instead of {len(expected)}{where}")
        for position, (mine, theirs) in enumerate(zip(expected, got, strict=True)):
            self.compare(mine, theirs, f"{where}[{position}]")
        for position, field in enumerate(_fields(expected)):
            if getattr(got, field, None) is not got[position]:
                raise Mismatch("no named fields in the result", f"{field}{where}")

    def compare_numbers(self, expected: Any, got: Any, where: str) -> None:
        """Compare Python's own scalars, with their types."""
        if type(got) is not type(expected):
            raise Mismatch(f"{type(got).__name__} instead of {type(expected).__name__}", where)
        close = got == expected if not isinstance(expected, float | complex) else bool(np.isclose(got, expected, 1e-5))
        if self.values and not close and not (expected != expected and got != got):
            raise Mismatch("values differ", f"{got} instead of {expected}{where}")

    def compare_tensors(self, expected: torch.Tensor, got: Any, where: str) -> None:
        """Compare dtype, shape, device and values, in this order; strides are free."""
        if not self.library.is_tensor(got):
            raise Mismatch(f"{type(got).__name__} instead of a tensor", where)
        mine, theirs = str(got.dtype).split(".")[-1], str(expected.dtype).split(".")[-1]
        if mine != theirs:
            raise Mismatch(f"dtype {mine} instead of {theirs}", where)
        if tuple(got.shape) != tuple(expected.shape):
            raise Mismatch("shape differs", f"{tuple(got.shape)} instead of {tuple(expected.shape)}{where}")
        if got.device.type != expected.device.type:
            raise Mismatch(f"device {got.device} instead of {expected.device}", where)
        if self.values:
            self.compare_values(array_of(expected), self.library.to_array(got), expected.dtype, where)

    def compare_values(self, expected: np.ndarray, got: np.ndarray, dtype: torch.dtype, where: str) -> None:
        """Compare two arrays of equal shape with the tolerance of ``dtype``."""
        if not (dtype.is_floating_point or dtype.is_complex):
            bad = got != expected
        else:
            rtol, atol = (self.loosen * each for each in tolerances(self.entry, dtype))
            with np.errstate(all="ignore"):
                wide = np.complex128 if dtype.is_complex else np.float64
                bad = ~np.isclose(got.astype(wide), expected.astype(wide), rtol=rtol, atol=atol, equal_nan=True)
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            count = f"{int(bad.sum())} of {bad.size}"
            raise Mismatch("values differ", f"{count}, first at {at}: {got[at]} instead of {expected[at]}{where}")

    def where_settled(self, expected: torch.Tensor, got: Any, others: list[torch.Tensor]) -> None:
        """Compare values but for those that are not finite and that ``others`` do not agree on.

        These are PyTorch's results for arguments that differ in the last digit: where a rounding error is divided by
        zero, its sign is no one's claim.
        """
        value, result = array_of(expected), self.library.to_array(got)
        again = np.array([array_of(each) for each in others])
        differs = ~((again == value) | (np.isnan(again) & np.isnan(value)))
        settled = np.isfinite(value) | ~differs.any(0)
        self.compare_values(value[settled], result[settled], expected.dtype, "")

    def as_accurate(self, expected: list[torch.Tensor], got: Any, exact: list[torch.Tensor]) -> bool:
        """Whether ``got`` is at most twice as far from ``exact`` as ``expected`` is, tensor by tensor."""
        mine = [self.library.to_array(t) for t in tensors(got, self.library.module.Tensor)]
        if not len(mine) == len(expected) == len(exact):
            return False
        for one, other, judge in zip(mine, expected, exact, strict=True):
            if not (other.dtype.is_floating_point or other.dtype.is_complex):
                if not np.array_equal(one, array_of(other)):
                    return False
                continue
            truth, theirs = array_of(judge), array_of(other)
            if truth.shape != one.shape:
                return False
            rtol, atol = tolerances(self.entry, other.dtype)
            finite = np.isfinite(theirs) & np.isfinite(truth)
            kept = np.isfinite(truth) & ~finite & np.isclose(one, truth, rtol, atol)  # where PyTorch overflows
            rest = ~finite & ~kept
            if not np.array_equal(one[rest], theirs[rest], equal_nan=True):
                return False
            allowed = 2 * np.abs(theirs[finite] - truth[finite]).max(initial=0.0) + atol
            if not (np.abs(one[finite] - truth[finite]) <= allowed).all():
                return False
        return True


def _fields(value: Any) -> tuple[str, ...]:
    """Names of the fields of one of PyTorch's named results."""
    if type(value) in (tuple, list, torch.Size):
        return ()
    return getattr(type(value), "_fields", None) or getattr(type(value), "__match_args__", ())


def tensors(value: Any, kind: type = torch.Tensor) -> Iterator[Any]:
    """All tensors in a nested result, in order."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from tensors(item, kind)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors(item, kind)


def sharing(result: Any, arguments: Any, module: Any) -> list[list[int]]:
    """For each tensor of a result, the arguments in whose memory it is: who writes to it changes them."""

    def memories(value: Any) -> list[Any]:
        dense = [each if each.layout == module.strided else None for each in tensors(value, module.Tensor)]
        return [each.untyped_storage().data_ptr() if each is not None and each.numel() else None for each in dense]

    given = memories(arguments)
    return [[n for n, each in enumerate(given) if place is not None and each == place] for place in memories(result)]


def builtin_type(error: BaseException) -> type[BaseException]:
    """The nearest of Python's own exception types: what a portable program can catch."""
    return next(kind for kind in type(error).__mro__ if getattr(builtins, kind.__name__, None) is kind)


def compare_errors(expected: BaseException, got: BaseException | None) -> None:
    """Raise `Mismatch` unless ``got`` would be caught by whoever catches ``expected``."""
    wanted = builtin_type(expected)
    if got is None:
        raise Mismatch(f"no error instead of {wanted.__name__}", str(expected).split("\n")[0][:150])
    if not isinstance(got, wanted):
        detail = f"{str(got).splitlines()[0] if str(got) else ''} | PyTorch: {str(expected).splitlines()[0][:150]}"
        raise Mismatch(f"{type(got).__name__} instead of {wanted.__name__}", detail)
