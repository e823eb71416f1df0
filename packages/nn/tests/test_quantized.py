"""Convolutions of 8-bit integers are exact, and scaled as quantized models want it."""

import numpy as np
import pytest

import weft
from weft.testing import assert_close


def integers(dtype, *shape):
    of = np.iinfo(dtype)
    return weft.from_numpy(
        np.random.default_rng(sum(shape)).integers(of.min, of.max, shape, dtype=dtype, endpoint=True)
    )


FUNCTIONS = {1: weft._int_conv1d, 2: weft._int_conv2d, 3: weft._int_conv3d}
EXACT = {1: weft.conv1d, 2: weft.conv2d, 3: weft.conv3d}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("count", FUNCTIONS)
def test_sums_are_those_of_int64(count, dtype):
    options = {"stride": 2, "padding": 1, "groups": 2}
    input, weight = integers(dtype, 2, 8, *(7,) * count), integers("int8", 6, 4, *(3,) * count)
    bias = weft.arange(6, dtype=weft.int32)
    found = FUNCTIONS[count](input, weight, bias, **options)
    expected = EXACT[count](input.long(), weight.long(), bias.long(), **options)
    assert found.dtype is weft.int32
    assert weft.equal(found.long(), expected)
    assert weft.equal(FUNCTIONS[count](input[0], weight, bias, **options), found[0])


@pytest.mark.parametrize("scale", [weft.tensor(0.5), weft.tensor([0.5, 1.0, 2.0])], ids=["one", "for each channel"])
def test_a_scale_makes_floats_of_the_sums(scale):
    input, weight, bias = integers("uint8", 2, 4, 6, 6), integers("int8", 3, 4, 3, 3), weft.tensor([0.25, 0.0, -1.0])
    found = weft._int_conv2d(input, weight, bias, padding="same", scale=scale)
    sums = weft._int_conv2d(input, weight, padding=1)
    assert found.dtype is weft.float32
    assert_close(found, sums * scale.expand(3).reshape(3, 1, 1) + bias.reshape(3, 1, 1))


def test_integers_of_32_bits_go_around_only_beyond_their_range():
    input, weight = weft.full((1, 2, 5), 2**15, dtype=weft.int32), weft.full((1, 2, 3), 2**14, dtype=weft.int32)
    assert (weft.conv1d(input, weight) == -(2**30)).all()  # 6 times 2 ** 29 is 3 * 2 ** 30
    assert (weft.conv1d(input.long(), weight.long()) == 3 * 2**30).all()
    large = weft.full((1, 1, 3), 2**62 + 1)
    assert weft.conv1d(large, weft.ones(1, 1, 1, dtype=weft.int64)).tolist() == large.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"input": weft.ones(1, 2, 5)}, "_int_conv1d: input must be weft.int8 or weft.uint8, got weft.float32"),
        ({"weight": weft.ones(3, 2, 3, dtype=weft.uint8)}, "_int_conv1d: weight must be weft.int8, got weft.uint8"),
        ({"bias": weft.ones(3)}, "_int_conv1d: bias must be weft.int32, got weft.float32"),
        ({"scale": weft.ones(2)}, "_int_conv1d: scale must be one number, or one for each of the 3 output channels"),
        ({"groups": 2}, "_int_conv1d: Given groups=2, expected weight to be divisible by 2"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    given = {"input": integers("int8", 1, 2, 5), "weight": integers("int8", 3, 2, 3)}
    with pytest.raises(RuntimeError, match=message):
        weft._int_conv1d(**given | change)


def test_a_weight_that_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match="_int_conv2d: weight must be a Tensor, got list"):
        weft._int_conv2d(integers("int8", 1, 2, 5, 5), [1])
