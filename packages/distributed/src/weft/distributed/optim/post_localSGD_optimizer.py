"""`PostLocalSGDOptimizer`: steps of each process by itself, and means of the parameters now and then."""

from __future__ import annotations

import warnings
from typing import Any

from weft.optim import Optimizer

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """An optimizer, after whose steps an averager takes the mean of the parameters over processes.

    Parameters
    ----------
    optim : Optimizer
        Of this process.
    averager : weft.distributed.algorithms.model_averaging.averagers.ModelAverager
        Says when, and among which processes.

    References
    ----------
    Lin et al., arXiv:1808.07217.
    """

    def __init__(self, optim: Optimizer, averager: Any) -> None:
        self.optim = optim
        self.param_groups = optim.param_groups
        self.averager = averager

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The state of the optimizer."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's, with the number of steps of the averager."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state of `state_dict`, or of the plain optimizer, with a warning."""
        self.optim.load_state_dict({key: value for key, value in state_dict.items() if key != "step"})
        self.param_groups = self.optim.param_groups
        if "step" in state_dict:
            self.averager.step = state_dict["step"]
        else:
            warnings.warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step counter to 0.",
                stacklevel=2,
            )
            self.averager.step = 0

    def step(self, closure: Any = None) -> Any:  # type: ignore[override]
        """Take a step, and let the averager decide."""
        loss = self.optim.step() if closure is None else self.optim.step(closure)
        self.averager.average_parameters(params=self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters to the optimizer."""
        self.optim.add_param_group(param_group)
