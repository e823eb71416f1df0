"""Learning-rate schedules and averages of weights of weft.optim agree with PyTorch's.

Each schedule runs for 30 epochs in both libraries, on two groups; once through, and with the second half continued from
the state dicts that the other library's schedule and optimizer had after 15.
"""

import copy
import functools
import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import torch

import weft

EPOCHS = 30
pytestmark = pytest.mark.filterwarnings("ignore")  # of either library: not the claim here


class Factor:
    """A function as an object, whose state is saved."""

    def __init__(self, base: float) -> None:
        self.base = base

    def __call__(self, epoch: int) -> float:
        return self.base**epoch


def schedule(library: Any, name: str, optimizer: Any, **options: Any) -> Any:
    return getattr(library.optim.lr_scheduler, name)(optimizer, **options)


def chained(library: Any, optimizer: Any) -> Any:
    make = functools.partial(schedule, library, optimizer=optimizer)
    parts = [make("ConstantLR", factor=0.1, total_iters=4), make("ExponentialLR", gamma=0.9)]
    return library.optim.lr_scheduler.ChainedScheduler([*parts, make("StepLR", step_size=7)], optimizer=optimizer)


def sequential(library: Any, optimizer: Any, names: tuple[str, ...]) -> Any:
    options = {
        "ConstantLR": {"factor": 0.2, "total_iters": 3},
        "LinearLR": {"start_factor": 0.1, "total_iters": 5},
        "CosineAnnealingLR": {"T_max": 20},
        "ExponentialLR": {"gamma": 0.9},
        "CosineAnnealingWarmRestarts": {"T_0": 4},
    }
    parts = [schedule(library, name, optimizer, **options[name]) for name in names]
    milestones = [5, 12, 20][: len(names) - 1]
    return library.optim.lr_scheduler.SequentialLR(optimizer, parts, milestones)


def swa(library: Any, optimizer: Any, **options: Any) -> Any:
    return library.optim.swa_utils.SWALR(optimizer, **options)


def both(name: str, **options: Any) -> Any:
    """Return a maker of one schedule, by its name and options."""
    return lambda library, optimizer: schedule(library, name, optimizer, **options)


SCHEDULES = {
    "lambda": both("LambdaLR", lr_lambda=lambda epoch: 0.95**epoch),
    "lambda of groups": both("LambdaLR", lr_lambda=[Factor(0.9), Factor(0.8)]),
    "multiplicative": both("MultiplicativeLR", lr_lambda=lambda epoch: 0.95),
    "multiplicative of groups": both("MultiplicativeLR", lr_lambda=[lambda e: 0.9, lambda e: 1 - 0.01 * e]),
    "step": both("StepLR", step_size=4),
    "step slowly": both("StepLR", step_size=10, gamma=0.5),
    "multistep": both("MultiStepLR", milestones=[3, 3, 9, 20], gamma=0.3),
    "constant": both("ConstantLR"),
    "constant longer": both("ConstantLR", factor=0.25, total_iters=11),
    "linear": both("LinearLR"),
    "linear down": both("LinearLR", start_factor=1.0, end_factor=0.1, total_iters=20),
    "exponential": both("ExponentialLR", gamma=0.8),
    "polynomial": both("PolynomialLR"),
    "polynomial of degree 2.5": both("PolynomialLR", total_iters=20, power=2.5),
    "cosine": both("CosineAnnealingLR", T_max=10),
    "cosine with a floor": both("CosineAnnealingLR", T_max=30, eta_min=0.01),
    "restarts": both("CosineAnnealingWarmRestarts", T_0=5),
    "longer restarts": both("CosineAnnealingWarmRestarts", T_0=3, T_mult=2, eta_min=0.001),
    "cyclic": both("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=4),
    "cyclic of groups": both("CyclicLR", base_lr=[0.01, 0.02], max_lr=[0.1, 0.3], step_size_up=3, step_size_down=5),
    "cyclic triangular2": both("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=4, mode="triangular2"),
    "cyclic exp_range": both("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=4, mode="exp_range", gamma=0.97),
    "cyclic of a function": both("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=4, scale_fn=lambda x: 0.9**x),
    "cyclic without momentum": both("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=4, cycle_momentum=False),
    "one cycle": both("OneCycleLR", max_lr=0.5, total_steps=31),
    "one cycle of groups": both("OneCycleLR", max_lr=[0.5, 0.2], epochs=7, steps_per_epoch=5, pct_start=0.4),
    "one cycle linear": both("OneCycleLR", max_lr=0.5, total_steps=40, anneal_strategy="linear", three_phase=True),
    "one cycle without momentum": both("OneCycleLR", max_lr=0.5, total_steps=31, cycle_momentum=False),
    "plateau": both("ReduceLROnPlateau", patience=2),
    "plateau max": both("ReduceLROnPlateau", mode="max", patience=1, cooldown=2, factor=0.5),
    "plateau absolute": both("ReduceLROnPlateau", patience=0, threshold=0.2, threshold_mode="abs", factor=0.5),
    "plateau with floors": both("ReduceLROnPlateau", patience=1, min_lr=[0.01, 0.02], factor=0.3, eps=1e-3),
    "chained": chained,
    "sequential": lambda library, optimizer: sequential(library, optimizer, ("LinearLR", "CosineAnnealingLR")),
    "sequential of four": lambda library, optimizer: sequential(
        library, optimizer, ("ConstantLR", "LinearLR", "ExponentialLR", "CosineAnnealingWarmRestarts")
    ),
    "swa": functools.partial(swa, swa_lr=0.05),
    "swa linear": functools.partial(swa, swa_lr=[0.05, 0.5], anneal_strategy="linear", anneal_epochs=7),
}


class Run:
    """An optimizer with a schedule, in one of the libraries."""

    def __init__(self, library: Any, make: Any, kind: str) -> None:
        self.library = library
        params = [library.nn.Parameter(library.ones(2)) for _ in range(2)]
        options = {"momentum": 0.9} if kind == "SGD" else {}
        groups = [{"params": [params[0]], "lr": 0.1}, {"params": [params[1]], "lr": 0.3}]
        self.optimizer = getattr(library.optim, kind)(groups, **options)
        self.scheduler = make(library, self.optimizer)

    def saved(self) -> tuple[Any, Any]:
        """Return copies of the options of the groups, and of the schedule's state dict."""
        groups, state = self.optimizer.state_dict()["param_groups"], self.scheduler.state_dict()
        return copy.deepcopy(groups), copy.deepcopy(state)

    def epochs(self, start: int, stop: int) -> list[list[float]]:
        """Return rates and momenta of each group in each epoch."""
        found = []
        for epoch in range(start, stop):
            for group in self.optimizer.param_groups:
                for param in group["params"]:
                    param.grad = self.library.ones(2)
            self.optimizer.step()
            if isinstance(self.scheduler, self.library.optim.lr_scheduler.ReduceLROnPlateau):
                self.scheduler.step(math.sin(epoch / 3) + 3 / (1 + epoch))
            else:
                self.scheduler.step()
            groups = self.optimizer.param_groups
            rates = [group["lr"] for group in groups]
            momenta = [group["betas"][0] if "betas" in group else group["momentum"] for group in groups]
            found.append([*rates, *momenta, *self.scheduler.get_last_lr()])
        return found


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_is_pytorchs(name: str, kind: str) -> None:
    found = Run(weft, SCHEDULES[name], kind).epochs(0, EPOCHS)
    expected = Run(torch, SCHEDULES[name], kind).epochs(0, EPOCHS)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_second_half_continues_the_others_first(name: str) -> None:
    first = {library: Run(library, SCHEDULES[name], "SGD") for library in (torch, weft)}
    for run in first.values():
        run.epochs(0, EPOCHS // 2)
    saved = {library: run.saved() for library, run in first.items()}
    assert sorted(saved[weft][1]) == sorted(saved[torch][1])
    expected = first[torch].epochs(EPOCHS // 2, EPOCHS)
    for library, other in ((torch, weft), (weft, torch)):
        continued = Run(library, SCHEDULES[name], "SGD")
        continued.optimizer.load_state_dict({"state": {}, "param_groups": saved[other][0]})
        continued.scheduler.load_state_dict(saved[other][1])
        np.testing.assert_allclose(continued.epochs(EPOCHS // 2, EPOCHS), expected, rtol=1e-12)


def models(library: Any) -> Any:
    library.manual_seed(0)
    layers = library.nn.Linear(3, 4), library.nn.BatchNorm1d(4), library.nn.ReLU(), library.nn.Linear(4, 2)
    return library.nn.Sequential(*layers)


def averaged(library: Any, options: dict[str, Any]) -> dict[str, np.ndarray]:
    """Train for ten steps, averaging the weights, and return the average and its batch statistics."""
    utils = library.optim.swa_utils
    model = models(library)
    function = options.get("function")
    given = {} if function is None else {options["argument"]: getattr(utils, function)(*options["decay"])}
    average = utils.AveragedModel(model, use_buffers=options["use_buffers"], **given)
    optimizer = library.optim.SGD(model.parameters(), lr=0.1)
    random = np.random.default_rng(0)
    inputs = [library.from_numpy(random.normal(size=(8, 3)).astype(np.float32)) for _ in range(10)]
    for each in inputs:
        optimizer.zero_grad()
        (model(each) ** 2).mean().backward()
        optimizer.step()
        average.update_parameters(model)
    if not options["use_buffers"]:
        utils.update_bn(inputs, average)
    return {key: value.numpy() for key, value in average.state_dict().items()}


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"argument": "avg_fn", "function": "get_ema_avg_fn", "decay": (0.9,)},
        {"argument": "multi_avg_fn", "function": "get_ema_multi_avg_fn", "decay": (0.99,)},
        {"argument": "avg_fn", "function": "get_swa_avg_fn", "decay": ()},
        {"argument": "multi_avg_fn", "function": "get_swa_multi_avg_fn", "decay": ()},
    ],
    ids=lambda options: options.get("function", "default"),
)
def test_averages_of_weights_are_pytorchs(options: dict[str, Any], use_buffers: bool) -> None:
    options = {**options, "use_buffers": use_buffers}
    if use_buffers and options.get("function") == "get_swa_multi_avg_fn":
        pytest.skip("PyTorch refuses to divide the count of batches, an integer")
    found, expected = averaged(weft, options), averaged(torch, options)
    assert list(found) == list(expected)
    for key, value in expected.items():
        assert found[key].dtype == value.dtype
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6, err_msg=key)
