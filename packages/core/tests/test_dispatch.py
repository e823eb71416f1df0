"""What the fast path and the slow path of a call have in common."""

import pytest

import weft
from weft._devices import backend_of


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


def test_a_backend_is_asked_for_a_kernel_of_half_precision_before_arrays_are_converted(monkeypatch):
    backend, asked = backend_of(weft.device("cpu")), []

    def half_kernel(name, element, generic):
        asked.append((name, element))
        return lambda *arrays: generic(*arrays) * 2 if name == "core::exp" else generic(*arrays)

    x = weft.zeros(3)
    with monkeypatch.context() as patched:
        patched.setattr(backend, "half_kernel", half_kernel)
        weft.backend.ask_again()
        assert x.bfloat16().exp().tolist() == [2, 2, 2]
        assert x.half().exp().dtype is weft.float16
        assert (x.exp() + x).tolist() == [1, 1, 1]
    weft.backend.ask_again()
    assert ("core::exp", weft.bfloat16) in asked and ("core::exp", weft.float16) in asked
    assert {element for _, element in asked} == {weft.bfloat16, weft.float16}
    assert x.bfloat16().exp().tolist() == [1, 1, 1]
