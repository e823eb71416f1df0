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
    """``max(0, x)``.

    Parameters
    ----------
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.ReLU()(weft.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """

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
    """``x`` kept within [``min_val``, ``max_val``].

    Parameters
    ----------
    min_val, max_val : float
    inplace : bool
        Whether to write into the input.
    min_value, max_value : float, optional
        Deprecated names of ``min_val`` and ``max_val``.

    Shapes
    ------
    input, output : (...)

    Raises
    ------
    AssertionError
        If ``max_val`` is not greater than ``min_val``.

    Examples
    --------
    >>> weft.nn.Hardtanh(-2, 2)(weft.tensor([-3.0, 0.5, 3.0]))
    tensor([-2.0000,  0.5000,  2.0000])
    """

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
    """``min(max(0, x), 6)``.

    Parameters
    ----------
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.ReLU6()(weft.tensor([-1.0, 3.0, 9.0]))
    tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Return whether it is in place."""
        return _inplace_text(self.inplace)


class LeakyReLU(Module):
    """``x`` above 0, ``negative_slope * x`` below.

    Parameters
    ----------
    negative_slope : float
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.LeakyReLU(0.1)(weft.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

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

    Shapes
    ------
    input, output : (N, C, ...), or any with one parameter

    Attributes
    ----------
    weight : Parameter, shape (num_parameters,)

    Raises
    ------
    RuntimeError
        If ``num_parameters`` is neither 1 nor the number of channels.

    References
    ----------
    arXiv:1502.01852.

    Examples
    --------
    >>> layer = weft.nn.PReLU()
    >>> layer(weft.tensor([-2.0, 2.0])).sum().backward()
    >>> layer.weight.grad
    tensor([-2.])
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

    Parameters
    ----------
    lower, upper : float
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (...)

    References
    ----------
    arXiv:1505.00853.

    Examples
    --------
    >>> layer = weft.nn.RReLU(0.1, 0.3)
    >>> bool(-0.3 <= layer(weft.tensor(-1.0)) <= -0.1)
    True
    >>> layer.eval()(weft.tensor([-1.0, 2.0]))
    tensor([-0.2000,  2.0000])
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
    """``x`` above ``threshold``, else ``value``.

    Parameters
    ----------
    threshold, value : float
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.Threshold(1.0, 20.0)(weft.tensor([0.5, 1.0, 1.5]))
    tensor([20.0000, 20.0000,  1.5000])
    """

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
    """``x`` where it is outside of [-``lambd``, ``lambd``], else 0.

    Parameters
    ----------
    lambd : float

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.Hardshrink()(weft.tensor([-1.0, 0.3, 0.8]))
    tensor([-1.0000,  0.0000,  0.8000])
    """

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
    """``x`` moved towards 0 by ``lambd``, and 0 where it was nearer.

    Parameters
    ----------
    lambd : float
        At least 0.

    Shapes
    ------
    input, output : (...)

    Raises
    ------
    RuntimeError
        If ``lambd`` is negative.

    Examples
    --------
    >>> weft.nn.Softshrink()(weft.tensor([-1.0, 0.3, 0.8]))
    tensor([-0.5000,  0.0000,  0.3000])
    """

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
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below.

    Parameters
    ----------
    alpha : float
        Minus the limit at minus infinity.
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (...)

    References
    ----------
    arXiv:1511.07289.

    Examples
    --------
    >>> weft.nn.ELU()(weft.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

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
    """``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below: smooth at 0 for every ``alpha``.

    Parameters
    ----------
    alpha : float
        Minus the limit at minus infinity; not 0.
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (...)

    References
    ----------
    arXiv:1704.07483.

    Examples
    --------
    >>> weft.nn.CELU(2.0)(weft.tensor([-1.0, 2.0]))
    tensor([-0.7869,  2.0000])
    """

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
    """``1.0507 * ELU(x, alpha=1.6733)``, which keeps mean 0 and variance 1.

    Parameters
    ----------
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (...)

    References
    ----------
    arXiv:1706.02515.

    Examples
    --------
    >>> weft.nn.SELU()(weft.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
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
    """``x`` times the probability that a standard normal number is below it.

    Parameters
    ----------
    approximate : "none" or "tanh"
        "tanh" is ``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))``.

    Shapes
    ------
    input, output : (...)

    References
    ----------
    arXiv:1606.08415.

    Examples
    --------
    >>> x = weft.tensor([-1.0, 1.0])
    >>> weft.nn.GELU()(x), weft.nn.GELU("tanh")(x)
    (tensor([-0.1587,  0.8413]), tensor([-0.1588,  0.8412]))
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
    """``x * sigmoid(x)``, also called swish.

    Parameters
    ----------
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (...)

    References
    ----------
    arXiv:1606.08415, arXiv:1710.05941.

    Examples
    --------
    >>> weft.nn.SiLU()(weft.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """

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
    """``x * tanh(softplus(x))``.

    Parameters
    ----------
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (...)

    References
    ----------
    arXiv:1908.08681.

    Examples
    --------
    >>> weft.nn.Mish()(weft.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.3034,  0.0000,  1.9440])
    """

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
    """``x * relu6(x + 3) / 6``.

    Parameters
    ----------
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (...)

    References
    ----------
    arXiv:1905.02244.

    Examples
    --------
    >>> weft.nn.Hardswish()(weft.tensor([-4.0, 1.0, 4.0]))
    tensor([-0.0000,  0.6667,  4.0000])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.hardswish(input, inplace=self.inplace)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``, a smooth ReLU.

    Parameters
    ----------
    beta : float
    threshold : float
        Where ``beta * x`` is above it, ``x`` itself.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.Softplus()(weft.tensor([-1.0, 0.0, 30.0]))
    tensor([ 0.3133,  0.6931, 30.0000])
    """

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
    """``1 / (1 + exp(-x))``.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.Sigmoid()(weft.tensor([-1.0, 0.0, 1.0]))
    tensor([0.2689, 0.5000, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return weft.sigmoid(input)


class LogSigmoid(Module):
    """``log(1 / (1 + exp(-x)))``, without overflow.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.LogSigmoid()(weft.tensor([-1000.0, 0.0]))
    tensor([-1.0000e+03, -6.9315e-01])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.logsigmoid(input)


class Hardsigmoid(Module):
    """``relu6(x + 3) / 6``.

    Parameters
    ----------
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.Hardsigmoid()(weft.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.hardsigmoid(input, inplace=self.inplace)


class Tanh(Module):
    """The hyperbolic tangent.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.Tanh()(weft.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.7616,  0.0000,  0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return weft.tanh(input)


class Tanhshrink(Module):
    """``x - tanh(x)``.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.Tanhshrink()(weft.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2384,  0.0000,  0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.tanhshrink(input)


class Softsign(Module):
    """``x / (1 + |x|)``.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.Softsign()(weft.tensor([-1.0, 0.0, 3.0]))
    tensor([-0.5000,  0.0000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.softsign(input)


class GLU(Module):
    """The first half of axis ``dim`` times the sigmoid of the second.

    Parameters
    ----------
    dim : int

    Shapes
    ------
    input : (..., 2 * M, ...)
    output : (..., M, ...)

    Raises
    ------
    RuntimeError
        If the size of axis ``dim`` is odd.

    References
    ----------
    arXiv:1612.08083.

    Examples
    --------
    >>> weft.nn.GLU()(weft.tensor([3.0, 4.0, 0.0, 1.0]))
    tensor([1.5000, 2.9242])
    """

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
    """``exp(x)`` divided by its sum along axis ``dim``: positive numbers that sum to 1.

    Parameters
    ----------
    dim : int
        The axis along which the output sums to 1. None, which is deprecated, means 0 for 0, 1 and 3 dimensions, else 1.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.Softmax(dim=1)(weft.tensor([[1.0, 2.0, 3.0]]))
    tensor([[0.0900, 0.2447, 0.6652]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.softmax(input, self.dim)


class Softmin(_SoftmaxOf):
    """The softmax of ``-x``: the smallest number gets the most.

    Parameters
    ----------
    dim : int
        The axis along which the output sums to 1. None, which is deprecated, means 0 for 0, 1 and 3 dimensions, else 1.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.Softmin(dim=1)(weft.tensor([[1.0, 2.0, 3.0]]))
    tensor([[0.6652, 0.2447, 0.0900]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.softmin(input, self.dim)


class LogSoftmax(_SoftmaxOf):
    """The logarithm of the softmax, computed without loss of precision.

    Parameters
    ----------
    dim : int
        The axis along which the probabilities sum to 1. None, which is deprecated, means 0 for 0, 1 and 3 dimensions,
        else 1.

    Shapes
    ------
    input, output : (...)

    Examples
    --------
    >>> weft.nn.LogSoftmax(dim=1)(weft.tensor([[0.0, 1000.0]]))
    tensor([[-1000.,     0.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``, of any shape."""
        return F.log_softmax(input, self.dim)


class Softmax2d(Module):
    """The softmax over the channels, at each place of an image.

    Shapes
    ------
    input, output : (N, C, H, W) or (C, H, W)

    Raises
    ------
    ValueError
        If the input has other dimensions.

    Examples
    --------
    >>> weft.nn.Softmax2d()(weft.zeros(4, 2, 2))[:, 0, 0]
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to ``input``."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got shape {tuple(input.shape)}")
        return F.softmax(input, -3)
