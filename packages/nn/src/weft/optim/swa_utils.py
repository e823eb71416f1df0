"""Averages of a model's weights over training: equal (SWA) or exponential (EMA)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import weft
from weft import Tensor
from weft.nn import Module
from weft.optim.lr_scheduler import LRScheduler, _per_group
from weft.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

AvgFn = Callable[[Tensor, Tensor, Any], Tensor]
MultiAvgFn = Callable[[list[Tensor], list[Tensor], Any], None]


def _check_decay(name: str, decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"{name}: Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAvgFn:
    """An exponential average for :class:`AveragedModel`: ``decay * average + (1 - decay) * new``.

    Parameters
    ----------
    decay : float
        In [0, 1].

    Examples
    --------
    >>> model = weft.nn.Linear(2, 1)
    >>> average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    >>> average.update_parameters(model)
    """
    _check_decay("get_ema_multi_avg_fn", decay)

    def ema_update(averages: list[Tensor], values: list[Tensor], num_averaged: Any) -> None:
        with weft.no_grad():
            for average, value in zip(averages, values):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(value, 1 - decay)
                else:
                    average.copy_(average * decay + value * (1 - decay))

    return ema_update


def share_of(num_averaged: Any, average: Tensor) -> Any:
    """What the next value counts for in an equal average: a number, or a tensor where the count is on a device."""
    if isinstance(num_averaged, Tensor) and num_averaged.device.type != "cpu":
        return (1 / (num_averaged + 1)).to(average.device, average.dtype)
    return 1 / (int(num_averaged) + 1)


def get_swa_multi_avg_fn() -> MultiAvgFn:
    """The equal average for :class:`AveragedModel`, over all tensors at once."""

    def swa_update(averages: list[Tensor], values: list[Tensor], num_averaged: Any) -> None:
        with weft.no_grad():
            for average, value in zip(averages, values):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(value, share_of(num_averaged, average))
                else:
                    average.copy_(average + (value - average) / (int(num_averaged) + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> AvgFn:
    """An exponential average for :class:`AveragedModel`, of one tensor.

    Parameters
    ----------
    decay : float
        In [0, 1].

    Examples
    --------
    >>> get_ema_avg_fn(0.75)(weft.tensor(1.0), weft.tensor(2.0), 5)
    tensor(1.2500)
    """
    _check_decay("get_ema_avg_fn", decay)

    def ema_update(average: Tensor, value: Tensor, num_averaged: Any) -> Tensor:
        with weft.no_grad():
            result: Tensor = decay * average + (1 - decay) * value
            return result

    return ema_update


def get_swa_avg_fn() -> AvgFn:
    """The equal average for :class:`AveragedModel`, of one tensor."""

    def swa_update(average: Tensor, value: Tensor, num_averaged: Any) -> Tensor:
        with weft.no_grad():
            result: Tensor = average + (value - average) / (num_averaged + 1)
            return result

    return swa_update


class AveragedModel(Module):
    """A copy of a model that holds an average of its weights.

    Parameters
    ----------
    model : Module
    device : device, optional
        Where the copy lives.
    avg_fn : callable, optional
        From an average, a new value and the number of values so far to the new average.
    multi_avg_fn : callable, optional
        The same in place for lists of tensors; not both. By default all values count equally.
    use_buffers : bool
        Average buffers as well; otherwise they are copied from the model.

    Shapes
    ------
    input, output : as of ``model``

    References
    ----------
    arXiv:1803.05407

    Examples
    --------
    >>> model = weft.nn.Linear(1, 1, bias=False)
    >>> average = AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     _ = weft.nn.init.constant_(model.weight, value)
    ...     average.update_parameters(model)
    >>> average(weft.ones(1)).item()
    3.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: AvgFn | None = None,
        multi_avg_fn: MultiAvgFn | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("AveragedModel: Only one of avg_fn and multi_avg_fn should be provided, got both")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", weft.tensor(0, dtype=weft.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def _averaged(self, model: Module) -> Iterator[Tensor]:
        return chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()

    def update_parameters(self, model: Module) -> None:
        """Take the model's present weights into the average."""
        averages = [tensor.detach() for tensor in self._averaged(self.module)]
        values = [tensor.detach().to(mine.device) for tensor, mine in zip(self._averaged(model), averages, strict=True)]
        if self.n_averaged == 0:
            for average, value in zip(averages, values):
                average.copy_(value)
        elif self.avg_fn is not None:
            counts = {device: self.n_averaged.to(device) for device in {average.device for average in averages}}
            for average, value in zip(averages, values):
                average.copy_(self.avg_fn(average, value, counts[average.device]))
        else:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            update(averages, values, self.n_averaged)
        if not self.use_buffers:
            for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(theirs.detach().to(mine.device))
        self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of batch normalization anew, in one pass over the data.

    Parameters
    ----------
    loader : iterable
        Of batches, or of lists and tuples whose first item is the batch.
    model : Module
    device : device, optional
        Where batches are moved.

    Examples
    --------
    >>> model = weft.nn.BatchNorm1d(1)
    >>> update_bn([weft.tensor([[1.0], [3.0]]), weft.tensor([[5.0], [7.0]])], model)
    >>> model.running_mean  # the mean of both batches
    tensor([4.])
    """
    layers = [module for module in model.modules() if hasattr(module, "running_mean") and hasattr(module, "momentum")]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]
    was_training = model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # the mean over all batches
    try:
        with weft.no_grad():
            for batch in loader:
                inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(inputs if device is None else inputs.to(device))
    finally:
        for layer, momentum in zip(layers, momenta):
            layer.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Move the rate to ``swa_lr`` in some epochs and keep it there.

    Parameters
    ----------
    optimizer : Optimizer
    swa_lr : float or list of float
    anneal_epochs : int
    anneal_strategy : {"cos", "linear"}
    last_epoch : int

    Examples
    --------
    >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=1.0)
    >>> scheduler = SWALR(optimizer, swa_lr=0.2, anneal_epochs=2, anneal_strategy="linear")
    >>> for epoch in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.6 0.2 0.2
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"SWALR: anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"SWALR: anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for group, rate in zip(optimizer.param_groups, _per_group("SWALR", optimizer, "swa_lr", swa_lr), strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _progress(self, step: float) -> float:
        """How much of the way is done after so many steps, from 0 to 1."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[Any]:
        """The present rates, moved on: the start is computed back from them.

        Steps of this scheduler count, not epochs: Lightning begins at the epoch where the averaging does.
        """
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._progress(step - 1), self._progress(step)
        rates = []
        for group in self.optimizer.param_groups:
            target = group["swa_lr"]
            start = target if before == 1 else (group["lr"] - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates
