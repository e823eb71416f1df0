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


def test_a_module_that_is_compiled_in_place_is_replayed_and_stays_itself():
    """Trainers of transformers and lightning call it."""
    seen = []

    class Model(nn.Linear):
        def forward(self, x):
            return super().forward(x) * (2 if weft.compiler.is_compiling() else 1)

    model = Model(2, 3)
    plain = copy.deepcopy(model)
    model.register_forward_hook(lambda module, args, output: output + 1)
    model.compile(fullgraph=True)
    for i in range(6):
        x = weft.full((4, 2), float(i))
        got = model(x)
        assert weft.equal(got, 2 * plain(x) + 1)
        got.sum().backward()
        seen.append(model.weight.grad.clone())
        model.zero_grad()
    assert all(weft.equal(each, weft.full((3, 2), 8.0 * i)) for i, each in enumerate(seen))
    assert weft.compiler.explain(model._compiled_call_impl).startswith("captured")
    assert list(model.state_dict()) == ["weight", "bias"]
    model.weight.data.zero_()
    assert weft.equal(model(x), 2 * model.bias.expand(4, 3) + 1)
    copied = copy.deepcopy(model)
    assert copied._compiled_call_impl is None and weft.equal(copied(x), model.bias.expand(4, 3) + 1)


def test_a_module_that_is_compiled_in_place_is_pickled_without_it():
    model = nn.Linear(2, 3)
    model.compile()
    model(weft.ones(2))
    read = pickle.loads(pickle.dumps(model))
    assert read._compiled_call_impl is None and weft.equal(read(weft.ones(2)), model(weft.ones(2)))


def test_the_wrapper_is_copied_and_pickled():
    compiled = weft.compile(nn.Linear(2, 3))
    for made in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert weft.equal(made._orig_mod.weight, compiled._orig_mod.weight)
        assert made.weight is not compiled.weight
