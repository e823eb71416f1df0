"""The CPU's random stream: MT19937 and the transforms by which PyTorch turns its words into samples.

A seed gives the numbers that PyTorch's CPU generator gives for it: integers and uniforms bit for bit, what goes
through a logarithm or a sine to the last places. Words come from NumPy's MT19937 in whole blocks of 624, as the
generator makes them; everything after that is array arithmetic, and a block's uniforms are made together, since a
program's samples are mostly few. Only samplers that reject a varying number of draws (Poisson, gamma, binomial) walk
element by element, since each element starts where the one before it ended.

How many 32-bit words an element takes:

==================================  =====================================================
uniform, float16/bfloat16/float32   1 (its low 24 bits)
uniform, float64                    2 (the low 53 of 64 bits, first word high)
integers, range below 2**28         1, else 2; remainder by the range
normal, fewer than 16 elements      2 an element by pairs; an odd one out waits for the next call
normal, 16 or more                  as uniform, in blocks of 16; a ragged tail redraws the last 16
bernoulli with one probability      2, as are exponential, geometric and cauchy
bernoulli with many                 1 for float32 probabilities, 2 for float64
permutation of n                    n - 1
==================================  =====================================================
"""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final, Literal

import numpy as np

__all__ = ["STATE_SIZE", "MersenneStream"]

Array = np.ndarray[Any, Any]

BLOCK: Final = 624
NORMAL_BLOCK: Final = 16
HALF_BLOCK: Final = NORMAL_BLOCK // 2
CHUNK: Final = 1 << 15
FEW: Final = 256  # up to which a loop in Python costs less than NumPy's functions

# The bytes of a state, as PyTorch's CPU generator writes them. `left` counts the words until the next block is made,
# plus one; `state` is the block itself, untempered, one word in each 64 bits.
STATE: Final = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("state", "<u8", (BLOCK,)),
        ("unused", "<f8"),
        ("normal", "<f8"),
        ("unused2", "<f8"),
        ("normal_is_valid", "<i4"),
        ("padding", "<i4"),
        ("float_normal", "<f4"),
        ("float_normal_is_valid", "<i4"),
    ]
)
STATE_SIZE: Final = STATE.itemsize

# Arrays without dimensions: NumPy takes them in half the time of its numbers.
LOW_24_BITS, STEP_24 = np.array(0xFFFFFF, np.uint32), np.array(2.0**-24, np.float32)
LOW_21_BITS, STEP_32, STEP_53 = np.array(0x1FFFFF, np.uint32), np.array(2.0**32), np.array(2.0**-53)

# A floating type holds all whole numbers up to 2**digits.
FULL_RANGE_DIGITS: Final = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}

# PyTorch has this constant of the gamma sampler in float32, for float64 samples too.
ONE_THIRD: Final = float(np.float32(1 / 3))


class Block:
    """Words that were made together, and the uniforms and normals of each of them, made when first asked for."""

    def __init__(self, words: Array) -> None:
        self.words = words
        self._floats: Array | None = None
        self._doubles: Array | None = None
        self._polar: tuple[Array, Array] | None = None

    def floats(self) -> Array:
        """One of each word."""
        if self._floats is None:
            self._floats = to_floats(self.words)
        return self._floats

    def doubles(self) -> Array:
        """One of each word and its next."""
        if self._doubles is None:
            self._doubles = to_doubles(self.words[:-1], self.words[1:])
        return self._doubles

    def polar(self) -> tuple[Array, Array]:
        """The radius that each word stands for in `box_muller_in_blocks`, and the cosine and sine of its angle."""
        if self._polar is None:
            uniforms = self.floats()
            angle = uniforms * np.float32(2 * math.pi)
            direction = np.empty((2, len(angle)), np.float32)
            np.cos(angle, direction[0])
            np.sin(angle, direction[1])
            self._polar = radii(np.float32(1) - uniforms), direction
        return self._polar

    def normals(self, start: int, n: int) -> Array:
        """As many normals, in blocks of 16, of the words from one on."""
        radius, direction = self.polar()
        result = np.empty((n // NORMAL_BLOCK, 2, HALF_BLOCK), np.float32)
        strides = (4 * NORMAL_BLOCK, 4 * len(self.words), 4)
        first = np.ndarray((n // NORMAL_BLOCK, 1, HALF_BLOCK), np.float32, radius, 4 * start, strides)
        second = np.ndarray(result.shape, np.float32, direction, 4 * (start + HALF_BLOCK), strides)
        np.multiply(first, second, result)
        return result.reshape(n)


NO_BLOCK: Final = Block(np.empty(0, np.uint32))  # what a stream starts with


def to_floats(words: Array) -> Array:
    """Turn words into float32 from [0, 1) in steps of 2**-24."""
    result = np.bitwise_and(words, LOW_24_BITS).astype(np.float32)
    return np.multiply(result, STEP_24, result)


def to_doubles(high: Array, low: Array) -> Array:
    """Turn pairs of words into float64 from [0, 1) in steps of 2**-53."""
    result = np.bitwise_and(high, LOW_21_BITS).astype(np.float64)  # 53 - 32 bits of the high word
    np.multiply(result, STEP_32, result)
    np.add(result, low, result)
    return np.multiply(result, STEP_53, result)


class MersenneStream:
    """A stream of random words and the samples made of them, each method returning one-dimensional arrays.

    Parameters
    ----------
    seed : int
        Of 64 bits; the generator itself starts from the low 32, as PyTorch's does.

    Attributes
    ----------
    array_type : type
        Of the arrays that samplers take and return.
    """

    array_type = np.ndarray

    def __init__(self, seed: int) -> None:
        self._generator = np.random.MT19937(0)
        self._source = np.random.RandomState(self._generator)  # which seeds it as PyTorch does
        self.seed(seed)

    # -- state ---------------------------------------------------------------------------------------------------

    def seed(self, seed: int) -> None:
        """Start the stream over from a seed of 64 bits."""
        self.initial_seed = seed & 0xFFFFFFFFFFFFFFFF
        self._source.seed(seed & 0xFFFFFFFF)
        self._block, self._position = NO_BLOCK, 0  # the words from this one on are not yet handed out
        self._fresh = True
        self._waiting: float | None = None  # the second normal of a pair

    def get_state(self) -> Array:
        """Return the state as STATE_SIZE bytes, laid out as PyTorch's CPU generator state."""
        state = np.zeros((), STATE)
        state["seed"] = self.initial_seed
        left = len(self._block.words) - self._position
        state["left"] = left + 1
        state["seeded"] = 1
        state["next"] = 0 if self._fresh else BLOCK - left
        state["state"] = self._source.get_state(legacy=False)["state"]["key"]
        if self._waiting is not None:
            state["normal"] = self._waiting
            state["normal_is_valid"] = 1
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    def set_state(self, state: Array) -> None:
        """Continue from a state of `get_state`, or of a PyTorch CPU generator.

        Raises
        ------
        RuntimeError
            If the bytes are not STATE_SIZE in number, or cannot be a state.
        """
        if state.size != STATE_SIZE:
            raise RuntimeError(
                f"set_state: expected a CPU generator's state of {STATE_SIZE} bytes, got {state.size}; "
                "pass what get_state() of a CPU generator returned"
            )
        fields = np.frombuffer(np.ascontiguousarray(state).tobytes(), STATE)[0]
        left, following = int(fields["left"]), int(fields["next"])
        if fields["seeded"] != 1 or not 1 <= left <= BLOCK or following > BLOCK:
            raise RuntimeError("set_state: these bytes are not an MT19937 state; pass what get_state() returned")
        self.initial_seed = int(fields["seed"])
        # From position 0 the source hands out the block that the state holds, from BLOCK on it makes the next one.
        position = BLOCK if left == 1 else 0
        key = fields["state"].astype(np.uint32)
        self._source.set_state({"bit_generator": "MT19937", "state": {"key": key, "pos": position}})
        self._fresh = left == 1 and following == 0
        self._block = NO_BLOCK if left == 1 else Block(self._draw(BLOCK))
        self._position = 0 if left == 1 else following
        self._waiting = float(fields["normal"]) if fields["normal_is_valid"] else None

    # -- words ---------------------------------------------------------------------------------------------------

    def _draw(self, n: int) -> Array:
        return self._generator.random_raw(n).astype(np.uint32)

    def words(self, n: int) -> Array:
        """Return the next n words of 32 bits; the array must not be written to."""
        if n <= BLOCK:
            start = self._taken(n)
            return self._block.words[start : start + n]
        rest = self._block.words[self._position :]
        missing = n - len(rest)
        drawn = self._draw(-(-missing // BLOCK) * BLOCK)
        self._block, self._position = Block(drawn[missing:].copy()), 0
        self._fresh = False
        return np.concatenate([rest, drawn[:missing]]) if len(rest) else drawn[:missing]

    def _taken(self, n: int) -> int:
        """Take n words, not more than the generator makes at once; return where in the block they begin."""
        start, words = self._position, self._block.words
        if start + n > len(words):
            self._block = Block(np.concatenate((words[start:], self._draw(BLOCK))))
            self._fresh = False
            start = 0
        self._position = start + n
        return start

    def words64(self, n: int) -> Array:
        """Return n words of 64 bits, of two of 32 bits each, the first one high."""
        pairs = self.words(2 * n)
        high = pairs[0::2].astype(np.uint64)
        high <<= np.uint64(32)
        high |= pairs[1::2]
        return high

    def floats(self, n: int) -> Array:
        """Return n float32 from [0, 1) in steps of 2**-24."""
        if n > BLOCK:
            return to_floats(self.words(n))
        start = self._taken(n)
        return self._block.floats()[start : start + n].copy()

    def doubles(self, n: int) -> Array:
        """Return n float64 from [0, 1) in steps of 2**-53."""
        if 2 * n > BLOCK:
            pairs = self.words(2 * n)
            return to_doubles(pairs[0::2], pairs[1::2])
        start = self._taken(2 * n)
        return self._block.doubles()[start : start + 2 * n : 2].copy()

    # -- samples -------------------------------------------------------------------------------------------------

    def uniform(self, n: int, dtype: np.dtype[Any], low: float = 0.0, high: float = 1.0) -> Array:
        """Return n samples of a floating or complex dtype, uniform on [low, high)."""
        if dtype.kind == "c":
            return self.uniform(2 * n, real_of(dtype), low, high).view(dtype)
        standard = self.doubles if dtype == np.float64 else self.floats
        if low == 0 and high == 1 and dtype in (np.float32, np.float64):
            return in_chunks(n, dtype, standard)
        return in_chunks(n, dtype, lambda count: self._between(standard(count), low, high, dtype))

    def _between(self, standard: Array, low: float, high: float, dtype: np.dtype[Any]) -> Array:
        return between(standard, low, high, dtype)

    def integers(self, n: int, dtype: np.dtype[Any], low: int, high: int) -> Array:
        """Return n whole numbers from low up to, but not with, high."""
        # Of 32 bits, the remainder by 2**28 or more would favour some numbers by a sixteenth.
        return self._whole(n, low, high - low, high - low >= 1 << 28, dtype)

    def full_range(self, n: int, dtype: np.dtype[Any]) -> Array:
        """Return n whole numbers from 0 to the largest up to which dtype holds all of them."""
        top = highest_whole(dtype)
        return self._whole(n, 0, top + 1, top >= 1 << 32, dtype)

    def _whole(self, n: int, low: int, span: int, wide: bool, dtype: np.dtype[Any]) -> Array:
        if span == 1 << 64:  # the words as they are, whatever the lowest is
            return self.words64(n).view(np.int64).astype(dtype, copy=False)
        if span < 1 << 32 and not wide and -(1 << 63) <= low <= (1 << 63) - span:
            if n == 1:  # as transforms draw, in a third of the time
                return np.array([int(self.words(1)[0]) % span + low]).astype(dtype, copy=False)
            few = np.remainder(self.words(n), np.array(span, np.uint32)).astype(np.int64)
            return (few + low if low else few).astype(dtype, copy=False)
        if wide:
            values = self.words64(n) % np.uint64(span)
        else:
            values = (self.words(n) % np.uint32(span)).astype(np.uint64) if span < 1 << 32 else self.words(n)
        values = values + np.uint64(low & 0xFFFFFFFFFFFFFFFF)
        signed = values if dtype == np.uint64 else values.view(np.int64)
        return signed.astype(dtype, copy=False)

    def normal(
        self, n: int, dtype: np.dtype[Any], mean: float = 0.0, std: float = 1.0, contiguous: bool = True
    ) -> Array:
        """Return n normal samples; one by one where there are fewer than 16, or where they go to scattered memory.

        A complex sample has the standard deviation std, and each of its parts std / sqrt(2).
        """
        if dtype.kind == "c":
            return self.normal(2 * n, real_of(dtype), mean, std / math.sqrt(2), contiguous).view(dtype)
        if n < NORMAL_BLOCK or not contiguous:
            return rounded(scaled(self.gaussians(n), mean, std), dtype)
        standard = self.doubles if dtype == np.float64 else self.floats
        tail = n % NORMAL_BLOCK
        if n <= BLOCK and not tail and dtype == np.float32:
            start = self._taken(n)
            return scaled(self._block.normals(start, n), mean, std)
        lost = tail if dtype.itemsize >= 4 else 0  # drawn and not used, but for half types, made from whole blocks
        if n <= CHUNK:
            drawn = standard(n - tail + lost + (NORMAL_BLOCK if tail else 0))
            if not tail:
                return scaled(self._normals(drawn), mean, std).astype(dtype, copy=False)
            drawn[n - tail : n - tail + NORMAL_BLOCK] = drawn[-NORMAL_BLOCK:]
            made = scaled(self._normals(drawn[: n - tail + NORMAL_BLOCK]), mean, std).astype(dtype, copy=False)
            result = made[:n].copy()
            result[-NORMAL_BLOCK:] = made[-NORMAL_BLOCK:]
            return result
        result = np.empty(n, dtype)
        result[: n - tail] = in_chunks(n - tail, dtype, lambda count: scaled(self._normals(standard(count)), mean, std))
        if tail:
            standard(lost)
            result[-NORMAL_BLOCK:] = scaled(self._normals(standard(NORMAL_BLOCK)), mean, std)
        return result

    def _normals(self, uniforms: Array) -> Array:
        return box_muller_in_blocks(uniforms)

    def gaussians(self, n: int) -> Array:
        """Return n standard normals in float64, pair by pair; the second of a pair may wait for the next call."""
        if n < NORMAL_BLOCK:
            return np.array(self._few_gaussians(n))
        result = np.empty(n, np.float64)
        start = 0
        if self._waiting is not None:
            result[0] = self._waiting
            self._waiting = None
            start = 1
        pairs = (n - start + 1) // 2
        uniforms = self.doubles(2 * pairs)
        angle = uniforms[0::2] * (2 * math.pi)
        radius = np.sqrt(-2 * np.log1p(-uniforms[1::2]))
        result[start::2] = (radius * np.cos(angle))[: (n - start + 1) // 2]
        second = radius * np.sin(angle)
        result[start + 1 :: 2] = second[: (n - start) // 2]
        if (n - start) % 2:
            self._waiting = float(second[-1])
        return result

    def _few_gaussians(self, n: int) -> list[float]:
        """So few that a loop in Python takes less time than NumPy's functions."""
        result = []
        if n and self._waiting is not None:
            result.append(self._waiting)
            self._waiting = None
        missing = n - len(result)
        uniforms = self.doubles(missing + missing % 2).tolist() if missing else []
        for turn, uniform in zip(uniforms[0::2], uniforms[1::2]):
            angle, radius = turn * (2 * math.pi), math.sqrt(-2 * math.log1p(-uniform))
            result.append(radius * math.cos(angle))
            result.append(radius * math.sin(angle))
        if missing % 2:
            self._waiting = result.pop()
        return result

    def log_normal(self, n: int, dtype: np.dtype[Any], mean: float, std: float) -> Array:
        """Return n samples of exp(normal(mean, std))."""
        return rounded(np.exp(scaled(self.gaussians(n), mean, std)), dtype)

    def bernoulli(self, n: int, p: float) -> Array:
        """Return n booleans, each true with probability p."""
        if 2 * n <= BLOCK:
            start = self._taken(2 * n)
            return np.less(self._block.doubles()[start : start + 2 * n : 2], p)
        return in_chunks(n, np.dtype(bool), lambda count: self.doubles(count) < p)

    def bernoulli_each(self, p: Array) -> Array:
        """Return for each probability of a flat array a boolean that is true with it."""
        if p.dtype == np.float64:
            return self.doubles(p.size) < p
        return self.floats(p.size) < p.astype(np.float32, copy=False)

    def exponential(self, n: int, dtype: np.dtype[Any], rate: float = 1.0) -> Array:
        """Return n samples of the exponential distribution with the given rate (its mean is 1 / rate)."""
        return in_chunks(n, dtype, lambda count: rounded(np.log1p(-self.doubles(count)) * (-1.0 / rate), dtype))

    def geometric(self, n: int, dtype: np.dtype[Any], p: float) -> Array:
        """Return n counts of trials up to the first success, each of probability p."""
        with np.errstate(divide="ignore"):
            return rounded(np.ceil(np.log(self.doubles(n)) / math.log1p(-p)), dtype)

    def cauchy(self, n: int, dtype: np.dtype[Any], median: float, sigma: float) -> Array:
        """Return n samples of the Cauchy distribution."""
        result = np.tan((self.doubles(n) - 0.5) * math.pi)
        result *= sigma
        result += median
        return rounded(result, dtype)

    def permutation(self, n: int) -> Array:
        """Return the numbers from 0 to n - 1 in random order, as int64."""
        if n < 0xFFFFFFFF // 20:
            if n <= FEW:
                return np.array(exchanged_few(self.words(max(n - 1, 0)).tolist(), n), np.int64)
            steps = np.arange(n - 1)
            return exchanged(steps + self.words(len(steps)) % (n - steps).astype(np.uint32), n)
        # So long that a remainder of 32 bits would be visibly uneven: 64 bits, and place i changes with one of 0..i.
        # Those are the exchanges of a shuffle from the other end in reverse order, which give the inverse order.
        steps = np.arange(n)
        others = (self.words64(n) % (steps + 1).astype(np.uint64)).view(np.int64)
        inverse = n - 1 - exchanged(n - 1 - others[::-1], n)[::-1]
        result = np.empty(n, np.int64)
        result[inverse] = steps
        return result

    def multinomial(self, weights: Array, samples: int, replacement: bool) -> Array:
        """Return for each row of weights the columns drawn, as int64 of shape (rows, samples).

        Without replacement, columns are ranked by weight over an exponential sample (the first to arrive of Poisson
        processes with these rates); with it, uniforms are looked up in the cumulated weights.
        """
        rows = len(weights)
        if not replacement or samples == 1:
            order: Literal["C", "F"] = "F" if 0 < weights.strides[0] < weights.strides[1] else "C"
            noise = self.exponential(weights.size, weights.dtype).reshape(weights.shape, order=order)
            with np.errstate(all="ignore"):
                score: Array = weights / noise
            ranked: Array = score.argmax(axis=1)[:, None] if samples == 1 else np.argsort(-score, axis=1, kind="stable")
            return np.ascontiguousarray(ranked[:, :samples])
        return self._search(weights, self.doubles(rows * samples).reshape(rows, samples))

    def _search(self, weights: Array, uniforms: Array) -> Array:
        """For each row of weights, the columns in whose part of its sum the uniforms lie."""
        cumulated: Array = np.cumsum(weights, axis=1, dtype=np.float64 if weights.dtype == np.float64 else np.float32)
        cumulated = cumulated / cumulated[:, -1:]
        result: Array = np.empty(uniforms.shape, np.int64)
        for row in range(len(weights)):
            result[row] = np.searchsorted(cumulated[row], uniforms[row])
        np.minimum(result, weights.shape[1] - 1, out=result)
        return result

    # -- samplers by rejection, element by element --------------------------------------------------------------

    def poisson(self, rates: Array) -> Array:
        """Return for each rate of a flat array a count with that mean."""
        return self._each(poisson_sample, rates)

    def gamma(self, shapes: Array) -> Array:
        """Return for each shape parameter of a flat array a sample of the gamma distribution of scale 1."""
        if shapes.dtype == np.float64:
            result, smallest = self._each(gamma_sample, shapes), 2.0**-1022
        else:
            result, smallest = self._each(partial(gamma_sample, to_float=to_float32), shapes), 2.0**-126
        result[shapes != 0] = np.maximum(result[shapes != 0], result.dtype.type(smallest))
        return result

    def binomial(self, counts: Array, p: Array) -> Array:
        """Return for each pair from two flat arrays the successes in so many trials of that probability."""
        return self._each(binomial_sample, counts, p)

    def _each(self, sample: Callable[..., float], *parameters: Array) -> Array:
        before = self._source.get_state(legacy=False), self._block, self._position, self._fresh
        draws = Draws(self)
        values = [sample(draws, *row) for row in zip(*(p.astype(np.float64).tolist() for p in parameters), strict=True)]
        # Words are drawn ahead in chunks; go back and take just those that were used.
        state, self._block, self._position, self._fresh = before
        self._source.set_state(state)
        self.words(2 * draws.used)
        self._waiting = draws.waiting
        return rounded(np.array(values, np.float64), parameters[0].dtype)


class Draws:
    """Uniforms and normals one at a time, of words drawn ahead in chunks."""

    CHUNK: Final = 1024

    def __init__(self, stream: MersenneStream) -> None:
        self._stream = stream
        self._ahead: list[float] = []
        self.used = 0
        self.waiting = stream._waiting

    def uniform(self) -> float:
        """Return the next float64 from [0, 1)."""
        if not self._ahead:
            self._ahead = self._stream.doubles(self.CHUNK)[::-1].tolist()
        self.used += 1
        return self._ahead.pop()

    def normal(self) -> float:
        """Return the next standard normal; every second one is the other half of a pair."""
        if self.waiting is not None:
            value, self.waiting = self.waiting, None
            return value
        angle = 2 * math.pi * self.uniform()
        radius = math.sqrt(-2 * math.log1p(-self.uniform()))
        self.waiting = radius * math.sin(angle)
        return radius * math.cos(angle)


def poisson_sample(draws: Draws, rate: float) -> float:
    """Sample by multiplying uniforms (Knuth TAOCP 3.4.1) or, for rates from 10, by Hormann's PTRS (1993)."""
    if rate == 0:
        return 0.0
    if rate < 10:
        limit, product, count = math.exp(-rate), draws.uniform(), 0
        while product > limit:
            product *= draws.uniform()
            count += 1
        return float(count)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = draws.uniform() - 0.5
        v = draws.uniform()
        us = 0.5 - abs(u)
        count = math.floor((2 * a / us + b) * u + rate + 0.43) if us else -1
        if us >= 0.07 and v <= squeeze:
            return float(count)
        if count < 0 or (us < 0.013 and v > us):
            continue
        height = log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if height <= -rate + count * math.log(rate) - math.lgamma(count + 1):
            return float(count)


def to_float32(value: float) -> float:
    """Round to float32."""
    return float(np.float32(value))


def gamma_sample(draws: Draws, shape: float, to_float: Callable[[float], float] = float) -> float:
    """Sample by Marsaglia and Tsang's method (2000); shapes below 1 by way of shape + 1.

    What is computed from the shape alone is in the dtype of the shape: `to_float` rounds to it.
    """
    scale = 1.0
    if shape < 1:
        if shape == 0:
            return 0.0
        scale = (1 - draws.uniform()) ** to_float(1 / shape)
        shape += 1
    d = to_float(shape - ONE_THIRD)
    c = 1 / math.sqrt(9 * d)
    while True:
        x = draws.normal()
        while 1 + c * x <= 0:
            x = draws.normal()
        v = (1 + c * x) ** 3
        u = 1 - draws.uniform()
        if u < 1 - 0.0331 * x**4 or log(u) < 0.5 * x * x + d * (1 - v + math.log(v)):
            return scale * d * v


def binomial_sample(draws: Draws, count: float, p: float) -> float:
    """Sample by waiting times or, where count * p is at least 10, by Hormann's BTRS (1993)."""
    if count <= 0 or p <= 0:
        return 0.0
    if p >= 1:
        return count
    if p > 0.5:
        return count - binomial_sample(draws, count, 1 - p)
    if math.isnan(p) or math.isnan(count):
        return math.nan
    if count * p >= 10:
        return binomial_by_rejection(draws, count, p)
    successes, trials = 0, waiting_time(draws, p)
    while trials <= count:
        successes += 1
        trials += waiting_time(draws, p)
    return float(successes)


def waiting_time(draws: Draws, p: float) -> float:
    """Return the number of trials up to the first success."""
    u = draws.uniform()
    return math.ceil(math.log(u) / math.log1p(-p)) if u else math.inf


def binomial_by_rejection(draws: Draws, count: float, p: float) -> float:
    """Sample by Hormann's BTRS; the names are those of the paper (J. Stat. Comput. Simul. 46, 1993)."""
    spread = math.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = count * p + 0.5
    squeeze = 0.92 - 4.2 / b
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * spread
    mode = math.floor((count + 1) * p)
    while True:
        u = draws.uniform() - 0.5
        v = draws.uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c) if us else -1
        if us >= 0.07 and v <= squeeze:
            return float(k)
        if k < 0 or k > count:
            continue
        height = log(v * alpha / (a / (us * us) + b))
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + stirling_error(mode)
            + stirling_error(count - mode)
            - stirling_error(k)
            - stirling_error(count - k)
        )
        if height <= bound:
            return float(k)


def stirling_error(k: float) -> float:
    """Return what Stirling's formula for log(k!), in powers of k + 1, leaves out."""
    if k < 10:
        return math.lgamma(k + 1) - (k + 0.5) * math.log(k + 1) + (k + 1) - 0.5 * math.log(2 * math.pi)
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def log(x: float) -> float:
    """Return the natural logarithm, minus infinity at 0."""
    return math.log(x) if x > 0 else -math.inf


def exchanged(others: Array, n: int) -> Array:
    """Exchange place i of 0, 1, ..., n - 1 with place others[i] >= i, for i = 0, 1, ... in turn (Fisher-Yates).

    No step looks back, so this needs no loop over them. What lies in place k when its turn comes was brought there
    by the last step before k that chose k, from that step's own place: a pointer from k to that step. Following the
    pointers to their end gives the number; doubling their reach each time takes some log(log n) rounds.
    """
    steps = np.arange(n)
    chosen = steps.copy()  # the places without a step of their own stay
    chosen[: len(others)] = others
    events = np.sort(chosen * n + steps)  # by place, then by time
    place, step = np.divmod(events, n)
    repeats = np.flatnonzero(place[1:] == place[:-1]) + 1
    earlier = np.full(n, -1)  # the step before this one that chose the same place
    earlier[step[repeats]] = step[repeats - 1]
    source = steps.copy()
    source[place] = step  # of several steps that chose a place NumPy keeps the last
    stays = (chosen == steps) & (earlier >= 0)
    source[stays] = earlier[stays]
    while True:
        further = source[source]
        if np.array_equal(further, source):
            break
        source = further
    return np.where(earlier >= 0, source[earlier], chosen)


def exchanged_few(words: list[int], n: int) -> list[int]:
    """As `exchanged`, one step after the other, by a word for each."""
    result = list(range(n))
    for i, word in enumerate(words):
        j = i + word % (n - i)
        result[i], result[j] = result[j], result[i]
    return result


@cache
def highest_whole(dtype: np.dtype[Any]) -> int:
    """Return the largest whole number up to which dtype holds all of them."""
    if dtype.kind == "b":
        return 1
    digits = FULL_RANGE_DIGITS.get(dtype.name)
    return int(np.iinfo(dtype).max) if digits is None else 1 << digits


def in_chunks(n: int, dtype: np.dtype[Any], sample: Callable[[int], Array]) -> Array:
    """Return n samples, drawn a chunk at a time so that what lies between word and sample stays in the cache."""
    if n <= CHUNK:
        return sample(n).astype(dtype, copy=False)
    result = np.empty(n, dtype)
    for start in range(0, n, CHUNK):
        chunk = result[start : start + CHUNK]
        chunk[:] = sample(len(chunk))
    return result


def between(standard: Array, low: float, high: float, dtype: np.dtype[Any]) -> Array:
    """Turn uniforms on [0, 1) into uniforms of `dtype` on [low, high)."""
    if dtype == np.float64:
        values = fused_multiply_add(standard, high - low, low)
    else:
        bottom, top = np.float32(low), np.float32(high)
        # The product of two float32 is exact in float64, so this rounds as a fused multiply-add does.
        if len(standard) == 1 and dtype == np.float32:  # as transforms draw, in a third of the time
            value = np.float32(standard.item() * float(top - bottom) + float(bottom))
            return np.array([bottom if value == top else value])
        wide = standard * np.float64(top - bottom)
        wide += np.float64(bottom)
        values = wide.astype(np.float32).astype(dtype, copy=False)
    ends = np.array([low, high]).astype(dtype)
    values[values == ends[1]] = ends[0]  # what rounding raised to the end that is left out
    return values


def real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the parts of a complex dtype."""
    return np.dtype(f"f{dtype.itemsize // 2}")


def rounded(values: Array, dtype: np.dtype[Any]) -> Array:
    """Convert float64, to half types by way of float32, as PyTorch does."""
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(dtype)
    return values.astype(dtype, copy=False)


def fused_multiply_add(x: Array, factor: float, term: float) -> Array:
    """Return x * factor + term in float64, rounded once.

    The product and the sum are each kept with their rounding error (Dekker 1971, Knuth TAOCP 4.2.2).
    """
    high_x, low_x = split(x)
    high_factor, low_factor = split(np.float64(factor))
    product = x * factor
    error = ((high_x * high_factor - product) + high_x * low_factor + low_x * high_factor) + low_x * low_factor
    total: Array = product + term
    back = total - product
    error += (product - (total - back)) + (term - back)
    total += error
    return total


def split(x: Any) -> tuple[Any, Any]:
    """Split float64 into two halves of 26 bits that sum to it (Veltkamp)."""
    scaled_up = x * 134217729.0  # 2**27 + 1
    high = scaled_up - (scaled_up - x)
    return high, x - high


def scaled(standard: Array, mean: float, std: float) -> Array:
    """Turn standard normals, in place, into those of another mean and standard deviation."""
    if std != 1:
        standard *= standard.dtype.type(std)
    if mean != 0:
        standard += standard.dtype.type(mean)
    return standard


def box_muller_in_blocks(uniforms: Array) -> Array:
    """Turn uniforms, in blocks of 16, into normals: the first eight of a block are radii, the second eight angles."""
    kind = uniforms.dtype.type
    blocks = uniforms.reshape(-1, 2, HALF_BLOCK)
    radius = radii(kind(1) - blocks[:, 0])
    angle = blocks[:, 1] * kind(2 * math.pi)
    result = np.empty(blocks.shape, uniforms.dtype)
    np.multiply(np.cos(angle), radius, result[:, 0])
    np.multiply(np.sin(angle, angle), radius, result[:, 1])
    return result.reshape(-1)


def radii(uniforms: Array) -> Array:
    """Turn uniforms on (0, 1], in place, into the lengths of pairs of normals."""
    np.log(uniforms, uniforms)
    np.multiply(uniforms, uniforms.dtype.type(-2), uniforms)
    return np.sqrt(uniforms, uniforms)
