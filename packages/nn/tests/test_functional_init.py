"""functorch's first way to make modules functions of their parameters, several modules at once."""

import pytest

import weft
from weft import nn
from weft._functorch.make_functional import functional_init, functional_init_with_buffers


def test_one_module_becomes_a_function_of_its_parameters():
    params, function, names = functional_init(nn.Linear)(4, 2)
    assert names == ("weight", "bias")
    assert function([each * 0 for each in params], (weft.ones(3, 4),)).tolist() == [[0, 0]] * 3


def test_parameters_of_several_modules_are_stacked():
    params, function, names = functional_init(nn.Linear, (3,))(4, 2)
    assert [tuple(each.shape) for each in params] == [(3, 2, 4), (3, 2)]
    assert names == ("weight", "bias")
    of_each = weft.func.vmap(function, in_dims=(0, None))(params, (weft.ones(5, 4),))
    assert of_each.shape == (3, 5, 2)


def test_buffers_are_the_second_argument():
    params, buffers, function, _, names = functional_init_with_buffers(nn.BatchNorm1d, (2,))(4)
    assert names == ("running_mean", "running_var", "num_batches_tracked")
    assert [tuple(each.shape) for each in buffers] == [(2, 4), (2, 4), (2,)]
    one = [each[0] for each in params], [each[0] for each in buffers]
    assert function(*one, (weft.ones(3, 4),)).shape == (3, 4)


def test_what_makes_no_function_is_refused():
    with pytest.raises(RuntimeError, match="has buffers"):
        functional_init(nn.BatchNorm1d)(4)
    with pytest.raises(ValueError, match="one number at most"):
        functional_init(nn.Linear, (2, 2))(4, 2)
    with pytest.raises(ValueError, match="num_models 0 should be > 0"):
        functional_init(nn.Linear, (0,))(4, 2)
