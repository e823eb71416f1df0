"""Modules of weft.nn agree with PyTorch's, on the samples of PyTorch's own database of modules.

For each sample: both are made with the same arguments, weft's takes over PyTorch's state, both get the same inputs, and
outputs, gradients and buffers are compared. Constructors, printed forms and state dicts are compared on the way; what
pickling and copying give computes the same; and for one seed both begin with the same parameters.
"""

import copy
import inspect
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import torch

import weft
from weft import nn

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyTorch's test modules warn of packages that they would like to have
    from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

MODULES = {info.module_cls.__name__: info for info in module_db if "quantiz" not in info.module_cls.__module__}
FUNCTIONS = {torch.nn.functional.relu: nn.functional.relu, torch.nn.functional.gelu: nn.functional.gelu}
DTYPES = {"float32": torch.float32, "float64": torch.float64}
TOLERANCES = {"float32": 1e-5, "float64": 1e-10}  # of the largest element: sums round in another order

every_module = pytest.mark.parametrize("name", sorted(MODULES))
both_dtypes = pytest.mark.parametrize("dtype", DTYPES)
both_modes = pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
pytestmark = pytest.mark.filterwarnings("ignore")  # of either library: not the claim here


def translated(value: Any) -> Any:
    """Return weft's counterpart of an argument."""
    if isinstance(value, torch.Tensor):
        tensor = weft.from_numpy(value.detach().numpy().copy())
        return tensor.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(translated(each) for each in value)
    if isinstance(value, dict):
        return {key: translated(each) for key, each in value.items()}
    if isinstance(value, torch.dtype):
        return getattr(weft, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        return translated_layer(value)
    if callable(value):
        return FUNCTIONS[value]
    return value


def translated_layer(layer: torch.nn.TransformerEncoderLayer) -> nn.TransformerEncoderLayer:
    """Return the same layer, with its weights: the one kind of module that the samples have as an argument."""
    attention = layer.self_attn
    sizes = attention.embed_dim, attention.num_heads, layer.linear1.out_features, layer.dropout.p
    options = {
        "activation": translated(layer.activation),
        "layer_norm_eps": layer.norm1.eps,
        "batch_first": attention.batch_first,
        "norm_first": layer.norm_first,
        "bias": layer.linear1.bias is not None,
        "dtype": translated(layer.linear1.weight.dtype),
    }
    made = nn.TransformerEncoderLayer(*sizes, **options)
    made.load_state_dict(translated(layer.state_dict()))
    return made.train(layer.training)


def tensors(value: Any) -> list[Any]:
    """Return the tensors in nested lists and tuples, in order."""
    if isinstance(value, (torch.Tensor, weft.Tensor)):
        return [value]
    return [tensor for each in value for tensor in tensors(each)] if isinstance(value, (list, tuple)) else []


def assert_same(found: Any, expected: Any, what: str, tolerance: float = 0) -> None:
    assert (found is None) == (expected is None), what
    if found is not None:
        found, expected = found.detach().numpy(), expected.detach().numpy()
        assert found.dtype == expected.dtype, what
        size = max(1, np.abs(expected).max(initial=0, where=np.isfinite(expected)))
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * size, err_msg=what)


def samples(name: str, dtype: str, training: bool = True) -> list[Any]:
    """Return the database's samples for a module."""
    torch.manual_seed(0)
    info = MODULES[name]
    options = {"device": "cpu", "dtype": DTYPES[dtype], "requires_grad": True, "training": training}
    return list(info.module_inputs_func(info, **options))


def made_by_both(name: str, sample: Any) -> tuple[Any, Any]:
    """Return PyTorch's module and weft's."""
    made = sample.constructor_input
    arguments, options = translated(made.args), translated(made.kwargs)
    return MODULES[name].module_cls(*made.args, **made.kwargs), getattr(nn, name)(*arguments, **options)


def pairs(name: str, dtype: str, training: bool) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield PyTorch's module, weft's with the same state, and the inputs of each."""
    for sample in samples(name, dtype, training):
        expected, found = made_by_both(name, sample)
        expected, found = expected.to(DTYPES[dtype]).train(training), found.to(getattr(weft, dtype)).train(training)
        if "Lazy" not in name:
            found.load_state_dict(translated(expected.state_dict()))
        given = sample.forward_input
        if given is not None:
            yield expected, found, (given.args, given.kwargs), (translated(given.args), translated(given.kwargs))


def called(library: Any, module: Any, inputs: Any) -> Any:
    """Return the module's tensors, or the type of its error."""
    library.manual_seed(0)
    try:
        return tensors(module(*inputs[0], **inputs[1]))
    except Exception as error:
        return type(error)


def differentiated(outputs: Any) -> Any:
    """Return the outputs, after a backward through those that take gradients."""
    recorded = [] if isinstance(outputs, type) else [output for output in outputs if output.requires_grad]
    if recorded:
        sum((output * output).sum() for output in recorded).backward()
    return outputs


def computed(library: Any, module: Any, inputs: Any, leaves: list[bool]) -> dict[str, Any] | type:
    """Return outputs, gradients and buffers after a call and a backward; or the type of the call's error.

    ``leaves`` says which of PyTorch's inputs keep their gradients; in translation all do.
    """
    outputs = differentiated(called(library, module, inputs))
    if isinstance(outputs, type):
        return outputs
    given = zip(tensors(list(inputs[0])), leaves, strict=True)
    return {
        **{f"output {number}": output for number, output in enumerate(outputs)},
        **{f"gradient of input {number}": each.grad for number, (each, is_leaf) in enumerate(given) if is_leaf},
        **{f"gradient of {key}": parameter.grad for key, parameter in module.named_parameters()},
        **dict(module.named_buffers()),
    }


def in_float64(value: Any) -> Any:
    """Return nested arguments with tensors of float64 for those of float32."""
    if isinstance(value, (list, tuple, dict)):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        each = {key: in_float64(item) for key, item in pairs}
        return each if isinstance(value, dict) else type(value)(each.values())
    if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
        return value.detach().double().requires_grad_(value.requires_grad)
    return value


@both_modes
@both_dtypes
@every_module
def test_a_module_agrees_with_pytorch(name: str, dtype: str, training: bool) -> None:
    """Where float32 does not carry as many digits, as in a gradient that is nearly 0, with PyTorch's float64."""
    tolerance = TOLERANCES[dtype]
    for expected, found, expected_inputs, found_inputs in pairs(name, dtype, training):
        precise, precise_inputs = copy.deepcopy(expected).double(), in_float64(expected_inputs)
        leaves = [given.is_leaf for given in tensors(list(expected_inputs[0]))]
        wanted = computed(torch, expected, expected_inputs, leaves)
        results = computed(weft, found, found_inputs, leaves)
        if isinstance(wanted, type) or isinstance(results, type):
            assert wanted is results, f"{name}{expected_inputs}"
            continue
        assert [results[key] is None or results[key].requires_grad for key in results] == [
            wanted[key] is None or wanted[key].requires_grad for key in wanted
        ]
        exact: Any = None
        for key, value in wanted.items():
            try:
                assert_same(results[key], value, key, tolerance)
            except AssertionError:
                exact = exact or computed(torch, precise, precise_inputs, leaves)
                if dtype == "float64" or isinstance(exact, type) or value is None or value.dtype != torch.float32:
                    raise
                assert_same(results[key], exact[key].float(), key, tolerance)


@both_dtypes
@every_module
def test_an_inference_agrees_with_pytorch(name: str, dtype: str) -> None:
    """Without gradients, where PyTorch has fused paths of its own for attention and encoders."""
    for expected, found, expected_inputs, found_inputs in pairs(name, dtype, training=False):
        with torch.no_grad():
            outputs = called(torch, expected, expected_inputs)
        with weft.no_grad():
            results = called(weft, found, found_inputs)
        if isinstance(outputs, type) or isinstance(results, type):
            assert outputs is results, f"{name}{expected_inputs}"
            continue
        for result, output in zip(results, outputs, strict=True):
            assert_same(result, output, "output", TOLERANCES[dtype])


@every_module
def test_autocast_gives_pytorchs_dtypes(name: str) -> None:
    for expected, found, expected_inputs, found_inputs in pairs(name, "float32", training=True):
        with torch.autocast("cpu"):
            outputs = called(torch, expected, expected_inputs)
        with weft.autocast("cpu"):
            results = called(weft, found, found_inputs)
        if outputs is RuntimeError and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
            continue  # PyTorch's LSTM has no bfloat16 on this processor
        if isinstance(outputs, type) or isinstance(results, type):
            assert outputs is results, f"{name}{expected_inputs}"
            continue
        dtypes = [str(output.dtype).removeprefix("torch.") for output in outputs]
        assert [str(result.dtype).removeprefix("weft.") for result in results] == dtypes


@both_modes
@every_module
def test_what_pickling_and_copying_give_computes_the_same(name: str, training: bool) -> None:
    for _, found, _, inputs in pairs(name, "float32", training):
        again = [pickle.loads(pickle.dumps(found)), copy.deepcopy(found)]
        assert all(type(each) is type(found) and each.training == training for each in again)
        assert all(repr(each) == repr(found) for each in again)
        expected = called(weft, found, inputs)
        for each in again:
            results = called(weft, each, inputs)
            if isinstance(expected, type):
                assert results is expected
                continue
            for result, output in zip(results, expected, strict=True):
                assert_same(result, output, "output")


def layout(module: Any) -> list[tuple[str, tuple[int, ...], str]]:
    """Return the state dict's keys in order, with shapes and dtypes; shapes of what is not initialized are empty."""
    entries = module.state_dict().items()
    lazy = (torch.nn.parameter.UninitializedTensorMixin, nn.parameter.UninitializedTensorMixin)
    return [
        (key, () if isinstance(value, lazy) else tuple(value.shape), str(value.dtype).split(".")[-1])
        for key, value in entries
    ]


@both_dtypes
@every_module
def test_state_dicts_are_exchanged(name: str, dtype: str) -> None:
    for sample in samples(name, dtype):
        expected, found = made_by_both(name, sample)
        assert repr(found) == repr(expected)
        assert layout(found) == layout(expected)
        assert [key for key, _ in found.named_modules()] == [key for key, _ in expected.named_modules()]
        expected, found = expected.to(DTYPES[dtype]), found.to(getattr(weft, dtype))
        assert layout(found) == layout(expected)
        if "Lazy" in name and "Lazy" in type(expected).__name__:
            continue
        state = {key: torch.randn(value.shape).to(value.dtype) for key, value in expected.state_dict().items()}
        found.load_state_dict(translated(state))
        for key, value in found.state_dict().items():
            assert_same(value, state[key], key)
        made = {key: torch.from_numpy(value.numpy().copy()) for key, value in found.state_dict().items()}
        assert str(expected.load_state_dict(made)) == str(found.load_state_dict(found.state_dict()))
        for key, value in expected.state_dict().items():
            assert torch.equal(value, state[key])


def initialized(library: Any, kind: Any, made: Any, inputs: Any) -> dict[str, Any]:
    """Return the state after construction, and for a lazy module after its first call, from one seed."""
    library.manual_seed(3)
    module = kind(*made[0], **made[1])
    if type(module).__name__.startswith("Lazy"):
        module(*inputs.args, **inputs.kwargs)
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


@both_dtypes
@every_module
def test_initial_parameters_are_pytorchs(name: str, dtype: str) -> None:
    takes_dtype = "dtype" in inspect.signature(MODULES[name].module_cls).parameters
    if dtype == "float64" and not takes_dtype:
        pytest.skip("made in one dtype only")
    for sample in samples(name, dtype):
        made, given = sample.constructor_input, sample.forward_input
        options = {**made.kwargs, "dtype": DTYPES[dtype]} if takes_dtype else made.kwargs
        arguments = made.args, options
        expected = initialized(torch, MODULES[name].module_cls, arguments, given)
        found = initialized(weft, getattr(nn, name), translated(arguments), translated_call(given))
        assert list(found) == list(expected)
        tolerance = 1e-6 if "Embedding" in name or name == "MultiheadAttention" else 0  # normal numbers
        for key, value in expected.items():
            assert_same(found[key], value, key, tolerance)
            assert found[key].requires_grad == value.requires_grad


def translated_call(given: Any) -> Any:
    """Return the sample's inputs for weft."""
    if given is None:
        return None
    made = copy.copy(given)
    made.args, made.kwargs = translated(given.args), translated(given.kwargs)
    return made


@every_module
def test_a_wrong_call_raises_pytorchs_error_and_text(name: str) -> None:
    info = MODULES[name]
    if info.module_error_inputs_func is None:
        return
    options = {"device": "cpu", "dtype": torch.float32, "requires_grad": False, "training": True}
    for wrong in info.module_error_inputs_func(info, **options):
        made, given = wrong.module_error_input.constructor_input, wrong.module_error_input.forward_input
        arguments, keywords = translated(made.args), translated(made.kwargs)
        with pytest.raises(wrong.error_type, match=wrong.error_regex):
            module = getattr(nn, name)(*arguments, **keywords)
            assert wrong.error_on is ModuleErrorEnum.FORWARD_ERROR
            module(*translated(given.args), **translated(given.kwargs))


def without_memory(value: Any) -> Any:
    """Return nested arguments with tensors on the meta device."""
    if isinstance(value, (list, tuple)):
        return type(value)(without_memory(each) for each in value)
    if isinstance(value, dict):
        return {key: without_memory(each) for key, each in value.items()}
    if isinstance(value, (torch.Tensor, weft.Tensor)):
        return value.detach().to("meta").requires_grad_(value.requires_grad)
    return value


def told(tensors: Any) -> list[Any]:
    """Return what tensors without memory have: shape, dtype and whether they require grad."""
    return [None if each is None else (tuple(each.shape), each.dtype, each.requires_grad) for each in tensors]


@both_modes
@every_module
def test_a_module_without_memory_gives_the_shapes_of_its_results(name: str, training: bool) -> None:
    """On the device meta, forward and backward; a module that reads values is refused, as PyTorch's is."""
    for theirs, found, their_inputs, inputs in pairs(name, "float32", training):
        module, given = copy.deepcopy(found).to("meta"), without_memory(inputs)
        their_module = copy.deepcopy(theirs).to("meta")
        expected = differentiated(called(weft, found, inputs))
        if isinstance(expected, type):
            continue
        results = differentiated(called(weft, module, given))
        if isinstance(results, type):
            assert issubclass(called(torch, their_module, without_memory(their_inputs)), RuntimeError)
            continue
        assert told(results) == told(expected)
        grads = [[each.grad for each in of.parameters()] for of in (module, found)]
        assert told(grads[0]) == told(grads[1])
