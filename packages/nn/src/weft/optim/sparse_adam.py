"""Adam for sparse gradients: what a gradient does not name stays as it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import weft
from weft import Tensor
from weft.optim.optimizer import Optimizer, ParamsT, check_betas, check_options, scalar, sparse_parts

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for parameters whose gradients are sparse, such as those of ``nn.Embedding(sparse=True)``.

    Moments and values of the elements that a gradient names are updated by the formula of :class:`Adam`; the moments of
    others do not decay meanwhile.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        Dense and real, with sparse gradients.
    lr : float or Tensor
    betas : (float, float)
    eps : float
    maximize : bool
        Climb instead of descending.

    Examples
    --------
    >>> table = weft.nn.Embedding(1000, 4, sparse=True)
    >>> optimizer = SparseAdam(table.parameters())
    >>> table(weft.tensor([3, 7])).sum().backward()
    >>> table.weight.grad.is_sparse
    True
    >>> optimizer.step()  # changes two rows
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_options("SparseAdam", lr=lr, at_least_zero={"epsilon": eps})
        if lr == 0 or eps == 0:
            raise ValueError(f"SparseAdam: lr and eps must be greater than 0, got lr={lr}, eps={eps}")
        check_betas("SparseAdam", betas)
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "maximize": maximize})
        for group in self.param_groups:
            for index, param in enumerate(group["params"]):
                if param.is_sparse:
                    raise ValueError(f"SparseAdam requires dense parameter tensors, but params[{index}] is sparse")
                if param.is_complex():
                    raise ValueError(f"SparseAdam does not support complex parameters, but params[{index}] is one")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the elements that gradients name; ``closure`` as in other optimizers."""
        loss = None
        if closure is not None:
            with weft.enable_grad():
                loss = closure()
        with weft.no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        self._step_rows(group, param, param.grad)
        return loss

    def _step_rows(self, group: dict[str, Any], param: Tensor, grad: Any) -> None:
        if not grad.is_sparse:
            raise RuntimeError("SparseAdam.step: does not support dense gradients, please consider Adam instead")
        state = self.state[param]
        if not state:
            state.update(step=0, exp_avg=weft.zeros_like(param), exp_avg_sq=weft.zeros_like(param))
        state["step"] += 1
        index, values = sparse_parts(-grad if group["maximize"] else grad)
        if not values.numel():
            return
        beta1, beta2 = (scalar(beta) for beta in group["betas"])
        first = state["exp_avg"][index].lerp_(values, 1 - beta1)
        second = state["exp_avg_sq"][index].lerp_(values * values, 1 - beta2)
        state["exp_avg"].index_put_(index, first)
        state["exp_avg_sq"].index_put_(index, second)
        t = state["step"]
        rate = scalar(group["lr"]) * math.sqrt(1 - beta2**t) / (1 - beta1**t)
        param.index_put_(index, first / second.sqrt_().add_(group["eps"]) * -rate, accumulate=True)
