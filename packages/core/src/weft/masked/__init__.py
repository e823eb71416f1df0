"""Reductions and normalizations of the elements that a mask lets in, by PyTorch's names.

``mask`` is True where an element takes part; it broadcasts to the input's shape. Elements that it leaves out have no
part in the result and no gradient. `MaskedTensor` carries its mask with it.
"""

from weft.masked._normalizations import cumprod, cumsum, log_softmax, normalize, softmax, softmin
from weft.masked._reductions import (
    amax,
    amin,
    argmax,
    argmin,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    prod,
    std,
    sum,
    var,
)

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]
