"""Learning-rate schedules.

A schedule writes each group's ``"lr"`` once when it is made and once per call of ``step()``, after the optimizer's
step. Most are *chainable*: they multiply the rate that they find, so that several work on one optimizer; the rate as a
function of the epoch alone is then in ``_get_closed_form_lr``, which jumping to an epoch uses.
"""

from __future__ import annotations

import functools
import math
import types
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from weft import Tensor
from weft.library.interceptors import is_watched, run_live
from weft.optim.optimizer import Group, Optimizer

__all__ = [
    "LRScheduler",
    "StepLR",
    "CosineAnnealingLR",
    "OneCycleLR",
    "LambdaLR",
    "MultiplicativeLR",
    "MultiStepLR",
    "ConstantLR",
    "LinearLR",
    "ExponentialLR",
    "PolynomialLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "ChainedScheduler",
]


def _write(group: Group, name: str, value: Any) -> None:
    """Set a group's option; a tensor is filled, so that whoever holds it sees the new value."""
    if isinstance(group[name], Tensor):
        group[name].fill_(value)
    else:
        group[name] = _copy(value)  # which the next value is written into


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _per_group(name: str, optimizer: Optimizer, option: str, value: Any) -> list[Any]:
    """One value for each group, from one for all or from a list; tensors are copied, since groups are written to."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [_copy(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name}: Expected {count} {option}s, but got {len(value)}: {option} must have the same length as "
            f"optimizer.param_groups: it has {len(value)}, param_groups has {count}"
        )
    return [_copy(each) for each in value]


EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` is deprecated: call `scheduler.step()` without it."
)


def live(step: Callable[..., None]) -> Callable[..., None]:
    """A schedule's step, which captured functions call as it is."""

    @functools.wraps(step)
    def function(self: LRScheduler, *args: Any, **kwargs: Any) -> None:
        if is_watched():
            run_live(
                self, f"{type(self).__name__}.step", lambda args, kwargs: step(self, *args, **kwargs), args, kwargs
            )
        else:
            step(self, *args, **kwargs)

    return function


class LRScheduler:
    """Base class of schedules. A subclass defines :meth:`get_lr`.

    Parameters
    ----------
    optimizer : Optimizer
    last_epoch : int
        The epoch that ended before this schedule begins; -1 to start afresh. Any other needs ``"initial_lr"`` in each
        group, as an earlier schedule or its checkpoint left it.

    Attributes
    ----------
    last_epoch : int
        The number of steps taken, beginning with 0.
    base_lrs : list of float
        The groups' rates before any schedule.

    Examples
    --------
    >>> class Rising(LRScheduler):
    ...     def get_lr(self):
    ...         return [base * (1 - 1 / (self.last_epoch + 2)) for base in self.base_lrs]
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = Rising(optimizer)
    >>> for epoch in range(3):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.5 0.667 0.75
    """

    _runs_live = True  # captured functions call `step` as it is
    _get_lr_called_within_step = False
    _is_initial = False
    _step_count = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = live(cls.step)  # type: ignore[method-assign]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        name = type(self).__name__
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{name}: {type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{name}: param 'initial_lr' is not specified in param_groups[{index}] when resuming scheduler "
                    "with last_epoch >= 0; load the optimizer's state dict first, or leave last_epoch at -1"
                )
        self.base_lrs: list[Any] = [_copy(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch: float = last_epoch
        if vars(optimizer).get("step") is not optimizer._step_of_schedules:
            optimizer._step_of_schedules = vars(optimizer).get("step")
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def _undo(self) -> None:
        """Forget the step that was taken when this was made."""
        self.last_epoch -= 1

    def _begin_later(self) -> None:
        """Take epoch 0 now, in the middle of a training."""
        self._go_to(0)

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from another schedule's :meth:`state_dict`, of weft or of PyTorch."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step wrote, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of epoch ``last_epoch``, from those of the epoch before, one for each group."""
        raise NotImplementedError(f"{type(self).__name__}.get_lr: a subclass of LRScheduler must define get_lr")

    def _warn_of_order(self) -> None:
        """Warn where the optimizer made no step before the schedule's first, or where nobody can know."""
        details = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
        if vars(self.optimizer).get("step") is not self.optimizer._step_of_schedules:
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after the schedule was made, which cannot see then "
                f"whether it is called before `lr_scheduler.step()`, as it should be. {details}",
                UserWarning,
                stacklevel=3,
            )
        elif not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`: the first rate of the schedule is "
                f"skipped. Call `optimizer.step()` first in each round. {details}",
                UserWarning,
                stacklevel=3,
            )

    @live
    def step(self, epoch: int | None = None) -> None:
        """Write the next epoch's rates into the groups.

        Parameters
        ----------
        epoch : int, optional
            Deprecated: go to this epoch instead.
        """
        if self._step_count == 1:
            self._warn_of_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._go_to(epoch)

    def _go_to(self, epoch: float | None) -> None:
        """Advance to the next epoch, or to a given one."""
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed_form()
        finally:
            self._get_lr_called_within_step = False
        self._write_rates(rates)

    def _write_rates(self, rates: Sequence[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=False):  # groups may have been added since
            _write(group, "lr", rate)
        self._last_lr: list[Any] = [_copy(group["lr"]) for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`: get_lr computes "
                "the next one from the present one.",
                UserWarning,
                stacklevel=3,
            )

    def _rates(self) -> list[Any]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def _scaled(self, factor: Any) -> list[Any]:
        return [rate * factor for rate in self._rates()]


_LRScheduler = LRScheduler  # the name that programs before PyTorch 2.0 derive from


class StepLR(LRScheduler):
    """Multiply the rate by ``gamma`` every ``step_size`` epochs.

    Parameters
    ----------
    optimizer : Optimizer
    step_size : int
    gamma : float
    last_epoch : int

    Examples
    --------
    >>> import weft
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for epoch in range(5):
    ...     print(scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    [1.0]
    [1.0]
    [0.5]
    [0.5]
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The present rates, or every ``step_size`` epochs ``gamma`` times as much."""
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Follow half a cosine from the base rate down to ``eta_min`` in ``T_max`` epochs, and back up after that.

    ``eta_min + (base - eta_min) * (1 + cos(pi * epoch / T_max)) / 2``, computed from the present rate.

    Parameters
    ----------
    optimizer : Optimizer
    T_max : int
    eta_min : float
    last_epoch : int

    References
    ----------
    arXiv:1608.03983, equation 5, without the restarts.

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = CosineAnnealingLR(optimizer, T_max=4)
    >>> for epoch in range(6):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.854 0.5 0.146 0.0 0.146
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The distance of each rate from ``eta_min``, times the ratio of two neighbouring points of the curve."""
        self._warn_outside_step()
        if self._is_initial or self.last_epoch == 0:
            return self._rates()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # leaving the lowest point: no ratio from 0
            lift = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                rate + (base - self.eta_min) * lift for rate, base in zip(self._rates(), self.base_lrs, strict=False)
            ]
        ratio = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [ratio * (rate - self.eta_min) + self.eta_min for rate in self._rates()]

    def _height(self, epoch: float) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def _get_closed_form_lr(self) -> list[Any]:
        height = self._height(self.last_epoch)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]


def _check_positive_int(name: str, option: str, value: Any) -> None:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"{name}: Expected positive integer {option}, but got {value}")


def _anneal_cos(start: float, end: float, fraction: float) -> float:
    return end + (start - end) / 2.0 * (math.cos(math.pi * fraction) + 1)


def _anneal_linear(start: float, end: float, fraction: float) -> float:
    return (end - start) * fraction + start


class _MomentumCycle(LRScheduler):
    """A schedule that moves the momentum against the rate: ``"momentum"``, or the first of ``"betas"``."""

    cycle_momentum: bool
    use_beta1: bool

    def _find_momentum(self, optimizer: Optimizer) -> None:
        if not self.cycle_momentum:
            return
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                f"{type(self).__name__}: optimizer must support momentum or beta1 with `cycle_momentum` option "
                f"enabled, and {type(optimizer).__name__} has neither; pass cycle_momentum=False"
            )
        self.use_beta1 = "betas" in optimizer.defaults

    def _write_momentum(self, group: Group, momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class OneCycleLR(_MomentumCycle):
    """Rise to ``max_lr``, then fall far below the start, in ``total_steps`` steps; the momentum does the opposite.

    Call ``step()`` after each batch.

    Parameters
    ----------
    optimizer : Optimizer
    max_lr : float or list of float
    total_steps : int, optional
        Else ``epochs * steps_per_epoch``.
    epochs, steps_per_epoch : int, optional
    pct_start : float
        The fraction of the steps that rise.
    anneal_strategy : {"cos", "linear"}
    cycle_momentum : bool
    base_momentum, max_momentum : float or list of float
    div_factor : float
        The start is ``max_lr / div_factor``,
    final_div_factor : float
        the end ``max_lr / div_factor / final_div_factor``.
    three_phase : bool
        Rise, fall to the start in as many steps, then to the end; else fall in one phase.
    last_epoch : int

    References
    ----------
    arXiv:1708.07120

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = OneCycleLR(optimizer, max_lr=1.0, total_steps=6, cycle_momentum=False)
    >>> for epoch in range(6):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.04 0.994 0.812 0.463 0.133 0.0
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"OneCycleLR: {type(optimizer).__name__} is not an Optimizer")
        self.total_steps = self._count_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"OneCycleLR: anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._schedule_phases = self._phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        self._find_momentum(optimizer)
        if last_epoch == -1:
            self._set_limits(optimizer, max_lr, div_factor, final_div_factor)
            if cycle_momentum:
                self._set_momentum_limits(optimizer, base_momentum, max_momentum)
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _count_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
        if total_steps is not None:
            _check_positive_int("OneCycleLR", "total_steps", total_steps)
            return total_steps
        if epochs is None or steps_per_epoch is None:
            raise ValueError("OneCycleLR: You must define either total_steps OR (epochs AND steps_per_epoch)")
        _check_positive_int("OneCycleLR", "epochs", epochs)
        _check_positive_int("OneCycleLR", "steps_per_epoch", steps_per_epoch)
        return epochs * steps_per_epoch

    @staticmethod
    def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
        """The last step of each phase, and the names of the two options of a group that it moves between."""
        rise = float(pct_start * total_steps)
        up, down = ("initial_lr", "max_lr"), ("max_lr", "initial_lr" if three_phase else "min_lr")
        strong_to_weak, weak_to_strong = ("max_momentum", "base_momentum"), ("base_momentum", "max_momentum")
        phases: list[tuple[float, tuple[str, str], tuple[str, str]]] = [(rise - 1, up, strong_to_weak)]
        if three_phase:
            phases.append((2 * rise - 2, down, weak_to_strong))
            phases.append((total_steps - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum")))
        else:
            phases.append((total_steps - 1, down, weak_to_strong))
        return [
            {
                "end_step": end,
                "start_lr": lrs[0],
                "end_lr": lrs[1],
                "start_momentum": momenta[0],
                "end_momentum": momenta[1],
            }
            for end, lrs, momenta in phases
        ]

    @staticmethod
    def _set_limits(optimizer: Optimizer, max_lr: Any, div_factor: float, final_div_factor: float) -> None:
        max_lrs = _per_group("OneCycleLR", optimizer, "max_lr", max_lr)
        for group, highest in zip(optimizer.param_groups, max_lrs, strict=True):
            group["initial_lr"] = highest / div_factor
            group["max_lr"] = highest
            group["min_lr"] = group["initial_lr"] / final_div_factor

    def _set_momentum_limits(self, optimizer: Optimizer, base_momentum: Any, max_momentum: Any) -> None:
        lowest = _per_group("OneCycleLR", optimizer, "base_momentum", base_momentum)
        highest = _per_group("OneCycleLR", optimizer, "max_momentum", max_momentum)
        for group, low, high in zip(optimizer.param_groups, lowest, highest, strict=True):
            self._write_momentum(group, high)
            group["max_momentum"] = high
            group["base_momentum"] = low

    def get_lr(self) -> list[Any]:
        """The rates of step ``last_epoch``; the momenta are written at once."""
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"OneCycleLR: Tried to step {self.last_epoch} times. The specified number of total steps is "
                f"{self.total_steps}; give the schedule as many steps as the training has"
            )
        phase, fraction = self._position()
        anneal = _anneal_cos if self._anneal_func_type == "cos" else _anneal_linear
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], fraction))
            if self.cycle_momentum:
                momentum = anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], fraction)
                self._write_momentum(group, momentum)
        return rates

    def _position(self) -> tuple[dict[str, Any], float]:
        """The phase of this step, and how much of it has passed."""
        start = 0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if self.last_epoch <= end:
                break
            if phase is not self._schedule_phases[-1]:
                start = end
        return phase, (self.last_epoch - start) / (end - start)


class _FunctionLR(LRScheduler):
    """A schedule from one function of the epoch for each group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = optimizer
        self.lr_lambdas: list[Callable[[Any], float]] = _per_group(
            type(self).__name__, optimizer, "lr_lambda", lr_lambda
        )
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer; of ``lr_lambdas`` those of callable objects, functions as None."""
        state = {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "lr_lambdas")}
        state["lr_lambdas"] = [
            None if isinstance(function, types.FunctionType) else function.__dict__.copy()
            for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from another schedule's :meth:`state_dict`; functions stay those that this one was made with."""
        saved = dict(state_dict)
        attributes = saved.pop("lr_lambdas")
        self.__dict__.update(saved)
        for function, values in zip(self.lr_lambdas, attributes, strict=True):
            if values is not None:
                function.__dict__.update(values)


class LambdaLR(_FunctionLR):
    """The base rate times a function of the epoch.

    Parameters
    ----------
    optimizer : Optimizer
    lr_lambda : callable or list of callable
        From the epoch to the factor.
    last_epoch : int

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> for epoch in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.5 0.333 0.25
    """

    def get_lr(self) -> list[Any]:
        """``base * lr_lambda(last_epoch)``."""
        self._warn_outside_step()
        return [
            base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas, strict=False)
        ]


class MultiplicativeLR(_FunctionLR):
    """Multiply the rate by a function of the epoch, from epoch 1 on.

    Parameters
    ----------
    optimizer : Optimizer
    lr_lambda : callable or list of callable
        From the epoch to the factor.
    last_epoch : int

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = MultiplicativeLR(optimizer, lambda epoch: 0.9)
    >>> for epoch in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.9 0.81 0.729
    """

    def get_lr(self) -> list[Any]:
        """``rate * lr_lambda(last_epoch)``."""
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        return [
            rate * function(self.last_epoch) for rate, function in zip(self._rates(), self.lr_lambdas, strict=False)
        ]


class MultiStepLR(LRScheduler):
    """Multiply the rate by ``gamma`` at each of the ``milestones``.

    Parameters
    ----------
    optimizer : Optimizer
    milestones : iterable of int
        Epochs; one that stands twice counts twice.
    gamma : float
    last_epoch : int

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = MultiStepLR(optimizer, milestones=[2, 3], gamma=0.1)
    >>> for epoch in range(5):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 1.0 0.1 0.01 0.01
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The present rates, at a milestone ``gamma`` times as much."""
        self._warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self._rates()
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])  # type: ignore[index]

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times ``factor``, until epoch ``total_iters``.

    Parameters
    ----------
    optimizer : Optimizer
    factor : float
        In [0, 1].
    total_iters : int
    last_epoch : int

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> for epoch in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.5 0.5 1.0 1.0
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError(f"ConstantLR: Constant multiplicative factor must be between 0 and 1, got {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The present rates, multiplied at the beginning and divided at the end."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        if self.last_epoch != self.total_iters:
            return self._rates()
        return self._scaled(1.0 / self.factor)

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.factor if self.last_epoch < self.total_iters else 1.0
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The base rate times a factor that goes straight from ``start_factor`` to ``end_factor``.

    Parameters
    ----------
    optimizer : Optimizer
    start_factor : float
        In (0, 1].
    end_factor : float
        In [0, 1].
    total_iters : int
        The epochs from one to the other.
    last_epoch : int

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = LinearLR(optimizer, start_factor=0.25, total_iters=3)
    >>> for epoch in range(5):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.25 0.5 0.75 1.0 1.0
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError(
                "LinearLR: Starting multiplicative factor expected to be greater than 0 and less or equal to 1, "
                f"got {start_factor}"
            )
        if not 0 <= end_factor <= 1.0:
            raise ValueError(f"LinearLR: Ending multiplicative factor expected to be between 0 and 1, got {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The present rates, times the ratio of two neighbouring factors."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        rise = self.end_factor - self.start_factor
        return self._scaled(1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def _get_closed_form_lr(self) -> list[Any]:
        rise = self.end_factor - self.start_factor
        factor = self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * factor for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiply the rate by ``gamma`` every epoch.

    Parameters
    ----------
    optimizer : Optimizer
    gamma : float
    last_epoch : int

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = ExponentialLR(optimizer, gamma=0.5)
    >>> for epoch in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.5 0.25 0.125
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """``gamma`` times the present rates."""
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The base rate times ``(1 - epoch / total_iters) ** power``, until it is 0.

    Parameters
    ----------
    optimizer : Optimizer
    total_iters : int
    power : float
    last_epoch : int

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = PolynomialLR(optimizer, total_iters=4, power=2.0)
    >>> for epoch in range(6):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.562 0.25 0.062 0.0 0.0
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The present rates, times the ratio of two neighbouring points of the curve."""
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        now = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._scaled((now / before) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the base rate down to ``eta_min``, repeated, each ``T_mult`` times as long as the last.

    Parameters
    ----------
    optimizer : Optimizer
    T_0 : int
        The first half cosine's epochs.
    T_mult : int
    eta_min : float
    last_epoch : int

    References
    ----------
    arXiv:1608.03983, equation 5.

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2)
    >>> for epoch in range(6):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.5 1.0 0.854 0.5 0.146
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        name = "CosineAnnealingWarmRestarts"
        _check_positive_int(name, "T_0", T_0)
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"{name}: Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"{name}: Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates at ``T_cur`` of ``T_i``."""
        self._warn_outside_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Write the next epoch's rates, or those of any epoch, fractions included.

        Parameters
        ----------
        epoch : float, optional
            Such as ``epoch + batch / batches``, to anneal within an epoch.
        """
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise ValueError(f"CosineAnnealingWarmRestarts.step: Expected non-negative epoch, but got {epoch}")
            self._find_cycle(epoch)
        self._go_to(math.floor(epoch))

    def _begin_later(self) -> None:
        self.step(0)

    def _find_cycle(self, epoch: float) -> None:
        """Set the cycle that an epoch is in, and the place within it."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            # n whole cycles take T_0 * (T_mult**n - 1) / (T_mult - 1) epochs.
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n


class CyclicLR(_MomentumCycle):
    """Go up and down between ``base_lr`` and ``max_lr``, in straight lines; the momentum does the opposite.

    Call ``step()`` after each batch.

    Parameters
    ----------
    optimizer : Optimizer
    base_lr, max_lr : float or list of float
    step_size_up, step_size_down : int
        Steps up, and down (as many as up by default).
    mode : {"triangular", "triangular2", "exp_range"}
        The same height each cycle, half of the last, or ``gamma ** step``.
    gamma : float
    scale_fn : callable, optional
        Used in place of ``mode``: the height from the number of the cycle (from 1) or of the step,
    scale_mode : {"cycle", "iterations"}
        as this says.
    cycle_momentum : bool
    base_momentum, max_momentum : float or list of float
    last_epoch : int

    References
    ----------
    arXiv:1506.01186

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = CyclicLR(optimizer, base_lr=0.1, max_lr=0.5, step_size_up=2, cycle_momentum=False)
    >>> for epoch in range(6):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.1 0.3 0.5 0.3 0.1 0.3
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"CyclicLR: {type(optimizer).__name__} is not an Optimizer")
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                f"CyclicLR: mode is invalid and scale_fn is None: got {mode!r}, "
                "expected 'triangular', 'triangular2' or 'exp_range'"
            )
        base_lrs = _per_group("CyclicLR", optimizer, "base_lr", base_lr)
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, base_lrs, strict=True):
                _write(group, "lr", low)
        self.max_lrs = _per_group("CyclicLR", optimizer, "max_lr", max_lr)
        up, down = float(step_size_up), float(step_size_up if step_size_down is None else step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        self._find_momentum(optimizer)
        if cycle_momentum:
            self.base_momentums = _per_group("CyclicLR", optimizer, "base_momentum", base_momentum)
            self.max_momentums = _per_group("CyclicLR", optimizer, "max_momentum", max_momentum)
            if last_epoch == -1:
                for group, low, high in zip(
                    optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
                ):
                    self._write_momentum(group, high)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of the cycle or step ``x``, relative to the first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        if self.mode == "triangular2":
            return 1 / (2.0 ** (x - 1))
        return self.gamma**x

    def get_lr(self) -> list[Any]:
        """The rates of step ``last_epoch``; the momenta are written at once."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        rise = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=False
            ):
                self._write_momentum(group, high - (high - low) * rise * height)
        return [low + (high - low) * rise * height for low, high in zip(self.base_lrs, self.max_lrs, strict=False)]

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer; a ``scale_fn`` that is a function is left out."""
        state = super().state_dict()
        custom = state.pop("_scale_fn_custom")
        is_object = custom is not None and not isinstance(custom, types.FunctionType)
        state["_scale_fn_custom"] = custom.__dict__.copy() if is_object else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from another schedule's :meth:`state_dict`; ``scale_fn`` stays the one that this was made with."""
        saved = dict(state_dict)
        values = saved.pop("_scale_fn_custom", None)
        if values is not None:
            self._scale_fn_custom.__dict__.update(values)
        super().load_state_dict(saved)


class ReduceLROnPlateau(LRScheduler):
    """Multiply the rate by ``factor`` when a metric has not improved for more than ``patience`` epochs.

    Parameters
    ----------
    optimizer : Optimizer
    mode : {"min", "max"}
        Which way the metric improves.
    factor : float
        Below 1.
    patience : int
    threshold : float
        The least improvement that counts, relative to the best or absolute:
    threshold_mode : {"rel", "abs"}
    cooldown : int
        Epochs after a reduction in which nothing is counted.
    min_lr : float or list of float
    eps : float
        A change smaller than this is not made.

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0, 1.0):
    ...     optimizer.step()
    ...     scheduler.step(loss)
    ...     print(optimizer.param_groups[0]["lr"], end=" ")
    1.0 1.0 1.0 0.5 0.5
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau: Factor should be < 1.0, got {factor}")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"ReduceLROnPlateau: {type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ValueError(f"ReduceLROnPlateau: mode {mode} is unknown! expected 'min' or 'max'")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"ReduceLROnPlateau: threshold mode {threshold_mode} is unknown! expected 'rel' or 'abs'")
        self.optimizer = optimizer
        self.factor = factor
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = _per_group("ReduceLROnPlateau", optimizer, "min_lr", min_lr)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = [_copy(group["lr"]) for group in optimizer.param_groups]
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self._reset()

    def _reset(self) -> None:
        """Forget the best value and all counts."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Count this epoch as better or worse, and reduce the rates if it is time.

        Parameters
        ----------
        metrics : float or Tensor
            The metric of this epoch.
        epoch : int, optional
            Deprecated: this epoch's number.
        """
        value = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value, self.best):
            self.best = value
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = [_copy(group["lr"]) for group in self.optimizer.param_groups]

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):  # groups were added since
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"ReduceLROnPlateau.step: the optimizer has {len(groups)} parameter groups, min_lrs has "
                    f"{len(self.min_lrs)} values; extend min_lrs after adding a group"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, lowest in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, lowest)
            if old - new > self.eps:
                _write(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether the last reduction is less than ``cooldown`` epochs ago."""
        return self.cooldown_counter > 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether ``a`` improves on ``best`` by more than the threshold."""
        if self.threshold_mode == "rel":
            return a < best * (1.0 - self.threshold) if self.mode == "min" else a > best * (1.0 + self.threshold)
        return a < best - self.threshold if self.mode == "min" else a > best + self.threshold


def _refuse_plateau(name: str, index: int, scheduler: LRScheduler) -> None:
    if isinstance(scheduler, ReduceLROnPlateau):
        raise ValueError(
            f"{name} does not support `ReduceLROnPlateau` scheduler, whose step needs a metric; got one at index "
            f"{index}. Step it by itself"
        )


class _Composite(LRScheduler):
    """A schedule made of others, ``_schedulers``."""

    _schedulers: list[LRScheduler]

    def _undo(self) -> None:
        for scheduler in self._schedulers:
            scheduler._undo()

    def _begin_later(self) -> None:
        self._reset_rates()
        self._initial_step()

    def _reset_rates(self) -> None:
        for group in self.optimizer.param_groups:
            _write(group, "lr", group["initial_lr"])

    @staticmethod
    def _check_parts(name: str, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name}: schedulers[{index}] must be a scheduler, got {type(scheduler).__name__}")
            _refuse_plateau(name, index, scheduler)
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {index} that has another"
                )

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer, with each part's own state dict."""
        state = {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from another schedule's :meth:`state_dict`, of the same parts."""
        saved = dict(state_dict)
        parts = saved.pop("_schedulers")
        self.__dict__.update(saved)
        for scheduler, part in zip(self._schedulers, parts, strict=True):
            scheduler.load_state_dict(part)


class SequentialLR(_Composite):
    """One schedule after another, each from its own beginning.

    Parameters
    ----------
    optimizer : Optimizer
    schedulers : list of LRScheduler
    milestones : list of int
        The epochs at which the second, third, … begins: one fewer than there are schedulers.
    last_epoch : int

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> warmup = LinearLR(optimizer, start_factor=0.25, total_iters=3)
    >>> decay = ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = SequentialLR(optimizer, [warmup, decay], milestones=[3])
    >>> for epoch in range(6):
    ...     print(optimizer.param_groups[0]["lr"], end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.25 0.5 0.75 1.0 0.5 0.25
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        self._check_parts("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got {len(schedulers)} schedulers and {len(milestones)} milestones"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each part took its first step when it was made: undo them all, then begin with the first alone.
        self._reset_rates()
        self._undo()
        self._initial_step()

    def _initial_step(self) -> None:
        self._schedulers[0]._initial_step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Step the schedule whose turn it is; at a milestone the next begins with its epoch 0."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._begin_later()
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composite):
    """Several schedules at once: each multiplies the rate that the one before has left.

    Parameters
    ----------
    schedulers : sequence of LRScheduler
    optimizer : Optimizer, optional
        Theirs, by default the first one's.

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> warmup = ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> scheduler = ChainedScheduler([warmup, ExponentialLR(optimizer, gamma=0.5)])
    >>> for epoch in range(4):
    ...     print(optimizer.param_groups[0]["lr"], end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.5 0.25 0.25 0.125
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        self._check_parts("ChainedScheduler", schedulers, optimizer)
        self._schedulers = list(schedulers)
        self.optimizer = optimizer
        self._last_lr = [_copy(group["lr"]) for group in optimizer.param_groups]

    def _initial_step(self) -> None:
        for scheduler in self._schedulers:
            scheduler._initial_step()
        self._last_lr = [_copy(group["lr"]) for group in self.optimizer.param_groups]

    def step(self) -> None:  # type: ignore[override]
        """Step every schedule, in order."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [_copy(group["lr"]) for group in self.optimizer.param_groups]
