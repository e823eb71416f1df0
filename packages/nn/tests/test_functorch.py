"""Modules as functions of their parameters, and their tensors replaced: functorch's names and tensordict's."""

import pytest

import weft
from weft.func.functorch import (
    FunctionalModule,
    combine_state_for_ensemble,
    make_functional,
    make_functional_with_buffers,
)
from weft.nn.utils._named_member_accessor import swap_tensor


def test_a_module_becomes_a_function_of_its_parameters():
    """tensordict takes apart what makes these."""
    model, x = weft.nn.Linear(2, 3), weft.ones(4, 2)
    function, params = make_functional(model)
    assert isinstance(function, FunctionalModule)
    assert weft.equal(function(params, x), model(x))
    assert function([p * 0 for p in params], x).abs().sum() == 0
    assert not make_functional(model, disable_autograd_tracking=True)[1][0].requires_grad
    with pytest.raises(RuntimeError, match="use make_functional_with_buffers"):
        make_functional(weft.nn.BatchNorm1d(2))


def test_several_modules_become_one_function_of_stacked_parameters():
    models, x = [weft.nn.BatchNorm1d(2).eval() for _ in range(3)], weft.ones(4, 2)
    function, params, buffers = combine_state_for_ensemble(models)
    found = weft.func.vmap(function, in_dims=(0, 0, None))(params, buffers, x)
    assert weft.allclose(found[1], models[1](x))
    alone, params, buffers = make_functional_with_buffers(models[0])
    assert weft.equal(alone(params, buffers, x), models[0](x))
    with pytest.raises(RuntimeError, match="of one class and one mode"):
        combine_state_for_ensemble([models[0], weft.nn.Linear(2, 2)])


def test_a_tensor_takes_a_parameters_place():
    """tensordict swaps the parameters of a module so."""
    model = weft.nn.Linear(2, 2)
    weight, plain = model.weight, weft.ones(2, 2)
    assert swap_tensor(model, "weight", plain) is weight
    assert model.weight is plain
    assert swap_tensor(model, "weight", weight) is plain
    with pytest.raises(AttributeError, match="Linear has no attribute 'scale'"):
        swap_tensor(model, "scale", plain)
    missing = swap_tensor(model, "scale", plain, allow_missing=True)
    assert model.scale is plain
    swap_tensor(model, "scale", missing)
    assert not hasattr(model, "scale")
    with pytest.raises(TypeError, match=r"not an instance of torch\.Tensor"):
        swap_tensor(model, "weight", 3)
    with pytest.raises(KeyError, match="has no dot"):
        swap_tensor(model, "a.b", plain)


def test_hooks_of_registration_are_found_by_pytorchs_name():
    """tensordict calls them for the parameters that it registers itself."""
    from weft.nn.module import _global_parameter_registration_hooks, register_module_parameter_registration_hook

    handle = register_module_parameter_registration_hook(lambda module, name, parameter: None)
    assert len(_global_parameter_registration_hooks) == 1
    handle.remove()
    assert len(_global_parameter_registration_hooks) == 0


def test_arguments_of_to_are_parsed():
    """Lightning's and fastai's own classes parse them so."""
    parsed = weft._C._nn._parse_to("cpu", weft.float64, non_blocking=True)
    assert parsed == (weft.device("cpu"), weft.float64, True, None)


def test_a_batch_goes_whole_to_the_one_device():
    """Captum's layer attributions divide their inputs so."""
    from weft.nn.parallel.scatter_gather import gather, scatter

    parts = scatter({"x": weft.ones(2), "n": 3}, ["cpu"])
    assert len(parts) == 1 and parts[0]["n"] == 3 and parts[0]["x"].tolist() == [1.0, 1.0]
    assert gather([weft.ones(2)], "cpu").tolist() == [1.0, 1.0]
    with pytest.raises(NotImplementedError, match="one device"):
        scatter(weft.ones(2), [0, 1])


def test_a_number_tells_tensors_apart():
    """Pyro compares it to see whether a module's parameter is the stored one."""
    x, y = weft.ones(1), weft.ones(1)
    assert x._cdata == x._cdata != y._cdata
