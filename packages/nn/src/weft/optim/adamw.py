"""Adam with decoupled weight decay."""

from __future__ import annotations

from weft import Tensor
from weft.optim.adam import Adam
from weft.optim.optimizer import ParamsT, given_options

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter itself: ``p = p - lr * weight_decay * p`` before each step.

    In Adam the decay is part of the gradient, and so is divided by the second moment like the rest of it.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
    lr : float or Tensor
    betas : (float, float)
    eps : float
    weight_decay : float
    amsgrad, maximize, foreach, capturable, differentiable, fused
        As in :class:`Adam`.

    References
    ----------
    arXiv:1711.05101, algorithm 2, with its schedule multiplier equal to the learning rate.

    Examples
    --------
    The decay shrinks a parameter that has no gradient to speak of:

    >>> weight = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = AdamW([weight], lr=0.1, weight_decay=0.5)
    >>> (weight * 0).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.9500, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, **given_options(locals()), decoupled_weight_decay=True)
