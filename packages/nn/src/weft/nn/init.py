"""Initial values of parameters. Every function fills its tensor in place, without recording, and returns it.

The random numbers of each are drawn in PyTorch's order, so that one seed gives the same weights in both.
"""

from __future__ import annotations

import math
import sys
import warnings
from typing import Any

import weft
from weft import Generator, Tensor
from weft.library.checks import warn_caller
from weft.overrides import offer, overridable

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_GAINS = {
    **dict.fromkeys(
        ["linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"], 1
    ),
    "sigmoid": 1,
    "tanh": 5 / 3,
    "relu": math.sqrt(2),
    "selu": 3 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor that keeps the variance of signals from layer to layer, given the nonlinearity between them.

    Parameters
    ----------
    nonlinearity : str
        "linear", a convolution ("conv1d", ..., "conv_transpose3d"), "sigmoid", "tanh", "relu", "leaky_relu" or "selu".
    param : float, optional
        The negative slope of "leaky_relu", by default 0.01.

    Raises
    ------
    ValueError
        For another nonlinearity, or a slope that is not a number.

    Examples
    --------
    >>> round(calculate_gain("leaky_relu", 0.2), 4)  # sqrt(2 / (1 + slope ** 2))
    1.3868
    """
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        if isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"calculate_gain: negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    raise ValueError(f"calculate_gain: Unsupported nonlinearity {nonlinearity!r}; choose {[*_GAINS, 'leaky_relu']}")


# -- plain distributions and constants -------------------------------------------------------------------------------


@overridable
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers drawn uniformly from [a, b).

    Parameters
    ----------
    tensor : Tensor
    a, b : float
    generator : Generator, optional
        By default the device's own.

    Examples
    --------
    >>> weights = weft.nn.init.uniform_(weft.empty(100), -0.1, 0.1)
    >>> bool((weights.abs() <= 0.1).all())
    True
    """
    with weft.no_grad():
        return tensor.uniform_(a, b, generator=generator)


@overridable
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers drawn from the normal distribution.

    Parameters
    ----------
    tensor : Tensor
    mean, std : float
    generator : Generator, optional
        By default the device's own.

    Examples
    --------
    >>> weights = weft.nn.init.normal_(weft.empty(1000), std=0.02)
    >>> 0.018 < weights.std().item() < 0.022
    True
    """
    with weft.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with numbers drawn from the normal distribution, restricted to [a, b].

    Parameters
    ----------
    tensor : Tensor
    mean, std : float
        Of the distribution before it is restricted.
    a, b : float
        The least and the greatest value, absolute (not in units of ``std``).
    generator : Generator, optional
        By default the device's own.

    Warns
    -----
    UserWarning
        If ``mean`` is more than 2 ``std`` outside of [a, b], which is rarely meant.

    Notes
    -----
    By rejection. The proposals are normal where [a, b] holds at least 0.3 of the distribution; else they are uniform,
    and accepted with the probability that the density has relative to its peak in [a, b].

    References
    ----------
    arXiv:0907.4010.

    Examples
    --------
    >>> weights = weft.nn.init.trunc_normal_(weft.empty(100), a=-1.0, b=1.0)
    >>> bool((weights.abs() <= 1).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            f"trunc_normal_: mean ({mean}) is more than 2 std ({std}) from [a, b] ([{a}, {b}]); "
            "the distribution of values may be incorrect",
            stacklevel=2,
        )
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    if tensor.is_meta:
        return tensor
    with weft.no_grad():
        if inside >= 0.3:
            return _truncated_by_normal_proposals(tensor, mean, std, a, b, generator)
        return _truncated_by_uniform_proposals(tensor, mean, std, a, b, generator)


def _truncated_by_normal_proposals(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    tensor.normal_(mean, std, generator=generator)
    while True:
        outside = weft.logical_or(tensor < a, tensor > b)
        if not bool(outside.any()):
            return tensor
        # All are drawn again, so that the sequence of random numbers does not depend on where the rejected ones are.
        proposals = weft.empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(weft.where(outside, proposals, tensor))


def _truncated_by_uniform_proposals(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    peak = (min(max(mean, a), b) - mean) / std  # where the density in [a, b] is greatest
    pending = weft.ones_like(tensor, dtype=weft.bool)
    while bool(pending.any()):
        proposals = weft.empty_like(tensor).uniform_(a, b, generator=generator)
        heights = weft.empty_like(tensor).uniform_(0, 1, generator=generator)
        deviations = (proposals - mean) / std
        accepted = pending & (heights <= weft.exp((peak * peak - deviations * deviations) / 2))
        tensor.copy_(weft.where(accepted, proposals, tensor))
        pending &= ~accepted
    return tensor


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


@overridable
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with ``val``.

    Parameters
    ----------
    tensor : Tensor
    val : float

    Examples
    --------
    >>> weft.nn.init.constant_(weft.empty(2), 0.3)
    tensor([0.3000, 0.3000])
    """
    with weft.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1.

    Examples
    --------
    >>> weft.nn.init.ones_(weft.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0.

    Examples
    --------
    >>> weft.nn.init.zeros_(weft.empty(2))
    tensor([0., 0.])
    """
    with weft.no_grad():
        return tensor.zero_()


# -- identities ------------------------------------------------------------------------------------------------------


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity: a `Linear` then passes on as many of its inputs as it has outputs.

    Raises
    ------
    ValueError
        If the tensor has other than 2 dimensions.

    Examples
    --------
    >>> weft.nn.init.eye_(weft.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.dim() != 2:
        raise ValueError(f"eye_: Only tensors with 2 dimensions are supported, got shape {tuple(tensor.shape)}")
    with weft.no_grad():
        return tensor.copy_(weft.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it passes on its inputs, as many of them as there are outputs.

    Parameters
    ----------
    tensor : Tensor, shape (out_channels, in_channels / groups, ...) with 3 to 5 axes
    groups : int
        The identity is preserved in each group.

    Raises
    ------
    ValueError
        For another number of axes, or if ``groups`` does not divide the output channels.

    Examples
    --------
    >>> weight = weft.nn.init.dirac_(weft.empty(2, 2, 3))
    >>> signal = weft.arange(8.0).reshape(1, 2, 4)
    >>> bool((weft.nn.functional.conv1d(signal, weight, padding=1) == signal).all())
    True
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError(f"dirac_: Only tensors with 3, 4, or 5 dimensions are supported, got {tuple(tensor.shape)}")
    if tensor.size(0) % groups != 0:
        raise ValueError(f"dirac_: dim 0 must be divisible by groups, got size {tensor.size(0)} and {groups} groups")
    channels_per_group = tensor.size(0) // groups
    center = tuple(size // 2 for size in tensor.shape[2:])
    with weft.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(channels_per_group, tensor.size(1))):
                tensor[(group * channels_per_group + channel, channel, *center)] = 1
    return tensor


# -- variance by the size of the layer -------------------------------------------------------------------------------


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return how many inputs feed one output, and how many outputs one input feeds."""
    if tensor.dim() < 2:
        raise ValueError(
            f"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, got "
            f"{tuple(tensor.shape)}; initialize a bias with zeros_ or uniform_"
        )
    receptive_field = math.prod(tensor.shape[2:])
    return tensor.size(1) * receptive_field, tensor.size(0) * receptive_field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    if not isinstance(mode, str) or mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"kaiming: mode {mode!r} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode.lower() == "fan_in" else fan_out


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill uniformly from ±gain * sqrt(6 / (fan_in + fan_out)).

    Parameters
    ----------
    tensor : Tensor
    gain : float
        See `calculate_gain`.
    generator : Generator, optional
        By default the device's own.

    Raises
    ------
    ValueError
        If the tensor has fewer than 2 dimensions.

    Notes
    -----
    The fans are those of a weight (outputs, inputs, ...): how many inputs feed one output, and how many outputs one
    input feeds.

    References
    ----------
    Glorot and Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010, equation 16.

    Examples
    --------
    >>> weight = weft.nn.init.xavier_uniform_(weft.empty(4, 2))  # from ±1
    >>> bool((weight.abs() <= 1).all())
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill from the normal distribution with std gain * sqrt(2 / (fan_in + fan_out)).

    Parameters
    ----------
    tensor : Tensor
    gain : float
        See `calculate_gain`.
    generator : Generator, optional
        By default the device's own.

    Raises
    ------
    ValueError
        If the tensor has fewer than 2 dimensions.

    References
    ----------
    Glorot and Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010.

    Examples
    --------
    >>> weight = weft.nn.init.xavier_normal_(weft.empty(100, 100))  # std 0.1
    >>> 0.09 < weight.std().item() < 0.11
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


@overridable
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill uniformly from ±gain * sqrt(3 / fan).

    Parameters
    ----------
    tensor : Tensor
    a : float
        The negative slope, where the nonlinearity is "leaky_relu".
    mode : "fan_in" or "fan_out"
        Whether to keep the variance forward or backward.
    nonlinearity : str
        As in `calculate_gain`.
    generator : Generator, optional
        By default the device's own.

    Raises
    ------
    ValueError
        If the tensor has fewer than 2 dimensions, or a name is unknown.

    References
    ----------
    arXiv:1502.01852, section 2.2.

    Examples
    --------
    >>> weight = weft.nn.init.kaiming_uniform_(weft.empty(8, 6), nonlinearity="relu")  # from ±sqrt(2) * sqrt(3 / 6)
    >>> bool((weight.abs() <= 1).all())
    True
    """
    if 0 in tensor.shape:
        return _without_elements(tensor, "kaiming_uniform_")
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill from the normal distribution with std gain / sqrt(fan).

    Parameters
    ----------
    tensor : Tensor
    a : float
        The negative slope, where the nonlinearity is "leaky_relu".
    mode : "fan_in" or "fan_out"
        Whether to keep the variance forward or backward.
    nonlinearity : str
        As in `calculate_gain`.
    generator : Generator, optional
        By default the device's own.

    Raises
    ------
    ValueError
        If the tensor has fewer than 2 dimensions, or a name is unknown.

    References
    ----------
    arXiv:1502.01852, section 2.2.

    Examples
    --------
    >>> weight = weft.nn.init.kaiming_normal_(weft.empty(100, 50), nonlinearity="relu")  # std sqrt(2) / sqrt(50)
    >>> 0.19 < weight.std().item() < 0.21
    True
    """
    if 0 in tensor.shape:
        return _without_elements(tensor, "kaiming_normal_")
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def _without_elements(tensor: Tensor, name: str) -> Tensor:
    warn_caller(f"{name}: Initializing zero-element tensors is a no-op, got {tuple(tensor.shape)}")
    return tensor


# -- matrices with structure -----------------------------------------------------------------------------------------


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix times ``gain``; axes from the second on are taken as one.

    Parameters
    ----------
    tensor : Tensor
    gain : float
    generator : Generator, optional
        By default the device's own.

    Raises
    ------
    ValueError
        If the tensor has fewer than 2 dimensions.

    References
    ----------
    arXiv:1312.6120. The Q factor of a normal matrix, with a positive diagonal of R, is uniformly distributed.

    Examples
    --------
    >>> weight = weft.nn.init.orthogonal_(weft.empty(3, 5))
    >>> weft.allclose(weight @ weight.T, weft.eye(3), atol=1e-6)
    True
    """
    if tensor.dim() < 2:
        raise ValueError(
            f"orthogonal_: Only tensors with 2 or more dimensions are supported, got {tuple(tensor.shape)}"
        )
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with weft.no_grad():
        normal = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q = _orthonormal(normal.t()).t() if rows < columns else _orthonormal(normal)
        return tensor.copy_(q.reshape(tensor.shape)).mul_(gain)


def _orthonormal(matrix: Tensor) -> Tensor:
    """Return the Q of a tall matrix's QR decomposition, the one whose R has a positive diagonal, by Gram-Schmidt."""
    basis = matrix.double().clone()
    for column in range(basis.size(1)):
        done, vector = basis[:, :column], basis[:, column]
        for _ in range(2):  # the second time removes what rounding left over
            vector = vector - done @ (done.t() @ vector)
        basis[:, column] = vector / vector.norm()
    return basis


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix from the normal distribution, then set the fraction ``sparsity`` of each column to 0.

    Parameters
    ----------
    tensor : Tensor
    sparsity : float
        0 to 1.
    std : float
    generator : Generator, optional
        By default the device's own.

    Raises
    ------
    ValueError
        If the tensor has other than 2 dimensions.

    References
    ----------
    Martens, Deep learning via Hessian-free optimization, 2010.

    Examples
    --------
    >>> (weft.nn.init.sparse_(weft.empty(10, 3), sparsity=0.4) == 0).sum(0)
    tensor([4, 4, 4])
    """
    if tensor.dim() != 2:
        raise ValueError(f"sparse_: Only tensors with 2 dimensions are supported, got shape {tuple(tensor.shape)}")
    rows, columns = tensor.shape
    zeros_per_column = math.ceil(sparsity * rows)
    with weft.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[weft.randperm(rows)[:zeros_per_column], column] = 0
    return tensor


# to overrides by __torch_function__; the others call methods of what they are given
offer(sys.modules[__name__], ("uniform_", "normal_", "constant_", "kaiming_uniform_"))


# -- the names without underscore, for older programs ----------------------------------------------------------------

_DEPRECATED = (
    "uniform normal constant eye dirac xavier_uniform xavier_normal kaiming_uniform kaiming_normal orthogonal sparse"
).split()


def __getattr__(name: str) -> Any:
    if name not in _DEPRECATED:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    current = globals()[name + "_"]

    def deprecated(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return current(*args, **kwargs)

    deprecated.__name__ = name
    deprecated.__doc__ = f"Deprecated name of `{name}_`."
    return deprecated
