"""Stochastic depth: leave out a residual branch now and then (arXiv:1603.09382)."""

from __future__ import annotations

import weft
from weft import Tensor, nn
from weft.overrides import handle_torch_function, has_torch_function

__all__ = ["StochasticDepth", "stochastic_depth"]


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """Set the input to 0 with probability ``p``, else divide it by the probability of staying.

    Parameters
    ----------
    input : Tensor
    p : float
    mode : "batch" or "row"
        Whether one draw decides for the whole batch, or one for each sample.
    training : bool
        If False the input is returned.

    Raises
    ------
    ValueError
        For a probability outside of 0 to 1 or another mode.

    Examples
    --------
    >>> output = stochastic_depth(weft.ones(100, 2), 0.5, "row")
    >>> sorted(set(map(tuple, output.tolist())))  # a row is dropped or kept, as a whole
    [(0.0, 0.0), (2.0, 2.0)]
    """
    if has_torch_function((input,)):
        return handle_torch_function(stochastic_depth, (input,), input, p, mode, training)
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0.0:
        return input
    rows = input.shape[0] if mode == "row" else 1
    noise = weft.empty([rows] + [1] * (input.ndim - 1), dtype=input.dtype, device=input.device).bernoulli_(1.0 - p)
    return input * (noise.div_(1.0 - p) if p < 1.0 else noise)


class StochasticDepth(nn.Module):
    """`stochastic_depth` as a module."""

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input: Tensor) -> Tensor:
        """Return the input, 0 or scaled."""
        return stochastic_depth(input, self.p, self.mode, self.training)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p}, mode={self.mode})"
