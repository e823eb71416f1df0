"""MT19937's words, and the samples made of them: the bits of `weft._random.mt19937`, but for logarithms and sines,
which are right to the last places.

Words come one block after another, in one thread; samples are made of them in several.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.float16 import BITS, number_in, put_at, value_at
from weft.backend_cpu.compiled.codegen.mathematics import floor, function, fused, like, log, log1p, polynomial, sine_of
from weft.backend_cpu.compiled.codegen.mathematics import whole as nearest
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel, serial_launcher
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel

__all__ = [
    "below",
    "between",
    "doubles",
    "exchanged",
    "exponentials",
    "floats",
    "normals",
    "remainders",
    "remainders64",
    "search",
    "threshold",
    "words",
]

SIZE, SHIFT = 624, 397  # words of a block, and how far apart two of them are combined
UPPER, LOWER = np.uint32(0x80000000), np.uint32(0x7FFFFFFF)
MATRIX = np.uint32(0x9908B0DF)
FIRST, SECOND = np.uint32(0x9D2C5680), np.uint32(0xEFC60000)
CHUNK = 1 << 15  # samples for which words are made at a time, so that these stay in the cache
ONE, SEVEN, ELEVEN, FIFTEEN, EIGHTEEN = (np.uint32(k) for k in (1, 7, 11, 15, 18))


@function
def mixed(high, low):
    """The next word but for the one that lies `SHIFT` further on."""
    joined = (high & UPPER) | (low & LOWER)
    return (joined >> ONE) ^ (MATRIX if joined & ONE else np.uint32(0))


@serial_launcher
def words(key, out):
    """Write words to an array of whole blocks; ``key`` is the generator's state at the end of one, and stays so."""
    for start in range(0, out.size, SIZE):
        for i in range(np.uintp(SIZE - SHIFT)):
            key[i] = key[i + np.uintp(SHIFT)] ^ mixed(key[i], key[i + np.uintp(1)])
        for i in range(np.uintp(SIZE - SHIFT), np.uintp(SIZE - 1)):
            key[i] = key[i - np.uintp(SIZE - SHIFT)] ^ mixed(key[i], key[i + np.uintp(1)])
        key[SIZE - 1] = key[SHIFT - 1] ^ mixed(key[SIZE - 1], key[0])
        block = out[start : start + SIZE]
        for i in range(np.uintp(SIZE)):
            word = key[i]
            word ^= word >> ELEVEN
            word ^= (word << SEVEN) & FIRST
            word ^= (word << FIFTEEN) & SECOND
            block[i] = word ^ (word >> EIGHTEEN)


# Uniforms


@loop
def floats_loop(words, out, lo, hi):
    for i in range(lo, hi):
        out[i] = np.float32(np.int32(words[i] & np.uint32(0xFFFFFF))) * np.float32(2.0**-24)


@launcher
def floats(words, out):
    """float32 from [0, 1): 24 bits of a word each."""
    parallel(floats_loop, (words, out), out.size, out.size)


@function
def double_of(words, i):
    """A number from [0, 1) with 53 bits of the i-th two words."""
    high, low = np.int64(words[2 * i] & np.uint32(0x1FFFFF)), np.int64(words[2 * i + np.uintp(1)])
    return np.float64((high << 32) | low) * 2.0**-53


@loop
def doubles_loop(words, out, lo, hi):
    for i in range(lo, hi):
        out[i] = double_of(words, i)


@launcher
def doubles(words, out):
    """float64 from [0, 1): 53 bits of two words each."""
    parallel(doubles_loop, (words, out), out.size, out.size)


@loop
def between_loop(standard, low, high, out, lo, hi):
    for i in range(lo, hi):
        value = like(standard[i], fused(np.float64(standard[i]), high - low, low))
        out[i] = low if value == like(standard[i], high) else value


@launcher
def between(standard, low, high, out):
    """Uniforms from [low, high), of those from [0, 1)."""
    parallel(between_loop, (standard, low, high, out), out.size, out.size)


# Events that happen with a probability: where a uniform of 53 bits is below it. Whole numbers are compared.


def threshold(p: float) -> Any:
    """The number that the bits are below where the uniform is below ``p``."""
    return np.uint64(math.ceil(p * 2.0**53))


@function
def is_below(pairs, i, limit):
    """Whether the number of the i-th two words, the first of which is high, is below a `threshold`."""
    return (((pairs[i] & np.uint64(0x1FFFFF)) << np.uint64(32)) | (pairs[i] >> np.uint64(32))) < limit


@loop
def below_loop(pairs, limit, out, lo, hi):
    for i in range(lo, hi):
        out[i] = is_below(pairs, i, limit)


@launcher
def below(words, limit, out):
    """Booleans, of two words each."""
    parallel(below_loop, (words.view(np.uint64), limit, out), out.size, out.size)


@loop
def dropout_loop(pairs, limit, scale, x, y, noise, start, lo, hi):
    some, none = number_in(x, scale), number_in(x, 0.0)
    for i in range(lo, hi):
        factor = some if is_below(pairs, i, limit) else none
        put_at(noise, start + i, factor)
        put_at(y, start + i, value_at(x, start + i) * factor)


@launcher
def dropout(words, limit, scale, x, y, noise, start):
    """A part of the input times a scale where an event happens, and zero elsewhere; and what it was multiplied by."""
    arguments = (words.view(np.uint64), limit, scale, x, y, noise, np.uintp(start))
    parallel(dropout_loop, arguments, words.size // 2, words.size)


NO_WORDS = np.empty(0, np.uint32)


@register_kernel("nn::dropout", dtypes="float32 float64 float16 bfloat16", min_size=MIN_SIZE_FUSED, bitwise=True)
def dropout_kernel(generic: Any) -> Any:
    def run(input: Any, cached: float, scale: float, generator: Any) -> Any:
        if not input.flags.c_contiguous or not input.flags.aligned:
            return generic(input, cached, scale, generator)
        y, noise = np.empty_like(input), np.empty_like(input)
        flat = [each.reshape(-1).view(BITS.get(each.dtype, each.dtype)) for each in (input, y, noise)]
        limit = threshold(cached)
        dropout(NO_WORDS, limit, scale, *flat, 0)  # finds out whether it is there: words cannot be put back
        for start in range(0, input.size, CHUNK):
            words = generator.sample("words", 2 * min(CHUNK, input.size - start))
            dropout(words, limit, scale, *flat, start)
        return y, noise

    return run


# Normals: of two uniforms, by Box and Muller

TURN = 6.283185307179586
SIN_SINGLE = (-0.0001958537320669302, 0.00833273655917713, -0.16666664601754114)
COS_SINGLE = (2.4545419078353295e-05, -0.0013888291300556933, 0.04166666459882798)
HALF_PI = 1.5707963705062866, -4.371139000186241e-08  # in float32, and what that lacks


@function
def sine_and_cosine(x):
    """Of an angle from [0, 2 pi] in float32."""
    k = nearest(x * like(x, 0.6366197723675814))
    r = fused(-k, like(x, HALF_PI[1]), fused(-k, like(x, HALF_PI[0]), x))
    square = r * r
    sine = r + r * square * polynomial(square, SIN_SINGLE, SIN_SINGLE)
    even = like(x, 1.0) - (like(x, 0.5) * square - square * square * polynomial(square, COS_SINGLE, COS_SINGLE))
    k -= like(x, 4.0) * floor(k * like(x, 0.25))
    turned = k == like(x, 1.0) or k == like(x, 3.0)
    first, second = even if turned else sine, sine if turned else even
    below, left = k >= like(x, 2.0), k == like(x, 1.0) or k == like(x, 2.0)
    return -first if below else first, -second if left else second


# A block is eight radii and eight angles, too short a row for vector code: those of some blocks are brought together.
TOGETHER = 64


@loop
def polar(radii, angles, count):
    """Turn uniforms in float32 into pairs of normals."""
    for i in range(np.uintp(count)):
        radius = math.sqrt(np.float32(-2.0) * log(np.float32(1.0) - radii[i]))
        sine, cosine = sine_and_cosine(angles[i] * np.float32(TURN))
        radii[i] = radius * cosine
        angles[i] = radius * sine


@loop
def polar_double(radii, angles, count):
    """The same in float64."""
    for i in range(np.uintp(count)):
        radius = math.sqrt(-2.0 * log(1.0 - radii[i]))
        angle = angles[i] * TURN
        radii[i] = radius * sine_of(angle, 1.0)
        angles[i] = radius * sine_of(angle, 0.0)


@loop
def normals_loop(uniforms, out, lo, hi):
    radii, angles = np.empty(8 * TOGETHER, out.dtype), np.empty(8 * TOGETHER, out.dtype)
    first, last = np.int64(lo), np.int64(hi)
    for start in range(first, last, TOGETHER):
        count = last - start if last - start < TOGETHER else TOGETHER
        for block in range(count):
            for i in range(8):
                radii[8 * block + i] = uniforms[16 * (start + block) + i]
                angles[8 * block + i] = uniforms[16 * (start + block) + 8 + i]
        if out.itemsize == 4:
            polar(radii, angles, 8 * count)
        else:
            polar_double(radii, angles, 8 * count)
        for block in range(count):
            for i in range(8):
                out[16 * (start + block) + i] = radii[8 * block + i]
                out[16 * (start + block) + 8 + i] = angles[8 * block + i]


@launcher
def normals(uniforms, out):
    """Of blocks of 16 uniforms, of which eight are radii and eight are angles."""
    parallel(normals_loop, (uniforms, out), out.size // 16, out.size * 8)


@loop
def exponentials_loop(uniforms, scale, out, lo, hi):
    for i in range(lo, hi):
        out[i] = log1p(-uniforms[i]) * scale


@launcher
def exponentials(uniforms, scale, out):
    """``scale * log(1 - u)`` of uniforms in float64."""
    parallel(exponentials_loop, (uniforms, scale, out), out.size, out.size * 8)


# Whole numbers


@loop
def remainders_loop(words, span, low, out, lo, hi):
    for i in range(lo, hi):
        word = np.float64(words[i])
        rest = np.int64(word - floor(word / span) * span)  # exact: all are below 2**32
        out[i] = rest + low


@launcher
def remainders(words, span, low, out):
    """``low`` and the remainder of a word by ``span``, which is a float64 below 2**32."""
    parallel(remainders_loop, (words, span, low, out), out.size, out.size * 4)


@loop
def remainders64_loop(words, span, low, out, lo, hi):
    even = span & (span - np.uint64(1)) == 0
    for i in range(lo, hi):
        word = (np.uint64(words[2 * i]) << np.uint64(32)) | np.uint64(words[2 * i + np.uintp(1)])
        out[i] = np.int64(word & (span - np.uint64(1)) if even else word % span) + low


@launcher
def remainders64(words, span, low, out):
    """The same of two words each, the first one high; ``span`` is a uint64."""
    parallel(remainders64_loop, (words, span, low, out), out.size, out.size * 8)


@serial_launcher
def exchanged(words, out):
    """Exchange place i of 0, 1, ..., n - 1 with one from there on, for i = 0, 1, ... in turn (Fisher-Yates)."""
    n = out.size
    for i in range(n):
        out[i] = i
    for i in range(n - 1):
        other = i + np.int64(words[i] % np.uint32(n - i))
        out[i], out[other] = out[other], out[i]


@serial_launcher
def search(weights, uniforms, cumulated, out):
    """For each row of weights, the columns in whose part of its sum uniforms lie; ``cumulated`` has room for a row."""
    columns = weights.shape[1]
    for row in range(weights.shape[0]):
        total = like(cumulated[0], 0.0)
        for column in range(columns):
            total += weights[row, column]
            cumulated[column] = total
        for column in range(columns):
            cumulated[column] /= total
        for sample in range(uniforms.shape[1]):
            low, high, wanted = 0, columns, uniforms[row, sample]
            while low < high:
                middle = (low + high) // 2
                if np.float64(cumulated[middle]) < wanted:
                    low = middle + 1
                else:
                    high = middle
            out[row, sample] = min(low, columns - 1)


def key_of(source: Any) -> Any:
    """The state of one of NumPy's MT19937, in its own memory: 624 words, and its position in them."""
    import ctypes

    memory = (ctypes.c_uint32 * (SIZE + 1)).from_address(source.ctypes.state_address)
    return np.frombuffer(memoryview(memory), np.uint32)
