"""Loops are called by compiled functions alone, and compute the same bits on any number of threads."""

import ast
from functools import partial
from pathlib import Path

import pytest

import weft
import weft.backend_cpu
from weft.backend_cpu import compiled, libraries
from weft.nn import functional as F

SOURCES = sorted((Path(weft.backend_cpu.__file__).parent / "compiled").rglob("*.py"))


COMPILING = {
    "loop",
    "rounding_loop",
    "launcher",
    "serial_launcher",
    "function",
    "address_of",
    "njit",
    "overload",
    "intrinsic",
}


def decorators(node):
    return {ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in getattr(node, "decorator_list", ())}


def called_from_python(node, loops):
    """Names of loops that a piece of source calls outside of what is compiled."""
    if decorators(node) & COMPILING:
        return []
    found = [node.func.id] if isinstance(node, ast.Call) and getattr(node.func, "id", None) in loops else []
    return found + [name for child in ast.iter_child_nodes(node) for name in called_from_python(child, loops)]


def test_python_calls_no_loop():
    """It would crash: they have no entry for Python."""
    for source in SOURCES:
        tree = ast.parse(source.read_text())
        loops = {node.name for node in ast.walk(tree) if decorators(node) & {"loop", "rounding_loop"}}
        assert called_from_python(tree, loops) == [], source.name


ELEMENTWISE = "exp log1p tanh sigmoid erf lgamma digamma sin"
ACTIVATIONS = "gelu silu elu softplus logsigmoid mish hardswish softsign"
REDUCTIONS = "sum mean var prod logsumexp softmax log_softmax cumsum cumprod logcumsumexp argmax"
ALONG = {
    **{name: getattr(weft, name) for name in REDUCTIONS.split()},
    "norm": weft.linalg.vector_norm,
    "norm of order 3": partial(weft.linalg.vector_norm, ord=3),
}
CASES = {
    **{f"{name} {dim}": partial(each, dim=dim) for name, each in ALONG.items() for dim in (0, 1)},
    **{name: getattr(weft, name) for name in (ELEMENTWISE + " sum mean var").split()},
    **{name: getattr(F, name) for name in ACTIVATIONS.split()},
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:], x[0], x[1]),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[1:], x[0]),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: F.group_norm(x.reshape(-1, 4, 31), 2),
    "cross_entropy": lambda x: F.cross_entropy(x, weft.arange(len(x)) % x.shape[1]),
    "mse_loss": lambda x: F.mse_loss(x, x.flip(0)),
    "max_pool2d": lambda x: F.max_pool2d(x.reshape(-1, 1, 62, 64), 3, 2, 1),
    "interpolate": lambda x: F.interpolate(x.reshape(-1, 1, 62, 64), scale_factor=1.5, mode="bilinear"),
    "embedding": lambda x: F.embedding(weft.arange(3 * len(x)) % 97, x),
    "scatter_add": lambda x: x.scatter_add(0, (weft.arange(x.numel()) % 89).reshape(x.shape), x),
}


@pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")
@pytest.mark.parametrize("shape", [(1024, 124), (124, 1024)], ids=str)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_number_of_threads_changes_no_bit(case, shape):
    weft.manual_seed(0)
    before = weft.get_num_threads()
    given, found = weft.rand(shape).add_(0.1), []
    try:
        for threads in (1, 2):
            weft.set_num_threads(threads)
            x = given.clone().requires_grad_()
            result = case(x)
            if result.requires_grad:
                result.backward(weft.full_like(result, 0.3))
            found.append((result.detach().numpy().tobytes(), x.grad is not None and x.grad.numpy().tobytes()))
    finally:
        weft.set_num_threads(before)
    assert found[0] == found[1]
