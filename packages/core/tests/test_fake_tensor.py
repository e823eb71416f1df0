"""Fake tensors: `kornia` asks whether a tensor is one, `tensordict` loads files as such."""

import pytest

import weft
from weft._subclasses import FakeTensor, FakeTensorMode
from weft._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    is_fake,
    maybe_get_fake_mode,
    unset_fake_temporarily,
)


@pytest.fixture
def mode():
    return FakeTensorMode()


def test_new_tensors_are_fake(mode):
    with mode:
        made = [weft.ones(2, 3), weft.randn(2, 3), weft.empty_like(weft.zeros(2, 3)), weft.full((2, 3), 1.0)]
        made += [weft.tensor([[1.0] * 3] * 2), weft.ones(3, device="cpu").expand(2, 3), weft.arange(6.0).view(2, 3)]
    for each in made:
        assert (type(each), each.shape, each.device) == (FakeTensor, (2, 3), weft.device("cpu"))
        assert is_fake(each) and not each.is_meta
        assert maybe_get_fake_mode(each) is mode
    assert not is_fake(weft.ones(2))


def test_ops_run_on_fake_tensors_outside_of_the_block(mode):
    x = mode.from_tensor(weft.rand(2, 3))
    y = mode.from_tensor(weft.rand(3, 4))
    product = (x @ y).relu().sum(0)
    assert (type(product), product.shape, product.device.type) == (FakeTensor, (4,), "cpu")
    assert x.t().stride() == (1, 3)
    assert (x + weft.tensor(1.0)).shape == (2, 3)


def test_backward_gives_fake_gradients(mode):
    x = mode.from_tensor(weft.rand(2, 3, requires_grad=True))
    (x.exp() * 2).sum().backward()
    assert (type(x.grad), x.grad.shape) == (FakeTensor, x.shape)


def test_from_tensor_gives_the_same_one_each_time(mode):
    real = weft.rand(2, 3).t()
    fake = mode.from_tensor(real)
    assert mode.from_tensor(real) is fake is mode.from_tensor(fake)
    assert (fake.shape, fake.stride()) == ((3, 2), (1, 3))


def test_repr_has_the_shape(mode):
    assert repr(mode.from_tensor(weft.ones(2, dtype=weft.int64))) == "FakeTensor(..., size=(2,), dtype=weft.int64)"


def test_in_place_writes_return_the_tensor(mode):
    x = mode.from_tensor(weft.ones(2))
    assert x.add_(1) is x


def test_values_are_refused(mode):
    x = mode.from_tensor(weft.ones(2))
    with pytest.raises(DataDependentOutputException):
        x[0].item()
    with pytest.raises(DynamicOutputShapeException):
        x.nonzero()


def test_real_tensors_are_refused_beside_fake_ones(mode):
    x = mode.from_tensor(weft.ones(2))
    with pytest.raises(AssertionError, match="allow_non_fake_inputs"):
        x + weft.ones(2)
    lenient = FakeTensorMode(allow_non_fake_inputs=True)
    assert is_fake(lenient.from_tensor(weft.ones(2)) + weft.ones(2))


def test_the_mode_is_left_for_a_while(mode):
    with mode, unset_fake_temporarily():
        assert weft.ones(2).tolist() == [1.0, 1.0]


def test_symbolic_sizes_are_refused():
    with pytest.raises(NotImplementedError, match="shape_env"):
        FakeTensorMode(shape_env=object())
