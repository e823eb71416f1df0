"""Quantized tensors: what they round to, what is done with their integers, and what is refused."""

import copy
import math
import pickle

import numpy as np
import pytest

import weft

DTYPES = {"qint8": (-128, 127), "quint8": (0, 255), "qint32": (-(2**31), 2**31 - 1)}


def quantized(shape=(2, 4), dtype=weft.quint8, scale=0.5, zero_point=10):
    weft.manual_seed(0)
    return weft.quantize_per_tensor(weft.randn(shape) * 5, scale, zero_point, dtype)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize(("scale", "zero_point"), [(0.5, 10), (0.5, 7), (0.25, 3), (2.0, 0)])
def test_numbers_are_rounded_to_the_nearest_integer_even_at_a_half(name, scale, zero_point):
    numbers = np.arange(-600, 600) / 8
    expected = np.clip(np.rint(numbers / scale + zero_point), *DTYPES[name])
    found = weft.quantize_per_tensor(weft.tensor(numbers, dtype=weft.float32), scale, zero_point, getattr(weft, name))
    np.testing.assert_array_equal(found.int_repr().numpy(), expected)
    np.testing.assert_array_equal(found.dequantize().numpy(), (expected - zero_point) * scale)
    assert found.int_repr().dtype.name == name[1:]


@pytest.mark.parametrize("name", DTYPES)
def test_what_is_outside_becomes_the_nearest_limit(name):
    low, high = DTYPES[name]
    found = weft.quantize_per_tensor(weft.tensor([-math.inf, -1e20, 1e20, math.inf]), 0.5, 3, getattr(weft, name))
    assert found.int_repr().tolist() == [low, low, high, high]


def test_what_a_tensor_says_of_itself():
    x = quantized()
    assert (x.dtype, x.shape, x.is_quantized, x.qscheme()) == (weft.quint8, (2, 4), True, weft.per_tensor_affine)
    assert (x.q_scale(), x.q_zero_point(), weft.q_scale(x), weft.q_zero_point(x)) == (0.5, 10, 0.5, 10)
    assert (x.element_size(), x.stride(), x.numel(), x.requires_grad) == (1, (4, 1), 8, False)
    assert not weft.ones(1).is_quantized
    assert repr(weft.quantize_per_tensor(weft.tensor([1.0]), 0.5, 0, weft.qint8)) == (
        "tensor([1.], size=(1,), dtype=weft.qint8,\n"
        "       quantization_scheme=weft.per_tensor_affine, scale=0.5, zero_point=0)"
    )


MOVES = {
    "index": lambda x: x[1],
    "slices": lambda x: x[:, 1:3],
    "mask": lambda x: x[weft.tensor([[True, False, True, False]] * 2)],
    "places": lambda x: x[weft.tensor([0, 1]), weft.tensor([2, 3])],
    "rows": lambda x: x[weft.tensor([1, 0])],
    "view": lambda x: x.view(4, 2),
    "transposed": lambda x: x.T,
    "permuted": lambda x: x.permute(1, 0).contiguous(),
    "parts": lambda x: x.unbind()[1],
    "chunks": lambda x: x.chunk(2, 1)[1],
    "joined": lambda x: weft.cat([x, x], 1),
    "stacked": lambda x: weft.stack([x, x]),
    "flipped": lambda x: x.flip(0),
    "repeated": lambda x: x.repeat(2, 1),
    "cloned": lambda x: x.clone(),
    "on the CPU": lambda x: x.to("cpu"),
    "largest": lambda x: x.max(),
    "largest of rows": lambda x: x.max(1)[0],
    "sorted": lambda x: x.sort(1, descending=True)[0],
    "rectified": lambda x: x.relu(),
    "clamped": lambda x: x.clamp(-1.0, 2.0),
    "filled": lambda x: x.masked_fill(weft.tensor([True, False, False, True]), 1.5),
}


@pytest.mark.parametrize("name", MOVES)
def test_integers_go_where_the_numbers_would(name):
    x = quantized()
    found, expected = MOVES[name](x), MOVES[name](x.dequantize())
    assert (found.dtype, found.q_scale(), found.q_zero_point()) == (x.dtype, 0.5, 10)
    assert weft.equal(found.dequantize(), expected)


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_numbers_are_compared(name):
    x, other = quantized(), quantized(scale=0.25, zero_point=20)
    for right in (other, other.dequantize(), 1.5):
        numbers = right.dequantize() if isinstance(right, weft.Tensor) else right
        assert weft.equal(getattr(x, name)(right), getattr(x.dequantize(), name)(numbers))


def test_joined_tensors_take_the_scale_of_the_first():
    x, other = quantized(), quantized(scale=0.25, zero_point=20)
    found = weft.cat([x, other])
    assert weft.equal(found[2:], weft.quantize_per_tensor(other.dequantize(), 0.5, 10, weft.quint8))


def test_what_is_written_is_rounded_and_seen_through_views():
    x = quantized()
    row = x[1]
    row[1:3] = weft.tensor([0.3, 100000.0])
    row[0] = -1.0
    assert x.dequantize()[1, :3].tolist() == [-1.0, 0.5, 122.5]
    x.fill_(2.2)
    assert x.dequantize().unique().tolist() == [2.0]
    x.copy_(quantized(scale=1.0))
    assert weft.equal(x.dequantize(), quantized(scale=1.0).dequantize())


def test_equality_is_of_integers_and_scale():
    x = quantized()
    assert weft.equal(x, x.clone())
    assert not weft.equal(x, quantized(scale=1.0))
    assert not weft.equal(x, x.dequantize())


def test_one_element_is_a_number():
    x = weft.quantize_per_tensor(weft.tensor(3.0), 0.5, 10, weft.qint8)
    assert (x.item(), float(x), int(x), bool(x)) == (3.0, 3.0, 3, True)
    assert not weft.quantize_per_tensor(weft.tensor(0.0), 0.5, 10, weft.qint8)


def test_several_at_once():
    x = weft.ones(2)
    found = weft.quantize_per_tensor([x, x], weft.tensor([0.5, 0.25]), weft.tensor([1, 2]), weft.qint8)
    assert [each.int_repr().tolist() for each in found] == [[3, 3], [6, 6]]
    assert all(weft.equal(each, x) for each in weft.dequantize(found))


def test_other_tensors_are_turned_into_floats():
    assert weft.ones(2, dtype=weft.int64).dequantize().dtype is weft.float32


def test_copies_and_pickles():
    x = quantized()
    for each in (copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))):
        assert type(each) is type(x)
        assert weft.equal(each, x)


def test_there_are_no_gradients():
    x = weft.ones(2, requires_grad=True)
    assert not weft.quantize_per_tensor(x, 0.5, 1, weft.qint8).requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        quantized().requires_grad_()


REFUSED = {
    "sum": lambda x: x + x,
    "product": lambda x: x * 2,
    "mean": lambda x: x.mean(),
    "sine": lambda x: x.sin(),
    "list": lambda x: x.tolist(),
    "float": lambda x: x.float(),
    "zeros": lambda x: weft.zeros_like(x),
    "in place": lambda x: x.add_(1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arithmetic_is_refused(name):
    with pytest.raises(NotImplementedError, match="quantized tensors; take dequantize"):
        REFUSED[name](quantized())


WRONG = {
    "a dtype of arrays": (lambda: weft.quantize_per_tensor(weft.ones(1), 1.0, 0, weft.int8), "qint8, quint8 or qint32"),
    "doubles": (lambda: weft.quantize_per_tensor(weft.ones(1).double(), 1.0, 0, weft.qint8), "only works on Float"),
    "above": (lambda: weft.quantize_per_tensor(weft.ones(1), 1.0, 128, weft.qint8), "above upper bound"),
    "below": (lambda: weft.quantize_per_tensor(weft.ones(1), 1.0, -1, weft.quint8), "below lower bound"),
    "another dtype": (lambda: quantized().to(weft.float32), "keeps its dtype"),
    "mixed": (lambda: weft.cat([quantized(), weft.ones(2, 4)]), "quantized tensors of one dtype"),
    "not quantized": (lambda: weft.ones(1).q_scale(), "expected a quantized tensor"),
    "an array": (lambda: weft.zeros(2, dtype=weft.qint8), "quantize_per_tensor"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_are_refused(name):
    call, words = WRONG[name]
    with pytest.raises(RuntimeError, match=words):
        call()


def test_numpy_has_no_such_dtype():
    with pytest.raises(TypeError, match="QUInt8"):
        quantized().numpy()
