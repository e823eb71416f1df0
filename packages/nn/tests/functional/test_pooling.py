"""Pools against windows written as loops, and their derivatives."""

import numpy
import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.nn import functional as F


def image(*shape):
    """Distinct numbers in a fixed disorder."""
    generator = numpy.random.default_rng(1)
    count = int(numpy.prod(shape))
    return weft.from_numpy(generator.permutation(count).astype(numpy.float64).reshape(shape) / 7)


def test_max_pool2d_takes_the_greatest_of_each_window_and_says_where():
    x = image(2, 3, 5, 4)
    values, indices = F.max_pool2d(x, 2, stride=(2, 1), return_indices=True)
    array = x.numpy()
    for n, c, i, j in numpy.ndindex(*values.shape):
        window = array[n, c, 2 * i : 2 * i + 2, j : j + 2]
        assert float(values[n, c, i, j]) == window.max()
        assert array[n, c].flat[int(indices[n, c, i, j])] == window.max()


def test_max_pool_pads_with_minus_infinity_and_counts_nan_as_greatest():
    assert F.max_pool1d(weft.tensor([[[-3.0, -2.0]]]), 2, padding=1).tolist() == [[[-3.0, -2.0]]]
    assert F.max_pool1d(weft.tensor([[[1.0, float("nan"), 2.0]]]), 3).isnan().all()
    lowest = weft.full((1, 1, 3), -float("inf"))
    values, indices = F.max_pool1d(lowest, 3, padding=1, return_indices=True)
    assert values.tolist() == [[[-float("inf")]]]
    assert indices.tolist() == [[[0]]]


def test_max_pool_with_ceil_mode_keeps_a_last_window_that_begins_inside():
    assert F.max_pool1d(weft.arange(5.0).reshape(1, 1, 5), 2, ceil_mode=True).tolist() == [[[1.0, 3.0, 4.0]]]


def test_unpooling_puts_values_back():
    x = image(1, 2, 4, 6)
    values, indices = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(values, indices, 2)
    kept = back != 0
    assert int(kept.sum()) == values.numel()
    assert weft.equal(back[kept], x[kept])


def test_avg_pool2d_divides_by_what_it_is_told_to():
    ones = weft.ones(1, 1, 3, 3)
    assert F.avg_pool2d(ones, 2, 2, 1)[0, 0].tolist() == [[0.25, 0.5], [0.5, 1.0]]
    assert F.avg_pool2d(ones, 2, 2, 1, count_include_pad=False)[0, 0].tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert F.avg_pool2d(ones, 2, 2, 1, divisor_override=1)[0, 0].tolist() == [[1.0, 2.0], [2.0, 4.0]]


def test_adaptive_pools_cover_the_input_with_overlap():
    x = weft.arange(7.0).reshape(1, 1, 7)
    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[[1.0, 3.0, 5.0]]]
    values, indices = F.adaptive_max_pool1d(x, 3, return_indices=True)
    assert values.tolist() == [[[2.0, 4.0, 6.0]]]
    assert indices.tolist() == [[[2, 4, 6]]]
    assert F.adaptive_avg_pool2d(weft.ones(2, 1, 4, 6), (None, 2)).shape == (2, 1, 4, 2)


def test_lp_pool_is_the_norm_of_each_window():
    assert F.lp_pool1d(weft.tensor([[[3.0, 4.0]]]), 2.0, 2).tolist() == [[[5.0]]]


def test_fractional_max_pool_draws_pytorchs_windows():
    weft.manual_seed(0)
    drawn = F.fractional_max_pool2d(weft.arange(36.0).reshape(1, 1, 6, 6), 2, output_size=3)
    assert drawn.flatten().tolist() == [7.0, 9.0, 11.0, 19.0, 21.0, 23.0, 31.0, 33.0, 35.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.max_pool2d(x, 2, 1, 1),
        lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
        lambda x: F.avg_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, (3, 2), 1, 1, True, False),
        lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
        lambda x: F.adaptive_max_pool2d(x, (2, 3)),
    ],
    ids=["max", "max ceil", "avg", "avg overlapping", "adaptive avg", "adaptive max"],
)
def test_pool_has_first_and_second_derivatives(function):
    x = image(1, 2, 5, 4).requires_grad_()
    assert gradcheck(function, (x,))
    assert gradgradcheck(lambda x: function(x).square(), (x,))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: F.max_pool2d(weft.ones(1, 1, 4, 4), 2, padding=2), RuntimeError, "max_pool2d.*pad.*half"),
        (lambda: F.max_pool2d(weft.ones(1, 1, 4, 4), 5), RuntimeError, "max_pool2d.*too small"),
        (lambda: F.max_pool1d(weft.ones(1, 1, 4), 2**62), RuntimeError, "max_pool1d.*too small"),
        (lambda: F.avg_pool2d(weft.ones(1, 1, 4, 4), 2, divisor_override=0), RuntimeError, "avg_pool2d.*divisor"),
        (lambda: F.avg_pool1d(weft.ones(4), 2), RuntimeError, r"avg_pool1d.*\[4\]"),
        (lambda: F.max_pool2d(weft.ones(1, 1, 4, 4), 1.5), TypeError, "max_pool2d.*kernel_size.*float"),
        (lambda: F.adaptive_avg_pool2d(weft.ones(2, 2), 1), ValueError, "adaptive_avg_pool2d"),
        (
            lambda: F.max_unpool1d(weft.ones(1, 1, 2), weft.tensor([[[0, 9]]]), 2),
            RuntimeError,
            "max_unpool1d.*9",
        ),
    ],
)
def test_wrong_call_is_explained(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d])
def test_sizes_that_equal_those_of_another_call_are_looked_at(pool):
    x = image(1, 1, 4, 4)
    assert pool(x, 1, 1).shape == (1, 1, 4, 4)
    for wrong in (1.0, True, (1, 1.0)):
        with pytest.raises(TypeError, match=r"pool2d.*(float|bool)"):
            pool(x, wrong, 1)


def test_maxima_of_windows_in_padding_alone_are_no_elements():
    x = weft.full((1, 1, 3, 3), -float("inf"))
    values, indices = F.max_pool2d(x, 2, 2, 1, return_indices=True)
    assert values.tolist() == [[[[-float("inf")] * 2] * 2]] and (indices >= 0).all()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_lp_pooling_of_infinite_order_takes_the_greatest_or_least_absolute_value(count):
    input = weft.randn(2, 3, *[4] * count, generator=weft.Generator().manual_seed(0))
    pool = getattr(F, f"lp_pool{count}d")
    largest = getattr(F, f"max_pool{count}d")
    assert weft.equal(pool(input, float("inf"), 2), largest(input.abs(), 2))
    assert weft.equal(pool(input, -float("inf"), 2), -largest(-input.abs(), 2))


@pytest.mark.parametrize("count", [2, 3])
def test_fractional_pooling_to_size_0_is_empty(count):
    pool = getattr(F, f"fractional_max_pool{count}d")
    values, indices = pool(weft.randn(2, 3, *[6] * count), 2, output_size=0, return_indices=True)
    assert values.shape == indices.shape == (2, 3, *[0] * count)
    assert indices.dtype is weft.int64


@pytest.mark.parametrize("count", [1, 2, 3])
def test_unpooling_takes_no_batches_but_no_empty_images(count):
    unpool = getattr(F, f"max_unpool{count}d")
    for shape, empty in (((0, 3), True), ((2, 0), False)):
        input = weft.zeros(*shape, *[2] * count)
        if empty:
            assert unpool(input, input.long(), 2).shape == (0, 3, *[4] * count)
            continue
        with pytest.raises(RuntimeError, match="Expected input to have non-zero size"):
            unpool(input, input.long(), 2)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_gradient_of_adaptive_pooling_to_nothing_is_refused(count):
    for kind in ("avg", "max"):
        input = weft.ones(1, 2, *[3] * count, requires_grad=True)
        result = getattr(F, f"adaptive_{kind}_pool{count}d")(input, 0)
        assert result.shape == (1, 2, *[0] * count)
        with pytest.raises(RuntimeError, match="Expected grad_output to have non-zero size for non-batch"):
            result.sum().backward()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_adaptive_means_of_images_without_channels_are_empty(count):
    input = weft.ones(0, *[4] * count, requires_grad=True)
    result = getattr(F, f"adaptive_avg_pool{count}d")(input, 3)
    assert result.shape == (0, *[3] * count)
    result.sum().backward()
    assert input.grad.shape == input.shape


def test_unpooling_keeps_the_format():
    images = weft.randn(2, 3, 6, 6).contiguous(memory_format=weft.channels_last)
    values, places = F.max_pool2d(images, 2, return_indices=True)
    result = F.max_unpool2d(values, places, 2)
    assert result.is_contiguous(memory_format=weft.channels_last)
    assert weft.equal(result, F.max_unpool2d(values.contiguous(), places.contiguous(), 2))
