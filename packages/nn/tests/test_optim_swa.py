"""Averages of weights: equal and exponential, their buffers, batch statistics, and the schedule."""

import math

import pytest

import weft
from weft import nn, optim
from weft.optim import swa_utils
from weft.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn


def model_with_weight(value):
    model = nn.Linear(1, 1, bias=False)
    return set_weight(model, value)


def set_weight(model, value):
    with weft.no_grad():
        model.weight.fill_(value)
    return model


def averaged(values, **options):
    model = model_with_weight(0.0)
    average = AveragedModel(model, **options)
    for value in values:
        average.update_parameters(set_weight(model, value))
    return average


def test_all_weights_count_equally_by_default():
    average = averaged([1.0, 2.0, 6.0])
    assert average.module.weight.item() == pytest.approx(3.0)
    assert average.n_averaged.item() == 3
    assert average(weft.ones(1, 1)).item() == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"multi_avg_fn": get_ema_multi_avg_fn(0.9)}, 0.9 * (0.9 * 1 + 0.1 * 2) + 0.1 * 6),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.9)}, 0.9 * (0.9 * 1 + 0.1 * 2) + 0.1 * 6),
        ({"avg_fn": swa_utils.get_swa_avg_fn()}, 3.0),
        ({"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}, 3.0),
        ({"avg_fn": lambda average, value, count: weft.maximum(average, value)}, 6.0),
    ],
)
def test_the_average_can_be_chosen(options, expected):
    assert averaged([1.0, 2.0, 6.0], **options).module.weight.item() == pytest.approx(expected)


def test_the_model_and_its_average_are_apart():
    model = model_with_weight(1.0)
    average = AveragedModel(model)
    average.update_parameters(model)
    set_weight(model, 5.0)
    assert average.module.weight.item() == 1.0


@pytest.mark.parametrize(("use_buffers", "expected"), [(False, 3.0), (True, 2.0)])
def test_buffers_are_copied_or_averaged(use_buffers, expected):
    model = nn.Module()
    model.register_buffer("statistic", weft.tensor([0.0]))
    average = AveragedModel(model, use_buffers=use_buffers)
    for value in (1.0, 2.0, 3.0):
        model.statistic.fill_(value)
        average.update_parameters(model)
    assert average.module.statistic.item() == pytest.approx(expected)


def test_an_average_is_restored_from_its_state_dict():
    saved = averaged([1.0, 3.0]).state_dict()
    assert sorted(saved) == ["module.weight", "n_averaged"]
    average = AveragedModel(model_with_weight(0.0))
    average.load_state_dict(saved)
    average.update_parameters(model_with_weight(5.0))
    assert average.module.weight.item() == pytest.approx(3.0)


def test_batch_statistics_are_those_of_all_batches_and_nothing_else_changes():
    model = nn.Sequential(nn.BatchNorm1d(1, momentum=0.3))
    model.eval()
    batches = [weft.tensor([[1.0], [3.0]]), (weft.tensor([[5.0], [7.0]]), "label")]
    update_bn(batches, model)
    assert model[0].running_mean.item() == pytest.approx(4.0)
    assert model[0].running_var.item() == pytest.approx(2.0)
    assert model[0].momentum == 0.3
    assert not model.training


@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_the_rate_goes_to_its_target_and_stays(strategy):
    optimizer = optim.SGD([weft.zeros(1).requires_grad_()], lr=1.0)
    scheduler = SWALR(optimizer, swa_lr=0.5, anneal_epochs=4, anneal_strategy=strategy)
    found = []
    for _ in range(7):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    passed = [min(epoch, 4) / 4 for epoch in range(7)]
    done = [(1 - math.cos(math.pi * t)) / 2 for t in passed] if strategy == "cos" else passed
    assert found == pytest.approx([1.0 - 0.5 * fraction for fraction in done])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: get_ema_multi_avg_fn(2.0), ValueError, "Invalid decay value 2.0"),
        (
            lambda: AveragedModel(nn.Identity(), avg_fn=max, multi_avg_fn=max),
            AssertionError,
            "Only one of avg_fn and multi_avg_fn",
        ),
        (lambda: SWALR(optim.SGD([weft.ones(1)], lr=1.0), 0.1, anneal_strategy="x"), ValueError, "anneal_strategy"),
        (lambda: SWALR(optim.SGD([weft.ones(1)], lr=1.0), [0.1, 0.2]), ValueError, "swa_lr must have the same length"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_annealing_begins_with_the_scheduler_whatever_the_epoch():
    """Lightning makes one at the epoch where the averaging begins, with last_epoch set."""
    optimizer = weft.optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
    optimizer.param_groups[0]["initial_lr"] = 1.0
    scheduler = weft.optim.swa_utils.SWALR(optimizer, 0.05, anneal_epochs=4, last_epoch=3)
    rates = []
    for _ in range(5):
        rates.append(round(optimizer.param_groups[0]["lr"], 5))
        optimizer.step()
        scheduler.step()
    assert rates == [1.0, 0.86088, 0.525, 0.18912, 0.05]
