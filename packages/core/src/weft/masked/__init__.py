"""Reductions and normalizations of the elements that a mask lets in, by PyTorch's names.

``mask`` is True where an element takes part; it broadcasts to the input's shape. Elements that it leaves out have no
part in the result and no gradient. `MaskedTensor` carries its mask with it.
"""

from importlib import import_module
from typing import Any

from weft.masked._masks import _input_mask as _input_mask
from weft.masked._masks import _output_mask as _output_mask
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

# A subclass that overrides functions costs every call a check: these come when they are first asked for.
_TENSORS = ("MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor")

__all__ = [
    "MaskedTensor",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
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


def __getattr__(name: str) -> Any:
    if name not in _TENSORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("weft.masked._tensor"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
