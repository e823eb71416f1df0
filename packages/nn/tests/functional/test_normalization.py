"""Norms against their definitions."""

import numpy
import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.nn import functional as F

double = weft.float64


def numbers(*shape):
    generator = numpy.random.default_rng(2)
    return weft.from_numpy(generator.standard_normal(shape) * 3 + 1)


def test_batch_norm_gives_each_channel_mean_0_and_variance_1_then_scales():
    x = numbers(4, 3, 5)
    weight, bias = weft.tensor([1.0, 2.0, 3.0], dtype=double), weft.tensor([0.0, 1.0, -1.0], dtype=double)
    result = F.batch_norm(x, None, None, weight, bias, training=True, eps=1e-14)
    assert result.mean((0, 2)).tolist() == pytest.approx(bias.tolist())
    assert result.transpose(0, 1).flatten(1).std(1, correction=0).tolist() == pytest.approx(weight.tolist())


def test_batch_norm_moves_running_statistics_by_momentum_with_the_unbiased_variance():
    x = weft.tensor([[1.0], [3.0]])
    mean, variance = weft.zeros(1), weft.ones(1)
    F.batch_norm(x, mean, variance, training=True, momentum=0.1)
    assert mean.tolist() == pytest.approx([0.2])
    assert variance.tolist() == pytest.approx([0.9 + 0.1 * 2.0])


def test_batch_norm_in_evaluation_uses_running_statistics():
    result = F.batch_norm(weft.tensor([[5.0]]), weft.tensor([1.0]), weft.tensor([4.0]), eps=0.0)
    assert result.tolist() == [[2.0]]


def test_batch_norm_of_large_numbers_does_not_cancel():
    x = weft.tensor([[10000.0], [10001.0], [10002.0]])
    result = F.batch_norm(x, None, None, training=True, eps=1e-14)
    assert result.flatten().tolist() == pytest.approx([-1.2247449, 0.0, 1.2247449], abs=1e-3)


def test_layer_norm_normalizes_the_last_dimensions():
    result = F.layer_norm(numbers(4, 2, 3), (2, 3), eps=0.0)
    assert result.flatten(1).mean(1).tolist() == pytest.approx([0.0] * 4, abs=1e-12)
    assert result.flatten(1).std(1, correction=0).tolist() == pytest.approx([1.0] * 4)


def test_layer_norm_of_bfloat16_is_computed_in_float32():
    x = weft.tensor([[1.0, 2.0, 3.0]], dtype=weft.bfloat16)
    assert F.layer_norm(x, 3)[0].tolist() == [-1.2265625, 0.0, 1.2265625]


def test_group_norm_lies_between_layer_norm_and_instance_norm():
    x = numbers(2, 4, 3)
    assert weft.allclose(F.group_norm(x, 1), F.layer_norm(x, (4, 3)))
    assert weft.allclose(F.group_norm(x, 4), F.instance_norm(x))


def test_rms_norm_divides_by_the_root_of_the_mean_square():
    result = F.rms_norm(weft.tensor([[3.0, 4.0]], dtype=double), (2,), eps=0.0)
    assert result[0].tolist() == pytest.approx([3 / 12.5**0.5, 4 / 12.5**0.5])


def test_local_response_norm_has_pytorchs_values():
    result = F.local_response_norm(weft.arange(6.0).reshape(1, 6, 1), 3, alpha=1.0)
    expected = [0.0, 0.479207, 0.544546, 0.508276, 0.464188, 0.667147]
    assert result.flatten().tolist() == pytest.approx(expected, abs=1e-5)


def test_normalize_keeps_zero_vectors_zero():
    assert F.normalize(weft.tensor([[0.0, 0.0], [0.0, 2.0]])).tolist() == [[0.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        lambda x, w, b: F.batch_norm(x, weft.ones(3, dtype=double), weft.ones(3, dtype=double) * 2, w, b),
        lambda x, w, b: F.layer_norm(x.mT, (3,), w, b),
        lambda x, w, b: F.group_norm(x, 3, w, b),
        lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
        lambda x, w, b: F.rms_norm(x.mT, (3,), w) + b,
    ],
    ids=["batch", "batch eval", "layer", "group", "instance", "rms"],
)
def test_norm_has_first_and_second_derivatives(function):
    inputs = tuple(each.requires_grad_() for each in (numbers(2, 3, 4), numbers(3), numbers(3) * 2))
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs, atol=1e-4)


@pytest.mark.parametrize(
    "norm", [lambda x, w, b: F.group_norm(x, 2, w, b), lambda x, w, b: F.instance_norm(x, None, None, w, b)]
)
def test_half_precision_norm_is_rounded_once(norm):
    x, weight, bias = (numbers(*shape).half() for shape in ((2, 4, 5), (4,), (4,)))
    exact = norm(x.float(), weight.float(), bias.float())
    assert weft.equal(norm(x, weight, bias), exact.half())


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: F.batch_norm(weft.ones(1, 3), None, None, training=True), ValueError, "batch_norm.*1 value"),
        (
            lambda: F.batch_norm(weft.ones(2, 3), weft.ones(2), weft.ones(2)),
            RuntimeError,
            "batch_norm.*running_mean.*3",
        ),
        (lambda: F.batch_norm(weft.ones(2, 3), None, None), RuntimeError, "batch_norm.*running_mean"),
        (lambda: F.layer_norm(weft.ones(2, 4), (3,)), RuntimeError, r"layer_norm.*\[3\].*\[2, 4\]"),
        (lambda: F.group_norm(weft.ones(2, 4), 3), RuntimeError, r"group_norm.*\[2, 4\].*3"),
        (lambda: F.instance_norm(weft.ones(2, 4, 1)), ValueError, "instance_norm.*spatial"),
    ],
)
def test_wrong_call_is_explained(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("place", [1, 2])
def test_batch_norm_refuses_tangents_of_running_statistics(place):
    from weft.autograd import forward_ad

    arguments = [weft.rand(3, 2, 5), weft.rand(2), weft.rand(2)]
    with forward_ad.dual_level():
        arguments[place] = forward_ad.make_dual(arguments[place], weft.ones(2))
        F.batch_norm(*arguments)
        arguments[0] = forward_ad.make_dual(arguments[0], weft.ones(3, 2, 5))
        with pytest.raises(RuntimeError, match="not differentiable wrt running_mean and running_var"):
            F.batch_norm(*arguments)


@pytest.mark.parametrize(("shape", "groups"), [((5, 1), 1), ((2, 4), 4), ((2, 4, 1), 4)])
def test_groups_of_one_element_are_normalized_to_zero_where_there_are_several_examples(shape, groups):
    assert not weft.nn.functional.group_norm(weft.rand(shape), groups).any()
    with pytest.raises(ValueError, match="more than 1 value"):
        weft.nn.functional.group_norm(weft.rand(1, *shape[1:]), groups)
