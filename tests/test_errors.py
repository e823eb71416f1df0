"""Wrong calls: each raises the exception type that PyTorch raises, and says what was wrong and what to do.

A row is a call, the type, and what the message must hold: the operator's name, the shapes, dtypes or indices that it
got, and a word of the remedy. ``w`` is the library, so that the same row can be tried on PyTorch.
"""

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import weft


def shape(*sizes: int) -> str:
    """Pattern of a shape, in round or square brackets."""
    return r"[\[(]" + ", ".join(map(str, sizes)) + r",?[\])]"


def anyof(*words: str) -> str:
    """Pattern of any of some words."""
    return "(?:" + "|".join(words) + ")"


@dataclass
class WrongCall:
    """One row of the table."""

    title: str
    call: Callable[[Any], Any]
    error: type[Exception]
    says: tuple[str, ...]

    def __str__(self) -> str:
        return self.title


def row(title: str, call: Callable[[Any], Any], error: type[Exception], *says: str) -> WrongCall:
    """A row whose message holds all of ``says``, patterns without regard to case."""
    return WrongCall(title, call, error, says)


def leaf(w: Any, *sizes: int) -> Any:
    """A tensor of ones that requires a gradient."""
    return w.ones(*sizes, requires_grad=True)


SHAPES = [
    row("add of shapes that do not broadcast", lambda w: w.ones(2, 3) + w.ones(4), RuntimeError,
        "add", shape(2, 3), shape(4)),
    row("in-place add that would grow its tensor", lambda w: w.ones(3).add_(w.ones(2, 3)), RuntimeError,
        "add_", shape(3), shape(2, 3)),
    row("where of shapes that do not broadcast",
        lambda w: w.where(w.ones(2, dtype=w.bool), w.ones(3), w.ones(3)), RuntimeError, "where", shape(2), shape(3)),
    row("matmul whose inner sizes differ", lambda w: w.ones(2, 3) @ w.ones(2, 3), RuntimeError,
        "matmul", shape(2, 3), "3", "2"),
    row("mm of vectors", lambda w: w.mm(w.ones(3), w.ones(3)), RuntimeError, "mm", anyof("2-D", "matri", "dim")),
    row("bmm whose batches differ", lambda w: w.bmm(w.ones(2, 3, 4), w.ones(3, 4, 5)), RuntimeError,
        "bmm", shape(2, 3, 4), shape(3, 4, 5)),
    row("dot of matrices", lambda w: w.dot(w.ones(2, 2), w.ones(2, 2)), RuntimeError, "dot", anyof("1-D", "vector")),
    row("mv whose sizes differ", lambda w: w.mv(w.ones(2, 3), w.ones(2)), RuntimeError, "mv", shape(2, 3), shape(2)),
    row("einsum whose sizes differ", lambda w: w.einsum("ij,jk->ik", w.ones(2, 3), w.ones(4, 5)), RuntimeError,
        "einsum", "j"),
    row("matrix product of a 0-d tensor", lambda w: w.tensor(1.0) @ w.ones(3), RuntimeError, "matmul", "0"),
    row("cat whose other sizes differ", lambda w: w.cat([w.ones(2, 3), w.ones(2, 4)]), RuntimeError,
        "cat", shape(2, 3), shape(2, 4)),
    row("cat of nothing", lambda w: w.cat([]), ValueError, "cat", anyof("empty", "at least one")),
    row("stack of different shapes", lambda w: w.stack([w.ones(2), w.ones(3)]), RuntimeError,
        "stack", shape(2), shape(3)),
    row("view of another number of elements", lambda w: w.ones(2, 3).view(4), RuntimeError,
        "view", anyof(shape(2, 3), "6"), shape(4)),
    row("view that strides do not allow", lambda w: w.ones(2, 3).t().view(6), RuntimeError,
        "view", "reshape"),
    row("reshape to another number of elements", lambda w: w.ones(6).reshape(4, 2), RuntimeError,
        "reshape", shape(4, 2), "6"),
    row("reshape with two sizes to infer", lambda w: w.ones(6).reshape(-1, -1), RuntimeError, "reshape", "-1", "one"),
    row("reshape that -1 cannot complete", lambda w: w.ones(6).reshape(4, -1), RuntimeError,
        "reshape", shape(4, -1), "6"),
    row("expand of a size that is not 1", lambda w: w.ones(2, 3).expand(4, 3), RuntimeError,
        "expand", shape(2, 3), shape(4, 3)),
    row("expand to fewer dimensions", lambda w: w.ones(2, 3).expand(3), RuntimeError, "expand", shape(2, 3), shape(3)),
    row("permute that repeats a dimension", lambda w: w.ones(2, 3).permute(0, 0), RuntimeError,
        "permute", anyof("repeat", "duplicate", "twice", "more than once", "multiple"), "0"),
    row("transpose of a dimension that is not there", lambda w: w.ones(2, 3).transpose(0, 2), IndexError,
        "transpose", "2", r"-2"),
    row("split into sizes that do not add up", lambda w: w.ones(5).split([2, 2]), RuntimeError, "split", "5"),
    row("chunk into no pieces", lambda w: w.ones(5).chunk(0), RuntimeError, "chunk", "0"),
    row("squeeze of a dimension that is not there", lambda w: w.ones(2).squeeze(3), IndexError, "squeeze", "3"),
    row("max over an empty tensor", lambda w: w.ones(0).max(), RuntimeError,
        "max", anyof("empty", "no elements", "numel")),
    row("argmax over an empty dimension", lambda w: w.ones(2, 0).argmax(1), IndexError, "argmax", "1"),
    row("sum over a dimension twice", lambda w: w.ones(2, 3).sum((0, 0)), RuntimeError,
        "sum", "0", anyof("repeat", "duplicate", "twice", "more than once", "multiple")),
    row("topk of more than there are", lambda w: w.ones(3).topk(4), RuntimeError, "topk", "4", "3"),
    row("diagonal over one dimension twice", lambda w: w.ones(2, 2).diagonal(0, 1, 1), RuntimeError, "diagonal", "1"),
    row("flip of a dimension that is not there", lambda w: w.ones(2, 2).flip(2), IndexError, "flip", "2"),
    row("a negative size", lambda w: w.zeros(-1), RuntimeError, "zeros", "-1"),
    row("linspace of a negative number of steps", lambda w: w.linspace(0, 1, -1), RuntimeError, "linspace", "-1"),
    row("arange that walks away from its end", lambda w: w.arange(0, 5, -1), RuntimeError, "arange", "-1"),
    row("unfold of a window longer than the tensor", lambda w: w.ones(3).unfold(0, 4, 1), RuntimeError,
        "unfold", "4", "3"),
]  # fmt: skip

NN_SHAPES = [
    row("linear whose features differ", lambda w: w.nn.Linear(3, 2)(w.ones(4, 5)), RuntimeError,
        "linear", shape(4, 5), "3"),
    row("conv2d whose channels differ", lambda w: w.nn.Conv2d(3, 8, 3)(w.ones(1, 4, 8, 8)), RuntimeError,
        "conv2d", shape(1, 4, 8, 8), "3", "4"),
    row("conv2d whose kernel is larger than its input", lambda w: w.nn.Conv2d(1, 1, 5)(w.ones(1, 1, 3, 3)),
        RuntimeError, "conv2d", "5", "3"),
    row("conv2d of a 2-D input", lambda w: w.nn.Conv2d(1, 1, 1)(w.ones(3, 3)), RuntimeError, "conv2d", shape(3, 3)),
    row("conv2d whose groups do not divide the channels", lambda w: w.nn.Conv2d(3, 4, 1, groups=2), ValueError,
        "in_channels", "groups"),
    row("layer_norm over other sizes", lambda w: w.nn.LayerNorm(3)(w.ones(2, 4)), RuntimeError,
        "layer_norm", shape(2, 4), shape(3)),
    row("batch_norm of one value per channel", lambda w: w.nn.BatchNorm1d(3)(w.ones(1, 3)), ValueError,
        anyof("batch_norm", "BatchNorm"), "1", anyof("train", "eval")),
    row("BatchNorm2d of a 2-D input", lambda w: w.nn.BatchNorm2d(3)(w.ones(1, 3)), ValueError, "4", "2"),
    row("max_pool2d padded by more than half its window",
        lambda w: w.nn.functional.max_pool2d(w.ones(1, 1, 4, 4), 2, padding=2), RuntimeError,
        "max_pool2d", "pad", "2"),
    row("cross_entropy whose batches differ",
        lambda w: w.nn.functional.cross_entropy(w.ones(4, 3), w.zeros(5, dtype=w.int64)), ValueError,
        "cross_entropy", "4", "5"),
    row("cross_entropy with a class that is not there",
        lambda w: w.nn.functional.cross_entropy(w.ones(2, 3), w.tensor([0, 3])), IndexError,
        anyof("cross_entropy", "nll_loss"), "3"),
    row("binary_cross_entropy whose shapes differ",
        lambda w: w.nn.functional.binary_cross_entropy(w.ones(2), w.ones(3)), ValueError,
        "binary_cross_entropy", shape(2), shape(3)),
    row("binary_cross_entropy_with_logits whose shapes differ",
        lambda w: w.nn.functional.binary_cross_entropy_with_logits(w.ones(2), w.ones(3)), ValueError,
        "binary_cross_entropy_with_logits", shape(2), shape(3)),
    row("dropout with a probability above 1", lambda w: w.nn.functional.dropout(w.ones(2), 1.5), ValueError,
        "dropout", r"1\.5"),
    row("MultiheadAttention whose heads do not divide its width", lambda w: w.nn.MultiheadAttention(5, 2),
        AssertionError, "embed_dim", "num_heads"),
]  # fmt: skip

DTYPES = [
    row("bitwise and of floats", lambda w: w.ones(2) & w.ones(2), NotImplementedError,
        "bitwise_and", "float32", anyof("integ", "bool")),
    row("bitwise not of floats", lambda w: ~w.ones(2), TypeError,
        anyof("bitwise_not", "~"), "float32", anyof("integ", "bool")),
    row("difference of bools", lambda w: w.tensor([True]) - w.tensor([False]), RuntimeError,
        "sub", "bool", anyof("logical_xor", r"\^")),
    row("negative of bools", lambda w: -w.tensor([True]), RuntimeError, "neg", "bool", anyof("logical_not", "~")),
    row("in-place product that an integer cannot hold", lambda w: w.ones(2, dtype=w.int64).mul_(0.5), RuntimeError,
        "mul_", anyof("float32", "Float"), anyof("int64", "Long")),
    row("in-place division of integers", lambda w: w.ones(2, dtype=w.int64).div_(2), RuntimeError,
        "div_", anyof("float32", "Float"), anyof("int64", "Long")),
    row("out= of a dtype that cannot hold the result",
        lambda w: w.add(w.ones(2), w.ones(2), out=w.zeros(2, dtype=w.int64)), RuntimeError,
        "add", anyof("float32", "Float"), anyof("int64", "Long"), "out"),
    row("clamp without a bound", lambda w: w.ones(2).clamp(), RuntimeError, "clamp", "min", "max"),
    row("mean of integers", lambda w: w.ones(2, dtype=w.int64).mean(), RuntimeError,
        "mean", "int64", anyof("float", "dtype")),
    row("softmax of integers", lambda w: w.softmax(w.ones(2, dtype=w.int64), 0), NotImplementedError,
        "softmax", "int64", "float"),
    row("matmul of two dtypes", lambda w: w.ones(2, 2) @ w.ones(2, 2, dtype=w.float64), RuntimeError,
        "matmul", "float32", "float64"),
    row("gather with floating-point indices", lambda w: w.gather(w.ones(3), 0, w.ones(2)), RuntimeError,
        "gather", "index", "int64"),
    row("index_select with floating-point indices", lambda w: w.ones(3).index_select(0, w.ones(1)),
        RuntimeError, "index_select", "index", anyof("int64", "int32")),
    row("indexing with a floating-point tensor", lambda w: w.ones(3)[w.ones(2)], IndexError,
        "index", "float32", anyof("int", "long", "bool")),
    row("masked_fill with a mask that is not bool", lambda w: w.ones(2).masked_fill(w.ones(2), 0.0), RuntimeError,
        "masked_fill", "mask", "bool"),
    row("an integer tensor that requires a gradient", lambda w: w.ones(2, dtype=w.int64).requires_grad_(),
        RuntimeError, "floating", "int64"),
    row("a tensor of integers made to require a gradient", lambda w: w.tensor([1, 2], requires_grad=True),
        RuntimeError, "floating", "int64"),
    row("embedding with floating-point indices",
        lambda w: w.nn.functional.embedding(w.ones(2), w.ones(3, 4)), RuntimeError, "embedding", "float32", "int"),
    row("linear of two dtypes", lambda w: w.nn.Linear(2, 2)(w.ones(1, 2, dtype=w.float64)), RuntimeError,
        "linear", "float64", "float32"),
    row("a shift of a float", lambda w: w.ones(2) << w.ones(2, dtype=w.bool), NotImplementedError, "shift"),
    row("scatter of another dtype",
        lambda w: w.zeros(3).scatter(0, w.tensor([0]), w.ones(1, dtype=w.float64)), RuntimeError,
        "scatter", "float32", "float64"),
    row("bincount of floats", lambda w: w.bincount(w.ones(3)), NotImplementedError, "bincount", "float"),
    row("a string in a sum", lambda w: w.ones(2) + "1", TypeError, anyof("add", r"\+"), "str"),
    row("a string as a dtype", lambda w: w.ones(2, dtype="float32"), TypeError, "dtype", "str"),
]  # fmt: skip

DEVICES = [
    row("a device that is no device", lambda w: w.ones(2, device="abacus"), RuntimeError, "abacus"),
    row("a device with a strange index", lambda w: w.device("cpu:x"), RuntimeError, "cpu:x"),
]

INDICES = [
    row("an index past the end", lambda w: w.ones(3)[3], IndexError, "3", anyof("index", "dim"), "size"),
    row("an index before the beginning", lambda w: w.ones(3)[-4], IndexError, "-4", "3"),
    row("too many indices", lambda w: w.ones(3)[0, 0], IndexError, "too many", "2", "1"),
    row("an index of a 0-d tensor", lambda w: w.tensor(1.0)[0], IndexError, "0-d", "item"),
    row("an index tensor out of range", lambda w: w.ones(3)[w.tensor([0, 5])], IndexError, "5", "3"),
    row("a mask of another shape", lambda w: w.ones(3)[w.tensor([True, False])], IndexError, shape(2), shape(3)),
    row("index tensors that do not broadcast", lambda w: w.ones(3, 3)[w.tensor([0, 1]), w.tensor([0, 1, 2])],
        IndexError, shape(2), shape(3), "broadcast"),
    row("a slice with a negative step", lambda w: w.ones(3)[::-1], ValueError, "step", "flip"),
    row("a written value that does not fit", lambda w: w.ones(3).__setitem__(slice(0, 2), w.ones(3)), RuntimeError,
        shape(3), anyof(shape(2), "2")),
    row("gather out of range", lambda w: w.gather(w.ones(3), 0, w.tensor([3])), RuntimeError,
        "gather", "3", anyof("range", "bounds")),
    row("gather with an index of other dimensions", lambda w: w.gather(w.ones(3, 3), 0, w.tensor([0])), RuntimeError,
        "gather", "dim"),
    row("scatter out of range", lambda w: w.zeros(3).scatter(0, w.tensor([-1]), 1.0), RuntimeError,
        "scatter", "-1", anyof("range", "bounds")),
    row("index_select out of range", lambda w: w.ones(3).index_select(0, w.tensor([3])), IndexError,
        "index_select", "3"),
    row("index_add out of range", lambda w: w.ones(3).index_add(0, w.tensor([7]), w.ones(1)), IndexError,
        "index_add", "7"),
    row("take out of range", lambda w: w.take(w.ones(3), w.tensor([3])), IndexError, "take", "3"),
    row("embedding out of range", lambda w: w.nn.functional.embedding(w.tensor([3]), w.ones(3, 2)), IndexError,
        "embedding", "3"),
    row("select out of range", lambda w: w.ones(2, 3).select(1, 3), IndexError, "select", "3"),
    row("narrow past the end", lambda w: w.ones(5).narrow(0, 3, 3), RuntimeError, "narrow", "3", "5"),
    row("sum over a dimension that is not there", lambda w: w.ones(2, 3).sum(2), IndexError, "sum", "2", "-2", "1"),
    row("softmax over a dimension that is not there", lambda w: w.softmax(w.ones(2), 1), IndexError, "softmax", "1"),
    row("unsqueeze too far", lambda w: w.ones(2).unsqueeze(3), IndexError, "unsqueeze", "3", "-2"),
    row("one_hot of a class that is not there",
        lambda w: w.nn.functional.one_hot(w.tensor([3]), num_classes=2), RuntimeError, "one_hot", "3", "2"),
    row("cumsum over a dimension that is not there", lambda w: w.ones(2).cumsum(-2), IndexError, "cumsum", "-2"),
]  # fmt: skip


def _changed_after_being_saved(w: Any) -> None:
    x = leaf(w, 3)
    y = x.exp()
    z = y * y
    y.add_(1.0)
    z.sum().backward()


def _changed_through_a_view(w: Any) -> None:
    x = leaf(w, 3)
    y = x.sigmoid()
    y[0] = 0.0
    y.sum().backward()


def _backward_twice(w: Any) -> None:
    y = leaf(w, 3).exp().sum()
    y.backward()
    y.backward()


def _unused_input(w: Any) -> None:
    x, unused = leaf(w, 2), leaf(w, 2)
    w.autograd.grad(x.sum(), [x, unused])


def _view_of_several_outputs(w: Any) -> None:
    first, _ = (leaf(w, 4) * 1).split(2)
    first.add_(1.0)


def _write_to_an_expanded_view(w: Any) -> None:
    w.ones(1).expand(3).add_(w.ones(3))


def _function_with_too_many_gradients(w: Any) -> None:
    class Twice(w.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2, grad

    Twice.apply(leaf(w, 2)).sum().backward()


def _in_place_under_inference(w: Any) -> None:
    with w.inference_mode():
        x = w.ones(2)
    x.requires_grad_()
    (x * 2).sum().backward()


AUTOGRAD = [
    row("in-place on a leaf that requires a gradient", lambda w: leaf(w, 2).add_(1.0), RuntimeError,
        "leaf", "add_", "no_grad"),
    row("in-place on a view of such a leaf", lambda w: leaf(w, 2)[0].add_(1.0), RuntimeError,
        "view", "leaf", "no_grad"),
    row("item assignment to such a leaf", lambda w: leaf(w, 2).__setitem__(0, 1.0), RuntimeError, "leaf", "no_grad"),
    row("a saved tensor that was changed", _changed_after_being_saved, RuntimeError, "mul", "add_", "clone"),
    row("a saved result that was changed through a view", _changed_through_a_view, RuntimeError, "sigmoid", "clone"),
    row("backward a second time", _backward_twice, RuntimeError, "second time", "retain_graph=True"),
    row("backward of more than one number", lambda w: (leaf(w, 2) * 2).backward(), RuntimeError,
        "scalar", shape(2), "gradient"),
    row("backward with a gradient of another shape", lambda w: (leaf(w, 2) * 2).backward(w.ones(3)), RuntimeError,
        shape(3), shape(2)),
    row("backward without a graph", lambda w: w.ones(()).backward(), RuntimeError,
        anyof("requires_grad", "require grad"), "grad_fn"),
    row("the gradient of an unused input", _unused_input, RuntimeError, "allow_unused"),
    row("the gradient for an input without one", lambda w: w.autograd.grad(leaf(w, 2).sum(), [w.ones(2)]),
        RuntimeError, anyof("requires_grad", "require grad")),
    row("numpy() of a tensor that requires a gradient", lambda w: leaf(w, 2).numpy(), RuntimeError, "numpy", "detach"),
    row("retain_grad without a gradient", lambda w: w.ones(2).retain_grad(), RuntimeError,
        "retain_grad", "requires_grad"),
    row("requires_grad_(False) on a result", lambda w: (leaf(w, 2) * 2).requires_grad_(False), RuntimeError,
        "leaf", "detach"),
    row("in-place on one of several views", _view_of_several_outputs, RuntimeError,
        "split", "view", anyof("clone", "out-of-place")),
    row("in-place on memory that several elements share", _write_to_an_expanded_view, RuntimeError, "add_", "clone"),
    row("a deep copy of a result", lambda w: copy.deepcopy(leaf(w, 2) * 2), RuntimeError,
        "deepcopy", anyof("leaf", "leaves"), "detach"),
    row("out= with a tensor that requires a gradient", lambda w: w.add(leaf(w, 2), 1.0, out=w.zeros(2)), RuntimeError,
        "add", "out", "grad"),
    row("a hook on a tensor without a gradient", lambda w: w.ones(2).register_hook(lambda g: g), RuntimeError,
        "hook", anyof("requires_grad", "require grad")),
    row("a Function that returns too many gradients", _function_with_too_many_gradients, RuntimeError,
        "Twice", "2", "1"),
    row("a Function that is called instead of applied", lambda w: w.autograd.Function()(w.ones(2)), RuntimeError,
        "apply"),
    row("an inference tensor in a graph", _in_place_under_inference, RuntimeError, "inference", "clone"),
    row("detach_ of a view", lambda w: (leaf(w, 4) * 1)[0].detach_(), RuntimeError, "detach_", "view", r"detach\(\)"),
    row("a gradient of another shape", lambda w: setattr(leaf(w, 2), "grad", w.ones(3)), RuntimeError,
        "grad", shape(3), shape(2)),
    row("a gradient that is no tensor", lambda w: setattr(leaf(w, 2), "grad", 1.0), TypeError, "grad", "float"),
    row("requires_grad of a result switched off", lambda w: setattr(leaf(w, 2) * 2, "requires_grad", False),
        RuntimeError, "leaf", "detach"),
]  # fmt: skip

DATA = [
    row("a ragged list", lambda w: w.tensor([[1, 2], [3]]), ValueError, "tensor", "2", "1"),
    row("a list with a string", lambda w: w.tensor([1, "a"]), TypeError, "str"),
    row("a list with None", lambda w: w.tensor([1.0, None]), RuntimeError, "None"),
    row("item() of many", lambda w: w.ones(2).item(), RuntimeError, "item", "2", anyof("tolist", "one")),
    row("bool() of many", lambda w: bool(w.ones(2)), RuntimeError, "bool", "any", "all"),
    row("bool() of none", lambda w: bool(w.ones(0)), RuntimeError, "bool", "0"),
    row("int() of many", lambda w: int(w.ones(2)), ValueError, "2", "one"),
    row("a tensor of many as a list index", lambda w: [1, 2][w.tensor([0, 1])], TypeError, "index", "integer"),
    row("a float tensor as a list index", lambda w: [1, 2][w.tensor(1.0)], TypeError, "index", "integer"),
    row("len() of a 0-d tensor", lambda w: len(w.tensor(1.0)), TypeError, "len", "0-d"),
    row("iteration over a 0-d tensor", lambda w: list(w.tensor(1.0)), TypeError, "iterat", "0-d"),
    row("a size beyond any memory", lambda w: w.zeros(2**40, 2**20), RuntimeError, anyof("zeros", "memory"), "memory"),
    row("sizes whose product overflows", lambda w: w.empty(2**62, 2**62), RuntimeError, anyof("empty", "size"),
        anyof("overflow", "memory")),
    row("from_numpy of a list", lambda w: w.from_numpy([1, 2]), TypeError, "from_numpy", "list", "ndarray"),
    row("a tensor too large for its dtype", lambda w: w.tensor(2**70), ValueError, "overflow"),
    row("full without a value", lambda w: w.full((2,)), TypeError, "full", "fill_value"),
    row("an unknown argument", lambda w: w.add(w.ones(2), w.ones(2), beta=2), TypeError, "add", "beta"),
    row("a missing argument", lambda w: w.add(w.ones(2)), TypeError, "add", "other"),
    row("a name that is not there", lambda w: w.tensro, AttributeError, "tensro"),
    row("an attribute that a tensor does not have", lambda w: w.ones(2).foo, AttributeError, "Tensor", "foo"),
    row("multinomial of nothing", lambda w: w.multinomial(w.zeros(3), 1), RuntimeError, "multinomial", "sum"),
    row("multinomial of more than there are", lambda w: w.multinomial(w.ones(3), 4), RuntimeError,
        "multinomial", "4", "3", "replacement"),
    row("bernoulli with a probability above 1", lambda w: w.bernoulli(w.tensor([1.5])), RuntimeError,
        "bernoulli", r"1\.5|\[0, 1\]|between 0 and 1"),
    row("normal with a negative deviation", lambda w: w.ones(2).normal_(0.0, -1.0), RuntimeError, "normal_", r"-1"),
    row("randint of an empty range", lambda w: w.randint(3, 3, (2,)), RuntimeError, "randint", "3"),
    row("searchsorted with an unknown side",
        lambda w: w.searchsorted(w.ones(3), w.ones(1), side="up"), RuntimeError, "searchsorted", "side", "up"),
]  # fmt: skip


def _cell(w: Any) -> Any:
    return w.nn.Linear(2, 2)


def _module_without_init(w: Any) -> None:
    class Model(w.nn.Module):
        def __init__(self) -> None:
            self.layer = w.nn.Linear(2, 2)

    Model()


def _forward_that_is_missing(w: Any) -> None:
    class Model(w.nn.Module):
        pass

    Model()(w.ones(2))


def _a_result_as_parameter(w: Any) -> None:
    model = _cell(w)
    model.register_parameter("extra", w.nn.Parameter(w.ones(2)) * 2)


def _clip_infinite(w: Any) -> None:
    x = leaf(w, 1)
    x.grad = w.full((1,), float("inf"))
    w.nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)


MODULES = [
    row("a state dict with a missing and an unexpected key",
        lambda w: _cell(w).load_state_dict({"weight": w.ones(2, 2), "b": w.ones(2)}), RuntimeError,
        "Linear", "Missing", "bias", "Unexpected", '"b"'),
    row("a state dict with another shape",
        lambda w: _cell(w).load_state_dict({"weight": w.ones(3, 2), "bias": w.ones(2)}), RuntimeError,
        "weight", shape(3, 2), shape(2, 2)),
    row("a state dict that is no dict", lambda w: _cell(w).load_state_dict([1]), TypeError, "dict", "list"),
    row("an attribute that a module does not have", lambda w: _cell(w).wieght, AttributeError, "Linear", "wieght"),
    row("a module made before Module.__init__", _module_without_init, AttributeError,
        r"__init__"),
    row("a module without forward", _forward_that_is_missing, NotImplementedError, "Model", "forward"),
    row("a parameter slot given a plain tensor", lambda w: setattr(_cell(w), "weight", w.ones(2, 2)), TypeError,
        "weight", "Parameter"),
    row("a result registered as a parameter", _a_result_as_parameter, TypeError, "extra"),
    row("a parameter whose name has a dot", lambda w: _cell(w).register_parameter("a.b", None), KeyError,
        r"a\.b|\"\.\"|dot"),
    row("a buffer that is no tensor", lambda w: _cell(w).register_buffer("n", 3), TypeError, "n", "int"),
    row("a submodule that is no module", lambda w: w.nn.Sequential(w.nn.ReLU(), 3), TypeError, "int", "Module"),
    row("a parameter of integers", lambda w: w.nn.Parameter(w.ones(2, dtype=w.int64)), RuntimeError,
        "int64", "floating"),
    row("an optimizer without parameters", lambda w: w.optim.SGD([], lr=0.1), ValueError, "empty"),
    row("an optimizer given a tensor", lambda w: w.optim.SGD(leaf(w, 2), lr=0.1), TypeError, "iterable", "Tensor"),
    row("an optimizer of results", lambda w: w.optim.SGD([leaf(w, 2) * 2], lr=0.1), ValueError, "leaf"),
    row("an optimizer given a list of numbers", lambda w: w.optim.SGD([1.0], lr=0.1), TypeError, "Tensor", "float"),
    row("a negative learning rate", lambda w: w.optim.SGD([leaf(w, 2)], lr=-1.0), ValueError,
        "learning rate", r"-1\.0"),
    row("a beta of 1", lambda w: w.optim.Adam([leaf(w, 2)], betas=(1.0, 0.9)), ValueError, "beta", r"1\.0"),
    row("Nesterov without momentum", lambda w: w.optim.SGD([leaf(w, 2)], lr=0.1, nesterov=True), ValueError,
        "nesterov", "momentum"),
    row("a parameter in two groups",
        lambda w: (lambda p: w.optim.SGD([{"params": [p]}, {"params": [p]}], lr=0.1))(leaf(w, 2)),
        ValueError, "more than one"),
    row("a scheduler of something else", lambda w: w.optim.lr_scheduler.StepLR(object(), 1), TypeError,
        "Optimizer", "object"),
    row("a DataLoader that shuffles and has a sampler",
        lambda w: w.utils.data.DataLoader([1, 2], shuffle=True, sampler=[0, 1]), ValueError, "sampler", "shuffle"),
    row("a DataLoader with a negative number of workers",
        lambda w: w.utils.data.DataLoader([1, 2], num_workers=-1), ValueError, "num_workers"),
    row("a DataLoader with a batch sampler and a batch size",
        lambda w: w.utils.data.DataLoader([1, 2], batch_sampler=[[0]], batch_size=2), ValueError,
        "batch_sampler", "batch_size"),
    row("a DataLoader with a batch size of 0", lambda w: w.utils.data.DataLoader([1, 2], batch_size=0), ValueError,
        "batch_size", "0"),
    row("tensors of different lengths in a data set", lambda w: w.utils.data.TensorDataset(w.ones(2), w.ones(3)),
        AssertionError, anyof("size", "length")),
    row("lengths of a split that do not add up", lambda w: w.utils.data.random_split([1, 2, 3], [1, 1]), ValueError,
        anyof("sum", "length")),
    row("collating samples of different shapes", lambda w: w.utils.data.default_collate([w.ones(2), w.ones(3)]),
        RuntimeError, "stack", shape(2), shape(3)),
    row("an unknown reduction", lambda w: w.nn.functional.mse_loss(w.ones(2), w.ones(2), reduction="max"), ValueError,
        "reduction", "max"),
    row("a padding index out of range", lambda w: w.nn.Embedding(3, 2, padding_idx=5), AssertionError, "padding_idx"),
    row("clip_grad_norm_ of a gradient that is not finite", _clip_infinite, RuntimeError, "finite"),
]  # fmt: skip


TABLE = [*SHAPES, *NN_SHAPES, *DTYPES, *DEVICES, *INDICES, *AUTOGRAD, *DATA, *MODULES]


@pytest.mark.filterwarnings("ignore:Function should not be instantiated:DeprecationWarning")  # then comes the error
@pytest.mark.parametrize("wrong", TABLE, ids=str)
def test_wrong_call_raises_what_pytorch_raises_and_says_what_to_do(wrong: WrongCall) -> None:
    with pytest.raises(wrong.error) as caught:
        wrong.call(weft)
    message = str(caught.value)
    missing = [pattern for pattern in wrong.says if not re.search(pattern, message, re.IGNORECASE)]
    assert not missing, f"{message!r} lacks {missing}"


def test_table_has_a_row_once() -> None:
    titles = [wrong.title for wrong in TABLE]
    assert len(titles) == len(set(titles)) >= 80
