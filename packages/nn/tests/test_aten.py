"""What `weft.ops.aten` has of neural networks; expected values are PyTorch's, or those of the public functions."""

import pytest

import weft
from weft.nn import functional as F

aten = weft.ops.aten


def test_functions_of_nn_have_names():
    assert aten.relu.default(weft.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert weft.equal(aten.gelu.default(weft.ones(1)), F.gelu(weft.ones(1)))
    assert aten.native_dropout(weft.ones(2), 0.0, True)[0].tolist() == [1.0, 1.0]


def test_underscored_convolution_is_convolution():
    x, weight = weft.randn(1, 2, 5), weft.randn(3, 2, 3)
    options = ([2], [1], [1], False, [0], 1)
    found = aten._convolution(x, weight, None, *options, False, True, True, allow_tf32=False)
    assert weft.equal(found, weft.convolution(x, weight, None, *options))


def test_native_dropout_backward_scales_what_was_kept():
    mask = weft.tensor([True, False, True])
    assert aten.native_dropout_backward(weft.tensor([1.0, 2.0, 3.0]), mask, 2.0).tolist() == [2.0, 0.0, 6.0]
    assert aten.native_dropout_backward.default(weft.ones(3, dtype=weft.int64), mask, 0.5).tolist() == [0.5, 0.0, 0.5]


# The gradient of max pooling


def pooled(shape):
    x = weft.rand(shape, dtype=weft.float64, requires_grad=True)
    values, indices = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    grad = weft.rand(values.shape, dtype=weft.float64, requires_grad=True)
    return x, values, indices, grad


@pytest.mark.parametrize("shape", [(2, 3, 5, 6), (3, 5, 6)])
def test_max_pool2d_backward_is_the_gradient_of_max_pool2d(shape):
    x, values, indices, grad = pooled(shape)
    values.backward(grad.detach())
    found = aten.max_pool2d_with_indices_backward(grad, x, [3, 3], [2, 2], [1, 1], [1, 1], False, indices)
    assert weft.allclose(found, x.grad)


def test_max_pool2d_backward_is_linear_in_the_gradient_and_does_not_depend_on_the_input():
    x, _, indices, grad = pooled((1, 1, 4, 4))
    found = aten.max_pool2d_with_indices_backward(grad, x, 3, [], 1, 1, True, indices)
    to_grad, to_x = weft.autograd.grad(found.sum(), (grad, x))
    assert to_grad.tolist() == weft.ones_like(grad).tolist()
    assert to_x.tolist() == weft.zeros_like(x).tolist()


@pytest.mark.parametrize("fault", ["grad_output", "indices", "place"])
def test_max_pool2d_backward_refuses_what_does_not_fit(fault):
    x, grad, indices = weft.ones(1, 1, 4, 4), weft.ones(1, 1, 2, 2), weft.zeros(1, 1, 2, 2, dtype=weft.int64)
    if fault == "grad_output":
        grad = grad[..., :1]
    elif fault == "indices":
        indices = indices[..., :1]
    else:
        indices = indices + 16
    with pytest.raises(RuntimeError, match="max_pool2d_with_indices_backward"):
        aten.max_pool2d_with_indices_backward(grad, x, 2, 2, 0, 1, False, indices)


# Batch norm


@pytest.fixture
def x():
    return weft.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])


def test_native_batch_norm_legit_takes_running_statistics_or_none(x):
    mean, variance = weft.zeros(2), weft.ones(2)
    with_statistics = weft._native_batch_norm_legit(x, None, None, mean, variance, True, 0.5, 1e-5)
    without = weft._native_batch_norm_legit(x, None, None, True, 0.5, 1e-5)
    by_name = weft._native_batch_norm_legit(x, weight=None, bias=None, training=True, momentum=0.5, eps=1e-5)
    for one, *others in zip(with_statistics, without, by_name):
        assert all(weft.equal(one, other) for other in others)
    assert without[1].tolist() == [2.0, 3.0]
    assert mean.tolist() == [1.0, 1.5]
    assert variance.tolist() == [2.5, 2.5]


def test_native_batch_norm_legit_needs_statistics_in_evaluation(x):
    with pytest.raises(RuntimeError, match="running_mean and running_var"):
        weft._native_batch_norm_legit(x, None, None, False, 0.5, 1e-5)


def test_batch_norm_with_update_moves_the_statistics_and_reserves_nothing(x):
    mean, variance = weft.zeros(2), weft.ones(2)
    result, batch_mean, _, reserve = aten._batch_norm_with_update(
        x, weft.ones(2), weft.zeros(2), mean, variance, 0.5, 1e-5
    )
    assert weft.allclose(result, F.batch_norm(x, None, None, training=True))
    assert batch_mean.tolist() == [2.0, 3.0]
    assert mean.tolist() == [1.0, 1.5]
    assert (reserve.dtype, tuple(reserve.shape)) == (weft.uint8, (0,))


# Resampling


def test_upsample_bilinear2d_aa_is_interpolate_with_antialias():
    x = weft.rand(1, 2, 7, 5)
    expected = F.interpolate(x, (3, 4), mode="bilinear", antialias=True)
    assert weft.equal(aten._upsample_bilinear2d_aa(x, [3, 4], False), expected)
    assert weft.equal(aten._upsample_bilinear2d_aa.default(x, [3, 4], False, None, None), expected)


def test_upsample_bilinear2d_aa_takes_factors_in_place_of_a_size():
    x = weft.rand(1, 1, 8, 6)
    expected = F.interpolate(x, scale_factor=(0.5, 0.3), mode="bilinear", antialias=True)
    assert weft.equal(aten._upsample_bilinear2d_aa.vec(x, None, False, [0.5, 0.3]), expected)
    assert weft.equal(aten._upsample_bilinear2d_aa(x, None, False, scale_factors=[0.5, 0.3]), expected)
    assert weft.equal(aten._upsample_bilinear2d_aa(x, [4, 1], False, 0.5, 0.3), expected)


@pytest.mark.parametrize(("shape", "size"), [((1, 4, 4), [2, 2]), ((1, 1, 4, 4), [0, 2])])
def test_upsample_bilinear2d_aa_refuses_other_sizes(shape, size):
    with pytest.raises(RuntimeError, match="_upsample_bilinear2d_aa"):
        aten._upsample_bilinear2d_aa(weft.ones(shape), size, False)
