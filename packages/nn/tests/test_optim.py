"""Optimizers: their numbers against PyTorch's, state dicts, groups, hooks, and the errors of wrong calls."""

import copy
import gc
import importlib
import io
import math
import pickle
import threading

import pytest

import weft
from weft import optim
from weft.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

# Optimizer, options, and the parameter [[1, -2], [0.5, 3]] after 20 steps with the gradients of `gradient`:
# numbers that PyTorch 2.13 gives.
TRAJECTORIES = [
    ("SGD", {"lr": 0.1}, [0.791472337, -2.499822188, -0.199340654, 2.19247422]),
    ("SGD", {"lr": 0.1, "momentum": 0.9}, [-0.906695957, -5.146209438, -3.216980953, -1.206180045]),
    (
        "SGD",
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
        [-0.655643782, -2.397986618, -2.100417394, -1.650510512],
    ),
    (
        "SGD",
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        [-0.921548045, -2.237466067, -2.701032017, -3.068517787],
    ),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "maximize": True}, [1.44025608, -1.110049743, 1.720168802, 4.476680573]),
    ("Adam", {"lr": 0.1}, [0.356016818, -2.795581675, -0.338700005, 2.164126212]),
    (
        "Adam",
        {"lr": 0.1, "betas": (0.5, 0.8), "eps": 0.1, "weight_decay": 0.1},
        [0.54302307, -2.105370828, -0.206224719, 1.812435457],
    ),
    ("Adam", {"lr": 0.1, "amsgrad": True, "betas": (0.9, 0.5)}, [0.453628459, -2.685813874, -0.176012005, 2.400173581]),
    (
        "Adam",
        {"lr": 0.1, "maximize": True, "weight_decay": 0.1, "decoupled_weight_decay": True},
        [1.38120503, -0.928892793, 1.166468079, 3.224123152],
    ),
    ("AdamW", {"lr": 0.1}, [0.344814475, -2.746527526, -0.340001158, 2.111573627]),
    (
        "AdamW",
        {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True, "betas": (0.9, 0.5)},
        [0.179625826, -1.565020941, -0.221740858, 1.163797264],
    ),
    ("RMSprop", {"lr": 0.1}, [-1.639817245, -4.702740562, -2.595674904, -0.448602555]),
    (
        "RMSprop",
        {"lr": 0.1, "alpha": 0.5, "momentum": 0.9, "centered": True, "weight_decay": 0.1},
        [-2.32314776, -2.374420935, -3.929251869, -5.962794945],
    ),
    ("Adagrad", {"lr": 0.1}, [0.736153557, -2.266917831, 0.196169039, 2.661097626]),
    (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5, "weight_decay": 0.1},
        [0.823084424, -2.089363474, 0.303370927, 2.69902483],
    ),
    ("Adadelta", {}, [0.988131689, -2.015751492, 0.478793376, 2.96674748]),
    ("Adadelta", {"lr": 0.5, "rho": 0.5, "weight_decay": 0.1}, [0.995845435, -2.000799975, 0.493556131, 2.989170103]),
    ("Adamax", {"lr": 0.1}, [0.520110776, -2.608326297, -0.065499037, 2.497666805]),
    (
        "Adamax",
        {"lr": 0.1, "betas": (0.5, 0.8), "weight_decay": 0.1},
        [0.591957049, -2.121778996, -0.088668499, 1.915810247],
    ),
    ("NAdam", {"lr": 0.1}, [0.60167148, -2.547451067, -0.210194669, 2.1604056]),
    (
        "NAdam",
        {"lr": 0.1, "momentum_decay": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        [0.473405702, -2.12788434, -0.239635499, 1.682396279],
    ),
    ("RAdam", {"lr": 0.1}, [0.764216887, -2.371457043, 0.22055627, 2.899614789]),
    (
        "RAdam",
        {"lr": 0.1, "betas": (0.5, 0.8), "weight_decay": 0.1},
        [0.625794734, -2.077450369, -0.158158551, 1.934335641],
    ),
    ("ASGD", {"lr": 0.1}, [0.791311139, -2.499337221, -0.19932639, 2.192004435]),
    (
        "ASGD",
        {"lr": 0.1, "t0": 5, "lambd": 0.1, "weight_decay": 0.1},
        [0.536613678, -1.756751851, -0.215330528, 1.405072587],
    ),
    ("Rprop", {"lr": 0.1}, [0.591237888, -2.26290048, 0.23021248, 2.85291168]),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 2.0), "step_sizes": (0.01, 0.2)}, [0.42792, -2.38208, 0.093632, 2.768]),
    ("Adafactor", {"lr": 0.1}, [0.493620707, -2.987774848, -0.59488407, 1.516915404]),
    (
        "Adafactor",
        {"lr": 0.3, "beta2_decay": -0.5, "d": 2.0, "weight_decay": 0.1},
        [-0.05697169, -2.331943408, -1.013842993, -0.722762814],
    ),
]

# Options of L-BFGS, the losses of 6 steps on Rosenbrock's function, and the numbers of evaluations and iterations:
# what PyTorch 2.13 gives.
LBFGS_RUNS = [
    ({"lr": 0.1}, [49.7, 4.682137662, 3.77174696, 3.754673705, 3.727585734, 3.703142737], (120, 120)),
    ({"max_iter": 4, "lr": 0.5}, [49.7, 3.890243078, 3.733999638, 3.732748381, 3.725147066, 3.766596613], (24, 24)),
    (
        {"max_iter": 5, "history_size": 3, "line_search_fn": "strong_wolfe"},
        [49.7, 3.728844166, 3.725765765, 3.711688464, 3.703404467, 3.701479781],
        (36, 25),
    ),
    (
        {"lr": 0.1, "max_eval": 7, "line_search_fn": "strong_wolfe"},
        [49.7, 3.934959805, 3.736220033, 3.733799432, 3.715440428, 3.703575328],
        (43, 21),
    ),
    (
        {"lr": 20.0, "line_search_fn": "strong_wolfe"},
        [49.7, 3.704247757, 3.70142861, 3.70142861, 3.70142861, 3.70142861],
        (47, 22),
    ),
]


def gradient(step):
    rows = [[math.sin(step + 2 * r + i) + 0.1 * (i + 1 + 2 * r) for i in range(2)] for r in range(2)]
    return weft.tensor(rows, dtype=weft.float64)


def parameter(values=((1.0, -2.0), (0.5, 3.0)), dtype=weft.float64):
    return weft.tensor(values, dtype=dtype).requires_grad_()


def take_steps(optimizer, param, steps):
    for step in steps:
        param.grad = gradient(step)
        optimizer.step()


def flat(tensor):
    return tensor.detach().flatten().tolist()


def case_name(value):
    return value if isinstance(value, str) else None


@pytest.mark.parametrize(("name", "options", "expected"), TRAJECTORIES, ids=case_name)
def test_parameters_after_20_steps_are_pytorchs(name, options, expected):
    param = parameter()
    take_steps(getattr(optim, name)([param], **options), param, range(20))
    assert flat(param) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(("name", "options", "expected"), TRAJECTORIES, ids=case_name)
def test_a_loaded_state_dict_continues_where_it_was_saved(name, options, expected):
    make = getattr(optim, name)
    param = parameter()
    optimizer = make([param], **options)
    take_steps(optimizer, param, range(10))
    saved = copy.deepcopy(optimizer.state_dict())

    resumed = param.detach().clone().requires_grad_()
    other = make([resumed], lr=123.0)
    other.load_state_dict(saved)
    take_steps(other, resumed, range(10, 20))
    assert flat(resumed) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", sorted({case[0] for case in TRAJECTORIES}))
def test_maximize_ascends_where_the_negated_gradient_descends(name):
    down, up = parameter(), parameter()
    descent, ascent = getattr(optim, name)([down]), getattr(optim, name)([up], maximize=True)
    for step in range(5):
        down.grad, up.grad = -gradient(step), gradient(step)
        descent.step()
        ascent.step()
    assert flat(up) == flat(down)


@pytest.mark.parametrize("name", sorted({case[0] for case in TRAJECTORIES}))
def test_a_step_writes_into_the_parameter_that_it_was_given(name):
    param = parameter()
    alias = param.detach()
    optimizer = getattr(optim, name)([param])
    take_steps(optimizer, param, range(3))
    assert flat(alias) == flat(param) != flat(parameter())
    assert param.is_leaf
    assert param.requires_grad


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_minimizes_a_quadratic(name):
    param = parameter()
    optimizer = getattr(optim, name)([param], lr=0.1)
    first = None
    for _ in range(200):
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        optimizer.step()
        first = first if first is not None else loss.item()
    assert loss.item() < first / 4


# State dicts


def test_state_dict_numbers_parameters_through_all_groups():
    params = [parameter() for _ in range(3)]
    optimizer = optim.Adam([{"params": params[:2]}, {"params": params[2:], "lr": 0.5}])
    for param in params:
        take_steps(optimizer, param, range(1))
    state = optimizer.state_dict()
    assert [group["params"] for group in state["param_groups"]] == [[0, 1], [2]]
    assert state["param_groups"][1]["lr"] == 0.5
    assert sorted(state["state"]) == [0, 1, 2]
    assert sorted(state["state"][0]) == ["exp_avg", "exp_avg_sq", "step"]


def test_step_counts_are_float32_scalars_as_in_pytorchs_files():
    param = parameter()
    optimizer = optim.Adam([param])
    take_steps(optimizer, param, range(3))
    step = optimizer.state_dict()["state"][0]["step"]
    assert (step.dtype, tuple(step.shape), step.item()) == (weft.float32, (), 3.0)


def test_sgd_without_momentum_has_no_state():
    param = parameter()
    optimizer = optim.SGD([param], lr=0.1)
    take_steps(optimizer, param, range(2))
    assert optimizer.state_dict()["state"] == {}


def test_loading_casts_state_to_the_parameters_dtype_but_not_the_step():
    param = parameter()
    optimizer = optim.Adam([param])
    take_steps(optimizer, param, range(2))
    single = parameter(dtype=weft.float32)
    other = optim.Adam([single])
    other.load_state_dict(optimizer.state_dict())
    assert other.state[single]["exp_avg"].dtype is weft.float32
    assert other.state[single]["step"].dtype is weft.float32


def test_a_group_saved_before_an_option_existed_gets_the_default():
    param = parameter()
    saved = optim.SGD([param], lr=0.5).state_dict()
    del saved["param_groups"][0]["maximize"]
    optimizer = optim.SGD([param], lr=0.1)
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["maximize"] is False
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_a_number_of_steps_from_an_early_file_becomes_a_tensor():
    param = parameter()
    optimizer = optim.Adam([param])
    take_steps(optimizer, param, range(2))
    saved = copy.deepcopy(optimizer.state_dict())
    saved["state"][0]["step"] = 2
    optimizer.load_state_dict(saved)
    assert optimizer.state[param]["step"].item() == 2.0
    take_steps(optimizer, param, range(1))


def test_loading_does_not_share_options_with_the_saved_dict():
    param = parameter()
    optimizer = optim.SGD([param], lr=0.1)
    saved = optimizer.state_dict()
    optimizer.load_state_dict(saved)
    optimizer.param_groups[0]["lr"] = 9.0
    assert saved["param_groups"][0]["lr"] == 0.1


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (lambda: [{"params": [parameter()]}, {"params": [parameter()]}], "different number of parameter groups"),
        (lambda: [{"params": [parameter(), parameter()]}], "doesn't match the size of optimizer's group"),
    ],
)
def test_loading_a_state_dict_of_another_shape_is_an_error(groups, message):
    saved = optim.SGD(groups(), lr=0.1).state_dict()
    with pytest.raises(ValueError, match=message):
        optim.SGD([parameter()], lr=0.1).load_state_dict(saved)


def test_names_are_kept_in_the_state_dict_and_belong_to_the_model_when_loading():
    optimizer = optim.SGD([("a", parameter()), ("b", parameter())], lr=0.1)
    saved = optimizer.state_dict()
    assert saved["param_groups"][0]["param_names"] == ["a", "b"]
    other = optim.SGD([("x", parameter()), ("y", parameter())], lr=0.1)
    other.load_state_dict(saved)
    assert other.param_groups[0]["param_names"] == ["x", "y"]


def test_state_dict_hooks_may_replace_what_is_saved_and_loaded():
    optimizer = optim.SGD([parameter()], lr=0.1)
    calls = []
    optimizer.register_state_dict_pre_hook(lambda opt: calls.append("pre"))
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda opt, state: {k: v for k, v in state.items() if k != "extra"})
    optimizer.register_load_state_dict_post_hook(lambda opt: calls.append("loaded"))
    saved = optimizer.state_dict()
    assert saved["extra"] == 1
    optimizer.load_state_dict(saved)
    assert calls == ["pre", "loaded"]


def test_a_prepended_hook_runs_first():
    optimizer = optim.SGD([parameter()], lr=0.1)
    calls = []
    optimizer.register_state_dict_pre_hook(lambda opt: calls.append(1))
    optimizer.register_state_dict_pre_hook(lambda opt: calls.append(0), prepend=True)
    optimizer.state_dict()
    assert calls == [0, 1]


def test_an_optimizer_can_be_pickled_and_deeply_copied():
    param = parameter()
    optimizer = optim.Adam([param], lr=0.1)
    take_steps(optimizer, param, range(10))
    buffer = io.BytesIO()
    pickle.dump(optimizer, buffer)
    clones = [pickle.loads(buffer.getvalue()), copy.deepcopy(optimizer)]
    take_steps(optimizer, param, range(10, 20))
    for clone in clones:
        (copied,) = clone.param_groups[0]["params"]
        take_steps(clone, copied, range(10, 20))
        assert flat(copied) == flat(param)


# Groups


def test_each_group_has_its_own_options_and_the_defaults_of_the_others():
    first, second = parameter(), parameter()
    optimizer = optim.SGD([{"params": first}, {"params": [second], "lr": 0.5}], lr=0.25)
    first.grad = second.grad = weft.ones_like(first).detach()
    optimizer.step()
    assert flat(first) == [0.75, -2.25, 0.25, 2.75]
    assert flat(second) == [0.5, -2.5, 0.0, 2.5]


def test_a_group_can_be_added_later():
    first, second = parameter(), parameter()
    optimizer = optim.SGD([first], lr=0.25, momentum=0.9)
    take_steps(optimizer, first, range(2))
    optimizer.add_param_group({"params": [second], "lr": 0.5})
    assert optimizer.param_groups[1]["momentum"] == 0.9
    take_steps(optimizer, second, range(1))
    assert flat(second) != flat(parameter())


def test_a_parameter_without_gradient_is_left_alone():
    used, unused = parameter(), parameter()
    optimizer = optim.Adam([used, unused])
    take_steps(optimizer, used, range(2))
    assert flat(unused) == flat(parameter())
    assert unused not in optimizer.state


def test_zero_grad_forgets_gradients_or_zeroes_them_in_place():
    param = parameter()
    optimizer = optim.SGD([param], lr=0.1)
    grad = param.grad = gradient(0)
    optimizer.zero_grad(set_to_none=False)
    assert param.grad is grad
    assert flat(grad) == [0.0] * 4
    optimizer.zero_grad()
    assert param.grad is None


def test_closure_is_called_with_gradients_and_its_loss_returned():
    param = parameter()
    optimizer = optim.SGD([param], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    with weft.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 14.25
    assert flat(param) == pytest.approx([0.8, -1.6, 0.4, 2.4])


def test_repr_lists_the_options_of_each_group():
    text = repr(optim.SGD([{"params": parameter()}, {"params": parameter(), "lr": 0.5}], lr=0.1))
    lines = text.split("\n")
    assert lines[0] == "SGD ("
    assert lines[1] == "Parameter Group 0"
    assert lines[2:11] == [
        "    dampening: 0",
        "    differentiable: False",
        "    foreach: None",
        "    fused: None",
        "    lr: 0.1",
        "    maximize: False",
        "    momentum: 0",
        "    nesterov: False",
        "    weight_decay: 0",
    ]
    assert "    lr: 0.5" in lines[11:]
    assert lines[-1] == ")"


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_a_tensor_learning_rate_is_read_at_each_step(name):
    param, other = parameter(), parameter()
    rate = weft.tensor(0.5)
    optimizer, plain = getattr(optim, name)([param], lr=rate), getattr(optim, name)([other], lr=0.5)
    for step, value in enumerate([0.5, 0.25]):
        rate.fill_(value)
        plain.param_groups[0]["lr"] = value
        take_steps(optimizer, param, [step])
        take_steps(plain, other, [step])
    assert flat(param) == pytest.approx(flat(other), rel=1e-12)


# Hooks


def test_step_hooks_see_each_step_and_may_replace_its_arguments():
    param = parameter()
    optimizer = optim.SGD([param], lr=0.1)
    calls = []

    def before(opt, args, kwargs):
        calls.append("before")
        return (args[0], lambda: calls.append("closure")), kwargs

    handle = optimizer.register_step_pre_hook(before)
    optimizer.register_step_post_hook(lambda opt, args, kwargs: calls.append("after"))
    optimizer.step()
    assert calls == ["before", "closure", "after"]
    handle.remove()
    optimizer.step()
    assert calls[3:] == ["after"]


def test_a_pre_hook_that_returns_something_else_is_an_error():
    optimizer = optim.SGD([parameter()], lr=0.1)
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        optimizer.step()


def test_global_hooks_see_the_steps_of_every_optimizer():
    calls = []
    handles = [
        register_optimizer_step_pre_hook(lambda opt, args, kwargs: calls.append(("pre", type(opt).__name__))),
        register_optimizer_step_post_hook(lambda opt, args, kwargs: calls.append(("post", type(opt).__name__))),
    ]
    try:
        optim.SGD([parameter()], lr=0.1).step()
        optim.Adam([parameter()]).step()
    finally:
        for handle in handles:
            handle.remove()
    assert calls == [("pre", "SGD"), ("post", "SGD"), ("pre", "Adam"), ("post", "Adam")]


def test_hooks_run_once_when_a_subclass_calls_the_step_of_its_base():
    class Louder(optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    optimizer = Louder([parameter()], lr=0.1)
    calls = []
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: calls.append(1))
    optimizer.step()
    assert calls == [1]


def test_an_optimizer_of_ones_own_needs_only_a_step():
    class SignDescent(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            with weft.no_grad():
                for group in self.param_groups:
                    for param in group["params"]:
                        self.state[param]["step"] = self.state[param].get("step", 0) + 1
                        param.add_(param.grad.sign(), alpha=-group["lr"])

    param = parameter()
    optimizer = SignDescent([param], lr=0.5)
    param.grad = weft.ones_like(param).detach()
    optimizer.step()
    assert flat(param) == [0.5, -2.5, 0.0, 2.5]
    assert optimizer.state_dict()["state"] == {0: {"step": 1}}


# Differentiable steps


def test_a_differentiable_step_of_sgd_has_the_gradient_of_its_formula():
    start = parameter()
    grad = gradient(0).requires_grad_()
    param = start.clone()
    param.grad = grad
    optim.SGD([param], lr=0.25, weight_decay=0.5, differentiable=True).step()
    param.sum().backward()
    assert flat(start.grad) == pytest.approx([1 - 0.25 * 0.5] * 4)
    assert flat(grad.grad) == pytest.approx([-0.25] * 4)


def test_gradients_flow_through_two_steps_of_adam():
    def after_two_steps(scale):
        param = parameter().clone()
        optimizer = optim.Adam([param], lr=0.1, differentiable=True)
        for step in range(2):
            param.grad = gradient(step) * scale + 0.3
            optimizer.step()
        return param.sum()

    scale = weft.tensor(1.0, dtype=weft.float64, requires_grad=True)
    after_two_steps(scale).backward()
    step = 1e-6
    difference = (after_two_steps(1.0 + step) - after_two_steps(1.0 - step)).item() / (2 * step)
    assert scale.grad.item() == pytest.approx(difference, rel=1e-5)


# Wrong calls


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p: optim.SGD(p, lr=0.1), TypeError, "iterable of Tensors or dicts"),
        (lambda p: optim.SGD([], lr=0.1), ValueError, "empty parameter list"),
        (lambda p: optim.SGD([3], lr=0.1), TypeError, r"can only optimize Tensors, but params\[0\] is int"),
        (lambda p: optim.SGD([{"params": {p}}], lr=0.1), TypeError, "organized in ordered collections"),
        (lambda p: optim.SGD([p * 2], lr=0.1), ValueError, "can't optimize a non-leaf Tensor"),
        (lambda p: optim.SGD([{"params": [p]}, {"params": [p]}], lr=0.1), ValueError, "more than one parameter group"),
        (lambda p: optim.SGD([("a", p), parameter()], lr=0.1), ValueError, "with/without names"),
        (lambda p: optim.SGD([p], lr=0.1).add_param_group([p]), TypeError, "must be a dict"),
        (lambda p: optim.SGD([p], lr=-0.1), ValueError, "SGD: Invalid learning rate: -0.1"),
        (lambda p: optim.SGD([p], momentum=-1), ValueError, "Invalid momentum value: -1"),
        (lambda p: optim.SGD([p], nesterov=True), ValueError, "Nesterov momentum requires a momentum"),
        (lambda p: optim.SGD([p], lr=weft.ones(2)), ValueError, "Tensor lr must be 1-element"),
        (lambda p: optim.SGD([p], fused=True, foreach=True), RuntimeError, "cannot be `True` together"),
        (lambda p: optim.SGD([p], fused=True, differentiable=True), RuntimeError, "does not support `differentiable`"),
        (lambda p: optim.Adam([p], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
        (lambda p: optim.AdamW([p], eps=-1), ValueError, "AdamW: Invalid epsilon value: -1"),
        (lambda p: optim.AdamW([p], lr=weft.tensor(0.1), foreach=True), ValueError, "lr as a Tensor is not supported"),
        (lambda p: optim.Rprop([p], etas=(0.5, 0.9)), ValueError, "Invalid eta values"),
        (lambda p: optim.Adadelta([p], rho=2), ValueError, "Invalid rho value: 2"),
        (lambda p: optim.Adafactor([p], beta2_decay=0.1), ValueError, "beta2_decay should be <= 0"),
        (lambda p: optim.Optimizer([p], {}).step(), NotImplementedError, "must define step"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call(parameter())


def test_a_parameter_that_is_twice_in_a_group_is_warned_of():
    param = parameter()
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([param, param], lr=0.1)


def test_an_option_without_default_must_be_given():
    from weft.optim.optimizer import required

    with pytest.raises(ValueError, match="must set the option 'lr'"):
        optim.Optimizer([parameter()], {"lr": required})


# L-BFGS


def minimize_rosenbrock(steps, **options):
    param = weft.tensor([-1.2, 1.0, 0.5, 0.3], dtype=weft.float64).requires_grad_()
    optimizer = optim.LBFGS([param], **options)

    def closure():
        optimizer.zero_grad()
        loss = ((1 - param[:-1]) ** 2).sum() + 100 * ((param[1:] - param[:-1] ** 2) ** 2).sum()
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(steps)]
    state = optimizer.state[param]
    return losses, (state["func_evals"], state["n_iter"])


@pytest.mark.parametrize(
    ("options", "losses", "counts"),
    LBFGS_RUNS,
)
def test_lbfgs_takes_the_path_of_pytorch(options, losses, counts):
    found, evaluations = minimize_rosenbrock(6, **options)
    assert evaluations == counts
    assert found == pytest.approx(losses, rel=1e-6)


def test_lbfgs_needs_a_closure_and_one_group():
    with pytest.raises(TypeError, match="closure is required"):
        optim.LBFGS([parameter()]).step()
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        optim.LBFGS([{"params": [parameter()]}, {"params": [parameter()]}])
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        minimize_rosenbrock(1, line_search_fn="golden")


# How a step runs


@pytest.mark.parametrize("shape", [(200, 300), (1, 40000), (40000, 1), (3, 5, 4000)], ids=str)
@pytest.mark.parametrize("transposed", [False, True], ids=["contiguous", "transposed"])
def test_a_large_parameter_is_stepped_in_blocks_as_a_whole_one_is(shape, transposed):
    count = math.prod(shape)
    values = (weft.arange(count, dtype=weft.float64) / count - 0.3).reshape(shape)
    grad = weft.sin(weft.arange(count, dtype=weft.float64))
    grad = grad.reshape(shape[::-1]).permute(*reversed(range(len(shape)))) if transposed else grad.reshape(shape)
    param = values.clone().requires_grad_()
    optimizer = optim.SGD([param], lr=0.5, momentum=0.9, weight_decay=0.1)
    velocity, expected = 0.0, values.numpy()
    for _ in range(3):
        param.grad = grad
        optimizer.step()
        velocity = 0.9 * velocity + grad.numpy() + 0.1 * expected
        expected = expected - 0.5 * velocity
    assert abs(param.detach().numpy() - expected).max() < 1e-12


def test_parameters_of_several_dtypes_are_stepped_together():
    dtypes = [weft.float64, weft.float32, weft.float64, weft.bfloat16, weft.float16, weft.complex64]
    params = [weft.ones(2, dtype=dtype).requires_grad_() for dtype in dtypes]
    optimizer = optim.AdamW(params, lr=0.5, weight_decay=0.0)
    for param in params:
        param.grad = weft.ones_like(param).detach()
    optimizer.step()
    for param, dtype in zip(params, dtypes):
        assert param.dtype is dtype
        assert param.detach().real.tolist() == pytest.approx([0.5, 0.5], rel=1e-2)


def test_a_backends_kernel_of_the_formulas_name_steps_the_whole_list():
    from weft._devices.devices import backend_of

    kernels = backend_of(weft.device("cpu")).kernels
    calls = []

    def kernel(params, grads, buffers, **options):
        calls.append((len(params), buffers, options["lr"]))
        for param, grad in zip(params, grads):
            param -= 2 * grad

    params = [parameter(), parameter()]
    for param in params:
        param.grad = weft.ones_like(param).detach()
    assert "optim::sgd_step" not in kernels
    kernels["optim::sgd_step"] = kernel
    try:
        optim.SGD(params, lr=0.25).step()
    finally:
        del kernels["optim::sgd_step"]
    assert calls == [(2, [None, None], 0.25)]
    assert flat(params[1]) == [-1.0, -4.0, -1.5, 1.0]


def test_a_step_between_forward_and_backward_is_noticed():
    param = parameter()
    loss = (param**2).sum()
    param.grad = gradient(0)
    optim.SGD([param], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("name", sorted({case[0] for case in TRAJECTORIES}))
def test_a_step_leaves_nothing_for_the_collector(name):
    param = parameter()
    optimizer = getattr(optim, name)([param])
    take_steps(optimizer, param, range(2))
    gc.collect()
    gc.disable()
    try:
        take_steps(optimizer, param, range(2, 5))
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_threads_step_their_own_optimizers():
    def train(results, index):
        param = parameter()
        take_steps(optim.Adam([param], lr=0.1), param, range(20))
        results[index] = flat(param)

    results = [None] * 4
    threads = [threading.Thread(target=train, args=(results, index)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [results[0]] * 4


@pytest.mark.parametrize(
    ("name", "expected"), [("SGD", -0.1 * 2.0), ("Adagrad", -0.1), ("SparseAdam", -0.1)], ids=lambda value: str(value)
)
def test_a_step_by_a_sparse_gradient_moves_its_rows_alone(name, expected):
    table = weft.nn.Embedding(4, 2, _weight=weft.zeros(4, 2), sparse=True)
    optimizer = getattr(optim, name)(table.parameters(), lr=0.1)
    table(weft.tensor([2, 0, 2])).sum().backward()
    optimizer.step()
    weft.testing.assert_close(table.weight[2], weft.full((2,), expected))
    assert (table.weight[[1, 3]] == 0).all() and (table.weight[0] < 0).all()


@pytest.mark.parametrize("name", ["Adam", "RMSprop", "Rprop", "ASGD"])
def test_an_optimizer_for_dense_gradients_refuses_sparse_ones(name):
    table = weft.nn.Embedding(4, 2, sparse=True)
    table(weft.tensor([2])).sum().backward()
    with pytest.raises(RuntimeError, match=f"{name} does not support sparse gradients"):
        getattr(optim, name)(table.parameters()).step()


def test_sparse_adam_refuses_dense_gradients():
    weight = weft.zeros(2, 2, requires_grad=True)
    weight.sum().backward()
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        optim.SparseAdam([weight]).step()


# Muon


def test_muon_moves_by_a_matrix_with_singular_values_of_about_one():
    weight = weft.zeros(4, 3, requires_grad=True)
    weight.grad = weft.tensor([[3.0, 1.0, 0.0], [0.0, 2.0, 1.0], [1.0, 0.0, 0.5], [0.0, 0.0, 4.0]])
    optim.Muon([weight], lr=1.0, weight_decay=0.0).step()
    singular = weft.linalg.svdvals(weight.detach()) / (4 / 3) ** 0.5
    assert ((singular > 0.6) & (singular < 1.3)).all()


def test_muon_takes_matrices_alone():
    with pytest.raises(ValueError, match="only supports 2D parameters"):
        optim.Muon([weft.zeros(3, requires_grad=True)])


def vector(*values):
    return weft.tensor(values, dtype=weft.float64, requires_grad=True)


STATES = {
    "SGD": {"momentum_buffer": (0.3, 0.2)},
    "Adam": {"exp_avg": (0.3, 0.2), "exp_avg_sq": (0.5, 0.4)},
    "AdamW": {"exp_avg": (0.3, 0.2), "exp_avg_sq": (0.5, 0.4)},
    "NAdam": {"exp_avg": (0.3, 0.2), "exp_avg_sq": (0.5, 0.4), "mu_product": 0.8},
    "RAdam": {"exp_avg": (0.3, 0.2), "exp_avg_sq": (0.5, 0.4)},
    "Adamax": {"exp_avg": (0.3, 0.2), "exp_inf": (0.5, 0.4)},
    "Adagrad": {"sum": (0.4, 0.5)},
    "Adadelta": {"square_avg": (0.4, 0.5), "acc_delta": (0.2, 0.3)},
    "ASGD": {"ax": (0.2, 0.3), "eta": 0.9, "mu": 0.5},
    "RMSprop": {"square_avg": (0.5, 0.4), "grad_avg": (0.01, 0.02), "momentum_buffer": (0.3, 0.2)},
    "Rprop": {"prev": (0.2, -0.3), "step_size": (0.3, 0.2)},
}
HYPERPARAMETERS = {
    "SGD": {"lr": 0.9, "weight_decay": 0.1, "momentum": 0.8},
    **{name: {"lr": 0.9, "weight_decay": 0.1, "betas": (0.8, 0.9)} for name in ("Adam", "AdamW", "NAdam", "RAdam")},
    "Adamax": {"lr": 0.9, "weight_decay": 0.1, "betas": (0.8, 0.9)},
    **{name: {"lr": 0.9, "weight_decay": 0.1} for name in ("Adagrad", "Adadelta", "ASGD", "RMSprop")},
    "Rprop": {"lr": 0.9},
}
SETTINGS = {
    "SGD": [{}, {"nesterov": True}, {"maximize": True}],
    "Adam": [{}, {"amsgrad": True}, {"decoupled_weight_decay": True}],
    "NAdam": [{}, {"decoupled_weight_decay": True}],
    "RMSprop": [{"momentum": 0.9, "centered": True}],
}


@pytest.mark.parametrize(
    ("name", "settings"), [(name, each) for name in STATES for each in SETTINGS.get(name, [{}])], ids=str
)
def test_differentiable_steps_have_the_gradients_of_all_that_they_are_given(name, settings):
    """Of the parameter, the gradient, the state, and each hyperparameter that is a tensor, over two steps."""
    hyperparameters = HYPERPARAMETERS[name]
    state = STATES[name]
    if settings.get("amsgrad"):
        state = {**state, "max_exp_avg_sq": (0.6, 0.1)}
    lengths = {key: len(value) if isinstance(value, tuple) else None for key, value in hyperparameters.items()}

    def steps(start, grad, *given):
        given = list(given)
        param = start.clone()
        kept = {key: given.pop(0).clone() for key in state}
        options = {
            key: given.pop(0) if length is None else tuple(given.pop(0) for _ in range(length))
            for key, length in lengths.items()
        }
        optimizer = getattr(optim, name)([param], **options, **settings, differentiable=True)
        if name != "SGD":
            kept["step"] = weft.tensor(10.0)
        optimizer.state[param].update(kept)
        for scale in (1.0, 2.0):
            param.grad = grad * scale
            optimizer.step()
        written = [each for key, each in sorted(optimizer.state[param].items()) if key not in ("step", "mu", "eta")]
        return (param, *written)

    values = [*state.values()]
    for value in hyperparameters.values():
        values += value if isinstance(value, tuple) else [value]
    tensors = [vector(*value) if isinstance(value, tuple) else vector(value)[0].detach() for value in values]
    tensors = [each.requires_grad_(key != "mu") for key, each in zip([*state, *[""] * len(tensors)], tensors)]
    assert weft.autograd.gradcheck(steps, (vector(1.0, -0.7), vector(0.6, 0.8), *tensors))


@pytest.mark.parametrize("name", ["SGD", "Adam", "NAdam", "RMSprop"])
def test_hyperparameters_may_be_tensors_without_gradients_too(name):
    def run(wrap):
        param = weft.nn.Parameter(weft.tensor([1.0, -2.0]))
        options = {
            key: tuple(wrap(each) for each in value) if isinstance(value, tuple) else wrap(value)
            for key, value in HYPERPARAMETERS[name].items()
        }
        optimizer = getattr(optim, name)([param], **options)
        for _ in range(3):
            param.grad = param.detach() * 2
            optimizer.step()
        return param.detach()

    weft.testing.assert_close(run(weft.tensor), run(float))


def test_a_rate_that_is_a_tensor_is_refused_with_foreach_by_adam_alone():
    param, rate = weft.nn.Parameter(weft.ones(1)), weft.tensor(0.1)
    for name in ("Adam", "AdamW"):
        with pytest.raises(ValueError, match="lr as a Tensor"):
            getattr(optim, name)([param], lr=rate, foreach=True)
        getattr(optim, name)([param], lr=rate, foreach=True, capturable=True)
    for name in ("SGD", "NAdam", "RAdam", "RMSprop", "Adagrad"):
        getattr(optim, name)([param], lr=rate, foreach=True)


def test_options_that_are_lists_are_copied():
    betas = [0.9, 0.99]
    optimizer = optim.Adam([weft.nn.Parameter(weft.ones(1))], betas=betas)
    betas[0] = 0.1
    assert optimizer.param_groups[0]["betas"] == (0.9, 0.99)


class Wrapper(optim.Optimizer):
    """Around another optimizer; its own __init__ calls none."""

    def __init__(self, inner):
        self.inner = inner
        self.param_groups, self.state, self.defaults = inner.param_groups, inner.state, inner.defaults

    def step(self, closure=None):
        return self.inner.step(closure)


def test_a_wrapper_that_never_called_init_steps_and_takes_hooks():
    param = weft.nn.Parameter(weft.ones(1))
    wrapper, seen = Wrapper(optim.SGD([param], lr=0.5)), []
    param.grad = weft.ones(1)
    wrapper.step()
    assert param.tolist() == [0.5]
    with wrapper.register_step_post_hook(lambda *_: seen.append("hook")):
        wrapper.step()
    wrapper.step()
    assert seen == ["hook"]
    assert "lr: 0.5" in repr(wrapper)
    wrapper.zero_grad()
    assert param.grad is None
    assert wrapper.state_dict()["param_groups"][0]["lr"] == 0.5
    assert copy.deepcopy(wrapper).param_groups[0]["lr"] == 0.5


COUNTING = {
    "Adam": {"amsgrad": True},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {"betas": (0.9, 0.99)},
    "ASGD": {"t0": 2},
    "Adagrad": {"lr_decay": 0.1},
}


@pytest.mark.parametrize("name", COUNTING)
def test_counts_in_tensors_give_the_same_steps(name, monkeypatch):
    """As where they are on a device: formulas take them as they are."""
    found = []
    for in_tensors in (False, True):
        if in_tensors:
            module = importlib.import_module(f"weft.optim.{name.lower()}")
            monkeypatch.setattr(module, "advance", lambda states: [state["step"].add_(1) for state in states])
            monkeypatch.setattr(module, "scalar", lambda value, differentiable=False: value)
        weft.manual_seed(0)
        param = weft.randn(4, 3, requires_grad=True)
        optimizer = getattr(weft.optim, name)([param], **COUNTING[name])
        for _ in range(12):  # enough for both branches of RAdam
            param.grad = weft.randn(4, 3)
            optimizer.step()
        found.append(param.detach())
    assert weft.allclose(*found, rtol=1e-5, atol=1e-6)


def test_an_optimizer_of_others_sees_itself_to_what_an_old_file_lacks():
    """timm's Muon computes a new option from one that it no longer has."""

    class Scaled(weft.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.1, "scale": 1.0})

        def __setstate__(self, state):
            super().__setstate__(state)
            for group in self.param_groups:
                if "scale" not in group:
                    group["scale"] = group.pop("older_rate") / group["lr"]

    optimizer = Scaled([weft.nn.Parameter(weft.ones(2))])
    saved = optimizer.state_dict()
    del saved["param_groups"][0]["scale"]
    saved["param_groups"][0]["older_rate"] = 0.05
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["scale"] == 0.5


def test_a_step_that_runs_hooks_is_marked_as_such():
    class Mine(weft.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    assert weft.optim.SGD.step.hooked
    assert Mine([weft.nn.Parameter(weft.ones(1))], lr=0.1).step.hooked
