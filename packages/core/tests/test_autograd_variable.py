"""Variable, as old programs call it."""

import pytest

import weft
from weft.autograd import Variable


def test_a_variable_is_a_leaf_with_the_memory_of_a_tensor():
    data = weft.ones(2)
    x = Variable(data, requires_grad=True)
    x.sum().backward()
    data[0] = 5.0
    assert x.tolist() == [5.0, 1.0]
    assert x.grad.tolist() == [1.0, 1.0]
    assert not data.requires_grad
    assert not Variable(x * 2).requires_grad
    assert Variable().shape == (0,)


def test_every_tensor_is_a_variable_and_nothing_else_is():
    assert isinstance(weft.ones(1), Variable)
    assert not isinstance([1.0], Variable)
    assert issubclass(weft.Tensor, Variable)
    assert type(Variable(weft.ones(1))) is weft.Tensor


def test_a_variable_of_no_tensor_is_refused():
    with pytest.raises(TypeError, match=r"Variable: data has to be a tensor, but got list"):
        Variable([1.0])


def test_volatile_warns():
    with pytest.warns(UserWarning, match="volatile"):
        Variable(weft.ones(1), volatile=True)
