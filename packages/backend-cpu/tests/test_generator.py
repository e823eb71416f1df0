"""The compiled random stream has the numbers and the states of the one in NumPy."""

import numpy as np
import pytest

import weft
from weft._random.mt19937 import MersenneStream
from weft.backend_cpu import compiled, libraries
from weft.backend_cpu.generator import CompiledStream

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")

MANY = 40_013
SINGLE, DOUBLE, WHOLE, SHORT = (np.dtype(each) for each in ("float32", "float64", "int64", "int32"))
PROBABILITIES = np.linspace(0, 1, MANY, dtype=np.float32)
WEIGHTS = np.linspace(0.1, 1, 40_000, dtype=np.float32).reshape(40, -1)

EXACT = {
    "words": (MANY,),
    "floats": (MANY,),
    "doubles": (MANY,),
    "uniform of float32": (MANY, SINGLE, -1.0, 3.0),
    "uniform of float64": (MANY, DOUBLE, -1.0, 3.0),
    "integers from few": (MANY, WHOLE, 0, 10),
    "integers in 32 bits": (MANY, SHORT, -3, 100),
    "integers from many": (MANY, WHOLE, -5, 1 << 40),
    "full_range": (MANY, WHOLE),
    "bernoulli": (MANY, 0.3),
    "bernoulli_each": (PROBABILITIES,),
    "permutation": (MANY,),
    "multinomial with replacement": (WEIGHTS, 7, True),
    "multinomial without": (WEIGHTS, 7, False),
}
CLOSE = {
    "normal in float32": (MANY, SINGLE, 3.0, 0.5),
    "normal in float64": (MANY, DOUBLE),
    "exponential in float32": (MANY, SINGLE, 2.0),
    "exponential in float64": (MANY, DOUBLE),
}


def twice(sampler, args):
    """What both streams draw for two calls, the second of which goes on where the first one ended; they end alike."""
    streams = CompiledStream(7), MersenneStream(7)
    drawn = []
    for stream in streams:
        stream.words(5)
        drawn.append([getattr(stream, sampler.split()[0])(*args) for _ in range(2)])
    states = [stream.get_state() for stream in streams]
    np.testing.assert_array_equal(*states)
    return drawn


@pytest.mark.parametrize("sampler", EXACT)
def test_words_and_what_is_made_of_them_alone_are_the_same(sampler):
    for found, expected in zip(*twice(sampler, EXACT[sampler])):
        np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("sampler", CLOSE)
def test_logarithms_and_sines_are_the_same_to_the_last_places(sampler):
    for found, expected in zip(*twice(sampler, CLOSE[sampler])):
        assert found.dtype == expected.dtype
        unit = np.finfo(found.dtype).eps
        np.testing.assert_allclose(found, expected, rtol=8 * unit, atol=8 * unit)


def test_a_stream_goes_on_from_a_state_in_the_middle_of_a_block():
    first, second = CompiledStream(1), CompiledStream(2)
    first.words(100)
    second.set_state(first.get_state())
    np.testing.assert_array_equal(first.words(MANY), second.words(MANY))


@pytest.mark.parametrize("element", [weft.float32, weft.float64, weft.bfloat16, weft.float16])
def test_dropout_draws_the_mask_that_bernoulli_draws(element):
    input = weft.linspace(-1, 1, MANY).to(element).requires_grad_()
    weft.manual_seed(3)
    weft.rand(5)
    output = weft.nn.functional.dropout(input, 0.3)
    following = weft.rand(1)
    (gradient,) = weft.autograd.grad(output.sum(), input)
    weft.manual_seed(3)
    weft.rand(5)
    noise = weft.empty_like(input).bernoulli_(0.7).div_(0.7)
    assert weft.rand(1).equal(following)
    assert gradient.equal(noise)
    assert output.equal(input * noise)
