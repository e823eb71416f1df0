"""The CPU's random stream where Numba is installed: compiled loops for many samples at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.backend import BLOCK, MersenneStream, in_chunks
from weft.backend_cpu.compiled import background
from weft.backend_cpu.compiled.prebuilt import NotPrebuilt
from weft.backend_cpu.libraries import import_loops, keep_numpy
from weft.backend_cpu.registry import MIN_SIZE

__all__ = ["CompiledStream"]

Array = np.ndarray[Any, Any]

MIN_SIZE_NORMALS = 32 * MIN_SIZE
"""The number of normals from which their loop is worth compiling, which takes a second, ten times that of others."""

SECONDS_PER_SAMPLE = 5e-9
"""What NumPy takes, about."""


def by_numpy(n: int) -> bool:
    """Whether NumPy makes ``n`` samples, whose bits compiled loops would make too."""
    return n < MIN_SIZE or not import_loops() or keep_numpy("random samples", SECONDS_PER_SAMPLE * n)


def is_there(name: str, *args: Any) -> bool:
    """Whether a loop of `mt19937` is there, which is called with arguments for no samples.

    NumPy goes on without. It is asked before words are drawn, which cannot be put back.
    """
    from weft.backend_cpu.compiled.kernels import mt19937

    kinds = (each.dtype if isinstance(each, np.ndarray) else type(each) for each in args)
    return background.is_ready(("random samples", name, *kinds), getattr(mt19937, name), *args)


def is_done(loop: Any, *args: Any) -> bool:
    """Run a loop; False where there is none for such arguments."""
    try:
        loop(*args)
    except NotPrebuilt:
        return False
    return True


NO_WORDS, NO_STATE = np.empty(0, np.uint32), np.zeros(BLOCK + 1, np.uint32)
NO_SINGLES, NO_DOUBLES, NO_EVENTS, NO_PLACES = (np.empty(0, each) for each in ("f4", "f8", "?", "i8"))


class CompiledStream(MersenneStream):
    """The stream of `weft._random.mt19937`, word for word; which loops make the samples depends on their number."""

    _key: Any = None  # the generator's words in its own memory

    def _draw(self, n: int) -> Array:
        if by_numpy(n) or not is_there("words", NO_STATE, NO_WORDS):
            return super()._draw(n)
        from weft.backend_cpu.compiled.kernels import mt19937

        if self._key is None:
            self._key = mt19937.key_of(self._generator)
        if self._key[BLOCK] != BLOCK:  # `set_state` left it in the middle of a block
            return super()._draw(n)
        out = np.empty(n, np.uint32)
        mt19937.words(self._key, out)
        return out

    def floats(self, n: int) -> Array:
        if by_numpy(n) or not is_there("floats", NO_WORDS, NO_SINGLES):
            return super().floats(n)
        return self._made("floats", n, 1, np.float32)

    def doubles(self, n: int) -> Array:
        if by_numpy(n) or not is_there("doubles", NO_WORDS, NO_DOUBLES):
            return super().doubles(n)
        return self._made("doubles", n, 2, np.float64)

    def bernoulli(self, n: int, p: float) -> Array:
        if by_numpy(n) or not is_there("below", NO_WORDS, np.uint64(0), NO_EVENTS):
            return super().bernoulli(n, p)
        from weft.backend_cpu.compiled.kernels import mt19937

        limit = mt19937.threshold(p)
        return in_chunks(n, np.dtype(bool), lambda count: self._made("below", count, 2, np.bool_, limit))

    def _made(self, name: str, n: int, each: int, dtype: Any, *args: Any) -> Array:
        """Samples that a compiled loop makes of ``each`` words."""
        from weft.backend_cpu.compiled.kernels import mt19937

        out = np.empty(n, dtype)
        getattr(mt19937, name)(self.words(each * n), *args, out)
        return out

    def _between(self, standard: Array, low: float, high: float, dtype: np.dtype[Any]) -> Array:
        none = standard[:0]
        if dtype != standard.dtype or by_numpy(len(standard)) or not is_there("between", none, 0.0, 1.0, none):
            return super()._between(standard, low, high, dtype)
        from weft.backend_cpu.compiled.kernels import mt19937

        kind = dtype.type
        bottom, top = kind(low), kind(high)
        out = np.empty_like(standard)
        mt19937.between(standard, float(bottom), float(bottom) + float(top - bottom), out)
        return out

    def _normals(self, uniforms: Array) -> Array:
        if len(uniforms) < MIN_SIZE_NORMALS or not import_loops():
            return super()._normals(uniforms)
        from weft.backend_cpu.compiled.kernels import mt19937

        out = np.empty_like(uniforms)
        return out if is_done(mt19937.normals, uniforms, out) else super()._normals(uniforms)

    def exponential(self, n: int, dtype: np.dtype[Any], rate: float = 1.0) -> Array:
        if n < MIN_SIZE or not import_loops():
            return super().exponential(n, dtype, rate)
        from weft.backend_cpu.compiled.kernels import mt19937

        def sample(count: int) -> Array:
            made = np.empty(count, np.float64 if dtype == np.float64 else np.float32)
            mt19937.exponentials(self.doubles(count), -1.0 / rate, made)
            return made

        return in_chunks(n, dtype, sample)

    def _whole(self, n: int, low: int, span: int, wide: bool, dtype: np.dtype[Any]) -> Array:
        if by_numpy(n) or span >= 1 << 64 or not -(1 << 63) <= low < 1 << 63 or dtype.kind not in "iu":
            return super()._whole(n, low, span, wide, dtype)
        if not wide and span >= 1 << 32:
            return super()._whole(n, low, span, wide, dtype)
        name, each, most = ("remainders64", 2, np.uint64(span)) if wide else ("remainders", 1, float(span))
        if not is_there(name, NO_WORDS, most, low, np.empty(0, dtype)):
            return super()._whole(n, low, span, wide, dtype)
        return in_chunks(n, dtype, lambda count: self._made(name, count, each, dtype, most, low))

    def permutation(self, n: int) -> Array:
        if not 2 <= n < 0xFFFFFFFF // 20 or by_numpy(n) or not is_there("exchanged", NO_WORDS, NO_PLACES):
            return super().permutation(n)
        from weft.backend_cpu.compiled.kernels import mt19937

        out = np.empty(n, np.int64)
        mt19937.exchanged(self.words(n - 1), out)
        return out

    def _search(self, weights: Array, uniforms: Array) -> Array:
        if weights.size < MIN_SIZE or weights.dtype.kind != "f" or weights.dtype.itemsize < 4 or not import_loops():
            return super()._search(weights, uniforms)
        from weft.backend_cpu.compiled.kernels import mt19937

        out = np.empty(uniforms.shape, np.int64)
        done = is_done(mt19937.search, weights, uniforms, np.empty(weights.shape[1], weights.dtype), out)
        return out if done else super()._search(weights, uniforms)
