"""A module that was "compiled" is the module in a wrapper."""

import copy
import pickle

import weft
from weft import nn


def test_names_in_the_state_begin_with_the_wrapper():
    model = nn.Linear(2, 3)
    compiled = weft.compile(model)
    assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert compiled._orig_mod is model
    weft.compile(nn.Linear(2, 3)).load_state_dict(compiled.state_dict())


def test_the_wrapper_computes_what_the_module_does_and_trains_it():
    model = nn.Linear(2, 1)
    compiled = weft.compile(model, mode="reduce-overhead")
    compiled(weft.ones(1, 2)).sum().backward()
    assert model.weight.grad.tolist() == [[1, 1]]
    assert weft.equal(compiled(weft.ones(2)), model(weft.ones(2)))


def test_attributes_are_the_modules():
    model = nn.Linear(2, 3)
    compiled = weft.compile(model)
    compiled.note = "kept"
    compiled.eval()
    assert (model.note, model.training, compiled.training, compiled.out_features) == ("kept", False, False, 3)
    model.train()
    assert compiled.training
    assert isinstance(compiled, weft._dynamo.OptimizedModule) and not isinstance(model, weft.jit.ScriptModule)


def test_a_disabled_compiler_leaves_the_module():
    model = nn.ReLU()
    assert weft.compile(model, disable=True) is model


def test_the_wrapper_is_copied_and_pickled():
    compiled = weft.compile(nn.Linear(2, 3))
    for made in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert weft.equal(made._orig_mod.weight, compiled._orig_mod.weight)
        assert made.weight is not compiled.weight
