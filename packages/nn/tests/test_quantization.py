"""Models that might be quantized compute in floating point."""

import pytest

import weft
from weft import nn
from weft.ao.quantization import DeQuantStub, QuantStub


def test_stubs_return_their_tensor_and_have_no_state():
    x = weft.ones(2)
    for stub in (QuantStub(), DeQuantStub()):
        assert stub(x) is x
        assert not stub.state_dict()
    assert QuantStub("how").qconfig == "how"


def test_arithmetic_of_a_module_is_that_of_the_functions_and_may_be_watched():
    module = nn.quantized.FloatFunctional()
    seen = []
    module.activation_post_process.register_forward_hook(lambda _, inputs, result: seen.append(result))
    x, y = weft.tensor([1.0, -3.0]), weft.ones(2)
    assert module.add(x, y).tolist() == [2, -2]
    assert module.mul(x, y).tolist() == [1, -3]
    assert module.add_relu(x, y).tolist() == [2, 0]
    assert module.matmul(x, y).item() == -2
    assert module.cat([x, y]).tolist() == [1, -3, 1, 1]
    assert len(seen) == 5
    assert module.add_scalar(x, 2).tolist() == [3, -1] and module.mul_scalar(x, 2).tolist() == [2, -6]
    assert len(seen) == 5
    with pytest.raises(RuntimeError, match="not intended to use the 'forward'"):
        module(x)
