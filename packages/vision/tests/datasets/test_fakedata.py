"""Random pictures that are the same each time."""

import pytest

import weft
from weft.vision.datasets import FakeData


def test_samples_are_those_of_pytorch():
    samples = [(list(picture.tobytes()), target) for picture, target in FakeData(3, image_size=(1, 2, 3))]
    assert samples == [
        ([136, 182, 213, 144, 236, 156], 6),
        ([168, 68, 15, 158, 141, 214], 6),
        ([100, 199, 175, 205, 10, 95], 9),
    ]


def test_the_default_generator_is_left_alone():
    weft.manual_seed(7)
    expected = weft.rand(3).tolist()
    weft.manual_seed(7)
    FakeData(1, image_size=(3, 4, 4))[0]
    assert weft.rand(3).tolist() == expected


def test_the_offset_shifts_the_samples_and_the_end_is_an_error():
    data, later = FakeData(2, image_size=(3, 2, 2)), FakeData(2, image_size=(3, 2, 2), random_offset=1)
    assert data[1][0].tobytes() == later[0][0].tobytes()
    with pytest.raises(IndexError, match="there are 2 samples"):
        data[2]
