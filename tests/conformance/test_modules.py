"""Modules of weft.nn agree with PyTorch's, on the samples of PyTorch's own database of modules.

For each sample: both are made with the same arguments, weft's takes over PyTorch's state, both get the same inputs, and
outputs, gradients and buffers are compared. Constructors, printed forms and state-dict keys are compared on the way.
"""

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
    from torch.testing._internal.common_modules import module_db

MODULES = {info.module_cls.__name__: info for info in module_db if "quantiz" not in info.module_cls.__module__}
FUNCTIONS = {torch.nn.functional.relu: nn.functional.relu, torch.nn.functional.gelu: nn.functional.gelu}


class NotTranslatedError(Exception):
    """A sample has an argument that means nothing to weft, such as one of PyTorch's modules."""


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
    if isinstance(value, torch.nn.Module):
        raise NotTranslatedError(type(value).__name__)
    if callable(value):
        if value not in FUNCTIONS:
            raise NotTranslatedError(repr(value))
        return FUNCTIONS[value]
    return value


def tensors(value: Any) -> list[Any]:
    """Return the tensors in nested lists and tuples, in order."""
    if isinstance(value, (torch.Tensor, weft.Tensor)):
        return [value]
    return [tensor for each in value for tensor in tensors(each)] if isinstance(value, (list, tuple)) else []


def assert_same(found: Any, expected: Any, what: str) -> None:
    assert (found is None) == (expected is None), what
    if found is not None:
        found, expected = found.detach().numpy(), expected.detach().numpy()
        assert found.dtype == expected.dtype, what
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7, err_msg=what)


def pairs(info: Any, training: bool) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield PyTorch's module, weft's with the same state, and the inputs of each."""
    samples = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=training)
    for sample in samples:
        made, given = sample.constructor_input, sample.forward_input
        try:
            arguments, options = translated(made.args), translated(made.kwargs)
        except NotTranslatedError:
            continue
        expected = info.module_cls(*made.args, **made.kwargs).double().train(training)
        found = getattr(nn, info.module_cls.__name__)(*arguments, **options).double().train(training)
        assert repr(found) == repr(expected)
        assert list(found.state_dict()) == list(expected.state_dict())
        if "Lazy" not in type(expected).__name__:
            found.load_state_dict({name: translated(value) for name, value in expected.state_dict().items()})
        if given is not None:
            yield expected, found, (given.args, given.kwargs), (translated(given.args), translated(given.kwargs))


def called(library: Any, module: Any, inputs: Any) -> Any:
    """Return the module's tensors, after a backward through those that take gradients; or the type of its error."""
    library.manual_seed(0)
    try:
        outputs = tensors(module(*inputs[0], **inputs[1]))
    except Exception as error:
        return type(error)
    recorded = [output for output in outputs if output.requires_grad]
    if recorded:
        sum((output * output).sum() for output in recorded).backward()
    return outputs


@pytest.mark.filterwarnings("ignore")  # of either library: not the claim here
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_agrees_with_pytorch(name: str, training: bool) -> None:
    for expected, found, expected_inputs, found_inputs in pairs(MODULES[name], training):
        outputs, results = called(torch, expected, expected_inputs), called(weft, found, found_inputs)
        if isinstance(outputs, type) or isinstance(results, type):
            assert outputs is results, f"{name}{expected_inputs}"
            continue
        assert [result.requires_grad for result in results] == [output.requires_grad for output in outputs]
        for result, output in zip(results, outputs, strict=True):
            assert_same(result, output, "output")
        leaves = [tensor.is_leaf for tensor in tensors(list(expected_inputs[0]))]
        both = zip(leaves, tensors(list(found_inputs[0])), tensors(list(expected_inputs[0])), strict=True)
        for is_leaf, found_input, expected_input in both:
            if is_leaf:
                assert_same(found_input.grad, expected_input.grad, "gradient of an input")
        named = zip(found.named_parameters(), expected.named_parameters(), strict=True)
        for (key, parameter), (_, expected_parameter) in named:
            assert_same(parameter.grad, expected_parameter.grad, f"gradient of {key}")
        for (key, buffer), (_, expected_buffer) in zip(found.named_buffers(), expected.named_buffers(), strict=True):
            assert_same(buffer, expected_buffer, key)
