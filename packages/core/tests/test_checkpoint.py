"""Checkpointing: what is computed again, when it ends, in which contexts, and what is checked."""

import contextlib
from contextlib import contextmanager

import pytest

import weft
from weft.utils import checkpoint as checkpoints
from weft.utils.checkpoint import (
    CheckpointError,
    GraphExecGroup,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)


class Traced:
    """exp and sin, which tells how far each call came."""

    def __init__(self):
        self.seen = []

    def __call__(self, x):
        self.seen.append("begin")
        result = x.exp().sin()
        self.seen.append("end")
        return result


def gradient(function, **options):
    x = weft.tensor([0.5, 1.0], requires_grad=True)
    checkpoint(function, x, use_reentrant=False, **options).sum().backward()
    return x.grad


def expected():
    x = weft.tensor([0.5, 1.0])
    return x.exp().cos() * x.exp()


def test_the_second_computation_ends_with_the_last_tensor_that_is_needed():
    function = Traced()
    assert weft.allclose(gradient(function), expected())
    assert function.seen == ["begin", "end", "begin"]


def test_the_second_computation_runs_to_its_end_on_request():
    function = Traced()
    assert weft.allclose(gradient(function, early_stop=False), expected())
    assert function.seen == ["begin", "end"] * 2
    function = Traced()
    with set_checkpoint_early_stop(False):
        gradient(function)
    assert function.seen == ["begin", "end"] * 2


def test_backward_twice_computes_twice():
    function = Traced()
    x = weft.tensor([0.5, 1.0], requires_grad=True)
    result = checkpoint(function, x, use_reentrant=False).sum()
    result.backward(retain_graph=True)
    result.backward()
    assert weft.allclose(x.grad, 2 * expected())
    assert function.seen.count("begin") == 3


def test_each_computation_has_its_context():
    entered = []

    @contextmanager
    def note(name):
        entered.append(name)
        yield

    gradient(Traced(), context_fn=lambda: (note("forward"), note("again")))
    assert entered == ["forward", "again"]
    assert len(checkpoints.noop_context_fn()) == 2


def test_checkpoints_in_each_other_agree():
    def outer(x):
        return checkpoint(Traced(), x, use_reentrant=False) * x

    x = weft.tensor([0.5, 1.0], requires_grad=True)
    assert weft.allclose(gradient(outer), expected() * x.detach() + x.detach().exp().sin())


def test_nothing_is_kept_where_nothing_is_recorded():
    with weft.no_grad():
        found = checkpoint(weft.exp, weft.ones(2, requires_grad=True), use_reentrant=False)
    assert not found.requires_grad


@pytest.mark.parametrize("debug", [False, True])
def test_fewer_tensors_the_second_time_are_an_error(debug):
    calls = iter([lambda x: x.exp().sin(), lambda x: x.exp()])
    with pytest.raises(CheckpointError, match=r"saved during forward: 2\nNumber of .* recomputation: 1") as caught:
        gradient(lambda x: next(calls)(x), debug=debug)
    assert ("Saved during recomputation: [" in str(caught.value)) is debug


def test_other_shapes_the_second_time_are_an_error_unless_nobody_asks():
    def calls():
        functions = iter([lambda x: x.exp().sin(), lambda x: x.exp().sin()[:1].exp()])
        return lambda x: next(functions)(x * 1)

    def shorter():
        functions = iter([lambda x: (x * x).sin(), lambda x: (x[:1] * x[:1]).sin()])
        return lambda x: next(functions)(x)

    with pytest.raises(CheckpointError, match=r"tensor at position 0:\nsaved metadata: .*\[2\].*\nrecomputed.*\[1\]"):
        gradient(shorter())
    gradient(calls(), determinism_check="none")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use_reentrant": True, "context_fn": lambda: None}, "only supported when use_reentrant=False"),
        ({"use_reentrant": True, "debug": True}, "only supported when use_reentrant=False"),
        ({"use_reentrant": True, "scale": 1}, "Unexpected keyword arguments: scale"),
        ({"use_reentrant": False, "determinism_check": "all"}, r"one of \['default', 'none'\], but got all"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        checkpoint(weft.exp, weft.ones(2, requires_grad=True), **options)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_sequence_is_checkpointed_in_segments(use_reentrant):
    functions = [Traced(), Traced(), Traced()]
    x = weft.tensor([0.5, 1.0], requires_grad=True)
    checkpoint_sequential(functions, 3, x, use_reentrant=use_reentrant, preserve_rng_state=False).sum().backward()
    assert [function.seen.count("begin") for function in functions] == [2, 2, 1]
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint_sequential(functions, 3, x, scale=2)


def test_the_parts_of_a_checkpoint_are_there_for_programs_that_use_them():
    x = weft.ones(2, requires_grad=True) * 2
    alone, other = checkpoints.detach_variable((x, "other"))
    assert (alone.is_leaf, alone.requires_grad, other) == (True, True, "other")
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoints.check_backward_validity([weft.ones(2), 3])
    assert checkpoints.get_device_states(x, 1) == ([], [])
    assert checkpoints.DefaultDeviceType.get_device_type() == "cuda"
    assert checkpoints.CheckpointFunction.apply(weft.exp, True, x).requires_grad


def test_the_default_is_named():
    x = weft.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(weft.exp, x)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        weft.utils.checkpoint.checkpoint_sequential([weft.exp, weft.sin], 2, x)


def test_what_was_saved_beyond_the_first_time_is_told_and_debug_says_why_it_speaks():
    calls = []

    def longer(x):
        calls.append(1)
        return x.sin().exp() if len(calls) == 1 else x.sin().exp().sin()

    x = weft.ones(2, requires_grad=True)
    with weft.utils.checkpoint.set_checkpoint_early_stop(False):
        out = checkpoint(longer, x, use_reentrant=False, debug=True)
        with pytest.raises(RuntimeError, match=r"(?s)trying to save more tensors.*you passed `debug=True`"):
            out.sum().backward()


def test_a_choice_of_ops_to_keep_changes_no_number():
    """Trl chooses attention's output."""
    kept = checkpoints.create_selective_checkpoint_contexts
    policy = checkpoints.CheckpointPolicy.MUST_SAVE
    x = weft.rand(3, requires_grad=True)
    y = checkpoint(
        lambda x: x.exp().sin(), x, use_reentrant=False, context_fn=lambda: kept(lambda context, op, *args: policy)
    )
    y.sum().backward()
    assert weft.allclose(x.grad, x.exp().cos() * x.exp())
    with pytest.raises(TypeError, match="either a function or a list"):
        kept(3)


def test_a_backward_that_reads_what_was_saved_twice_is_an_error():
    class Twice(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return ctx.saved_tensors[0] * ctx.saved_tensors[0]

    y = checkpoint(lambda x: Twice.apply(x * 3), weft.ones(2, requires_grad=True), use_reentrant=False)
    with pytest.raises(RuntimeError, match="already unpacked once"):
        y.sum().backward()


def test_passes_of_a_group_compute_again_once():
    calls = []

    def both(x):
        calls.append(x)
        middle = x.sin().cos()
        return middle, middle.sin().cos()

    x = weft.ones(2, requires_grad=True)
    for block, count in ((GraphExecGroup(), 2), (contextlib.nullcontext(), 3)):
        calls.clear()
        y, z = checkpoint(both, x, use_reentrant=False)
        with block:
            (middle,) = weft.autograd.grad(z.sum(), y)
            weft.autograd.grad(y, x, middle)
        assert len(calls) == count
    out = checkpoint(both, x, use_reentrant=False)[0].sum()
    with GraphExecGroup():
        out.backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="Performing two backward calls that overlap"):
            out.backward()
        with pytest.raises(RuntimeError, match="cannot be nested"), GraphExecGroup():
            pass


def test_what_needs_no_gradient_is_itself_in_the_second_computation():
    class Keep(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x, constant):
            ctx.save_for_backward(constant)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            seen.append(ctx.saved_tensors[0])
            return grad, None

    seen, constant = [], weft.ones(2)
    checkpoint(Keep.apply, weft.ones(2, requires_grad=True), constant, use_reentrant=False).sum().backward()
    assert seen[0] is constant


def test_the_device_of_a_checkpoint_is_that_of_its_arguments():
    here, meta = weft.ones(1), weft.ones(1, device="meta")
    assert checkpoints._infer_device_type(here) == checkpoints.DefaultDeviceType.get_device_type()
    assert checkpoints._infer_device_type([{"a": meta}], here) == "meta"
