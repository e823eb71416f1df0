"""Learning-rate schedules: their sequences against PyTorch's and closed forms, checkpoints, and wrong calls."""

import copy
import math

import pytest

import weft
from weft import optim
from weft.optim import lr_scheduler as schedules

# A schedule (s: the module, o: the optimizer, of rate 1) and the rates of its first 10 epochs: numbers that PyTorch
# 2.13 gives, to 9 digits.
SEQUENCES = [
    (lambda s, o: s.StepLR(o, 3, gamma=0.5), [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125]),
    (
        lambda s, o: s.MultiStepLR(o, [2, 2, 5], gamma=0.5),
        [1.0, 1.0, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125, 0.125, 0.125],
    ),
    (lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=3), [0.25, 0.25, 0.25, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    (
        lambda s, o: s.LinearLR(o, 0.25, 0.75, total_iters=4),
        [0.25, 0.375, 0.5, 0.625, 0.75, 0.75, 0.75, 0.75, 0.75, 0.75],
    ),
    (
        lambda s, o: s.ExponentialLR(o, 0.5),
        [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.001953125],
    ),
    (
        lambda s, o: s.PolynomialLR(o, total_iters=4, power=2.0),
        [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ),
    (
        lambda s, o: s.CosineAnnealingLR(o, 4, eta_min=0.1),
        [1.0, 0.868198052, 0.55, 0.231801948, 0.1, 0.231801948, 0.55, 0.868198052, 1.0, 0.868198052],
    ),
    (
        lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, T_mult=2),
        [1.0, 0.5, 1.0, 0.853553391, 0.5, 0.146446609, 1.0, 0.961939766, 0.853553391, 0.691341716],
    ),
    (
        lambda s, o: s.OneCycleLR(o, 1.0, total_steps=10),
        [0.04, 0.52, 1.0, 0.950484632, 0.811745654, 0.611262022, 0.388741978, 0.188258346, 0.049519368, 4e-06],
    ),
    (
        lambda s, o: s.OneCycleLR(
            o, 1.0, epochs=2, steps_per_epoch=5, pct_start=0.4, anneal_strategy="linear", three_phase=True
        ),
        [0.04, 0.36, 0.68, 1.0, 0.68, 0.36, 0.04, 0.026668, 0.013336, 4e-06],
    ),
    (
        lambda s, o: s.CyclicLR(o, 0.1, 1.0, step_size_up=2, step_size_down=4, mode="triangular2"),
        [0.1, 0.55, 1.0, 0.775, 0.55, 0.325, 0.1, 0.325, 0.55, 0.4375],
    ),
    (
        lambda s, o: s.CyclicLR(o, 0.1, 1.0, step_size_up=2, mode="exp_range", gamma=0.9),
        [0.1, 0.505, 0.829, 0.42805, 0.1, 0.3657205, 0.5782969, 0.315233605, 0.1, 0.27433922],
    ),
    (
        lambda s, o: s.LambdaLR(o, lambda epoch: 1 / (epoch + 1)),
        [1.0, 0.5, 0.333333333, 0.25, 0.2, 0.166666667, 0.142857143, 0.125, 0.111111111, 0.1],
    ),
    (
        lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.5),
        [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.001953125],
    ),
    (
        lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.5, 2), s.ExponentialLR(o, 0.5)], [3]),
        [0.5, 0.5, 1.0, 1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625],
    ),
    (
        lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 2), s.ExponentialLR(o, 0.5)]),
        [0.5, 0.25, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.001953125],
    ),
]


def make_optimizer(lr=1.0, groups=1, kind=optim.SGD, **options):
    params = [weft.zeros(1).requires_grad_() for _ in range(groups)]
    if kind is optim.SGD:
        options.setdefault("momentum", 0.9)
    return kind([{"params": [param]} for param in params], lr=lr, **options)


def rates(optimizer, scheduler, count):
    found = []
    for _ in range(count):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


@pytest.mark.parametrize(("make", "expected"), SEQUENCES)
def test_rates_are_pytorchs(make, expected):
    optimizer = make_optimizer()
    assert rates(optimizer, make(schedules, optimizer), 9) == pytest.approx(expected[:9], rel=1e-7, abs=1e-9)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(expected[9], rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(("make", "expected"), SEQUENCES)
def test_a_loaded_schedule_continues_where_it_was_saved(make, expected):
    optimizer = make_optimizer()
    scheduler = make(schedules, optimizer)
    rates(optimizer, scheduler, 4)
    saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
    resumed = make_optimizer()
    continued = make(schedules, resumed)
    resumed.load_state_dict(saved[0])
    continued.load_state_dict(saved[1])
    assert rates(resumed, continued, 5) == pytest.approx(expected[4:9], rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(("make", "expected"), SEQUENCES)
def test_get_last_lr_is_what_the_groups_have(make, expected):
    optimizer = make_optimizer()
    scheduler = make(schedules, optimizer)
    for _ in range(6):
        assert scheduler.get_last_lr() == [optimizer.param_groups[0]["lr"]]
        optimizer.step()
        scheduler.step()


def test_cosine_annealing_follows_its_closed_form_through_two_periods():
    optimizer = make_optimizer(0.3)
    found = rates(optimizer, schedules.CosineAnnealingLR(optimizer, 7, eta_min=0.01), 28)
    expected = [0.01 + 0.29 * (1 + math.cos(math.pi * epoch / 7)) / 2 for epoch in range(28)]
    assert found == pytest.approx(expected, rel=1e-12)


def test_one_cycle_moves_the_momentum_against_the_rate():
    optimizer = make_optimizer()
    scheduler = schedules.OneCycleLR(optimizer, 1.0, total_steps=10, base_momentum=0.5, max_momentum=0.9)
    momenta = []
    for _ in range(10):
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        if len(momenta) < 10:
            scheduler.step()
    assert momenta[0] == pytest.approx(0.9)
    assert momenta[2] == pytest.approx(0.5)
    assert momenta[-1] == pytest.approx(0.9)


def test_one_cycle_moves_beta1_of_an_optimizer_that_has_betas():
    optimizer = make_optimizer(kind=optim.Adam)
    schedules.OneCycleLR(optimizer, 1.0, total_steps=10, max_momentum=0.8)
    assert optimizer.param_groups[0]["betas"] == (0.8, 0.999)


def test_one_cycle_refuses_more_steps_than_it_was_made_for():
    optimizer = make_optimizer()
    scheduler = schedules.OneCycleLR(optimizer, 1.0, total_steps=3)
    rates(optimizer, scheduler, 3)
    with pytest.raises(ValueError, match=r"Tried to step 4 times.*total steps is 3"):
        scheduler.step()


def test_each_group_keeps_its_own_base_rate():
    optimizer = make_optimizer(groups=2)
    optimizer.param_groups[1]["lr"] = 0.5
    scheduler = schedules.StepLR(optimizer, 1, gamma=0.5)
    optimizer.step()
    scheduler.step()
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.25]
    assert [group["initial_lr"] for group in optimizer.param_groups] == [1.0, 0.5]


def test_two_chainable_schedules_multiply():
    optimizer = make_optimizer()
    first, second = schedules.ExponentialLR(optimizer, 0.5), schedules.StepLR(optimizer, 2, gamma=0.1)
    found = []
    for _ in range(4):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        first.step()
        second.step()
    assert found == pytest.approx([1.0, 0.5, 0.025, 0.0125])


def test_a_tensor_rate_is_filled_in_place():
    rate = weft.tensor(1.0)
    optimizer = make_optimizer(rate)
    scheduler = schedules.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.5
    assert scheduler.base_lrs[0].item() == 1.0


@pytest.mark.parametrize("done", [1, 4, 7])
def test_a_schedule_made_with_last_epoch_resumes(done):
    optimizer = make_optimizer()
    whole = rates(optimizer, schedules.StepLR(optimizer, 3, gamma=0.5), 12)
    optimizer = make_optimizer()
    rates(optimizer, schedules.StepLR(optimizer, 3, gamma=0.5), done)
    resumed = schedules.StepLR(optimizer, 3, gamma=0.5, last_epoch=done - 1)
    assert rates(optimizer, resumed, 12 - done) == whole[done:]


def test_functions_are_not_saved_but_callable_objects_are():
    class Decay:
        def __init__(self):
            self.rate = 0.5

        def __call__(self, epoch):
            return self.rate**epoch

    optimizer = make_optimizer(groups=2)
    scheduler = schedules.LambdaLR(optimizer, [lambda epoch: 1.0, Decay()])
    assert scheduler.state_dict()["lr_lambdas"] == [None, {"rate": 0.5}]


def test_sequential_begins_the_next_schedule_at_its_own_epoch_zero():
    optimizer = make_optimizer()
    parts = [schedules.LinearLR(optimizer, 0.5, total_iters=2), schedules.CosineAnnealingLR(optimizer, 4)]
    found = rates(optimizer, schedules.SequentialLR(optimizer, parts, [2]), 7)
    cosine = [(1 + math.cos(math.pi * epoch / 4)) / 2 for epoch in range(5)]
    assert found == pytest.approx([0.5, 0.75, *cosine], abs=1e-15)


@pytest.mark.parametrize("part", ["sequential", "chained"])
@pytest.mark.parametrize("first", [True, False])
def test_schedules_of_schedules_nest(part, first):
    def make_part(optimizer):
        parts = [schedules.ConstantLR(optimizer, 0.5, 2), schedules.ExponentialLR(optimizer, 0.9)]
        if part == "sequential":
            return schedules.SequentialLR(optimizer, parts, [2])
        return schedules.ChainedScheduler(parts)

    optimizer = make_optimizer()
    alone = rates(optimizer, make_part(optimizer), 5)
    optimizer = make_optimizer()
    parts = [make_part(optimizer), schedules.ConstantLR(optimizer, 0.25, 9)]
    found = rates(optimizer, schedules.SequentialLR(optimizer, parts if first else parts[::-1], [5]), 10)
    constant = [0.25] * 5
    assert found == pytest.approx(alone + constant if first else constant + alone)


def test_cosine_restarts_accept_fractions_of_an_epoch():
    optimizer = make_optimizer()
    scheduler = schedules.CosineAnnealingWarmRestarts(optimizer, 2)
    scheduler.step(2.5)
    assert optimizer.param_groups[0]["lr"] == pytest.approx((1 + math.cos(math.pi / 4)) / 2)


# ReduceLROnPlateau


def plateau_rates(metrics, **options):
    optimizer = make_optimizer()
    scheduler = schedules.ReduceLROnPlateau(optimizer, factor=0.5, **options)
    found = []
    for metric in metrics:
        scheduler.step(metric)
        found.append(optimizer.param_groups[0]["lr"])
    return found


def test_plateau_reduces_after_more_than_patience_bad_epochs():
    assert plateau_rates([3, 2, 2, 2, 2, 1], patience=2) == [1, 1, 1, 1, 0.5, 0.5]


def test_plateau_waits_for_the_cooldown_after_a_reduction():
    assert plateau_rates([1] * 7, patience=0, cooldown=2) == [1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25]


def test_plateau_in_max_mode_wants_the_metric_to_rise():
    assert plateau_rates([1, 2, 3, 2, 1], patience=1, mode="max") == [1, 1, 1, 1, 0.5]


def test_plateau_counts_only_improvements_above_the_threshold():
    assert plateau_rates([1.0, 0.95, 0.9], patience=0, threshold=0.2) == [1, 0.5, 0.25]
    assert plateau_rates([1.0, 0.95, 0.7], patience=0, threshold=0.2, threshold_mode="abs") == [1, 0.5, 0.5]


def test_plateau_stops_at_the_least_rate():
    assert plateau_rates([1] * 4, patience=0, min_lr=0.3) == [1, 0.5, 0.3, 0.3]


# Warnings and wrong calls


def test_a_schedule_stepped_before_the_optimizer_is_warned_of():
    scheduler = schedules.StepLR(make_optimizer(), 1)
    with pytest.warns(UserWarning, match=r"`lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        scheduler.step()


def test_stepping_to_an_epoch_is_warned_of_and_follows_the_closed_form():
    optimizer = make_optimizer()
    scheduler = schedules.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    with pytest.warns(UserWarning, match="epoch parameter .* is deprecated"):
        scheduler.step(5)
    assert optimizer.param_groups[0]["lr"] == 0.5**5


def test_asking_for_the_next_rate_outside_of_a_step_is_warned_of():
    scheduler = schedules.StepLR(make_optimizer(), 1)
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        scheduler.get_lr()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda o: schedules.StepLR(3, 1), TypeError, "StepLR: int is not an Optimizer"),
        (lambda o: schedules.StepLR(o, 1, last_epoch=2), KeyError, "'initial_lr' is not specified"),
        (
            lambda o: schedules.LambdaLR(o, [len, len]),
            ValueError,
            "lr_lambda must have the same length",
        ),
        (lambda o: schedules.OneCycleLR(o, 1.0), ValueError, "either total_steps OR"),
        (lambda o: schedules.OneCycleLR(o, 1.0, total_steps=0), ValueError, "Expected positive integer total_steps"),
        (lambda o: schedules.OneCycleLR(o, 1.0, total_steps=5, pct_start=2.0), ValueError, "between 0 and 1 pct_start"),
        (lambda o: schedules.OneCycleLR(o, 1.0, total_steps=5, anneal_strategy="x"), ValueError, "anneal_strategy"),
        (lambda o: schedules.CyclicLR(o, 0.1, 1.0, mode="x"), ValueError, "mode is invalid"),
        (lambda o: schedules.CosineAnnealingWarmRestarts(o, 0), ValueError, "Expected positive integer T_0"),
        (lambda o: schedules.LinearLR(o, start_factor=0), ValueError, "Starting multiplicative factor"),
        (lambda o: schedules.ConstantLR(o, factor=2), ValueError, "Constant multiplicative factor"),
        (lambda o: schedules.ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1.0"),
        (lambda o: schedules.ReduceLROnPlateau(o, mode="x"), ValueError, "mode x is unknown"),
        (lambda o: schedules.SequentialLR(o, [], []), ValueError, "at least one scheduler"),
        (lambda o: schedules.SequentialLR(o, [schedules.StepLR(o, 1)], [1]), ValueError, "one more than the number"),
        (
            lambda o: schedules.ChainedScheduler([schedules.StepLR(o, 1), schedules.StepLR(make_optimizer(), 1)]),
            ValueError,
            "expects all schedulers to belong to the same optimizer",
        ),
        (lambda o: schedules.ChainedScheduler([schedules.ReduceLROnPlateau(o)]), ValueError, "needs a metric"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call(make_optimizer())


def test_one_cycle_needs_a_momentum_to_cycle():
    optimizer = optim.Adagrad([weft.zeros(1).requires_grad_()])
    with pytest.raises(ValueError, match="Adagrad has neither; pass cycle_momentum=False"):
        schedules.OneCycleLR(optimizer, 1.0, total_steps=5)


@pytest.mark.parametrize("tensor_rate", [False, True])
@pytest.mark.parametrize("mode", ["triangular", "triangular2", "exp_range"])
def test_cyclic_rates_do_not_write_into_the_callers_tensors(tensor_rate, mode):
    low, high = weft.tensor(0.01), [weft.tensor(0.1), weft.tensor(0.2)]
    params = [weft.nn.Parameter(weft.ones(1)) for _ in range(2)]
    groups = [{"params": [param], "lr": weft.tensor(0.5) if tensor_rate else 0.5} for param in params]
    optimizer = weft.optim.SGD(groups, lr=0.5, momentum=0.9)
    schedule = weft.optim.lr_scheduler.CyclicLR(optimizer, low, high, step_size_up=2, mode=mode, gamma=1.0)
    expected = weft.optim.lr_scheduler.CyclicLR(
        weft.optim.SGD([{"params": [weft.nn.Parameter(weft.ones(1))]} for _ in range(2)], lr=0.5, momentum=0.9),
        0.01,
        [0.1, 0.2],
        step_size_up=2,
        mode=mode,
        gamma=1.0,
    )
    for _ in range(5):
        for each in (schedule, expected):
            each.optimizer.step()
            each.step()
        got = [float(group["lr"]) for group in optimizer.param_groups]
        assert got == pytest.approx([group["lr"] for group in expected.optimizer.param_groups])
    assert low.item() == pytest.approx(0.01)
    assert [each.item() for each in high] == pytest.approx([0.1, 0.2])


@pytest.mark.parametrize("early", [False, True])
def test_a_step_that_is_overridden_after_the_schedule_was_made_warns(early):
    optimizer = optim.SGD([weft.ones(1)], lr=0.1)
    step = optimizer.step
    if early:
        optimizer.step = lambda: step()
    schedule = schedules.StepLR(optimizer, 1)
    optimizer.step = optimizer.step if early else lambda: step()
    optimizer.step()
    if early:
        schedule.step()
        return
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        schedule.step()
    schedule.step()
