"""The rectifier, and the methods for two more activation functions; those are all in `weft.nn.functional`."""

from __future__ import annotations

from weft._lazy import method
from weft._tensor.base import Tensor
from weft.ops._declare import op, pointwise
from weft.ops._expressions import maximum, where
from weft.types import Number


@pointwise(
    "relu",
    "relu_",
    formula=True,
    dtypes="int float",
    error_hint="Boolean inputs not supported for relu",
)
def relu(input):
    """Each element, but at least 0.

    Examples
    --------
    >>> weft.relu(weft.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return maximum(0, input)  # the second of two zeros: -0.0 stays


@relu.gradient("input")
def _(grad, output):
    return threshold_backward.op(grad, output, 0.0)


@relu.onnx
def _(graph, input):
    return graph.Relu(input) if graph.is_floating(input) else graph.Max(input, 0)


@op(
    tensors="grad input",
    result="same",
    compute_dtype="native",
    dtypes="int float",
    name="threshold_backward",
    vmap="elementwise",
)
def threshold_backward(grad: Tensor, input: Tensor, threshold: Number) -> Tensor:
    """A gradient where the input is above a threshold (or nan), and 0 elsewhere."""
    return threshold_backward.op(grad, input, threshold)


@threshold_backward.formula
def _(grad, input, threshold):
    return where(input <= threshold, 0, grad)


@threshold_backward.gradient("grad")
def _(grad, input, threshold):
    return threshold_backward.op(grad, input, threshold)


for _name in ("hardshrink", "prelu"):
    setattr(Tensor, _name, method(_name))
