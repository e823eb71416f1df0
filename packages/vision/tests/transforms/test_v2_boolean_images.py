"""Images of booleans have no bits to count: what counts them refuses, and gives no image of another dtype."""

import pytest

import weft
from weft.vision.transforms.v2 import functional as F


@pytest.mark.parametrize("call", [F.invert, lambda image: F.posterize(image, 3)])
def test_bits_of_booleans_are_refused(call):
    with pytest.raises(TypeError, match="only defined for integer dtypes"):
        call(weft.ones(3, 2, 2, dtype=weft.bool))


@pytest.mark.parametrize("dtype", [weft.uint8, weft.int16, weft.int32])
def test_inverted_integers_keep_their_dtype(dtype):
    image = weft.tensor([[[0, 1]]], dtype=dtype)
    assert weft.equal(F.invert(image), weft.iinfo(dtype).max - image)
    assert F.invert(image).dtype is dtype
