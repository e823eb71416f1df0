"""The device's random stream: Philox4x32-10, a counter-based generator, and the samples made of its words.

A word is a function of the seed, an offset and a position: nothing is kept on the device but the key, every element is
computed by itself, and what was drawn can be drawn again from (seed, offset), as `kept` does for dropout. All is array
arithmetic on the device; no sampler waits for it, and none sends it anything.

The counters are laid out as those of PyTorch's CUDA kernels, whose threads stand for subsequences: a call takes four
words from each of up to `threads` threads, the first of them for the first elements. How many words an element takes:

=====================================  ==============================================================================
uniform and its transforms, float32    1; float64: 2
normal, log_normal, float32            1 (Box and Muller of two, sine first); float64: 2
integers, range below 2**28            1, else 2; remainder by the range
bernoulli_each                         1; four neighbours share a thread
kept (dropout)                         1; the neighbours in 16 bytes share a thread, if the size is a multiple
permutation                            a key of two, of which some bits are sorted by
poisson, gamma, binomial               some rounds of rejection, all drawn at once
=====================================  ==============================================================================

References
----------
J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11 (2011).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy

from weft.backend_cuda.rejection import (
    BINOMIAL_ROUNDS,
    GAMMA_ROUNDS,
    POISSON_ROUNDS,
    binomial_samples,
    gamma_samples,
    poisson_samples,
)

__all__ = ["STATE_SIZE", "PhiloxStream", "philox"]

MULTIPLIERS: Final = numpy.array([0xD2511F53, 0xCD9E8D57], numpy.uint64)
WEYL: Final = (0x9E3779B9, 0xBB67AE85)  # by which the halves of the key grow from round to round
ROUNDS: Final = 10

STATE: Final = numpy.dtype([("seed", "<u8"), ("offset", "<i8")])  # the bytes of a PyTorch CUDA generator's state
STATE_SIZE: Final = STATE.itemsize
MASK_64: Final = (1 << 64) - 1

BLOCK: Final = 256  # threads of a block in PyTorch's kernels
DEFAULT_THREADS: Final = 132 * 2048  # resident on a device of which nothing is known
BLOCK_MULTINOMIAL: Final = 128
BERNOULLI_STEP: Final = 12  # by which the offset grows, whatever the size

STEP_32: Final = 2.0**-32
STEP_53: Final = 2.0**-53
TURN_32: Final = float(numpy.float32(2 * math.pi)) * STEP_32
FULL_RANGE_DIGITS: Final = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
WIDE_SPAN: Final = 1 << 28  # from which a remainder of 32 bits would favour some numbers visibly

MATRIX: Final = 1 << 22  # elements of the rounds of rejection that are computed together

# Shuffles of a group of equal keys, 6 bits each: from which of its members each of three comes. The first six of three
# by two exchanges, then those of two.
UNMOVED: Final = 7
PAIRS: Final = 6
SHUFFLES: Final = sum(
    source << 6 * shuffle + 2 * member
    for shuffle, sources in enumerate(
        [(1, 2, 0), (2, 1, 0), (2, 0, 1), (0, 2, 1), (1, 0, 2), (0, 1, 2), (1, 0, 2), (0, 1, 2)]
    )
    for member, source in enumerate(sources)
)


def philox(xp: Any, counter: Any, seed: int, multipliers: Any) -> tuple[Any, Any]:
    """The words of counters, four of 32 bits each, as two arrays like ``counter``: words 0 and 2, words 1 and 3.

    Parameters
    ----------
    counter : array of uint64, shape (..., 2)
        The low and the high half of each.
    seed : int
        The key: a number, so that no stream of the device has to wait for what another one made of it.
    multipliers : array of uint64, shape (2,)
        `MULTIPLIERS`.
    """
    products = xp.empty((2, *counter.shape), xp.uint64)  # of this round and of the one before
    halves = products.view(xp.uint32).reshape(*products.shape, 2)
    start = counter.view(xp.uint32).reshape(*counter.shape, 2)
    even, odd = start[..., 0], start[..., 1]
    result = xp.empty(counter.shape, xp.uint32)
    pairs = result.view(xp.uint64)
    for turn, key in enumerate(round_keys(seed)):
        xp.multiply(even, multipliers, out=products[turn % 2])
        exchanged = halves[turn % 2][..., ::-1, :]
        even = xp.bitwise_xor(exchanged[..., 1], odd, out=result)
        xp.bitwise_xor(pairs, key, out=pairs)
        odd = exchanged[..., 0]
    return even, odd


@lru_cache(64)
def round_keys(seed: int) -> list[numpy.uint64]:
    """The key of each round, both halves in one number."""
    keys = []
    for turn in range(ROUNDS):
        low, high = ((seed >> 32 * half) + turn * step & 0xFFFFFFFF for half, step in enumerate(WEYL))
        keys.append(numpy.uint64(low | high << 32))
    return keys


class PhiloxStream:
    """A stream of random words and the samples made of them, each method returning one-dimensional arrays.

    Parameters
    ----------
    xp : module
        The array namespace: CuPy, or NumPy.
    seed : int
        Of 64 bits: the key.
    threads : int
        How many threads of PyTorch's kernels the device has at once, a multiple of 256.
    multipliers : array of the namespace
        `MULTIPLIERS`, in the device's memory.

    Attributes
    ----------
    array_type : type
        Of the arrays that samplers take and return.
    initial_seed, offset : int
        The state. The offset counts words of each thread, in fours.
    """

    def __init__(self, xp: Any, seed: int, threads: int = DEFAULT_THREADS, multipliers: Any = MULTIPLIERS) -> None:
        self.xp = xp
        self.array_type = xp.ndarray
        self.threads = max(threads // BLOCK, 1) * BLOCK
        self.multipliers = multipliers
        self.seed(seed)

    # -- state ---------------------------------------------------------------------------------------------------

    def seed(self, seed: int) -> None:
        """Start the stream over from a seed of 64 bits."""
        self.initial_seed = seed & MASK_64
        self.offset = 0

    def get_state(self) -> numpy.ndarray[Any, Any]:
        """Return the state as STATE_SIZE bytes, laid out as PyTorch's CUDA generator state."""
        state = numpy.zeros((), STATE)
        state["seed"], state["offset"] = self.initial_seed, self.offset
        return numpy.frombuffer(state.tobytes(), numpy.uint8).copy()

    def set_state(self, state: numpy.ndarray[Any, Any]) -> None:
        """Continue from a state of `get_state`, or of a PyTorch CUDA generator; one of 8 bytes is a seed alone.

        Raises
        ------
        RuntimeError
            If the bytes are not STATE_SIZE in number, or cannot be a state.
        """
        if state.size not in (STATE_SIZE, STATE_SIZE // 2):
            raise RuntimeError(
                f"set_state: RNG state is wrong size: expected {STATE_SIZE} bytes (seed and offset) of a CUDA "
                f"generator, got {state.size}; pass what get_state() of a CUDA generator returned"
            )
        fields = numpy.frombuffer(numpy.ascontiguousarray(state).tobytes().ljust(STATE_SIZE, b"\0"), STATE)[0]
        self.set_offset(int(fields["offset"]))
        self.initial_seed = int(fields["seed"])

    def set_offset(self, offset: int) -> None:
        """Continue from an offset of the same seed.

        Raises
        ------
        RuntimeError
            If it is no multiple of 4, or negative.
        """
        if offset % 4 or offset < 0:
            raise RuntimeError(f"set_offset: offset must be a multiple of 4 from 0 on, got {offset}")
        self.offset = offset

    def _take(self, count: int) -> int:
        """Return the offset, and go on by so many words of each thread, rounded up to fours."""
        start = self.offset
        self.offset += -(-count // 4) * 4
        return start

    # -- words ---------------------------------------------------------------------------------------------------

    def words(self, seed: int, offset: int, calls: int, threads: Any) -> tuple[Any, Any]:
        """Return words x and z, and words y and w, of each call and thread: arrays of shape (2, calls, threads).

        Here is the place of a kernel that computes all of it in one launch.

        Parameters
        ----------
        threads : int or array of uint64
            How many, from 0 on; or which ones.
        """
        xp, first = self.xp, offset // 4
        positions = xp.arange(threads, dtype=xp.uint64) if isinstance(threads, int) else threads
        counter = xp.empty((calls, positions.size, 2), xp.uint64)
        if calls == 1:
            counter[..., 0] = first
        else:
            counter[..., 0] = xp.arange(first, first + calls, dtype=xp.uint64)[:, None]
        counter[..., 1] = positions
        even, odd = philox(xp, counter, seed, self.multipliers)
        return even.transpose(2, 0, 1), odd.transpose(2, 0, 1)

    def _by_stride(self, n: int, each: int) -> tuple[Any, Any]:
        """The words of n elements, as PyTorch's grid-stride loop takes ``each`` elements from each thread and call."""
        threads = min(-(-n // BLOCK) * BLOCK, self.threads)
        calls = (n - 1) // (threads * each) + 1 if n else 0
        return self.words(self.initial_seed, self._take(4 * calls), max(calls, 1), min(threads, n))

    def _spread(self, n: int, *parts: Any) -> Any:
        """Elements in their order, from arrays of shape (2, calls, threads): all first ones of a call, and so on."""
        (first, *others), (_, calls, threads) = parts, parts[0].shape
        if n <= threads:
            return first[0, 0, :n]
        if not others:
            return first.swapaxes(0, 1).reshape(-1)[:n]
        result = self.xp.empty((calls, 2, len(parts), threads), first.dtype)
        for index, part in enumerate(parts):
            result[:, :, index] = part.swapaxes(0, 1)
        return result.reshape(-1)[:n]

    def _words32(self, n: int) -> Any:
        return self._spread(n, *self._by_stride(n, 4))

    def _words64(self, n: int) -> Any:
        """Words of 64 bits, of two of 32 bits each, the first one high."""
        high, low = (self._spread(n, part) for part in self._by_stride(n, 2))
        wide = high.astype(self.xp.uint64)
        wide <<= numpy.uint64(32)
        wide |= low
        return wide

    def _floats(self, n: int) -> Any:
        """float32 from (0, 1]."""
        return to_floats(self.xp, self._words32(n))

    def _doubles(self, n: int) -> Any:
        """float64 from (0, 1]."""
        low, high = (self._spread(n, part) for part in self._by_stride(n, 2))
        return to_doubles(self.xp, low, high)

    def _standard(self, n: int, dtype: Any) -> Any:
        return self._doubles(n) if dtype == numpy.float64 else self._floats(n)

    # -- samples -------------------------------------------------------------------------------------------------

    def uniform(self, n: int, dtype: Any, low: float = 0.0, high: float = 1.0) -> Any:
        """Return n samples of a floating or complex dtype, uniform on [low, high)."""
        if dtype.kind == "c":
            return self.uniform(2 * n, real_of(dtype), low, high).view(dtype)
        bottom, top, span = (float(dtype.type(each)) for each in (low, high, high - low))
        values = self._standard(n, dtype)
        if (bottom, top) != (0.0, 1.0):
            values *= span
            values += bottom
        values = values.astype(dtype, copy=False)
        return self.xp.where(values == top, bottom, values).astype(dtype, copy=False)  # the interval is open above

    def integers(self, n: int, dtype: Any, low: int, high: int) -> Any:
        """Return n whole numbers from low up to, but not with, high."""
        return self._whole(n, low, high - low, high - low >= WIDE_SPAN, dtype)

    def full_range(self, n: int, dtype: Any) -> Any:
        """Return n whole numbers from 0 to the largest up to which dtype holds all of them."""
        top = highest_whole(dtype)
        return self._whole(n, 0, top + 1, top >= 1 << 32, dtype)

    def _whole(self, n: int, low: int, span: int, wide: bool, dtype: Any) -> Any:
        xp = self.xp
        if wide:
            values = self._words64(n)
            if span <= MASK_64:
                values %= numpy.uint64(span)
            values += numpy.uint64(low & MASK_64)
            return (values if dtype == numpy.uint64 else values.view(xp.int64)).astype(dtype, copy=False)
        words = self._words32(n)
        values = (words % numpy.uint32(span) if span <= 0xFFFFFFFF else words).astype(xp.int64)
        if low:
            values += low
        return values.astype(dtype, copy=False)

    def normal(self, n: int, dtype: Any, mean: float = 0.0, std: float = 1.0, contiguous: bool = True) -> Any:
        """Return n normal samples; a complex one has the standard deviation std, and each part std / sqrt(2)."""
        if dtype.kind == "c":
            return self.normal(2 * n, real_of(dtype), mean, std / math.sqrt(2)).view(dtype)
        return self._scaled_normals(n, dtype, mean, std).astype(dtype, copy=False)

    def log_normal(self, n: int, dtype: Any, mean: float, std: float) -> Any:
        """Return n samples of exp(normal(mean, std))."""
        values = self._scaled_normals(n, dtype, mean, std)
        return self.xp.exp(values, out=values).astype(dtype, copy=False)

    def _scaled_normals(self, n: int, dtype: Any, mean: float, std: float) -> Any:
        values = self._double_normals(n) if dtype == numpy.float64 else self._normals(n)
        if std != 1:
            values *= std
        if mean:
            values += mean
        return values

    def _normals(self, n: int) -> Any:
        xp, (even, odd) = self.xp, self._by_stride(n, 4)
        if n <= even.shape[2]:
            even, odd = even[:1], odd[:1]
        radius, angle = radii(xp, to_floats(xp, even)), to_angles(xp, odd)
        if n <= even.shape[2]:
            return xp.multiply(radius, xp.sin(angle), out=radius).reshape(-1)
        return self._spread(n, radius * xp.sin(angle), radius * xp.cos(angle))

    def _double_normals(self, n: int) -> Any:
        xp, (even, odd) = self.xp, self._by_stride(n, 2)
        uniforms = to_doubles(xp, even, odd)
        radius, angle = radii(xp, uniforms[0]), uniforms[1] * (2 * math.pi)
        return self._spread(n, xp.stack([radius * xp.sin(angle), radius * xp.cos(angle)]))

    def exponential(self, n: int, dtype: Any, rate: float = 1.0) -> Any:
        """Return n samples of the exponential distribution with the given rate (its mean is 1 / rate)."""
        xp, values = self.xp, self._standard(n, dtype)
        xp.log(values, out=values)
        least = float(numpy.finfo(values.dtype).eps) / 2  # where the uniform is 1, whose logarithm is 0
        xp.minimum(values, -least, out=values)
        values *= float(values.dtype.type(-1.0) / values.dtype.type(rate))
        return values.astype(dtype, copy=False)

    def geometric(self, n: int, dtype: Any, p: float) -> Any:
        """Return n counts of trials up to the first success, each of probability p."""
        xp, values = self.xp, self._standard(n, dtype)
        xp.log(values, out=values)
        values /= math.log1p(-p)
        xp.ceil(values, out=values)
        return xp.maximum(values, 1.0, out=values).astype(dtype, copy=False)

    def cauchy(self, n: int, dtype: Any, median: float, sigma: float) -> Any:
        """Return n samples of the Cauchy distribution."""
        xp, values = self.xp, self._standard(n, dtype)
        if values.dtype != numpy.float64:  # tan is finite at the ends
            margin = float(numpy.finfo(numpy.float32).eps)
            values = xp.clip(values, margin, 1 - margin)
        values -= 0.5
        values *= math.pi
        xp.tan(values, out=values)
        values *= sigma
        values += median
        return values.astype(dtype, copy=False)

    def bernoulli(self, n: int, p: float) -> Any:
        """Return n booleans, each true with probability p."""
        return self._floats(n) < float(numpy.float32(p))

    def bernoulli_each(self, p: Any) -> Any:
        """Return for each probability of a flat array a boolean that is true with it."""
        xp = self.xp
        threads = -(-p.size // 4)
        words = self._by_neighbours(self.initial_seed, self._take(BERNOULLI_STEP), 1, threads, 4)
        uniforms = to_floats(xp, words[: p.size])
        return uniforms <= p.astype(xp.float64 if p.dtype == numpy.float64 else xp.float32, copy=False)

    def _by_neighbours(self, seed: int, offset: int, turns: int, threads: int, each: int) -> Any:
        """Words in an order in which ``each`` neighbours (2, 4 or 8) share a thread, and take its calls of four."""
        xp, calls = self.xp, -(-each // 4)
        pairs = min(each, 4) // 2
        result = xp.empty((turns, threads, calls, pairs, 2), xp.uint32)
        for index, part in enumerate(self.words(seed, offset, turns * calls, threads)):
            result[..., index] = part.reshape(2, turns, calls, threads)[:pairs].transpose(1, 3, 2, 0)
        return result.reshape(-1)

    # -- what is dropped by dropout ------------------------------------------------------------------------------

    def reserve(self, n: int, itemsize: int = 4) -> tuple[int, int, int]:
        """Return the place from which `kept` draws for n elements of so many bytes, and go on behind it.

        The place is the seed, the offset, and how many neighbours share a thread: as many as 16 bytes hold, if that
        divides n. Where those are 8 (or 2), the words of the last (first) ones are used again after dropout by PyTorch,
        which reserves as for 4; not here.
        """
        each = max(16 // itemsize, 1)
        while n % each:
            each //= 2
        turns, calls, _ = self._dropout_layout(n, each)
        return self.initial_seed, self._take(4 * turns * calls if n else 0), each

    def kept(self, place: tuple[int, int, int], n: int, p: float) -> Any:
        """Return n booleans, each true with probability p: the same ones for one place, whatever was drawn since."""
        seed, offset, each = place
        turns, _, threads = self._dropout_layout(n, each)
        if each == 1:
            words = self._spread(n, *self.words(seed, offset, turns, threads))
        else:
            words = self._by_neighbours(seed, offset, turns, threads, each)[:n]
        return to_floats(self.xp, words) < float(numpy.float32(p))

    def _dropout_layout(self, n: int, each: int) -> tuple[int, int, int]:
        """How many turns the threads take, how many calls in each, and how many threads there are."""
        threads = min(-(-n // BLOCK) * BLOCK, self.threads)
        turns = -(-n // (threads * (each if each > 1 else 4))) if n else 1
        return turns, -(-each // 4), min(threads, n // each)

    # -- orders and positions ------------------------------------------------------------------------------------

    def permutation(self, n: int) -> Any:
        """Return the numbers from 0 to n - 1 in random order, as int64: sorted by random keys.

        Keys are as short as lets nine in ten orders be without two equal ones; equal ones are exchanged at random.
        """
        xp = self.xp
        if n == 0:
            return xp.empty(0, xp.int64)
        bits = min(64, math.ceil(math.log2(n - (6 * n * n + 1) / (12 * math.log(0.9)))))
        width = 32 if bits <= 32 else 64
        low = -(1 << width - 1)
        keys = self.integers(n, numpy.dtype(f"int{width}"), low, -low - 1)
        if bits < width:
            keys &= keys.dtype.type((1 << bits) - 1)
        order = xp.argsort(keys, kind="stable").astype(xp.int64, copy=False)
        return self._without_ties(xp.take(keys, order), order, self._take(n))

    def _without_ties(self, keys: Any, order: Any, offset: int) -> Any:
        """Shuffle groups of two or three equal keys by Fisher and Yates, with the words of the first one's thread.

        Of longer groups, one in 1000 n * n orders, the first three are.
        """
        xp, n = self.xp, len(order)
        equal = xp.zeros(n + 4, bool)  # at place + 2: whether a key is that of the place before
        equal[3 : n + 2] = keys[1:] == keys[:-1]
        before, here, after = equal[1 : n + 1], equal[2 : n + 2], equal[3 : n + 3]
        third = xp.logical_and(here, xp.logical_and(before, xp.logical_not(equal[:n])))
        member = xp.logical_and(here, xp.logical_not(before)).astype(xp.int64)  # of its group, from 0 on
        member += 2 * third.astype(xp.int64)
        even, odd = self.words(self.initial_seed, offset, 1, n)
        first, second = even[0, 0].astype(xp.int64), odd[0, 0].astype(xp.int64)
        shuffle = xp.where(equal[4:], first % 3 * 2 + second % 2, PAIRS + first % 2)
        shuffle = xp.where(xp.logical_and(after, xp.logical_not(here)), shuffle, UNMOVED)  # of those that lead a group
        leader = xp.arange(n, dtype=xp.int64) - member
        bits = xp.take(shuffle, leader) * 6 + member * 2
        return xp.take(order, leader + xp.bitwise_and(xp.right_shift(SHUFFLES, bits), 3))

    def multinomial(self, weights: Any, samples: int, replacement: bool) -> Any:
        """Return for each row of weights the columns drawn, as int64 of shape (rows, samples).

        Without replacement, columns are ranked by weight over an exponential sample; with it, uniforms are looked up
        in the cumulated weights.
        """
        xp = self.xp
        if replacement and samples > 1:
            return self._search(weights, samples)
        score = weights / self.exponential(weights.size, weights.dtype).reshape(weights.shape)
        score = score.astype(xp.promote_types(score.dtype, xp.float32), copy=False)
        if samples == 1:
            return xp.argmax(score, axis=1).astype(xp.int64, copy=False)[:, None]
        ranked = xp.argsort(-score, axis=1, kind="stable")[:, :samples]
        return xp.ascontiguousarray(ranked).astype(xp.int64, copy=False)

    def _search(self, weights: Any, samples: int) -> Any:
        """For each row of weights, the columns in whose part of its sum uniforms lie: all rows bisected at once."""
        xp, (rows, columns) = self.xp, weights.shape
        padded = -(-samples // BLOCK_MULTINOMIAL) * BLOCK_MULTINOMIAL
        first = xp.arange(rows, dtype=xp.uint64)[:, None] * numpy.uint64(padded)
        threads = (first + xp.arange(samples, dtype=xp.uint64)).reshape(-1)
        even, _ = self.words(self.initial_seed, self._take(4), 1, threads)
        uniforms = to_floats(xp, even[0, 0]).reshape(rows, samples)
        wide = weights.astype(xp.promote_types(weights.dtype, xp.float32), copy=False)
        cumulated = xp.cumsum(wide / wide.sum(axis=1, keepdims=True), axis=1)
        uniforms = xp.minimum(uniforms.astype(wide.dtype, copy=False), cumulated[:, -1:])  # whatever was rounded
        flat, start = cumulated.reshape(-1), xp.arange(rows, dtype=xp.int64)[:, None] * columns
        found = xp.zeros((rows, samples), xp.int64)  # how many sums are known to be less
        step = 1 << max(columns.bit_length() - 1, 0)
        while step:
            probe = found + step
            less = xp.take(flat, start + xp.minimum(probe, columns) - 1) < uniforms
            less = xp.logical_and(less, probe <= columns)
            found += step * less.astype(xp.int64)
            step >>= 1
        return found

    # -- samplers by rejection: so many candidates for each element that one of them is taken -------------------

    def poisson(self, rates: Any) -> Any:
        """Return for each rate of a flat array a count with that mean."""
        return self._each(POISSON_ROUNDS, poisson_samples, rates)

    def gamma(self, shapes: Any) -> Any:
        """Return for each shape parameter of a flat array a sample of the gamma distribution of scale 1."""
        result = self._each(GAMMA_ROUNDS, gamma_samples, shapes)
        smallest = 2.0**-1022 if shapes.dtype == numpy.float64 else 2.0**-126
        return self.xp.where(shapes == 0, 0.0, self.xp.maximum(result, smallest)).astype(shapes.dtype, copy=False)

    def binomial(self, counts: Any, p: Any) -> Any:
        """Return for each pair from two flat arrays the successes in so many trials of that probability."""
        return self._each(BINOMIAL_ROUNDS, binomial_samples, counts, p)

    def _each(self, rounds: int, sample: Callable[..., Any], *parameters: Any) -> Any:
        """Samples by parameters in float64, from uniforms of shape (4 * rounds, elements), some elements at a time."""
        xp, size = self.xp, parameters[0].size
        offset, few = self._take(4 * rounds), MATRIX // (4 * rounds)
        result = xp.empty(size, parameters[0].dtype)
        for start in range(0, size, few):
            part = slice(start, min(start + few, size))
            threads = xp.arange(part.start, part.stop, dtype=xp.uint64)
            words = xp.concatenate(self.words(self.initial_seed, offset, rounds, threads))
            uniforms = words.reshape(4 * rounds, -1).astype(xp.float64)
            uniforms *= STEP_32
            uniforms += STEP_32 / 2
            result[part] = sample(xp, uniforms, *[each[part].astype(xp.float64) for each in parameters])
        return result


# -- from words to numbers ---------------------------------------------------------------------------------------


def real_of(dtype: Any) -> Any:
    """The dtype of a complex one's parts."""
    return numpy.dtype("float64" if dtype.itemsize == 16 else "float32")


def highest_whole(dtype: Any) -> int:
    """The largest number up to which a dtype holds all whole ones."""
    if dtype.kind == "b":
        return 1
    digits = FULL_RANGE_DIGITS.get(dtype.name)
    return 1 << digits if digits is not None else int(numpy.iinfo(dtype).max)


def to_floats(xp: Any, words: Any) -> Any:
    """Turn words into float32 from (0, 1]."""
    result = words.astype(xp.float32)
    result *= STEP_32
    result += STEP_32 / 2
    return result


def to_doubles(xp: Any, low: Any, high: Any) -> Any:
    """Turn pairs of words into float64 from (0, 1)."""
    wide = high.astype(xp.uint64)
    wide <<= numpy.uint64(53 - 32)
    wide ^= low
    result = wide.astype(xp.float64)
    result *= STEP_53
    result += STEP_53 / 2
    return result


def radii(xp: Any, uniforms: Any) -> Any:
    """Box and Muller's radii, written over the uniforms."""
    xp.log(uniforms, out=uniforms)
    uniforms *= -2.0
    return xp.sqrt(uniforms, out=uniforms)


def to_angles(xp: Any, words: Any) -> Any:
    """Turn words into angles in float32."""
    result = words.astype(xp.float32)
    result *= TURN_32
    result += TURN_32 / 2
    return result
