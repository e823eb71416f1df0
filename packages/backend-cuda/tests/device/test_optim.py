"""Optimizers, scaled gradients and clipped ones on the device: the CPU's numbers, and no wait that PyTorch has not."""

import math

import pytest

import weft

nn = pytest.importorskip("weft.nn")
optim = pytest.importorskip("weft.optim")

CASES = {
    "SGD": {},
    "SGD momentum": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "Adam": {},
    "Adam amsgrad": {"amsgrad": True, "weight_decay": 0.1},
    "Adam fused": {"fused": True},
    "AdamW": {},
    "Adadelta": {},
    "Adagrad": {"lr_decay": 0.1},
    "Adamax": {},
    "ASGD": {"t0": 1},
    "NAdam": {},
    "RAdam": {},
    "RMSprop": {},
    "RMSprop centered": {"centered": True, "momentum": 0.9},
    "Rprop": {},
    "Adafactor": {},
    "Muon": {},
}
NOT_CAPTURABLE = ("SGD", "Adagrad", "Adafactor", "Muon")


def trained(name, device, steps=8, **options):
    """Some parameters after steps by given gradients, and the optimizer."""
    source = weft.Generator().manual_seed(1)
    shapes = [(4, 3), (3, 2)] if name.startswith("Muon") else [(4, 3), (3,), ()]
    draw = [weft.randn(shape, generator=source).to(device) for shape in shapes]
    params = [nn.Parameter(each) for each in draw]
    optimizer = getattr(optim, name.partition(" ")[0])(params, **CASES[name], **options)
    for _ in range(steps):
        for param in params:
            param.grad = weft.randn(param.shape, generator=source).to(device)
        optimizer.step()
    return params, optimizer


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert weft.allclose(one.cpu(), other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_steps_are_the_cpus(name):
    assert_same(trained(name, "cuda")[0], trained(name, "cpu")[0])


@pytest.mark.parametrize("name", [name for name in CASES if name.partition(" ")[0] not in NOT_CAPTURABLE])
def test_capturable_steps_are_counted_on_the_device(name):
    params, optimizer = trained(name, "cuda", capturable=True)
    assert_same(params, trained(name, "cpu")[0])
    step = optimizer.state[params[0]]["step"]
    assert (step.device.type, step.item()) == ("cuda", 8.0)
    again = type(optimizer)(params, **CASES[name], capturable=True)
    again.load_state_dict(optimizer.state_dict())
    assert again.state[params[0]]["step"].device.type == "cuda"


@pytest.mark.parametrize("name", [name for name in CASES if name != "Rprop"])
def test_learning_rates_in_tensors_on_the_device(name):
    lr = 0.05
    params, optimizer = trained(name, "cuda", lr=weft.tensor(lr, device="cuda"))
    assert_same(params, trained(name, "cpu", lr=lr)[0])
    assert optimizer.param_groups[0]["lr"].device.type == "cuda"


def test_counts_from_a_file_go_where_the_steps_count():
    params, optimizer = trained("Adam", "cuda", capturable=True)
    usual = optim.Adam(params)
    state = optimizer.state_dict()
    for group in state["param_groups"]:
        group["capturable"] = False
    usual.load_state_dict({**state, "param_groups": state["param_groups"]})
    usual.param_groups[0]["capturable"] = False
    assert usual.state[params[0]]["exp_avg"].device.type == "cuda"
    usual.step()
    assert usual.state[params[0]]["step"].item() == 9.0


def backward(scaler, params, factor=1.0):
    scaler.scale(sum((param * factor).sum() for param in params)).backward()


def test_a_scaler_skips_steps_with_gradients_that_are_not_finite():
    params = [nn.Parameter(weft.ones(3, device="cuda")), nn.Parameter(weft.ones((), device="cuda"))]
    optimizer, scaler = optim.SGD(params, lr=1.0), weft.amp.GradScaler("cuda", init_scale=8.0)
    backward(scaler, params, math.inf)
    scaler.step(optimizer)
    scaler.update()
    assert (params[0].tolist(), scaler.get_scale()) == ([1.0, 1.0, 1.0], 4.0)
    optimizer.zero_grad()
    backward(scaler, params, 0.5)
    scaler.unscale_(optimizer)
    assert params[0].grad.tolist() == [0.5, 0.5, 0.5]
    scaler.step(optimizer)
    scaler.update()
    assert (params[0].tolist(), scaler.get_scale()) == ([0.5, 0.5, 0.5], 4.0)


def test_a_scaler_that_only_unscales_knows_what_it_found():
    params = [nn.Parameter(weft.ones(3, device="cuda"))]
    optimizer, scaler = optim.SGD(params, lr=1.0), weft.amp.GradScaler("cuda", init_scale=8.0)
    backward(scaler, params, math.nan)
    scaler.unscale_(optimizer)
    scaler.update()
    assert scaler.get_scale() == 4.0


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, math.inf])
def test_clipped_gradients_are_the_cpus(norm_type):
    found = {}
    for device in ("cpu", "cuda"):
        params, _ = trained("Adam", device, steps=1)
        total = nn.utils.clip_grad_norm_(params, 0.5, norm_type)
        found[device] = [total, *[param.grad for param in params]]
    assert_same(found["cuda"], found["cpu"])
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.get_total_norm([weft.full((2,), math.inf, device="cuda")], error_if_nonfinite=True)


def waits_of(function):
    import cupy_stand_in

    function()
    with cupy_stand_in.record() as log:
        function()
    return [event for event in log if event.kind in ("wait", "upload")]


STEPS = [(name, {}) for name in CASES]
STEPS += [(name, {"capturable": True}) for name in CASES if name.partition(" ")[0] not in NOT_CAPTURABLE]
STEPS += [(name, {"lr": 0.1}) for name in CASES if name != "Rprop"]


@pytest.mark.usefixtures("on_stand_in")
@pytest.mark.parametrize(("name", "options"), STEPS)
def test_steps_wait_for_nothing(name, options):
    if "lr" in options:
        options = {"lr": weft.tensor(options["lr"], device="cuda")}
    assert waits_of(trained(name, "cuda", steps=2, **options)[1].step) == []


def lbfgs_after(steps, device):
    """Parameters after steps of L-BFGS, and a function that takes one more."""
    weight = nn.Parameter(weft.tensor([-1.2, 1.0, 0.8], device=device))
    optimizer = optim.LBFGS([weight], lr=0.2, max_iter=1)

    def closure():
        optimizer.zero_grad()
        loss = (10 * (weight[1:] - weight[:-1] ** 2) ** 2 + (1 - weight[:-1]) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return weight, lambda: optimizer.step(closure)


def test_lbfgs_goes_the_cpus_way():
    assert_same([lbfgs_after(6, "cuda")[0]], [lbfgs_after(6, "cpu")[0]])


@pytest.mark.usefixtures("on_stand_in")
def test_lbfgs_waits_as_often_whatever_it_remembers():
    few, many = (len(waits_of(lbfgs_after(steps, "cuda")[1])) for steps in (3, 8))
    assert few == many


@pytest.mark.usefixtures("on_stand_in")
def test_scaled_steps_wait_once():
    params = [nn.Parameter(weft.ones(3, device="cuda")) for _ in range(4)]
    optimizer, scaler = optim.Adam(params), weft.amp.GradScaler("cuda", init_scale=8.0)

    def iteration():
        optimizer.zero_grad()
        backward(scaler, params)
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(params, 1.0)
        scaler.step(optimizer)
        scaler.update()

    assert [event.kind for event in waits_of(iteration)] == ["wait"]


@pytest.mark.usefixtures("on_stand_in")
def test_clipping_waits_for_nothing():
    params, _ = trained("Adam", "cuda", steps=1)
    assert waits_of(lambda: nn.utils.clip_grad_norm_(params, 1.0)) == []
    assert waits_of(lambda: nn.utils.clip_grad_norm_(params, 1.0, math.inf)) == []
    assert waits_of(lambda: nn.utils.clip_grad_value_(params, 1.0)) == []


@pytest.mark.usefixtures("on_stand_in")
@pytest.mark.parametrize("average", ["get_ema_multi_avg_fn", "get_swa_multi_avg_fn"])
def test_averages_of_weights_wait_for_nothing(average):
    model = nn.Linear(3, 2).to("cuda")
    averaged = optim.swa_utils.AveragedModel(model, multi_avg_fn=getattr(optim.swa_utils, average)())
    averaged.update_parameters(model)
    assert waits_of(lambda: averaged.update_parameters(model)) == []


@pytest.mark.usefixtures("on_stand_in")
def test_averages_that_count_on_the_device_wait_once():
    """Whether the model is the first one that is averaged; PyTorch asks too."""
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2)).to("cuda")
    averaged = optim.swa_utils.AveragedModel(model, device="cuda")
    averaged.update_parameters(model)
    assert [event.kind for event in waits_of(lambda: averaged.update_parameters(model))] == ["wait"]
    with weft.no_grad():
        model[0].weight.add_(4)
    averaged.update_parameters(model)
    assert weft.allclose(averaged.module[0].weight, model[0].weight - 3)
