"""Activations: nonlinear functions of each element, and the softmax family."""

from __future__ import annotations

import warnings

import weft
from weft import Tensor
from weft.nn import functional as F
from weft.nn import init
from weft.nn._types import DeviceLike, DType
from weft.nn.module import Module
from weft.nn.parameter import Parameter

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


def _inplace_text(inplace: bool, separator: str = "") -> str:
    return f"{separator}inplace=True" if inplace else ""


# -- with a bend at zero ---------------------------------------------------------------------------------------------


class ReLU(Module):
    """``max(0, x)``. With ``inplace`` it writes into the input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.relu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        """Return whether it is in place."""
        return _inplace_text(self.inplace)


class Hardtanh(Module):
    """``x`` kept within [``min_val``, ``max_val``]. With ``inplace`` it writes into the input."""

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            warnings.warn(
                "keyword argument `min_value` is deprecated and rename to `min_val`", FutureWarning, stacklevel=2
            )
            min_val = min_value
        if max_value is not None:
            warnings.warn(
                "keyword argument `max_value` is deprecated and rename to `max_val`", FutureWarning, stacklevel=2
            )
            max_val = max_value
        if max_val <= min_val:
            raise AssertionError(f"Hardtanh: max_val must be larger than min_val. Got {max_val} <= {min_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Return the limits."""
        return f"min_val={self.min_val}, max_val={self.max_val}" + _inplace_text(self.inplace, ", ")


class ReLU6(Hardtanh):
    """``min(max(0, x), 6)``. With ``inplace`` it writes into the input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Return whether it is in place."""
        return _inplace_text(self.inplace)


class LeakyReLU(Module):
    """``x`` above 0, ``negative_slope * x`` below. With ``inplace`` it writes into the input."""

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Return the slope."""
        return f"negative_slope={self.negative_slope}" + _inplace_text(self.inplace, ", ")


class PReLU(Module):
    """``x`` above 0, ``weight * x`` below, the weight being trained.

    Parameters
    ----------
    num_parameters : int
        1, or the size of the second axis, so that each channel has its own.
    init : float
        The weight at first.
    device, dtype : optional
        Of the weight.

    References
    ----------
    arXiv:1502.01852.
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: DeviceLike = None, dtype: DType = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(weft.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ``init``."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input`` of shape (N, C, ...)."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of parameters."""
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """``x`` above 0, a multiple below: drawn from [``lower``, ``upper``] in training mode, their mean otherwise.

    With ``inplace`` it writes into the input.
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the limits."""
        return f"lower={self.lower}, upper={self.upper}" + _inplace_text(self.inplace, ", ")


class Threshold(Module):
    """``x`` above ``threshold``, else ``value``. With ``inplace`` it writes into the input."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Return the threshold and the value."""
        return f"threshold={self.threshold}, value={self.value}" + _inplace_text(self.inplace, ", ")


class Hardshrink(Module):
    """``x`` where it is outside of [-``lambd``, ``lambd``], else 0."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Return lambd."""
        return f"{self.lambd}"


class Softshrink(Module):
    """``x`` moved towards 0 by ``lambd``, and 0 where it was nearer."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Return lambd."""
        return f"{self.lambd}"


# -- smooth units ----------------------------------------------------------------------------------------------------


class ELU(Module):
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below. With ``inplace`` it writes into the input."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return alpha."""
        return f"alpha={self.alpha}" + _inplace_text(self.inplace, ", ")


class CELU(Module):
    """``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below. With ``inplace`` it writes into the input."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return alpha."""
        return f"alpha={self.alpha}" + _inplace_text(self.inplace, ", ")


class SELU(Module):
    """``1.0507 * ELU(x, alpha=1.6733)``, which keeps mean 0 and variance 1 (arXiv:1706.02515).

    With ``inplace`` it writes into the input.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.selu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        """Return whether it is in place."""
        return _inplace_text(self.inplace)


class GELU(Module):
    """``x`` times the probability that a standard normal number is below it (arXiv:1606.08415).

    Parameters
    ----------
    approximate : {"none", "tanh"}
        "tanh" is the older approximation.
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Return the kind of approximation."""
        return f"approximate={self.approximate!r}"


class SiLU(Module):
    """``x * sigmoid(x)``, also called swish. With ``inplace`` it writes into the input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.silu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        """Return whether it is in place."""
        return _inplace_text(self.inplace)


class Mish(Module):
    """``x * tanh(softplus(x))`` (arXiv:1908.08681). With ``inplace`` it writes into the input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.mish(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        """Return whether it is in place."""
        return _inplace_text(self.inplace)


class Hardswish(Module):
    """``x * relu6(x + 3) / 6`` (arXiv:1905.02244). With ``inplace`` it writes into the input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.hardswish(input, inplace=self.inplace)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` is above ``threshold``."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Return the constants."""
        return f"beta={self.beta}, threshold={self.threshold}"


# -- sigmoids --------------------------------------------------------------------------------------------------------


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return weft.sigmoid(input)


class LogSigmoid(Module):
    """``log(1 / (1 + exp(-x)))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.logsigmoid(input)


class Hardsigmoid(Module):
    """``relu6(x + 3) / 6``. With ``inplace`` it writes into the input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.hardsigmoid(input, inplace=self.inplace)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return weft.tanh(input)


class Tanhshrink(Module):
    """``x - tanh(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.tanhshrink(input)


class Softsign(Module):
    """``x / (1 + |x|)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.softsign(input)


class GLU(Module):
    """The first half of axis ``dim`` times the sigmoid of the second (arXiv:1612.08083)."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, whose axis ``dim`` has an even size."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Return the axis."""
        return f"dim={self.dim}"


# -- softmax ---------------------------------------------------------------------------------------------------------


class _SoftmaxOf(Module):
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """Return the axis."""
        return f"dim={self.dim}"


class Softmax(_SoftmaxOf):
    """``exp(x)`` divided by its sum along axis ``dim``: positive numbers that sum to 1."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.softmax(input, self.dim)


class Softmin(_SoftmaxOf):
    """The softmax of ``-x``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.softmin(input, self.dim)


class LogSoftmax(_SoftmaxOf):
    """The logarithm of the softmax, computed without loss of precision."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.log_softmax(input, self.dim)


class Softmax2d(Module):
    """The softmax over the channels of an input (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got shape {tuple(input.shape)}")
        return F.softmax(input, -3)
