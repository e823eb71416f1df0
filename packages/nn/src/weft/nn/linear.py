"""Layers that multiply by a weight matrix."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Tensor
from weft.nn import functional as F
from weft.nn import init
from weft.nn._types import DeviceLike, DType
from weft.nn.module import Module
from weft.nn.parameter import Parameter

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Return the input. Takes and ignores any arguments, so that it can stand in for another layer.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.Identity(54, unused=True)(weft.ones(2)).tolist()
    [1.0, 1.0]
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Return ``input``."""
        return input


class Linear(Module):
    """Affine map of the last axis: ``input @ weight.T + bias``.

    Parameters
    ----------
    in_features, out_features : int
    bias : bool
        Whether to add a bias.
    device, dtype : optional
        Of the parameters.

    Shapes
    ------
    input : (..., in_features)
    output : (..., out_features)

    Attributes
    ----------
    weight : Parameter, shape (out_features, in_features)
        Drawn uniformly from ±1/sqrt(in_features).
    bias : Parameter, shape (out_features,), or None
        Drawn likewise.

    Raises
    ------
    RuntimeError
        If the last axis of the input has another size.

    Examples
    --------
    >>> weft.nn.Linear(20, 30)(weft.zeros(128, 20)).shape
    weft.Size([128, 30])
    """

    in_features: int
    out_features: int
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(weft.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(weft.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))  # this gain makes the bound 1 / sqrt(fan_in)
        if self.bias is not None:
            _uniform_by_fan_in(self.bias, self.weight)

    def forward(self, input: Tensor) -> Tensor:
        """Map ``input`` of shape (..., in_features) to (..., out_features)."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes and whether there is a bias."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear whose name tells quantization tools to leave it alone; the output map of attention."""


class Bilinear(Module):
    """Bilinear map of two inputs: ``output[..., k] = input1 @ weight[k] @ input2 + bias[k]``.

    Parameters
    ----------
    in1_features, in2_features, out_features : int
    bias : bool
        Whether to add a bias.
    device, dtype : optional
        Of the parameters.

    Shapes
    ------
    input1 : (..., in1_features)
    input2 : (..., in2_features)
    output : (..., out_features)

    Attributes
    ----------
    weight : Parameter, shape (out_features, in1_features, in2_features)
        Drawn uniformly from ±1/sqrt(in1_features).
    bias : Parameter, shape (out_features,), or None
        Drawn likewise.

    Raises
    ------
    ValueError
        If ``in1_features`` is not positive.
    RuntimeError
        If the shapes of the inputs do not fit.

    Examples
    --------
    >>> weft.nn.Bilinear(20, 30, 40)(weft.zeros(128, 20), weft.zeros(128, 30)).shape
    weft.Size([128, 40])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"Bilinear: in1_features must be > 0, but got in1_features={in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(weft.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(weft.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Map inputs of shapes (..., in1_features) and (..., in2_features) to (..., out_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes and whether there is a bias."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


def _uniform_by_fan_in(bias: Tensor, weight: Tensor) -> None:
    """Fill ``bias`` from the uniform distribution over ±1/sqrt(fan_in of ``weight``)."""
    fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
    bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
    init.uniform_(bias, -bound, bound)
