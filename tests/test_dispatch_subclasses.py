"""Tensor subclasses with ``__torch_dispatch__`` that wrap others (torchao's quantized tensors, tensordict)."""

import copy
import operator
import pickle

import pytest

import weft
from weft import nn
from weft.nn import functional as F
from weft.utils import _pytree as pytree
from weft.utils._python_dispatch import (
    TorchDispatchMode,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
    transform_subclass,
)

seen = []


class Wrapped(weft.Tensor):
    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        return weft.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            dtype=inner.dtype,
            device=inner.device,
            requires_grad=requires_grad,
        )

    def __init__(self, inner, requires_grad=False):
        self.inner = inner

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Wrapped(inner["inner"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        seen.append(str(func))
        args, kwargs = pytree.tree_map_only(Wrapped, lambda each: each.inner, (args, kwargs or {}))
        return pytree.tree_map_only(weft.Tensor, Wrapped, func(*args, **kwargs))


@pytest.fixture(autouse=True)
def forget():
    seen.clear()


VALUES = weft.arange(6.0).reshape(2, 3)


def test_a_wrapper_looks_like_what_it_wraps_and_has_no_memory():
    w = Wrapped(VALUES.t())
    assert (w.shape, w.stride(), w.dtype, w.device) == ((3, 2), (1, 3), weft.float32, weft.device("cpu"))
    assert isinstance(w, weft.Tensor)
    assert not w.is_contiguous()
    assert not w.requires_grad
    assert seen == []


@pytest.mark.parametrize(
    ("run", "wanted"),
    [
        (lambda x: x + x, "add.Tensor"),
        (lambda x: 2 - x, "rsub.Scalar"),
        (lambda x: x + weft.ones(3), "add.Tensor"),
        (lambda x: weft.ones(3) + x, "add.Tensor"),
        (lambda x: x @ x.t(), "mm.default"),
        (lambda x: x.sum(), "sum.default"),
        (lambda x: x.view(3, 2), "view.default"),
        (lambda x: x[0, 1:], "slice.Tensor"),
        (lambda x: weft.cat([x, x]), "cat.default"),
        (lambda x: x.softmax(-1), "_softmax.default"),
        (lambda x: F.linear(x, weft.ones(4, 3), weft.ones(4)), "addmm.default"),
        (lambda x: x.clone(), "clone.default"),
        (lambda x: x.double(), "_to_copy.default"),
        (lambda x: weft.zeros_like(x), "zeros_like.default"),
        (lambda x: x.new_zeros(2), "new_zeros.default"),
        (lambda x: x.clone().add_(1), "add_.Tensor"),
        (lambda x: x.clone().zero_(), "zero_.default"),
        (lambda x: x.clone().copy_(weft.ones(2, 3)), "copy_.default"),
        (lambda x: x.max(1).values, "max.dim"),
        (lambda x: weft.where(x > 1, x, x), "where.self"),
        (lambda x: x.split(1)[1], "split.Tensor"),
    ],
)
def test_ops_reach_the_subclass_and_nobody_else(run, wanted):
    found = run(Wrapped(VALUES))
    assert type(found) is Wrapped
    assert f"aten.{wanted}" in seen
    assert weft.allclose(found.inner, run(VALUES))


def test_numbers_are_read_of_what_is_wrapped():
    assert Wrapped(VALUES).sum().item() == 15
    assert seen[-1] == "aten._local_scalar_dense.default"


@pytest.mark.parametrize(
    ("read", "dtype"), [(bool, weft.float32), (float, weft.float32), (int, weft.int64), (complex, weft.complex64),
                        (operator.index, weft.int64), (weft.Tensor.item, weft.bool)],
)  # fmt: skip
def test_every_way_to_read_a_number_asks_the_class(read, dtype):
    assert read(Wrapped(weft.tensor(1, dtype=dtype))) == 1
    assert seen == ["aten._local_scalar_dense.default"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * x).sum(),
        lambda x: x.sigmoid().sum(),
        lambda x: (x @ x.t()).mean(),
        lambda x: x.softmax(-1)[0, 0],
        lambda x: F.layer_norm(x, (3,)).pow(2).sum(),
        lambda x: F.gelu(x).sum() + x.max(),
    ],
)
def test_gradients_are_wrapped_too_and_the_same(function):
    x = Wrapped(VALUES + 1, requires_grad=True)
    function(x).backward()
    expected = (VALUES + 1).requires_grad_()
    function(expected).backward()
    assert type(x.grad) is Wrapped
    assert weft.allclose(x.grad.inner, expected.grad, atol=1e-6)


def test_a_layer_computes_with_wrapped_weights_and_trains_them():
    layer = nn.Linear(3, 2, bias=False)
    layer.weight = nn.Parameter(Wrapped(weft.ones(2, 3)))
    assert isinstance(layer.weight, nn.Parameter)
    assert type(layer.weight) is Wrapped
    layer(weft.ones(1, 3)).sum().backward()
    assert type(layer.weight.grad) is Wrapped
    weft.optim.SGD(layer.parameters(), lr=0.5).step()
    assert layer.weight.inner.tolist() == [[0.5] * 3] * 2


def test_modes_come_before_subclasses():
    class Record(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((str(func), types))
            return func(*args, **(kwargs or {}))

    with Record():
        Wrapped(VALUES) + 1
    assert seen == [("aten.add.Tensor", (Wrapped,)), "aten.add.Tensor"]


def test_a_deep_copy_wraps_a_copy():
    w = Wrapped(VALUES)
    copied = copy.deepcopy(w)
    assert type(copied) is Wrapped
    assert copied.inner is not w.inner
    assert weft.equal(copied.inner, w.inner)


def test_a_subclass_with_memory_may_pass_calls_on():
    class Logged(weft.Tensor):
        @staticmethod
        def __new__(cls, data):
            return weft.Tensor._make_subclass(cls, data)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = Logged(weft.ones(2))
    assert (x + x).tolist() == [2, 2]
    assert type(x + x) is weft.Tensor  # nothing gives results the class
    assert seen == ["aten.add.Tensor"] * 2
    with weft._C._DisableTorchDispatch():
        assert (x + x).tolist() == [2, 2]
    assert len(seen) == 2


def test_torch_function_comes_first():
    class Both(Wrapped):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            with weft._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

    _ = Both(VALUES) * 3
    assert seen == ["mul", "aten.mul.Tensor"]


def test_an_overload_that_no_subclass_implements_is_an_error():
    class Refusing(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'aten\.exp\.default'.*Refusing"):
        Refusing(VALUES).exp()


def test_what_a_subclass_wraps_can_be_asked_for_and_replaced():
    w = Wrapped(VALUES)
    assert is_traceable_wrapper_subclass(w)
    assert not is_traceable_wrapper_subclass(VALUES)
    assert transform_subclass(w, lambda name, inner: inner * 2).inner.sum() == 30
    add = weft.ops.aten.add_.Tensor
    assert return_and_correct_aliasing(add, (w, 1), {}, None) is w
    assert return_and_correct_aliasing(weft.ops.aten.add.Tensor, (w, 1), {}, "out") == "out"


def test_only_a_class_with_torch_dispatch_wraps():
    with pytest.raises(TypeError, match="__torch_dispatch__"):
        weft.Tensor._make_wrapper_subclass(type("Plain", (weft.Tensor,), {}), (2,))


def test_a_wrapper_is_not_made_a_view_of_itself():
    with pytest.raises(NotImplementedError, match="use t, which returns one"):
        Wrapped(VALUES).t_()


def test_wrapped_parameters_are_copied_saved_and_loaded(tmp_path):
    layer = nn.Linear(3, 2, bias=False)
    layer.weight = nn.Parameter(Wrapped(weft.ones(2, 3)))
    copied = copy.deepcopy(layer)
    assert isinstance(copied.weight, nn.Parameter)
    weft.save(layer.state_dict(), tmp_path / "state.pt")
    loaded = weft.load(tmp_path / "state.pt", weights_only=False)
    assert type(loaded["weight"]) is Wrapped
    assert weft.equal(loaded["weight"].inner, layer.weight.inner)
    copied.load_state_dict(loaded, assign=True)
    assert type(copied.weight) is Wrapped
    again = pickle.loads(pickle.dumps(Wrapped(VALUES)))
    assert weft.equal(again.inner, VALUES)
