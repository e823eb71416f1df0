"""Hooks of modules: when they run, what they see, what they may change."""

import gc
import weakref

import pytest

import weft
from weft import nn
from weft.nn import module as registration


class Two(nn.Module):
    """Two outputs of two inputs, and a third that is no tensor."""

    def forward(self, first, second):
        return first * 2, first * second, "label"


def test_forward_hooks_run_in_order_and_prepend_goes_first():
    seen = []
    module = nn.Linear(1, 1)
    module.register_forward_pre_hook(lambda module, args: seen.append("pre 1"))
    module.register_forward_pre_hook(lambda module, args: seen.append("pre 0"), prepend=True)
    module.register_forward_hook(lambda module, args, output: seen.append("post 1"))
    module.register_forward_hook(lambda module, args, output: seen.append("post 0"), prepend=True)
    module(weft.ones(1))
    assert seen == ["pre 0", "pre 1", "post 0", "post 1"]


def test_a_removed_hook_does_not_run():
    module = nn.Linear(1, 1)
    handle = module.register_forward_hook(lambda module, args, output: 1 / 0)
    handle.remove()
    module(weft.ones(1))


def test_a_pre_hook_replaces_arguments():
    module = nn.Identity()
    module.register_forward_pre_hook(lambda module, args: args[0] + 1)
    module.register_forward_pre_hook(lambda module, args, kwargs: ((args[0] * 10,), kwargs), with_kwargs=True)
    assert module(weft.tensor(1.0)).item() == 20.0


def test_a_pre_hook_with_kwargs_must_return_both():
    module = nn.Identity()
    module.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="new_args, new_kwargs"):
        module(weft.ones(1))


def test_a_forward_hook_replaces_the_output_and_sees_kwargs():
    class Scaled(nn.Module):
        def forward(self, input, factor):
            return input * factor

    module = Scaled()
    module.register_forward_hook(lambda module, args, kwargs, output: output + kwargs["factor"], with_kwargs=True)
    assert module(weft.tensor(2.0), factor=3.0).item() == 9.0


def test_always_call_runs_after_an_error_with_no_output():
    seen = []
    module = nn.Linear(1, 1)
    module.register_forward_hook(lambda module, args, output: seen.append("never"))
    module.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    with pytest.raises(Exception):  # noqa: B017  (whatever linear raises for a string)
        module("no tensor")
    assert seen == [None]


def test_an_error_in_an_always_called_hook_gives_way_to_the_first():
    module = nn.Sequential(nn.Identity())
    module[0].register_forward_hook(lambda module, args, output: {}["first"])
    module[0].register_forward_hook(lambda module, args, output: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="silenced"), pytest.raises(KeyError, match="first"):
        module(weft.ones(1))


def test_global_hooks_run_before_own_ones_for_every_module():
    seen = []
    handle = registration.register_module_forward_pre_hook(lambda module, args: seen.append(type(module).__name__))
    try:
        model = nn.Sequential(nn.Identity())
        model.register_forward_pre_hook(lambda module, args: seen.append("own"))
        model(weft.ones(1))
    finally:
        handle.remove()
    model(weft.ones(1))
    assert seen == ["Sequential", "own", "Identity", "own"]


def test_registration_hooks_see_names_and_may_replace():
    seen = []
    handles = [
        registration.register_module_parameter_registration_hook(lambda module, name, value: seen.append(name)),
        registration.register_module_buffer_registration_hook(lambda module, name, value: seen.append(name)),
        registration.register_module_module_registration_hook(
            lambda module, name, value: nn.Identity() if isinstance(value, nn.Tanh) else seen.append(name)
        ),
    ]
    try:
        model = nn.Sequential(nn.BatchNorm1d(1), nn.Tanh())
    finally:
        for handle in handles:
            handle.remove()
    assert seen == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked", "0"]
    assert isinstance(model[1], nn.Identity)


# -- backward --------------------------------------------------------------------------------------------------------


def test_a_full_backward_hook_sees_gradients_of_inputs_and_outputs():
    seen = []
    module = nn.Linear(2, 1)
    with weft.no_grad():
        module.weight.copy_(weft.tensor([[2.0, 3.0]]))
    module.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
    module(weft.ones(1, 2, requires_grad=True)).sum().backward()
    ((grad_input,), (grad_output,)) = seen[0]
    assert grad_input.tolist() == [[2.0, 3.0]]
    assert grad_output.tolist() == [[1.0]]


def test_unused_outputs_have_no_gradient_and_unused_inputs_have_zeros():
    seen = []
    module = Two()
    module.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
    first, second = weft.ones(2, requires_grad=True), weft.full((2,), 3.0, requires_grad=True)
    module(first, second)[0].sum().backward()
    grad_input, grad_output = seen[0]
    assert [gradient.tolist() for gradient in grad_input] == [[2.0, 2.0], [0.0, 0.0]]
    assert grad_output[0].tolist() == [1.0, 1.0]
    assert grad_output[1:] == (None, None)


def test_hooks_replace_gradients():
    module = nn.Identity()
    module.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 3,))
    module.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] + grad_output[0],))
    input = weft.ones(2, requires_grad=True)
    module(input).sum().backward()
    assert input.grad.tolist() == [6.0, 6.0]


def test_without_gradients_of_inputs_the_hook_runs_and_warns():
    seen = []
    module = nn.Linear(1, 1)
    module.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append(grad_input))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        module(weft.ones(1)).backward()
    assert seen == [(None,)]


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.filterwarnings("ignore:Full backward hook")
def test_a_replacement_of_the_wrong_length_is_an_error(requires_grad):
    module = nn.Linear(1, 1)
    module.register_full_backward_hook(lambda module, grad_input, grad_output: (1, 2))
    with pytest.raises(RuntimeError):
        module(weft.ones(1, requires_grad=requires_grad)).backward()


def test_kinds_of_backward_hooks_do_not_mix():
    module = nn.Linear(1, 1)
    module.register_full_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="full"):
        module.register_backward_hook(lambda *args: None)
    module = nn.Linear(1, 1)
    module.register_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="full"):
        module.register_full_backward_hook(lambda *args: None)


def test_backward_hooks_leave_second_derivatives_intact():
    module = nn.Sequential(nn.Tanh())
    module.register_full_backward_hook(lambda *args: None)
    input = weft.tensor([0.5], requires_grad=True)
    (gradient,) = weft.autograd.grad(module(input).sum(), input, create_graph=True)
    gradient.sum().backward()
    tanh = weft.tanh(weft.tensor([0.5]))
    assert input.grad.item() == pytest.approx((-2 * tanh * (1 - tanh**2)).item(), rel=1e-5)


def test_hooked_modules_work_without_recording():
    module = nn.Identity()
    module.register_full_backward_hook(lambda *args: None)
    with weft.no_grad():
        assert module(weft.ones(1, requires_grad=True)).tolist() == [1.0]


def test_global_backward_hooks_see_every_module():
    seen = []
    handle = registration.register_module_full_backward_hook(
        lambda module, grad_input, grad_output: seen.append(type(module).__name__)
    )
    try:
        nn.Sequential(nn.Identity(), nn.Tanh())(weft.ones(1, requires_grad=True)).backward()
    finally:
        handle.remove()
    assert seen == ["Tanh", "Identity", "Sequential"]


def test_hooks_make_no_reference_cycle():
    model = nn.Sequential(nn.Linear(2, 2))
    model[0].register_load_state_dict_pre_hook(lambda module, *args: None)
    model[0].register_full_backward_hook(lambda *args: None)
    model[0].register_forward_hook(lambda *args: None)
    model(weft.ones(1, 2, requires_grad=True)).sum().backward()
    alive = [weakref.ref(model), weakref.ref(model[0]), weakref.ref(model[0].weight)]
    gc.disable()
    try:
        del model
        assert [reference() for reference in alive] == [None, None, None]
    finally:
        gc.enable()


class Gives(nn.Module):
    """A layer whose output a function shapes."""

    def __init__(self, shape_output):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.shape_output = shape_output

    def forward(self, x):
        return self.shape_output(self.layer(x))


@pytest.mark.parametrize("shape_output", [lambda y: {"a": y}, lambda y: [y], lambda y: 5], ids=["dict", "list", "int"])
def test_full_backward_hooks_say_that_they_do_not_see_other_outputs(shape_output):
    module, seen = Gives(shape_output), []
    module.register_full_backward_hook(lambda *_: seen.append("hook"))
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple"):
        module(weft.ones(1, 2, requires_grad=True))
    assert seen == []


@pytest.mark.parametrize(
    ("shape_output", "message"),
    [
        (lambda y: [y], "does not return"),
        (lambda y: (y, y * 2), "different autograd Nodes"),
        (lambda y: y * 2, "multiple autograd Nodes"),
    ],
)
def test_hooks_of_the_last_operation_say_what_they_miss(shape_output, message):
    module = Gives(shape_output)
    module.register_backward_hook(lambda *_: None)
    with pytest.warns(FutureWarning, match=message):
        module(weft.ones(1, 2, requires_grad=True))


def test_a_tensor_that_is_returned_twice_has_a_gradient_at_each_place():
    module, seen = Gives(lambda y: (y, y)), []
    module.register_full_backward_hook(lambda _, __, grad_output: seen.extend(grad_output))
    first, second = module(weft.ones(1, 2, requires_grad=True))
    (first.sum() + 3 * second.sum()).backward()
    assert [grad.tolist() for grad in seen] == [[[1.0, 1.0]], [[3.0, 3.0]]]


@pytest.mark.parametrize("kind", ["register_full_backward_hook", "register_full_backward_pre_hook"])
def test_what_backward_hooks_return_is_checked(kind):
    def gradients(result):
        module = nn.Linear(2, 1)
        getattr(module, kind)(lambda *args: result(args[1]))
        x = weft.ones(1, 2, requires_grad=True)
        module(x).sum().backward()
        return x.grad

    weft.testing.assert_close(gradients(lambda given: [given[0] * 0]), weft.zeros(1, 2))  # a list serves as a tuple
    with pytest.raises(TypeError, match="returned 'int'"):
        gradients(lambda given: (3,))
    with pytest.raises(RuntimeError, match="invalid number"):
        gradients(lambda given: (*given, None))


@pytest.mark.parametrize("first", ["register_backward_hook", "register_full_backward_hook"])
def test_the_refusal_of_both_kinds_of_backward_hooks_says_why(first):
    module = nn.Linear(1, 1)
    second = {"register_backward_hook": "register_full_backward_hook"}.get(first, "register_backward_hook")
    getattr(module, first)(lambda *args: None)
    with pytest.raises(RuntimeError, match=f"{second}: Cannot use both regular backward hooks and full"):
        getattr(module, second)(lambda *args: None)


@pytest.mark.parametrize("count", [0, 2])
def test_full_backward_hooks_that_return_too_few_or_too_many_are_told_how_many(count):
    for kind in ("register_full_backward_hook", "register_full_backward_pre_hook"):
        module = nn.Sigmoid()
        getattr(module, kind)(lambda module, *grads: (weft.ones(2),) * count)
        with pytest.raises(RuntimeError, match=f"got {count}, but expected 1"):
            module(weft.ones(2, requires_grad=True)).sum().backward()
