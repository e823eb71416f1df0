"""Grad modes, inference mode, anomaly mode, and leaving the graph: detach, data, copies."""

import copy
import threading
import warnings

import pytest

import weft
from weft.autograd import detect_anomaly, set_detect_anomaly


def leaf(*values):
    return weft.tensor(values or (1.0, 1.0), requires_grad=True)


def test_modes_nest_and_come_back():
    seen = []
    with weft.no_grad():
        seen.append(weft.is_grad_enabled())
        with weft.enable_grad():
            seen.append(weft.is_grad_enabled())
        with weft.set_grad_enabled(True):
            seen.append(weft.is_grad_enabled())
        seen.append(weft.is_grad_enabled())
        weft.set_grad_enabled(True)  # as a function: until the block ends
        seen.append(weft.is_grad_enabled())
    with pytest.raises(ValueError), weft.no_grad():
        raise ValueError
    assert [*seen, weft.is_grad_enabled()] == [False, True, True, False, True, True]


@pytest.mark.parametrize(
    "mode",
    [
        lambda: weft.no_grad,
        lambda: weft.no_grad(),
        lambda: weft.set_grad_enabled(False),
        lambda: weft.inference_mode,
        lambda: weft.inference_mode(),
    ],
)
def test_modes_decorate_functions(mode):
    @mode()
    def function(x):
        return (x * 2).requires_grad

    assert not function(leaf())
    assert weft.is_grad_enabled()


def test_a_decorated_generator_has_its_mode_only_while_it_runs():
    seen = []

    @weft.no_grad()
    def generator():
        try:
            seen.append((yield weft.is_grad_enabled()))
            try:
                yield
            except ValueError:
                yield weft.is_grad_enabled()
        finally:
            seen.append(weft.is_grad_enabled())
        return "end"

    running = generator()
    assert next(running) is False
    assert weft.is_grad_enabled()
    running.send("sent")
    assert running.throw(ValueError()) is False
    with pytest.raises(StopIteration, match="end"):
        next(running)
    closed = generator()
    next(closed)
    closed.close()
    assert seen == ["sent", False, False]


def test_modes_are_of_one_thread():
    seen = []
    with weft.no_grad():
        thread = threading.Thread(target=lambda: seen.append((leaf() * 2).requires_grad))
        thread.start()
        thread.join()
    assert seen == [True]


MADE_IN_INFERENCE = {
    "a result": lambda x: x * 2,
    "ones": lambda x: weft.ones(2),
    "empty": lambda x: weft.empty(2),
    "tensor": lambda x: weft.tensor([1.0]),
    "rand": lambda x: weft.rand(2),
    "arange": lambda x: weft.arange(3.0),
    "a clone": lambda x: x.clone(),
    "zeros_like": lambda x: weft.zeros_like(x),
    "stack": lambda x: weft.stack([x, x]),
    "a view of a result": lambda x: (x * 2)[0],
    "one of several results": lambda x: (x * 2).sort()[0],
}


@pytest.mark.parametrize("make", list(MADE_IN_INFERENCE.values()), ids=list(MADE_IN_INFERENCE))
def test_what_inference_mode_makes_is_an_inference_tensor(make):
    x = leaf()
    with weft.inference_mode():
        made = make(x)
        made += 1  # inside it may be written to
    assert made.is_inference()
    assert not made.requires_grad
    assert not (made * 1).is_inference()
    assert not weft.clone(made).is_inference()


def test_what_inference_mode_does_not_make_stays_what_it_is():
    x = leaf()
    with weft.inference_mode():
        assert weft.is_inference_mode_enabled()
        for view in (x, x.view(2), x.detach(), x.unbind(0)[0]):
            assert not view.is_inference()
        with weft.inference_mode(False):
            assert weft.is_grad_enabled()
            assert (x * 2).requires_grad
            assert not (x * 2).is_inference()
    y = weft.ones(2)
    with weft.inference_mode():
        y.add_(1)
    assert y._version == 1
    (leaf() * y).sum().backward()


@pytest.mark.parametrize(
    "use",
    [
        lambda y, x: y.add_(1),
        lambda y, x: y[0].add_(1),
        lambda y, x: y * x,  # would save it
        lambda y, x: y.requires_grad_(),
        lambda y, x: y._version,
    ],
)
def test_inference_tensors_are_not_for_autograd(use):
    with weft.inference_mode():
        y = weft.ones(2)
    with pytest.raises(RuntimeError, match=r"(?i)inference tensor"):
        use(y, leaf())
    (y + leaf()).sum().backward()  # saves nothing


def test_a_write_in_inference_mode_is_counted_for_those_outside():
    b = leaf() * 1
    c = b * b
    with weft.inference_mode():
        b.add_(1)
    with pytest.raises(RuntimeError, match="inplace"):
        c.sum().backward()


def test_detach_shares_memory_and_version():
    x = leaf()
    y = x * 1
    z = (y * y).sum()
    d = y.detach()
    assert (d.requires_grad, d.grad_fn, d.is_leaf, d._is_view()) == (False, None, True, False)
    d.add_(1)
    assert y.tolist() == [2, 2]
    assert y._version == d._version == 1
    with pytest.raises(RuntimeError, match="inplace"):
        z.backward()


def test_data_shares_memory_and_hides_its_writes():
    x = leaf()
    y = x * 1
    z = (y * y).sum()
    y.data.add_(1)
    assert y._version == 0
    z.backward()
    assert x.grad.tolist() == [4, 4]
    x.data = weft.zeros(3)
    assert (x.tolist(), x.requires_grad) == ([0, 0, 0], True)
    with pytest.raises(RuntimeError, match="floating point"):
        x.data = weft.ones(2, dtype=weft.int64)
    with pytest.raises(TypeError, match="int"):
        x.data = 3


def test_detach_in_place_makes_a_leaf_but_not_of_a_view():
    y = leaf() * 2
    assert y.detach_() is y
    assert (y.requires_grad, y.grad_fn, y.is_leaf) == (False, None, True)
    x = leaf()
    assert not x.detach_().requires_grad
    for view in ((leaf() * 2)[0], (leaf() * 2).unbind(0)[0]):
        with pytest.raises(RuntimeError, match=r"detach_.*view"):
            view.detach_()


def test_a_deep_copy_is_of_a_leaf_with_its_gradient():
    x = leaf()
    x.grad = weft.ones(2)
    made = copy.deepcopy(x)
    assert made.requires_grad
    assert made.grad is not x.grad
    assert made.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="leaves"):
        copy.deepcopy(x * 1)


def test_versions_count_the_writes_that_views_share():
    x = weft.ones(4)
    view = x[:2]
    counts = [x._version]
    for write in (
        lambda: x.add_(1),
        lambda: view.mul_(2),
        lambda: x.__setitem__(0, 5),
        lambda: weft.add(x, 1, out=x),
        lambda: x.copy_(weft.zeros(4)),
        lambda: view.normal_(),
        lambda: weft.autograd.graph.increment_version(x),
        lambda: x.unsqueeze_(0),
    ):
        write()
        counts.append(x._version)
    assert counts == list(range(9))
    assert view._version == 8
    assert x.clone()._version == 0


def test_anomaly_mode_raises_at_the_nan_and_shows_the_forward_line():
    x = weft.zeros(1, requires_grad=True)
    with pytest.warns(UserWarning) as seen, detect_anomaly():
        y = (x / x) * 0
        with pytest.raises(RuntimeError, match="'DivBackward0' returned nan values in its 0th output"):
            y.sum().backward()
    text = str(seen[-1].message)
    assert "Error detected in DivBackward0" in text
    assert "y = (x / x) * 0" in text
    assert "ops/_declare.py" not in text
    assert not weft.is_anomaly_enabled()


def test_anomaly_mode_shows_the_line_of_a_function_that_failed():
    class Failing(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("boo")

    with set_detect_anomaly(True):
        y = Failing.apply(leaf()).sum()
        with (
            pytest.warns(UserWarning, match="(?s)FailingBackward.*Failing.apply"),
            pytest.raises(ValueError, match="boo"),
        ):
            y.backward()


def test_anomaly_mode_is_switched_for_a_block_or_for_good_and_for_all_threads():
    seen = []
    with set_detect_anomaly(True, check_nan=False):
        thread = threading.Thread(target=lambda: seen.append(weft.is_anomaly_enabled()))
        thread.start()
        thread.join()
        assert not weft.is_anomaly_check_nan_enabled()
        x = weft.zeros(1, requires_grad=True)
        ((x / x) * 0).sum().backward()
    set_detect_anomaly(True)
    seen.append(weft.is_anomaly_check_nan_enabled())
    set_detect_anomaly(False)
    seen.append(weft.is_anomaly_enabled())
    assert seen == [True, True, False]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (leaf() * 2).sum().backward()


@pytest.mark.parametrize(
    "mode",
    [weft.no_grad(), weft.enable_grad(), weft.inference_mode(), weft.set_grad_enabled(True)],
    ids=lambda mode: type(mode).__name__,
)
def test_a_decorated_class_makes_its_instances_in_the_mode_and_warns(mode):
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @mode
        class Made:
            def __init__(self):
                self.recorded = weft.is_grad_enabled()

            def method(self):
                return weft.is_grad_enabled()

    made = Made()
    assert made.recorded is isinstance(mode, weft.enable_grad | weft.set_grad_enabled)
    assert made.method()


def test_a_decorated_generator_takes_one_exception_after_another():
    @weft.no_grad()
    def counting():
        for number in range(10):
            try:
                assert not weft.is_grad_enabled()
                yield number
            except ValueError:
                assert not weft.is_grad_enabled()

    made = counting()
    assert next(made) == 0
    assert [made.throw(ValueError) for _ in range(3)] == [1, 2, 3]
    assert weft.is_grad_enabled()


def test_anomaly_mode_finds_the_nan_of_what_was_recorded_before_it_was_on():
    x = weft.zeros(1, requires_grad=True)
    y = (x / x).sqrt()
    nan = pytest.raises(RuntimeError, match="returned nan values in its 0th output")
    with pytest.warns(UserWarning) as said, nan, weft.autograd.detect_anomaly():
        y.backward()
    assert any("No forward pass information" in str(each.message) for each in said)


def test_anomaly_mode_tells_which_backward_recorded_what_fails():
    class Outer(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return (grad * x * 0).sqrt()

    x = weft.ones(1, requires_grad=True)
    nan = pytest.raises(RuntimeError, match="SqrtBackward0")
    with pytest.warns(UserWarning) as said, nan, weft.autograd.detect_anomaly():
        (first,) = weft.autograd.grad(Outer.apply(x), x, create_graph=True)
        (first * 0).sum().backward()
    assert any("induced by OuterBackward" in str(each.message) for each in said)


def test_inference_tensors_are_no_outputs_and_are_not_saved_outside():
    with weft.inference_mode():
        made = weft.ones(2)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        weft.add(weft.ones(2), 1, out=made)

    class Saving(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x, other):
            ctx.save_for_backward(other)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        Saving.apply(weft.ones(2, requires_grad=True), made)


def test_in_inference_mode_grad_is_enabled_in_name_only():
    with weft.inference_mode():
        assert not weft.is_grad_enabled()
        with weft.enable_grad():
            assert weft.is_grad_enabled()
            assert not (weft.ones(1, requires_grad=True) * 2).requires_grad
            with weft.inference_mode():
                assert not weft.is_grad_enabled()
            with weft.inference_mode(False):
                assert (weft.ones(1, requires_grad=True) * 2).requires_grad
            with weft.no_grad():
                assert not weft.is_grad_enabled()
            assert weft.is_grad_enabled()
        assert not weft.is_grad_enabled()
        weft.set_grad_enabled(True)
    assert weft.is_grad_enabled()
    assert (weft.ones(1, requires_grad=True) * 2).requires_grad
    with weft.no_grad():
        with weft.inference_mode(), weft.enable_grad():
            assert weft.is_grad_enabled()
        assert not weft.is_grad_enabled()


@pytest.mark.parametrize("value", [1, "no", None])
def test_requires_grad_is_set_to_a_bool_only(value):
    with pytest.raises(RuntimeError, match="must be a bool"):
        weft.ones(1).requires_grad = value
