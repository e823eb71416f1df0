"""Convolutions against sums written as loops, their transposes, and their derivatives."""

import itertools

import numpy
import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.nn import functional as F

CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def by_loops(x, w, bias, stride, padding, dilation, groups):
    """The definition: one sum for each output element."""
    count = x.ndim - 2
    x = numpy.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * count)
    out = [(n - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(x.shape[2:], w.shape[2:])]
    result = numpy.zeros((x.shape[0], w.shape[0], *out))
    per_group = w.shape[0] // groups
    for n, o in itertools.product(range(x.shape[0]), range(w.shape[0])):
        first = o // per_group * w.shape[1]
        for place in itertools.product(*[range(size) for size in out]):
            window = tuple(
                slice(p * stride, p * stride + dilation * (k - 1) + 1, dilation) for p, k in zip(place, w.shape[2:])
            )
            result[(n, o, *place)] = (x[(n, slice(first, first + w.shape[1]), *window)] * w[o]).sum() + bias[o]
    return result


CASES = [
    # spatial, channels, out_channels, kernel, stride, padding, dilation, groups
    ((7,), 2, 3, (3,), 1, 1, 1, 1),
    ((8,), 4, 2, (2,), 3, 0, 2, 2),
    ((6, 5), 2, 4, (3, 2), 1, 0, 1, 1),
    ((6, 5), 4, 4, (3, 3), 2, 1, 1, 4),
    ((6, 5), 4, 6, (2, 3), 2, 1, 1, 2),
    ((5, 5), 3, 2, (1, 1), 1, 0, 1, 1),
    ((5, 5), 3, 2, (1, 1), 1, 2, 1, 1),
    ((4, 5, 4), 2, 2, (2, 3, 1), 1, 1, 1, 1),
]


def operands(case):
    spatial, channels, out_channels, kernel, stride, padding, dilation, groups = case
    generator = numpy.random.default_rng(0)
    x = generator.standard_normal((2, channels, *spatial))
    w = generator.standard_normal((out_channels, channels // groups, *kernel))
    return x, w, generator.standard_normal(out_channels), (stride, padding, dilation, groups)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_convolution_is_the_sum_over_windows(case):
    x, w, bias, options = operands(case)
    result = CONVOLUTIONS[len(case[0])](*map(weft.from_numpy, (x, w, bias)), *options)
    numpy.testing.assert_allclose(result.numpy(), by_loops(x, w, bias, *options), atol=1e-12)
    assert result.is_contiguous()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_convolution_has_first_and_second_derivatives(case):
    x, w, bias, options = operands(case)
    tensors = tuple(weft.from_numpy(each).requires_grad_() for each in (x[:1], w, bias))
    function = CONVOLUTIONS[len(case[0])]
    assert gradcheck(lambda *each: function(*each, *options), tensors)
    assert gradgradcheck(lambda *each: function(*each, *options), tensors)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_transposed_convolution_is_the_adjoint(case):
    x, w, _, (stride, padding, dilation, groups) = operands(case)
    count = len(case[0])
    x, w = weft.from_numpy(x), weft.from_numpy(w)
    y = CONVOLUTIONS[count](x, w, None, stride, padding, dilation, groups)
    cotangent = weft.linspace(-1, 1, y.numel(), dtype=weft.float64).reshape(y.shape)
    reached = [(n - 1) * stride - 2 * padding + dilation * (k - 1) + 1 for n, k in zip(y.shape[2:], w.shape[2:])]
    extra = [n - r for n, r in zip(x.shape[2:], reached)]
    back = TRANSPOSED[count](cotangent, w, None, stride, padding, extra, groups, dilation)
    assert back.shape == x.shape
    assert float((back * x).sum()) == pytest.approx(float((cotangent * y).sum()))


def test_transposed_convolution_has_pytorchs_values():
    image, kernel = weft.arange(9.0).reshape(1, 1, 3, 3), weft.arange(4.0).reshape(1, 1, 2, 2)
    result = F.conv_transpose2d(image, kernel, stride=2, padding=1, output_padding=1)
    assert result[0, 0].tolist() == [
        [0.0, 2.0, 3.0, 4.0, 6.0],
        [3.0, 0.0, 4.0, 0.0, 5.0],
        [9.0, 8.0, 12.0, 10.0, 15.0],
        [6.0, 0.0, 7.0, 0.0, 8.0],
        [18.0, 14.0, 21.0, 16.0, 24.0],
    ]


def test_a_batch_beyond_the_memory_for_windows_is_convolved_in_parts(monkeypatch):
    import weft.nn.functional.convolution as module

    x, w = weft.randn(5, 3, 6, 6, requires_grad=True), weft.randn(4, 3, 3, 3, requires_grad=True)
    whole = F.conv2d(x, w, padding=1)
    expected = weft.autograd.grad(whole.square().sum(), (x, w))
    monkeypatch.setattr(module, "BUDGET", 2 * 36 * 27)
    parts = F.conv2d(x, w, padding=1)
    assert weft.allclose(parts, whole, atol=1e-5)
    for found, wanted in zip(weft.autograd.grad(parts.square().sum(), (x, w)), expected):
        assert weft.allclose(found, wanted, atol=1e-3)


def test_same_padding_keeps_the_size_with_an_even_kernel():
    assert F.conv1d(weft.ones(1, 1, 5), weft.ones(1, 1, 4), padding="same").tolist() == [[[3.0, 4.0, 4.0, 3.0, 2.0]]]


def test_an_input_without_batch_gives_a_result_without_batch():
    assert F.conv2d(weft.ones(2, 5, 5), weft.ones(3, 2, 2, 2)).shape == (3, 4, 4)


def test_an_empty_batch_is_convolved():
    x = weft.zeros(0, 2, 5, 5, requires_grad=True)
    result = F.conv2d(x, weft.ones(3, 2, 2, 2))
    assert result.shape == (0, 3, 4, 4)
    result.sum().backward()
    assert x.grad.shape == x.shape


def test_bfloat16_is_summed_in_float32():
    x = weft.full((1, 64, 3, 3), 1.0, dtype=weft.bfloat16)
    result = F.conv2d(x, weft.ones(1, 64, 3, 3, dtype=weft.bfloat16))
    assert result.dtype is weft.bfloat16
    assert float(result) == 576.0  # in bfloat16 the sum would stop growing at 256


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: F.conv2d(weft.ones(1, 4, 8, 8), weft.ones(8, 3, 3, 3)), "conv2d.*3 channels.*4 channels"),
        (lambda: F.conv2d(weft.ones(1, 1, 3, 3), weft.ones(1, 1, 5, 5)), r"conv2d.*3 x 3.*5 x 5"),
        (lambda: F.conv2d(weft.ones(3, 3), weft.ones(1, 1, 1, 1)), r"conv2d.*\[3, 3\]"),
        (lambda: F.conv1d(weft.ones(1, 1, 3), weft.ones(1, 1, 1), stride=0), "conv1d.*stride"),
        (lambda: F.conv1d(weft.ones(1, 1, 3), weft.ones(1, 1, 1), dilation=0), "conv1d.*dilation"),
        (lambda: F.conv1d(weft.ones(1, 1, 3), weft.ones(1, 1, 1), weft.ones(2)), "conv1d.*bias.*1"),
        (lambda: F.conv1d(weft.ones(1, 1, 3), weft.ones(1, 1, 1, dtype=weft.float64)), "conv1d.*float32.*float64"),
        (lambda: F.conv_transpose1d(weft.ones(1, 1, 3), weft.ones(1, 1, 2), output_padding=1), "conv_transpose1d"),
        (lambda: F.conv2d(weft.ones(1, 1, 3, 3), weft.ones(1, 1, 2, 2), stride=(1, 1, 1)), "conv2d.*stride.*2"),
    ],
)
def test_wrong_call_is_explained(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


def test_half_precision_transpose_is_rounded_once_with_its_bias():
    weft.manual_seed(0)
    x, w, bias = (weft.randn(*shape).bfloat16() for shape in ((1, 3, 8), (3, 4, 3), (4,)))
    exact = F.conv_transpose1d(x.float(), w.float(), bias.float(), stride=2)
    assert weft.equal(F.conv_transpose1d(x, w, bias, stride=2), exact.bfloat16())


def test_strides_that_equal_those_of_another_call_are_looked_at():
    x, w = weft.ones(1, 1, 4, 4), weft.ones(1, 1, 2, 2)
    assert F.conv2d(x, w, None, 1).shape == (1, 1, 3, 3)
    for wrong in (1.0, True, (1, 1.0)):
        with pytest.raises(TypeError, match=r"conv2d.*stride"):
            F.conv2d(x, w, None, wrong)
