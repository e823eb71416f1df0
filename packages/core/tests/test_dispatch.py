"""What the fast path and the slow path of a call have in common."""

import pytest

import weft


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "ge", "logical_and", "isin"])
def test_an_op_without_a_gradient_is_not_recorded(name):
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    result = getattr(weft, name)(x, x)
    assert not result.requires_grad
    assert result.grad_fn is None


def test_half_precision_reduces_over_several_dimensions():
    x = weft.ones(2, 3, dtype=weft.bfloat16)
    assert x.sum((0, 1)).tolist() == 6
    assert x.mean((0, 1)).dtype is weft.bfloat16
