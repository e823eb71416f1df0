"""Parameter, Buffer and their kin."""

import copy
import pickle

import pytest

import weft
from weft import nn


def test_a_parameter_shares_memory_and_requires_grad():
    data = weft.ones(2)
    parameter = nn.Parameter(data)
    data[0] = 5
    assert parameter.tolist() == [5.0, 1.0]
    assert parameter.requires_grad
    assert parameter.is_leaf
    assert not data.requires_grad
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    assert nn.Parameter().shape == (0,)


def test_results_of_operations_are_plain_tensors():
    parameter = nn.Parameter(weft.ones(2))
    for result in (parameter * 2, parameter[0], parameter.view(2), parameter.detach(), parameter.data):
        assert type(result) is weft.Tensor


def test_gradients_reach_a_parameter():
    parameter = nn.Parameter(weft.tensor([3.0]))
    (parameter * parameter).sum().backward()
    assert parameter.grad.tolist() == [6.0]


def test_repr_says_that_it_is_a_parameter():
    assert repr(nn.Parameter(weft.ones(2))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


def test_integers_cannot_require_grad():
    with pytest.raises(RuntimeError, match="floating point"):
        nn.Parameter(weft.tensor([1, 2]))
    assert nn.Parameter(weft.tensor([1, 2]), requires_grad=False).dtype is weft.int64


def test_only_tensors_become_parameters():
    with pytest.raises(TypeError, match="Tensor"):
        nn.Parameter([1.0])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_copy_is_a_parameter_with_memory_of_its_own(copied):
    parameter = nn.Parameter(weft.ones(2), requires_grad=False)
    other = copied(parameter)
    assert type(other) is nn.Parameter
    assert not other.requires_grad
    other.data.fill_(3)
    assert parameter.tolist() == [1.0, 1.0]


def test_deepcopy_copies_one_parameter_once():
    parameter = nn.Parameter(weft.ones(1))
    first, second = copy.deepcopy([parameter, parameter])
    assert first is second


def test_a_buffer_is_a_plain_tensor_with_a_mark():
    buffer = nn.Buffer(weft.ones(2))
    assert isinstance(buffer, nn.Buffer)
    assert type(buffer) is weft.Tensor
    assert buffer.persistent
    assert not isinstance(weft.ones(2), nn.Buffer)
    assert not isinstance(weft.ones(2), nn.Parameter)


def test_an_uninitialized_parameter_becomes_one_and_stays_itself():
    parameter = nn.UninitializedParameter()
    assert isinstance(parameter, nn.Parameter)
    with pytest.raises(RuntimeError, match="uninitialized"):
        parameter.shape
    before = parameter
    parameter.materialize((2, 3))
    assert before is parameter
    assert type(parameter) is nn.Parameter
    assert parameter.shape == (2, 3)
    assert parameter.requires_grad
