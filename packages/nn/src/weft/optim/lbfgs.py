"""L-BFGS: a quasi-Newton method for whole batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
from weft import Tensor
from weft.optim.optimizer import Optimizer, ParamsT, check_options, scalar

__all__ = ["LBFGS"]

_least_curvature = 1e-10  # below it a pair of differences says nothing of the curvature


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last ``history_size`` differences of gradients.

    It wants the same function in every evaluation (a whole batch, no dropout), keeps ``2 * history_size + 3`` vectors
    of the size of all parameters, and has one parameter group. ``step`` needs a closure.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of one dict
    lr : float or Tensor
        Length of the first trial step, in units of the quasi-Newton step.
    max_iter : int
        Iterations in each call of ``step``.
    max_eval : int, optional
        Evaluations in each call; ``max_iter * 5 // 4``.
    tolerance_grad : float
        Stop when no element of the gradient is larger.
    tolerance_change : float
        Stop when neither the loss nor a parameter changes by more.
    history_size : int
    line_search_fn : {"strong_wolfe"}, optional
        Search along each direction; otherwise each trial step is taken.

    References
    ----------
    Nocedal, Wright, Numerical Optimization, 2nd edition, algorithms 7.4 (the two loops), 3.5 and 3.6 (the search).

    Examples
    --------
    >>> weight = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = LBFGS([weight], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((weight - weft.tensor([3.0, 5.0])) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> weight.detach().round(decimals=3)
    tensor([3., 5.])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_options("LBFGS", lr=lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(
                f"LBFGS doesn't support per-parameter options (parameter groups), got {len(self.param_groups)}"
            )
        self._params: list[Tensor] = self.param_groups[0]["params"]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    def _flat_grad(self) -> Tensor:
        parts = [weft.zeros_like(param) if param.grad is None else param.grad for param in self._params]
        parts = [weft.view_as_real(part) if part.is_complex() else part for part in parts]
        return weft.cat([part.reshape(-1) for part in parts])

    def _move(self, length: float, direction: Tensor) -> None:
        """Add ``length * direction`` to the parameters."""
        start = 0
        for param in self._params:
            target = weft.view_as_real(param) if param.is_complex() else param
            count = target.numel()
            target.add_(direction[start : start + count].reshape(target.shape), alpha=length)
            start += count

    def _evaluate_at(
        self, closure: Callable[[], Any], start: list[Tensor], length: float, direction: Tensor
    ) -> tuple[float, Tensor]:
        """Loss and gradient at ``start + length * direction``; the parameters go back to ``start``."""
        self._move(length, direction)
        loss = _loss_of(closure)
        grad = self._flat_grad()
        for param, value in zip(self._params, start):
            param.copy_(value)
        return loss, grad

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take up to ``max_iter`` iterations.

        Parameters
        ----------
        closure : callable
            Clears the gradients, computes the loss and its gradients, and returns the loss.

        Returns
        -------
        The loss before the first iteration.
        """
        if closure is None:
            raise TypeError("LBFGS.step: closure is required, since the loss is evaluated several times")
        with weft.no_grad():
            return self._iterate(closure)

    def _iterate(self, closure: Callable[[], Any]) -> Any:
        options = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with weft.enable_grad():
            first_loss = closure()
        loss, evaluations = _number(first_loss), 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if _is_flat(grad, options["tolerance_grad"]):
            return first_loss
        for iteration in range(1, options["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, grad, options["history_size"])
            previous_grad, previous_loss = grad.clone(), loss
            state["prev_flat_grad"], state["prev_loss"] = previous_grad, previous_loss
            slope = float(grad.dot(direction))
            if slope > -options["tolerance_change"]:
                break
            length = scalar(options["lr"])
            if state["n_iter"] == 1:  # nothing is known of the scale yet
                length *= min(1.0, 1.0 / float(grad.abs().sum()))
            is_last = iteration == options["max_iter"]
            loss, grad, length, used = self._advance(closure, options, direction, length, loss, grad, slope, is_last)
            state["t"] = length
            evaluations += used
            state["func_evals"] += used
            if (
                evaluations >= options["max_eval"]
                or _is_flat(grad, options["tolerance_grad"])
                or _is_flat(direction * length, options["tolerance_change"])
                or abs(loss - previous_loss) < options["tolerance_change"]
            ):
                break
        return first_loss

    def _direction(self, state: dict[str, Any], grad: Tensor, history_size: int) -> Tensor:
        """The quasi-Newton direction: minus the inverse curvature, as far as it is known, times the gradient."""
        if state["n_iter"] == 1:
            state.update(d=grad.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return state["d"]
        _remember(state, grad, history_size)
        changes, steps, curvatures = state["old_dirs"], state["old_stps"], state["ro"]
        direction = grad.neg()
        weights = state.setdefault("al", [None] * history_size)  # in the state only because PyTorch's files have it
        for i in reversed(range(len(changes))):
            weights[i] = steps[i].dot(direction) * curvatures[i]
            direction.addcmul_(changes[i], weights[i], value=-1)  # as alpha the weight would be waited for
        direction.mul_(state["H_diag"])
        for change, step, curvature, weight in zip(changes, steps, curvatures, weights):
            direction.addcmul_(step, weight - change.dot(direction) * curvature)
        state["d"] = direction
        return direction

    def _advance(
        self,
        closure: Callable[[], Any],
        options: dict[str, Any],
        direction: Tensor,
        length: float,
        loss: float,
        grad: Tensor,
        slope: float,
        is_last: bool,
    ) -> tuple[float, Tensor, float, int]:
        """Move along a direction; the loss and gradient there, the length, and the evaluations that it took."""
        search = options["line_search_fn"]
        if search is not None and search != "strong_wolfe":
            raise RuntimeError(f"LBFGS.step: only 'strong_wolfe' is supported as line_search_fn, got {search!r}")
        if search == "strong_wolfe":
            start = [param.clone() for param in self._params]
            loss, grad, length, used = strong_wolfe(
                lambda t: self._evaluate_at(closure, start, t, direction), length, direction, loss, grad, slope
            )
            self._move(length, direction)
            return loss, grad, length, used
        self._move(length, direction)
        if is_last:  # nobody will look at the loss and gradient at the end
            return loss, grad, length, 0
        loss = _loss_of(closure)
        return loss, self._flat_grad(), length, 1


def _loss_of(closure: Callable[[], Any]) -> float:
    with weft.enable_grad():
        return _number(closure())


def _number(loss: Any) -> float:
    """A loss without its history, of which float() would warn."""
    return float(loss.detach() if isinstance(loss, Tensor) else loss)


def _is_flat(vector: Tensor, tolerance: float) -> bool:
    return float(vector.abs().max()) <= tolerance


def _remember(state: dict[str, Any], grad: Tensor, history_size: int) -> None:
    """Add the last step and the change of the gradient along it, if they show a curvature."""
    change, step = grad.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
    curvature = change.dot(step)
    if float(curvature) <= _least_curvature:
        return
    for name, value in (("old_dirs", change), ("old_stps", step), ("ro", 1.0 / curvature)):
        if len(state[name]) == history_size:
            state[name].pop(0)
        state[name].append(value)
    state["H_diag"] = curvature / change.dot(change)


# One trial of a search: the length of the step, and loss, gradient and slope there.
Trial = tuple[float, float, Tensor, float]


def strong_wolfe(
    evaluate: Callable[[float], tuple[float, Tensor]],
    length: float,
    direction: Tensor,
    loss: float,
    grad: Tensor,
    slope: float,
    *,
    decrease: float = 1e-4,
    flatness: float = 0.9,
    tolerance_change: float = 1e-9,
    max_trials: int = 25,
) -> tuple[float, Tensor, float, int]:
    """Search for a step that satisfies the strong Wolfe conditions.

    Parameters
    ----------
    evaluate : callable
        From a step's length to the loss and gradient there.
    length : float
        Of the first trial.
    direction : Tensor
    loss, grad, slope
        At the start; the slope is that along the direction, below 0.
    decrease : float
        Demand ``loss(t) <= loss + decrease * t * slope``,
    flatness : float
        and ``|slope(t)| <= -flatness * slope``.

    Returns
    -------
    (float, Tensor, float, int)
        Loss, gradient and length of the step, and the number of evaluations.
    """
    width = float(direction.abs().max())
    start: Trial = (0.0, loss, grad.clone(), slope)

    def try_at(t: float) -> Trial:
        value, gradient = evaluate(t)
        return t, value, gradient.clone(), float(gradient.dot(direction))

    def is_too_high(trial: Trial) -> bool:
        return trial[1] > loss + decrease * trial[0] * slope

    def is_flat(trial: Trial) -> bool:
        return abs(trial[3]) <= -flatness * slope

    previous, trial, trials = start, try_at(length), 1
    bracket: list[Trial] = []
    while trials < max_trials + 1:
        if is_too_high(trial) or (trials > 2 and trial[1] >= previous[1]):
            bracket = [previous, trial]
            break
        if is_flat(trial):
            return trial[1], trial[2], trial[0], trials
        if trial[3] >= 0:
            bracket = [previous, trial]
            break
        nearest = trial[0] + 0.01 * (trial[0] - previous[0])
        longer = _cubic_minimum(previous, trial, (nearest, trial[0] * 10))
        previous, trial, trials = trial, try_at(longer), trials + 1
    if not bracket:
        bracket = [start, trial]
    best, used = _narrow(bracket, try_at, is_too_high, is_flat, width, tolerance_change, max_trials, trials)
    return best[1], best[2], best[0], used


def _narrow(
    bracket: list[Trial],
    try_at: Callable[[float], Trial],
    is_too_high: Callable[[Trial], bool],
    is_flat: Callable[[Trial], bool],
    width: float,
    tolerance_change: float,
    max_trials: int,
    trials: int,
) -> tuple[Trial, int]:
    """Narrow a bracket of two trials until its lower end will do."""
    low, high = (0, 1) if bracket[0][1] <= bracket[-1][1] else (1, 0)
    has_stalled = False
    for _ in range(trials - 1, max_trials):
        lengths = sorted(trial[0] for trial in bracket)
        if (lengths[1] - lengths[0]) * width < tolerance_change:
            break
        middle = _cubic_minimum(bracket[0], bracket[1])
        margin = 0.1 * (lengths[1] - lengths[0])
        if min(lengths[1] - middle, middle - lengths[0]) < margin:
            # Too near to an end: step away from it, unless it is the first time and the point is inside.
            if has_stalled or middle >= lengths[1] or middle <= lengths[0]:
                near_upper = abs(middle - lengths[1]) < abs(middle - lengths[0])
                middle = lengths[1] - margin if near_upper else lengths[0] + margin
                has_stalled = False
            else:
                has_stalled = True
        else:
            has_stalled = False
        trial = try_at(middle)
        trials += 1
        if is_too_high(trial) or trial[1] >= bracket[low][1]:
            bracket[high] = trial
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        else:
            done = is_flat(trial)
            if not done and trial[3] * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = trial
            if done:
                break
    return bracket[low], trials


def _cubic_minimum(first: Trial, second: Trial, bounds: tuple[float, float] | None = None) -> float:
    """The minimum of the cubic through two trials' losses and slopes, within bounds (by default between them)."""
    (x1, f1, _, g1), (x2, f2, _, g2) = sorted((first, second), key=lambda trial: trial[0])
    low, high = bounds or (x1, x2)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    discriminant = d1 * d1 - g1 * g2
    if discriminant < 0:
        return (low + high) / 2
    d2 = float(discriminant) ** 0.5
    position = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    return min(max(position, low), high)
