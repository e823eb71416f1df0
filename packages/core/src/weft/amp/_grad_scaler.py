"""GradScaler: a loss is multiplied before backward, so that small gradients survive in float16."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

from weft._engine.tensor import TensorBase
from weft.amp._autocast import device_name
from weft.autograd.grad_mode import no_grad
from weft.ops._foreach import norm
from weft.ops.joining import stack

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """What was done to an optimizer since the last update. fastai reads it by this name."""

    READY, UNSCALED, STEPPED = range(3)


def not_finite(gradients: list[Any]) -> Any:
    """Whether an element of some gradients, all on one device, is infinite or NaN: on a device as a tensor there."""
    if gradients[0].device.type == "cpu" or any(grad.is_sparse for grad in gradients):
        return any(not bool(grad.isfinite().all()) for grad in gradients)
    largest = list(norm([grad for grad in gradients if grad.numel()], math.inf))
    return stack(largest).isfinite().all().logical_not() if largest else False


class GradScaler:
    """Multiplies the loss by a scale that grows while gradients are finite and shrinks when they are not.

    Parameters
    ----------
    device : str
        Where the gradients are.
    init_scale : float
        The first scale.
    growth_factor, backoff_factor : float
        What the scale is multiplied by after ``growth_interval`` steps without infinite or NaN gradients, and after one
        with some.
    growth_interval : int
    enabled : bool
        False: all methods leave things as they are, and `step` is the optimizer's.

    Raises
    ------
    ValueError, AssertionError
        For factors that would not grow and shrink.

    Examples
    --------
    >>> weight = weft.nn.Parameter(weft.ones(1))
    >>> optimizer = weft.optim.SGD([weight], lr=0.5)
    >>> scaler = GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale((weight * 2).sum()).backward()
    >>> weight.grad
    tensor([16.])
    >>> _ = scaler.step(optimizer)
    >>> scaler.update()
    >>> weight.data
    tensor([0.])
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device_name("GradScaler", device)
        self._enabled = enabled
        if not growth_factor > 1.0:
            raise AssertionError(f"GradScaler: the growth factor must be > 1.0, got {growth_factor}")
        if not backoff_factor < 1.0:
            raise AssertionError(f"GradScaler: the backoff factor must be < 1.0, got {backoff_factor}")
        self._init_scale = init_scale
        self._scale: Any = None
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._states: dict[int, OptState] = {}  # by the optimizer's id
        self._found_inf: dict[int, list[Any]] = {}  # for each device whether, on that device until it is asked

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale; 1 if not enabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale)

    def scale(self, outputs: Any) -> Any:
        """A loss (or several, in lists or tuples) multiplied by the scale.

        Raises
        ------
        ValueError
            For anything that holds no tensors.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, TensorBase):
            if self._scale is None:
                self._scale = self._init_scale
            return outputs * self._scale  # type: ignore[operator]
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(each) for each in outputs)
        raise ValueError(f"scale: outputs must be a Tensor or an iterable of Tensors, got {type(outputs).__name__}")

    def _gradients(self, optimizer: Any) -> list[Any]:
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        return [each.grad for each in parameters if each.grad is not None]

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, to clip them for example.

        Raises
        ------
        RuntimeError
            If it was done already since the last `update`, or after `step`.
        ValueError
            For gradients in float16: the parameters must be float32.
        """
        if not self._enabled:
            return
        self._check_scale("unscale_")
        state = self._states.get(id(optimizer), OptState.READY)
        if state == OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state == OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        gradients = self._gradients(optimizer)
        if any(grad.dtype.name == "float16" for grad in gradients):
            raise ValueError("unscale_: Attempting to unscale FP16 gradients; keep the parameters in float32")
        with no_grad():
            for grad in gradients:
                grad.mul_(1.0 / self._scale)
            self._found_inf[id(optimizer)] = [
                not_finite([grad for grad in gradients if grad.device == device])
                for device in dict.fromkeys(grad.device for grad in gradients)
            ]
        self._states[id(optimizer)] = OptState.UNSCALED

    def _check_scale(self, name: str) -> None:
        if self._scale is None:
            raise RuntimeError(
                f"{name}: Attempted {name} but _scale is None. This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The optimizer's step with unscaled gradients, unless one of them is infinite or NaN.

        Returns
        -------
        What ``optimizer.step`` returns; None if it was left out.

        Raises
        ------
        RuntimeError
            For a closure, or if it was called already since the last `update`.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("step: Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale("step")
        state = self._states.get(id(optimizer), OptState.READY)
        if state == OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state == OptState.READY:
            self.unscale_(optimizer)
        self._states[id(optimizer)] = OptState.STEPPED
        if not self._gradients(optimizer):
            raise AssertionError("step: No inf checks were recorded for this optimizer: no parameter has a gradient")
        return None if self._skips(id(optimizer)) else optimizer.step(*args, **kwargs)

    def _skips(self, optimizer: int) -> bool:
        """Whether gradients of an optimizer were found that are not finite; the first time this waits for devices."""
        found = any(bool(each) for each in self._found_inf[optimizer])
        self._found_inf[optimizer] = [found]
        return found

    def update(self, new_scale: Any = None) -> None:
        """Let the scale grow or shrink, once after all steps of an iteration; or set it."""
        if not self._enabled:
            return
        self._check_scale("update")
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            if not self._found_inf:
                raise AssertionError("update: No inf checks were recorded prior to update.")
            if any(map(self._skips, self._found_inf)):
                self._scale *= self._backoff_factor
                self._growth_tracker = 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale *= self._growth_factor
                    self._growth_tracker = 0
        self._states.clear()
        self._found_inf.clear()

    def get_growth_factor(self) -> float:
        """What the scale grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale grows by."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale shrinks by."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale shrinks by."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The state, in PyTorch's keys; empty if not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state.

        Raises
        ------
        RuntimeError
            If it is empty: that of a scaler that was not enabled.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "load_state_dict: The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = float(state_dict["scale"])
        self._scale = self._init_scale if self._scale is not None else None
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = int(state_dict["_growth_tracker"])
