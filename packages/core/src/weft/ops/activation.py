"""The rectifier, and the methods for two more activation functions; those are all in `weft.nn.functional`."""

from __future__ import annotations

from weft._lazy import method
from weft._tensor.base import Tensor
from weft._tensor.layout import is_channels_last
from weft.ops._declare import op, pointwise
from weft.ops.comparison import keep_where
from weft.types import Number


@pointwise("relu", "relu_", dtypes="int float")
def relu(xp, input):
    """Each element, but at least 0.

    Examples
    --------
    >>> weft.relu(weft.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return xp.maximum(0, input)  # of two zeros NumPy takes the second: -0.0 stays


@relu.gradient("input")
def _(grad, output):
    return threshold_backward.op(grad, output, 0.0)


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


@threshold_backward.kernel
def _(xp, grad, input, threshold):
    mask = ~(input <= (xp.float32(threshold) if threshold and input.dtype.itemsize == 2 else threshold))
    if not is_channels_last(input):
        return keep_where(xp, mask, grad)
    order = (0, *range(2, grad.ndim), 1)  # in which the input is contiguous, and the result shall be
    kept = keep_where(xp, mask.transpose(order), grad.transpose(order))
    return kept.transpose((0, grad.ndim - 1, *range(1, grad.ndim - 1)))


@threshold_backward.gradient("grad")
def _(grad, input, threshold):
    return threshold_backward.op(grad, input, threshold)


for _name in ("hardshrink", "prelu"):
    setattr(Tensor, _name, method(_name))
