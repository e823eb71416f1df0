"""Padding in all modes."""

import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.nn import functional as F


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("constant", [9.0, 9.0, 1.0, 2.0, 3.0, 9.0]),
        ("reflect", [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]),
        ("replicate", [1.0, 1.0, 1.0, 2.0, 3.0, 3.0]),
        ("circular", [2.0, 3.0, 1.0, 2.0, 3.0, 1.0]),
    ],
)
def test_mode_says_where_the_values_come_from(mode, expected):
    x = weft.tensor([[[1.0, 2.0, 3.0]]])
    assert F.pad(x, (2, 1), mode, 9.0 if mode == "constant" else None).flatten().tolist() == expected


def test_amounts_begin_with_the_last_dimension_and_negative_ones_crop():
    assert F.pad(weft.ones(2, 3), (1, 0, 0, 2)).shape == (4, 4)
    assert F.pad(weft.arange(4.0), (-1, 1)).tolist() == [1.0, 2.0, 3.0, 0.0]


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding_has_first_and_second_derivatives(mode):
    x = weft.randn(1, 2, 3, 4, dtype=weft.float64, requires_grad=True)
    assert gradcheck(lambda x: F.pad(x, (2, 1, 1, 2), mode), (x,))
    assert gradgradcheck(lambda x: F.pad(x, (2, 1, 1, 2), mode).square(), (x,))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: F.pad(weft.ones(1, 1, 3), (3, 0), "reflect"), RuntimeError, "pad.*reflect|pad.*less than"),
        (lambda: F.pad(weft.ones(1, 1, 3), (4, 0), "circular"), RuntimeError, "pad.*wrapping"),
        (lambda: F.pad(weft.ones(3), (1,)), RuntimeError, "pad.*even"),
        (lambda: F.pad(weft.ones(3), (-2, -2)), RuntimeError, "pad.*negative"),
        (lambda: F.pad(weft.ones(3), (1, 1), "mirror"), NotImplementedError, "pad.*mirror"),
    ],
)
def test_wrong_call_is_explained(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_only_constant_padding_takes_a_value(mode):
    assert F.pad(weft.ones(1, 1, 3), (1, 1), mode, 0).shape == (1, 1, 5)
    with pytest.raises(RuntimeError, match="doesn't take in value"):
        F.pad(weft.ones(1, 1, 3), (1, 1), mode, 1)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_padding_takes_no_batches_but_no_empty_images(mode, count):
    spatial = [4] * count
    assert F.pad(weft.zeros(0, 2, *spatial), (1, 1) * count, mode).shape == (0, 2, *[6] * count)
    with pytest.raises(RuntimeError, match=rf"Expected {count + 1}D or {count + 2}D \(batch mode\)"):
        F.pad(weft.zeros(2, 0, *spatial), (1, 1) * count, mode)
