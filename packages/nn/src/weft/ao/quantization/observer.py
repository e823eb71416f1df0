"""Modules that watch tensors, to choose by what scale they may be quantized."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import weft
from weft import Tensor, dtype
from weft.nn.module import Module

__all__ = [
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "UniformQuantizationObserverBase",
    "default_observer",
    "default_per_channel_weight_observer",
    "default_weight_observer",
    "per_channel_weight_observer_range_neg_127_to_127",
    "weight_observer_range_neg_127_to_127",
]


class Prepared:
    """A class with some of its arguments: calling it makes an object, with more of them.

    Parameters
    ----------
    make : callable
    computed : dict of str to callable, optional
        Arguments that are computed for each object anew.
    """

    def __init__(self, make: Callable[..., Any], computed: dict[str, Callable[[], Any]] | None = None) -> None:
        self.make = make
        self.computed = computed or {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        computed = {name: compute() for name, compute in self.computed.items() if name not in kwargs}
        return self.make(*args, **computed, **kwargs)

    def __repr__(self) -> str:
        return f"{self.make!r}{self.computed!r}"

    def with_args(self, **kwargs: Any) -> Prepared:
        """Return the class with further arguments."""
        return Prepared(partial(self.make, **kwargs), self.computed)

    def with_callable_args(self, **kwargs: Callable[[], Any]) -> Prepared:
        """Return the class with further arguments, computed for each object by what is given here."""
        return Prepared(self.make, self.computed | kwargs)


class ObserverBase(ABC, Module):
    """What all observers are: `forward` looks at a tensor, `calculate_qparams` tells the scale and the zero point.

    Parameters
    ----------
    dtype : dtype
        Of the numbers that are wanted.
    is_dynamic : bool
        Whether the tensors are quantized when they are used, each by its own scale.
    """

    def __init__(self, dtype: dtype, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Look at a tensor, and return it."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return the scale and the zero point for what was seen."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> Prepared:
        """Return the class with some of its arguments."""
        return Prepared(partial(cls, **kwargs))

    @classmethod
    def with_callable_args(cls, **kwargs: Callable[[], Any]) -> Prepared:
        """Return the class with some of its arguments, computed for each object by what is given here."""
        return Prepared(cls, kwargs)


LIMITS = {
    weft.qint8: (-128, 127),
    weft.int8: (-128, 127),
    weft.quint8: (0, 255),
    weft.uint8: (0, 255),
    weft.qint32: (-(2**31), 2**31 - 1),
    weft.int32: (-(2**31), 2**31 - 1),
    weft.int16: (-(2**15), 2**15 - 1),
    weft.uint16: (0, 2**16 - 1),
}
SYMMETRIC = (weft.per_tensor_symmetric, weft.per_channel_symmetric)
PER_CHANNEL = (weft.per_channel_affine, weft.per_channel_symmetric)


class UniformQuantizationObserverBase(ObserverBase):
    """Observers that choose one step between all integers, from the least and the greatest number that they saw.

    Parameters
    ----------
    dtype : dtype, default quint8
        Of the integers: qint8, quint8, qint32, or the tensors' dtypes of the same sizes.
    qscheme : qscheme, default per_tensor_affine
        Symmetric ones have the zero point in the middle of the integers.
    reduce_range : bool, default False
        Use one bit less. Processors without VNNI add products of 8 bits in 16: with 7 bits none of those overflows.
    quant_min, quant_max : int, optional
        Use these integers, and not all of the dtype.
    factory_kwargs : dict, optional
        Of the buffers: ``dtype`` and ``device``.
    eps : float, default float32's
        The least scale.
    is_dynamic : bool, default False

    Raises
    ------
    ValueError
        If only one of ``quant_min`` and ``quant_max`` is given, or they do not hold 0.
    NotImplementedError
        If unsigned integers are to be used symmetrically and with one bit less.
    """

    eps: Tensor

    def __init__(
        self,
        dtype: dtype = weft.quint8,
        qscheme: Any = weft.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = 2.0**-23,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        if dtype not in LIMITS:
            raise ValueError(f"{type(self).__name__}: dtype must be one of {[*LIMITS]}, got {dtype}")
        if reduce_range and dtype not in (weft.qint8, weft.int8, weft.quint8, weft.uint8):
            raise ValueError(f"{type(self).__name__}: reduce_range is for 8 bits, got {dtype}")
        if reduce_range and qscheme in SYMMETRIC and dtype in (weft.quint8, weft.uint8):  # 128 is the middle of 8 bits
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")
        self.qscheme = qscheme
        self.reduce_range = reduce_range
        self.has_customized_qrange = quant_min is not None or quant_max is not None
        self.quant_min, self.quant_max = self._limits(quant_min, quant_max)
        self.register_buffer("eps", weft.tensor([eps], **(factory_kwargs or {})))

    def _limits(self, quant_min: int | None, quant_max: int | None) -> tuple[int, int]:
        low, high = LIMITS[self.dtype]
        if self.has_customized_qrange:
            if quant_min is None or quant_max is None or not quant_min <= 0 <= quant_max or quant_min == quant_max:
                raise ValueError(
                    f"{type(self).__name__}: quant_min and quant_max must both be given and hold 0 between them, got "
                    f"{quant_min} and {quant_max}"
                )
            low, high = quant_min, quant_max
        return (low // 2, high // 2) if self.reduce_range else (low, high)

    def _calculate_qparams(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        """Return scales and zero points, each of one dimension, for ranges that were seen; 0 is in all of them."""
        if not bool((min_val <= max_val).all()):  # infinities the other way round: nothing was seen
            warnings.warn(
                "must run observer before calling calculate_qparams. Returning default values.",
                UserWarning,
                stacklevel=3,
            )
            return weft.tensor([1.0], device=min_val.device), weft.tensor([0], device=min_val.device)
        low, high = min_val.reshape(-1).clamp(max=0), max_val.reshape(-1).clamp(min=0)
        steps = float(self.quant_max - self.quant_min)
        if self.qscheme in SYMMETRIC:
            scale = weft.maximum((-low).maximum(high) / (steps / 2), self.eps)
            return scale, weft.full_like(scale, self._middle(), dtype=weft.int64)
        scale = weft.maximum((high - low) / steps, self.eps)
        zero_point = self.quant_min - (low / scale).round().to(weft.int32)
        return scale, zero_point.clamp(self.quant_min, self.quant_max)

    def _middle(self) -> int:
        if self.dtype not in (weft.quint8, weft.uint8):
            return 0
        return (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")


class MinMaxObserver(UniformQuantizationObserverBase):
    """Keeps the least and the greatest number of all tensors that it saw.

    Parameters
    ----------
    dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic
        Those of `UniformQuantizationObserverBase`.

    Attributes
    ----------
    min_val, max_val : Tensor, shape ()

    Examples
    --------
    >>> from weft.ao.quantization import MinMaxObserver
    >>> observer = MinMaxObserver()
    >>> _ = observer(weft.tensor([-1.0, 4.1]))
    >>> observer.calculate_qparams()
    (tensor([0.0200]), tensor([50], dtype=weft.int32))
    """

    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        dtype: dtype = weft.quint8,
        qscheme: Any = weft.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = 2.0**-23,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic)
        if qscheme not in self._schemes():
            raise NotImplementedError(f"{type(self).__name__}: qscheme must be one of {self._schemes()}, got {qscheme}")
        self.factory_kwargs = factory_kwargs or {}
        self.register_buffer("min_val", None)
        self.register_buffer("max_val", None)
        self.reset_min_max_vals()

    def _schemes(self) -> tuple[Any, ...]:
        return (weft.per_tensor_affine, weft.per_tensor_symmetric)

    def forward(self, x: Tensor) -> Tensor:
        """Look at a tensor, and return it."""
        if x.numel():
            self._see(*self._range(x.detach().to(self.min_val.dtype)))
        return x

    def _range(self, x: Tensor) -> tuple[Tensor, Tensor]:
        low, high = weft.aminmax(x)
        return low, high

    def _see(self, low: Tensor, high: Tensor) -> None:
        self.min_val, self.max_val = weft.minimum(low, self.min_val), weft.maximum(high, self.max_val)

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Return the scale and the zero point for what was seen.

        Returns
        -------
        tuple of Tensor, each of shape (1,), or (channels,) if there is one for each

        Warns
        -----
        UserWarning
            If nothing was seen: they are 1 and 0.
        """
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val = weft.tensor(math.inf, **self.factory_kwargs)
        self.max_val = weft.tensor(-math.inf, **self.factory_kwargs)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any) -> None:
        """Take ranges of as many channels as were seen when they were saved."""
        for name in ("min_val", "max_val"):
            saved = state_dict.get(prefix + name)
            if saved is not None and saved.shape != getattr(self, name).shape:
                setattr(self, name, getattr(self, name).new_empty(saved.shape))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Keeps averages of each tensor's least and greatest number, in which older ones fade.

    Parameters
    ----------
    averaging_constant : float, default 0.01
        The weight of the newest.
    dtype, qscheme, reduce_range, quant_min, quant_max, eps, is_dynamic
        Those of `UniformQuantizationObserverBase`.

    Examples
    --------
    >>> from weft.ao.quantization import MovingAverageMinMaxObserver
    >>> observer = MovingAverageMinMaxObserver(averaging_constant=0.5)
    >>> for high in (2.0, 4.0):
    ...     _ = observer(weft.tensor([0.0, high]))
    >>> observer.max_val
    tensor(3.)
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        dtype: dtype = weft.quint8,
        qscheme: Any = weft.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = 2.0**-23,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs)
        self.averaging_constant = averaging_constant

    def _see(self, low: Tensor, high: Tensor) -> None:
        if self.min_val.shape != low.shape or bool((self.min_val > self.max_val).any()):
            self.min_val, self.max_val = low, high
            return
        self.min_val = self.min_val + self.averaging_constant * (low - self.min_val)
        self.max_val = self.max_val + self.averaging_constant * (high - self.max_val)


class PerChannelMinMaxObserver(MinMaxObserver):
    """Keeps the least and the greatest number of each channel.

    Parameters
    ----------
    ch_axis : int, default 0
    dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic
        Those of `UniformQuantizationObserverBase`; the scheme is per channel, by default per_channel_affine.

    Attributes
    ----------
    min_val, max_val : Tensor, shape (channels,)

    Examples
    --------
    >>> from weft.ao.quantization import PerChannelMinMaxObserver
    >>> observer = PerChannelMinMaxObserver(dtype=weft.qint8, qscheme=weft.per_channel_symmetric)
    >>> _ = observer(weft.tensor([[-1.0, 0.5], [0.1, 2.55]]))
    >>> observer.calculate_qparams()
    (tensor([0.0078, 0.0200]), tensor([0, 0]))
    """

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: dtype = weft.quint8,
        qscheme: Any = weft.per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = 2.0**-23,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.ch_axis = ch_axis

    def _schemes(self) -> tuple[Any, ...]:
        return PER_CHANNEL

    def _range(self, x: Tensor) -> tuple[Tensor, Tensor]:
        low, high = weft.aminmax(x.movedim(self.ch_axis, 0).flatten(1), dim=1)
        return low, high

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val = weft.tensor([], **self.factory_kwargs)
        self.max_val = weft.tensor([], **self.factory_kwargs)

    def _see(self, low: Tensor, high: Tensor) -> None:
        if self.min_val.numel():
            low, high = weft.minimum(low, self.min_val), weft.maximum(high, self.max_val)
        self.min_val, self.max_val = low, high

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        if not self.min_val.numel():
            return self._calculate_qparams(weft.tensor(math.inf), weft.tensor(-math.inf))
        return super().calculate_qparams()


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Keeps averages of each channel's least and greatest number, in which older ones fade.

    Parameters
    ----------
    averaging_constant : float, default 0.01
    ch_axis : int, default 0
    dtype, qscheme, reduce_range, quant_min, quant_max, eps, is_dynamic
        Those of `PerChannelMinMaxObserver`.

    Examples
    --------
    >>> from weft.ao.quantization import MovingAveragePerChannelMinMaxObserver
    >>> observer = MovingAveragePerChannelMinMaxObserver(averaging_constant=0.5)
    >>> for high in (2.0, 4.0):
    ...     _ = observer(weft.tensor([[0.0, high], [0.0, 1.0]]))
    >>> observer.max_val
    tensor([3., 1.])
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        ch_axis: int = 0,
        dtype: dtype = weft.quint8,
        qscheme: Any = weft.per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = 2.0**-23,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            ch_axis, dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs
        )
        self.averaging_constant = averaging_constant

    def _see(self, low: Tensor, high: Tensor) -> None:
        if self.min_val.numel():
            low = self.min_val + self.averaging_constant * (low - self.min_val)
            high = self.max_val + self.averaging_constant * (high - self.max_val)
        self.min_val, self.max_val = low, high


class PlaceholderObserver(ObserverBase):
    """Looks at nothing: says only which dtype is wanted.

    Parameters
    ----------
    dtype : dtype, default float32
    custom_op_name : str, default ""
    compute_dtype : dtype, optional
    quant_min, quant_max : int, optional
    qscheme : qscheme, default per_tensor_affine
    eps : float, optional
    is_dynamic : bool, default False
    """

    def __init__(
        self,
        dtype: dtype = weft.float32,
        custom_op_name: str = "",
        compute_dtype: dtype | None = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: Any = None,
        eps: float | None = None,
        is_dynamic: bool = False,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = weft.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps = quant_min, quant_max, eps
        self.custom_op = custom_op_name

    def forward(self, x: Tensor) -> Tensor:
        """Return the tensor."""
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Refuse: nothing was seen.

        Raises
        ------
        Exception
        """
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")


class NoopObserver(ObserverBase):
    """Looks at nothing.

    Parameters
    ----------
    dtype : dtype, default float16
    custom_op_name : str, default ""
    """

    def __init__(self, dtype: dtype = weft.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype)
        self.custom_op = custom_op_name

    def forward(self, x: Tensor) -> Tensor:
        """Return the tensor."""
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Refuse: nothing was seen.

        Raises
        ------
        Exception
        """
        raise Exception("calculate_qparams should not be called for NoopObserver")


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_weight_observer = MinMaxObserver.with_args(dtype=weft.qint8, qscheme=weft.per_tensor_symmetric)
weight_observer_range_neg_127_to_127 = default_weight_observer.with_args(quant_min=-127, quant_max=127, eps=2**-12)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=weft.qint8, qscheme=weft.per_channel_symmetric
)
per_channel_weight_observer_range_neg_127_to_127 = default_per_channel_weight_observer.with_args(
    quant_min=-127, quant_max=127, eps=2**-12
)
