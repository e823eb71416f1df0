"""Ops element by element, where their shapes or dtypes are special."""

import weft


def test_sign_of_a_zero_dimensional_tensor():
    assert weft.sign(weft.tensor(-2.5)).item() == -1
    assert weft.sgn(weft.tensor(2.5)).item() == 1


def test_a_bool_tensor_is_filled_with_a_number_by_its_truth():
    mask = weft.tensor([True, False])
    assert weft.tensor([False, False]).masked_fill(mask, 1).tolist() == [True, False]
    assert weft.tensor([True, True]).masked_fill(mask, 0).tolist() == [False, True]


def test_the_gradient_of_fmax_with_nan_goes_to_the_number():
    x = weft.tensor([1.0, float("nan"), 3.0], requires_grad=True)
    y = weft.tensor([2.0, 2.0, float("nan")], requires_grad=True)
    weft.fmax(x, y).sum().backward()
    assert x.grad.tolist() == [0, 0, 1]
    assert y.grad.tolist() == [1, 1, 0]


def test_the_left_operand_is_what_a_shift_moves():
    assert (weft.tensor([-9, 8]) >> weft.tensor(2)).tolist() == [-3, 2]
    assert (weft.tensor([1, 3]) << 2).tolist() == [4, 12]
    assert (16 >> weft.tensor([1, 2])).tolist() == [8, 4]
    assert (1 << weft.tensor([1, 2])).tolist() == [2, 4]


def test_shifts_keep_all_bits_of_uint64():
    x = weft.tensor([(1 << 63) + 3], dtype=weft.uint64)
    assert (x << 1).tolist() == [6]
    assert (x >> 1).tolist() == [(1 << 62) + 1]
    assert (x >> 64).tolist() == [0]
    x <<= 0
    assert x.tolist() == [(1 << 63) + 3]
