"""An observer that gives up rare large numbers where that makes the others more exact."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft import Tensor, dtype
from weft.ao.quantization.observer import UniformQuantizationObserverBase

__all__ = ["HistogramObserver"]

TRIED = 128  # into so many parts the range is divided where its ends are looked for


class HistogramObserver(UniformQuantizationObserverBase):
    """Counts numbers in bins, and chooses the range whose rounding and cutting off have the least mean square.

    Parameters
    ----------
    bins : int, default 2048
    dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic
        Those of `UniformQuantizationObserverBase`; the scheme is per tensor.

    Attributes
    ----------
    histogram : Tensor, shape (bins,)
    min_val, max_val : Tensor, shape ()

    Notes
    -----
    PyTorch's observer looks for the same range by other steps; their scales differ by some per cent.

    Examples
    --------
    >>> from weft.ao.quantization import HistogramObserver, MinMaxObserver
    >>> numbers = weft.cat([weft.linspace(0, 1, 100_000), weft.tensor([4.0])])
    >>> all_of_it, most_of_it = MinMaxObserver(), HistogramObserver()
    >>> for observer in (all_of_it, most_of_it):
    ...     _ = observer(numbers)
    >>> all_of_it.calculate_qparams()[0], most_of_it.calculate_qparams()[0]
    (tensor([0.0157]), tensor([0.0138]))
    """

    histogram: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        bins: int = 2048,
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
        if qscheme not in (weft.per_tensor_affine, weft.per_tensor_symmetric):
            raise NotImplementedError(f"HistogramObserver: qscheme must be per tensor, got {qscheme}")
        self.bins = bins
        options = factory_kwargs or {}
        self.register_buffer("histogram", weft.zeros(bins, **options))
        self.register_buffer("min_val", weft.tensor(float("inf"), **options))
        self.register_buffer("max_val", weft.tensor(float("-inf"), **options))

    def forward(self, x: Tensor) -> Tensor:
        """Count a tensor's numbers, and return it."""
        if not x.numel():
            return x
        numbers = x.detach().to(self.histogram.dtype)
        low, high = (each.item() for each in weft.aminmax(numbers))
        seen = bool(self.min_val <= self.max_val)
        if seen:
            low, high = min(low, self.min_val.item()), max(high, self.max_val.item())
            self._widen(low, high)
        self.min_val.fill_(low)
        self.max_val.fill_(high)
        # Of one number there is no range; histc would choose one of its own.
        counts = weft.histc(numbers, self.bins, low, high) if low < high else weft.zeros_like(self.histogram)
        if low == high:
            counts[0] = numbers.numel()
        self.histogram += counts
        return x

    def _widen(self, low: float, high: float) -> None:
        """Divide the counts among the bins of a wider range, as if they lay evenly in theirs."""
        old_low, old_high = self.min_val.item(), self.max_val.item()
        if (low, high) == (old_low, old_high):
            return
        counts = self.histogram.cpu().numpy()
        below = np.concatenate([[0.0], np.cumsum(counts, dtype=np.float64)])
        if old_low == old_high:
            old_high = old_low + (high - low) / self.bins
        edges = np.linspace(low, high, self.bins + 1)
        parted = np.diff(np.interp(edges, np.linspace(old_low, old_high, self.bins + 1), below))
        parted[-1] += below[-1] - parted.sum()  # what the last edge cut off
        self.histogram.copy_(weft.from_numpy(parted.astype(np.float32)))

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Return the scale and the zero point for what was seen.

        Returns
        -------
        tuple of Tensor, each of shape (1,)
        """
        if not bool(self.min_val < self.max_val):
            return self._calculate_qparams(self.min_val, self.max_val)
        low, high = self._best_range()
        return self._calculate_qparams(self.min_val.new_tensor(low), self.max_val.new_tensor(high))

    def _best_range(self) -> tuple[float, float]:
        """Draw in one end or the other as long as the error falls."""
        low, high = self.min_val.item(), self.max_val.item()
        counts = self.histogram.cpu().numpy().astype(np.float64)
        width = (high - low) / self.bins
        centers = low + width * (np.arange(self.bins) + 0.5)
        step = (high - low) / TRIED

        def error(ends: tuple[float, float]) -> float:
            scale = (max(ends[1], 0.0) - min(ends[0], 0.0)) / (self.quant_max - self.quant_min)
            outside = np.maximum(centers - ends[1], 0) + np.maximum(ends[0] - centers, 0)
            return float((counts * np.where(outside > 0, outside**2, scale**2 / 12)).sum())

        best, least = (low, high), error((low, high))
        while best[1] - best[0] > 2 * step:
            tried = [(best[0] + step, best[1]), (best[0], best[1] - step)]
            errors = [error(each) for each in tried]
            if min(errors) >= least:
                break
            least = min(errors)
            best = tried[errors.index(least)]
        return best

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"
