"""Fast paths give what the declared functions give, whatever the call: results, histories and errors."""

import copy
import gc
import inspect
import math

import numpy
import pytest

import weft
from weft._engine.fast_paths import FastPath, Signature, chosen_dims, kind_of
from weft.library import Interceptor
from weft.nn import functional as F

x = weft.tensor([[3.0, -1.0, 2.0], [0.5, 4.0, -2.0]])
y = weft.tensor([[1.0, 2.0, -3.0], [2.0, 0.5, 1.0]])
square = weft.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
mask = x > 0
index = weft.tensor([[0, 2], [1, 1]])
places = weft.tensor([1, 0])
images = weft.arange(32.0).reshape(1, 2, 4, 4)
filters = weft.ones(3, 2, 2, 2)

CALLS = {
    "add matrices": (weft.addmm, (weft.ones(3), x, square)),
    "addcdiv": (weft.addcdiv, (x, y, y), {"value": 0.5}),
    "addcmul": (weft.addcmul, (x, y, y), {"value": 2}),
    "all": (weft.all, (mask, 1, True)),
    "amax": (weft.amax, (x, 0, False)),
    "amin": (weft.amin, (x,)),
    "any": (weft.any, (mask, 0)),
    "arange": (weft.arange, (4,)),
    "argmax": (weft.argmax, (x, 1, True)),
    "argmin": (weft.argmin, (x,)),
    "cat": (weft.cat, ([x, y], 1)),
    "clamp": (weft.clamp, (x, 0.0, 1.0)),
    "clamp by tensors": (weft.clamp, (x, y, y)),
    "cumprod": (weft.cumprod, (x, 1)),
    "cumsum": (weft.cumsum, (x, 0)),
    "equal": (weft.equal, (x, y)),
    "eye": (weft.eye, (2, 3)),
    "flatten": (weft.flatten, (x, 0, 1)),
    "full": (weft.full, ((2, 2), 1.5)),
    "gather": (weft.gather, (x, 1, index)),
    "index_select": (weft.index_select, (x, 0, places)),
    "lerp": (weft.lerp, (x, y, 0.25)),
    "lerp by a tensor": (weft.lerp, (x, y, y)),
    "linspace": (weft.linspace, (0, 1, 4)),
    "log_softmax": (weft.log_softmax, (x, 1)),
    "logcumsumexp": (weft.logcumsumexp, (x, 0)),
    "logsumexp": (weft.logsumexp, (x, 1, True)),
    "masked_fill": (weft.masked_fill, (x, mask, 2.0)),
    "matmul": (weft.matmul, (x, square)),
    "max": (weft.max, (x, 1, False)),
    "max of all": (weft.max, (x,)),
    "mean": (weft.mean, (x, (0, 1), True)),
    "min": (weft.min, (x, 0)),
    "norm": (weft.norm, (x, 3, 1, False)),
    "ones": (weft.ones, (2, 3)),
    "ones_like": (weft.ones_like, (x,)),
    "prod": (weft.prod, (x, 1, True)),
    "roll": (weft.roll, (x, 1, 0)),
    "softmax": (weft.softmax, (x, 0)),
    "sort": (weft.sort, (x, 1, True)),
    "stack": (weft.stack, ([x, y], 1)),
    "std": (weft.std, (x, 1, False, True)),
    "sum": (weft.sum, (x, 1, False)),
    "topk": (weft.topk, (x, 2, 1, False, True)),
    "var": (weft.var, (x, 0)),
    "where": (weft.where, (mask, x, 0.0)),
    "where of tensors": (weft.where, (mask, x, y)),
    "zeros": (weft.zeros, (2, 3)),
    "zeros_like": (weft.zeros_like, (x,)),
    "nn adaptive_avg_pool2d": (F.adaptive_avg_pool2d, (images, 2)),
    "nn avg_pool2d": (F.avg_pool2d, (images, 2, 1, 1, True)),
    "nn conv2d": (F.conv2d, (images, filters, weft.ones(3), 1, (1, 1), 1, 1)),
    "nn cross_entropy": (F.cross_entropy, (x, weft.tensor([0, 2]))),
    "nn dropout in eval mode": (F.dropout, (x, 0.5, False)),
    "nn dropout of all": (F.dropout, (x, 1.0)),
    "nn elu": (F.elu, (x, 0.5)),
    "nn gelu": (F.gelu, (x,), {"approximate": "tanh"}),
    "nn layer_norm": (F.layer_norm, (x, (3,), weft.ones(3), weft.ones(3), 1e-3)),
    "nn leaky_relu": (F.leaky_relu, (x, 0.1, False)),
    "nn linear": (F.linear, (x, weft.ones(4, 3), weft.ones(4))),
    "nn log_softmax": (F.log_softmax, (x, 1)),
    "nn max_pool2d": (F.max_pool2d, (images, 2, None, 1, 1, False)),
    "nn relu": (F.relu, (x,)),
    "nn selu": (F.selu, (x,)),
    "nn silu": (F.silu, (x,)),
    "nn softmax": (F.softmax, (x, 1)),
    "nn softplus": (F.softplus, (x, 2, 10.0)),
}
HOSTILE = {
    "True": True,
    "None": None,
    "1": 1,
    "-1": -1,
    "99": 99,
    "2**70": 2**70,
    "1.5": 1.5,
    "inf": math.inf,
    "nan": math.nan,
    "1j": 1j,
    "text": "text",
    "numpy.int64": numpy.int64(1),
    "numpy.float32": numpy.float32(1.5),
    "()": (),
    "(0,)": (0,),
    "(0, -2)": (0, -2),
    "[1]": [1],
    "array": numpy.ones(2, numpy.float32),
    "0-d tensor": weft.tensor(1),
    "float16 tensor": x.half(),
    "int tensor": index,
    "bool tensor": mask,
    "complex tensor": x + 1j,
    "empty tensor": weft.zeros(0, 3),
    "leaf": y.clone().requires_grad_(),
}


def outcome(function, args, kwargs):
    """What a call gives, so that two can be compared: an error with its words, or values, dtype and history."""
    weft.manual_seed(0)
    args, kwargs = copy.deepcopy((args, kwargs))  # some write to them
    try:
        found = function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    parts = found if isinstance(found, tuple) else (found,)
    said = [type(found).__name__]
    for each in parts:
        if isinstance(each, weft.Tensor):
            history = type(each.grad_fn).__name__ if each.grad_fn is not None else None
            said.append((each.dtype, each.shape, each.stride(), repr(each.tolist()), each.requires_grad, history))
        else:
            said.append(repr(each))
    return said


def declared(function, args, kwargs):
    """The same of the declared function alone: an interceptor keeps calls from the fast path."""
    with Interceptor():
        return outcome(function, args, kwargs)


@pytest.mark.parametrize("name", CALLS)
def test_results_histories_and_errors_are_those_of_the_declared_function(name):
    function, args, *rest = CALLS[name]
    kwargs = rest[0] if rest else {}
    assert outcome(function, args, kwargs) == declared(function, args, kwargs)
    for place in range(len(args)):
        for label, value in HOSTILE.items():
            changed = (*args[:place], value, *args[place + 1 :])
            assert outcome(function, changed, kwargs) == declared(function, changed, kwargs), (place, label)
    for option in kwargs:
        for label, value in HOSTILE.items():
            changed = kwargs | {option: value}
            assert outcome(function, args, changed) == declared(function, args, changed), (option, label)


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("zeros", "ones")])
def test_keywords_are_positions(name):
    function, args, *rest = CALLS[name]
    kwargs = rest[0] if rest else {}
    names = list(inspect.signature(function).parameters)
    wanted = outcome(function, args, kwargs)
    for count in range(len(args)):
        named = dict(zip(names[count:], args[count:]))
        assert outcome(function, args[:count], named | kwargs) == wanted
    twice = {names[0]: args[0]}
    assert outcome(function, args, twice)[0] is TypeError
    assert outcome(function, args, {"no_such_argument": 1})[0] is TypeError


@pytest.mark.parametrize("name", CALLS)
def test_a_required_argument_that_is_missing_is_a_type_error(name):
    function, args, *_ = CALLS[name]
    assert outcome(function, (), {}) == declared(function, (), {})
    assert outcome(function, args[:1], {}) == declared(function, args[:1], {})


def test_every_fast_path_takes_the_arguments_of_its_kernel():
    paths = [each for each in gc.get_objects() if isinstance(each, FastPath) and each.function is not None]
    assert len(paths) > 60
    for path in paths:
        assert isinstance(path.read_signature(), Signature)


def test_a_fast_path_with_too_few_arguments_is_an_error():
    @weft.library.op(tensors="input", namespace="test", fast_path=FastPath(takes="input"))
    def scaled_by(input: weft.Tensor, factor: float) -> weft.Tensor:
        return scaled_by.op(input, factor)

    @scaled_by.kernel
    def _(xp, input, factor):
        return input * factor

    with pytest.raises(TypeError, match="takes 1 arguments for test::scaled_by, which has 2: input, factor"):
        scaled_by(x, 2.0)


def test_a_dim_before_its_tensor_is_left_to_the_function():
    @weft.library.op(tensors="input", namespace="test", fast_path=FastPath(takes="dim input"))
    def size_along(dim: int, input: weft.Tensor) -> weft.Tensor:
        return size_along.op(dim % input.ndim, input)

    @size_along.kernel
    def _(xp, dim, input):
        return xp.asarray(input.shape[dim])

    assert size_along(-1, x).item() == 3


def test_annotations_may_be_types_and_names_of_modules():
    kinds = {kind_of("value", {"value": each}) for each in ("Tensor", "weft.Tensor", weft.Tensor)}
    assert len(kinds) == 1
    assert kind_of("dim", {"dim": "int | None"}) != kind_of("size", {"size": "int | None"})


def test_dims_are_told_apart_from_what_only_looks_like_them():
    assert chosen_dims(None, 2) == (0, 1)
    assert chosen_dims((-1, 0), 2) == (1, 0)
    for wrong in (True, (), (0, 0), (0, -2), 2, 1.0, "0", [0]):
        assert chosen_dims(wrong, 2) is None
