"""Dropout: elements or whole channels zeroed at random. The masks are PyTorch's for the same seed."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

import weft
from weft import Tensor
from weft.library.checks import warn_caller
from weft.library.declare import composite, op
from weft.library.fast_paths import FastPath
from weft.library.state import local
from weft.nn.functional._common import inplace_or_not, require_flags
from weft.random import default_generator_of, generator_for

__all__ = [
    "alpha_dropout",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
]

SELU_LIMIT = -1.7580993408473766  # of selu at minus infinity


def check_options(name: str, input: Any, p: float, training: bool) -> None:
    """Check the arguments, also where the input comes back unchanged."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")
    require_flags(name, training=training)


def noise(input: Tensor, shape: Any, p: float) -> Tensor:
    """1 / (1 - p) with probability 1 - p, else 0; of the input's own layout where the shape is its."""
    drawn = weft.empty_like(input) if shape is None else input.new_empty(shape)
    return drawn.bernoulli_(1 - p).div_(1 - p)


def masked(input: Tensor, p: float, shape: Any = None) -> Tensor:
    if p == 1:
        return input * 0
    if shape is None and not local.levels and input.dtype.is_floating_point:
        generator = generator_for("dropout", None, input.device)
        place = generator.reserve(input._array.size, input.dtype.itemsize)
        if place is not None:
            return redrawn_dropout.op(input, 1 - p, generator, place)
        if input.is_contiguous():
            return with_noise.op(input, 1 - p, scale_in(input.dtype, p), generator)[0]
    return input * noise(input.detach(), shape, p)


@lru_cache(64)
def scale_in(dtype: Any, p: float) -> float:
    """``1 / (1 - p)`` as it is computed in a dtype."""
    wide = np.float64 if dtype is weft.float64 else np.float32
    return float(dtype.numpy.type(wide(1) / wide(1 - p)))


@op(tensors="input", dtypes="float", compute_dtype="native", name="dropout", namespace="nn")
def with_noise(input: Tensor, kept: float, scale: float, generator: Any) -> tuple[Tensor, Tensor]:
    """The input, which lies in order, times `noise`, and that: `scale` with probability `kept`, else 0."""
    return with_noise.op(input, kept, scale, generator)


@with_noise.kernel
def _(xp, input, kept, scale, generator):
    happens = drawn_once(generator, input, kept).reshape(input.shape)
    drawn = xp.multiply(happens, input.dtype.type(scale))
    return xp.multiply(input, drawn), drawn


@with_noise.gradient("input")
def _(grads, later_outputs):
    return grads[0] * later_outputs[0].detach()


with_noise.declaration.label = "MulBackward0"


def drawn_once(generator: Any, input: Any, kept: float) -> Any:
    """Which elements of an array are kept; of a counter-based generator as `redrawn_dropout` has them."""
    if generator.is_counter_based:
        return generator.sample("kept", generator.draw("reserve", input.size, input.dtype.itemsize), input.size, kept)
    return generator.sample("bernoulli", input.size, kept)


@op(tensors="input", dtypes="float", compute_dtype="native", name="redrawn_dropout", namespace="nn")
def redrawn_dropout(input: Tensor, kept: float, generator: Any, place: Any) -> Tensor:
    """The input, of which each element is kept with probability ``kept`` and divided by it, or zero.

    Which ones is drawn from a place of a counter-based generator, and drawn again for the gradient: no mask is kept.
    """
    return redrawn_dropout.op(input, kept, generator, place)


@redrawn_dropout.kernel
def _(xp, input, kept, generator, place):
    happens = generator.sample("kept", place, input.size, kept).reshape(input.shape)
    if input.dtype.itemsize < 4:  # the scale has the digits of float32
        return (input.astype(xp.float32) * (happens * xp.float32(1 / kept))).astype(input.dtype)
    result = input * float(input.dtype.type(1) / input.dtype.type(kept))
    return xp.multiply(result, happens, out=result)


@redrawn_dropout.gradient("input")
def _(grad, kept, generator, place):
    return redrawn_dropout.op(grad, kept, generator, place)


@redrawn_dropout.vmap
def _(batch):
    input, kept, generator, place = batch.as_seen()
    ones = weft.ones(input.shape, dtype=input.dtype, device=input.device)
    return batch.whole(input * redrawn_dropout.op(ones, kept, generator, place))


redrawn_dropout.declaration.label = "NativeDropoutBackward0"


def with_kept_share(values: list[Any], arrays: list[Any]) -> bool | Tensor:
    """The arguments of `with_noise` for input, p and training, if that zeroes some elements and not all."""
    input, p, training = values
    key = input._key
    if not training:
        return input if 0 <= p <= 1 else False
    if not 0 < p < 1:
        return False
    generator = default_generator_of(key.device)
    values[1:] = arrays[1:] = 1 - p, scale_in(key.dtype, p), generator
    if generator.is_counter_based or local.levels or key.dtype.is_float8:
        return False
    return bool(input._array.flags.c_contiguous)


@composite(fast_path=FastPath(with_noise.op, prepare=with_kept_share, takes="input p training", result="first"))
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zero each element with probability ``p`` and divide the others by ``1 - p``; else do nothing.

    Parameters
    ----------
    input : Tensor
    p : float
        The probability of being dropped, in [0, 1].
    training : bool
        Without it nothing is dropped.
    inplace : bool
        Whether to write into the input.

    Raises
    ------
    ValueError
        If p is not in [0, 1].

    References
    ----------
    arXiv:1207.0580.

    Examples
    --------
    >>> sorted(set(weft.nn.functional.dropout(weft.ones(100), 0.75).tolist()))
    [0.0, 4.0]
    >>> weft.nn.functional.dropout(weft.ones(2), 0.75, training=False)
    tensor([1., 1.])
    """
    check_options("dropout", input, p, training)
    if not training:
        return input
    if p == 0:
        return input
    return inplace_or_not(masked, "dropout_", input, inplace, p)


def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient of `weft.native_dropout` for its mask and ``scale``, 1 / (1 - p); see `weft.ops.aten`."""
    return grad_output * (mask.to(grad_output.dtype) * scale)


def channel_shape(input: Tensor) -> list[int]:
    """One element for each channel of each sample: (N, C, 1, ...)."""
    return [*input.shape[:2], *[1] * (input.ndim - 2)]


def by_channel(name: str, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    check_options(name, input, p, training)
    if not training or p == 0:
        return input
    if input.ndim < 2:
        raise RuntimeError(f"{name}: Feature dropout requires at least 2 dimensions in the input, got {input.ndim}")
    return inplace_or_not(masked, f"{name}_", input, inplace, p, channel_shape(input))


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels.

    Parameters
    ----------
    input : Tensor, shape (N, C, L) or (C, L)
    p : float
        The probability of being dropped, in [0, 1].
    training : bool
        Without it nothing is dropped.
    inplace : bool
        Whether to write into the input.

    Raises
    ------
    ValueError
        If p is not in [0, 1].

    References
    ----------
    arXiv:1411.4280.

    Examples
    --------
    >>> output = weft.nn.functional.dropout1d(weft.ones(4, 3), 0.5).reshape(4, -1)
    >>> bool(((output == 0).all(1) | (output == 2).all(1)).all())
    True
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input; use dropout2d or 3d"
        )
    return without_batch("dropout1d", 2, input, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels.

    Parameters
    ----------
    input : Tensor, shape (N, C, H, W)
    p : float
        The probability of being dropped, in [0, 1].
    training : bool
        Without it nothing is dropped.
    inplace : bool
        Whether to write into the input.

    Raises
    ------
    ValueError
        If p is not in [0, 1].

    References
    ----------
    arXiv:1411.4280.

    Examples
    --------
    >>> output = weft.nn.functional.dropout2d(weft.ones(1, 4, 2, 2), 0.5).reshape(4, -1)
    >>> bool(((output == 0).all(1) | (output == 2).all(1)).all())
    True
    """
    if input.ndim not in (3, 4):
        warn_caller(
            f"dropout2d: Received a {input.ndim}-D input to dropout2d, which is deprecated and will result in an error "
            "in a future release. Use dropout for elements, dropout1d or dropout3d for other channels."
        )
    if input.ndim == 3:
        warn_caller(
            "dropout2d: Received a 3-D input to dropout2d and assuming that channel-wise 1-D dropout behavior is "
            "desired - input is interpreted as shape (N, C, L). Use dropout1d for that, or add a dimension."
        )
    return by_channel("dropout2d", input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels.

    Parameters
    ----------
    input : Tensor, shape (N, C, D, H, W) or (C, D, H, W)
    p : float
        The probability of being dropped, in [0, 1].
    training : bool
        Without it nothing is dropped.
    inplace : bool
        Whether to write into the input.

    Raises
    ------
    ValueError
        If p is not in [0, 1].

    References
    ----------
    arXiv:1411.4280.

    Examples
    --------
    >>> output = weft.nn.functional.dropout3d(weft.ones(4, 2, 2, 2), 0.5).reshape(4, -1)
    >>> bool(((output == 0).all(1) | (output == 2).all(1)).all())
    True
    """
    if input.ndim not in (4, 5):
        warn_caller(
            f"dropout3d: Received a {input.ndim}-D input to dropout3d, which is deprecated and will result in an error "
            "in a future release. Use dropout for elements, dropout1d or dropout2d for other channels."
        )
    return without_batch("dropout3d", 4, input, p, training, inplace)


def without_batch(name: str, ndim: int, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """`by_channel` for one sample of ``ndim`` dimensions, or for a batch."""
    if input.ndim != ndim:
        return by_channel(name, input, p, training, inplace)
    result = by_channel(name, input.unsqueeze(0), p, training, inplace)
    return input if inplace else result.squeeze(0)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance behind `selu`: dropped elements take its limit at minus infinity.

    Parameters
    ----------
    input : Tensor
    p : float
        The probability of being dropped, in [0, 1].
    training : bool
        Without it nothing is dropped.
    inplace : bool
        Whether to write into the input.

    Raises
    ------
    ValueError
        If p is not in [0, 1].

    References
    ----------
    arXiv:1706.02515.

    Examples
    --------
    >>> output = weft.nn.functional.alpha_dropout(weft.randn(10000), 0.2, training=True)
    >>> abs(output.mean().item()) < 0.1, abs(output.std().item() - 1) < 0.1
    (True, True)
    """
    check_options("alpha_dropout", input, p, training)
    if not training or p == 0:
        return input
    return inplace_or_not(alpha_masked, "alpha_dropout_", input, inplace, p, None)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels.

    Parameters
    ----------
    input : Tensor, shape (N, C, ...)
    p : float
        The probability of being dropped, in [0, 1].
    training : bool
        Without it nothing is dropped.
    inplace : bool
        Whether to write into the input.

    Raises
    ------
    ValueError
        If p is not in [0, 1].

    References
    ----------
    arXiv:1706.02515.

    Examples
    --------
    >>> output = weft.nn.functional.feature_alpha_dropout(weft.ones(1, 100, 3), 0.5, training=True)
    >>> len(set(map(tuple, output[0].tolist())))  # channels are dropped or kept, as a whole
    2
    """
    check_options("feature_alpha_dropout", input, p, training)
    if not training or p == 0:
        return input
    if input.ndim < 2:
        raise RuntimeError(
            f"feature_alpha_dropout: Feature dropout requires at least 2 dimensions in the input, got {input.ndim}"
        )
    return inplace_or_not(alpha_masked, "feature_alpha_dropout_", input, inplace, p, channel_shape(input))


def alpha_masked(input: Tensor, p: float, shape: Any) -> Tensor:
    if p == 1:
        return input * 0
    drawn = weft.empty_like(input.detach()) if shape is None else input.detach().new_empty(shape)
    kept = drawn.bernoulli_(1 - p)
    scale = 1 / math.sqrt((SELU_LIMIT * SELU_LIMIT * p + 1) * (1 - p))
    shift = (1 - kept) * (SELU_LIMIT * scale) - SELU_LIMIT * scale * p
    return input * (kept * scale) + shift
