"""What the fast path and the slow path of a call have in common."""

import subprocess
import sys
import textwrap
import threading
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import weft
from weft._devices.devices import backend_of, key_of
from weft._engine.tensor import run_elsewhere, separate_threads
from weft.ops._registry import registry
from weft.testing._samples import function_of, sample_inputs, sample_names


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "ge", "logical_and", "isin"])
def test_an_op_without_a_gradient_is_not_recorded(name):
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    result = getattr(weft, name)(x, x)
    assert not result.requires_grad
    assert result.grad_fn is None


def test_half_precision_reduces_over_several_dimensions():
    x = weft.ones(2, 3, dtype=weft.bfloat16)
    assert x.sum((0, 1)).tolist() == 6
    assert x.mean((0, 1)).dtype is weft.bfloat16


def test_a_backend_is_asked_for_a_kernel_of_half_precision_before_arrays_are_converted(monkeypatch):
    backend, asked = backend_of(weft.device("cpu")), []

    def half_kernel(name, element, generic):
        asked.append((name, element))
        return lambda *arrays: generic(*arrays) * 2 if name == "core::exp" else generic(*arrays)

    x = weft.zeros(3)
    with monkeypatch.context() as patched:
        patched.setattr(backend, "half_kernel", half_kernel)
        weft.backend.invalidate_kernels()
        assert x.bfloat16().exp().tolist() == [2, 2, 2]
        assert x.half().exp().dtype is weft.float16
        assert (x.exp() + x).tolist() == [1, 1, 1]
    weft.backend.invalidate_kernels()
    assert ("core::exp", weft.bfloat16) in asked and ("core::exp", weft.float16) in asked
    assert {element for _, element in asked} == {weft.bfloat16, weft.float16}
    assert x.bfloat16().exp().tolist() == [1, 1, 1]


# One kernel, run once

float32 = key_of(weft.float32, weft.device("cpu"))
FAILURES = (
    RuntimeError("cannot enter context: <_contextvars.Context object at 0x7f0000000000> is already entered"),
    RuntimeError("kernel"),
    ValueError("operands could not be broadcast together"),
    TypeError("kernel() got an unexpected keyword argument 'axis'"),
    IndexError("kernel"),
    MemoryError("kernel"),
    KeyboardInterrupt("kernel"),
)


class Failing:
    """A kernel that fails, and counts how often it was run."""

    def __init__(self, error, watched=None):
        self.error = error
        self.runs = 0
        self.watched = watched  # as a profiler's: that of a ufunc may write in place

    def __call__(self, *args):
        self.runs += 1
        raise self.error


@contextmanager
def failing(name, error, key=float32):
    """An op with a kernel that fails instead of its own."""
    op = registry[name].op
    kernel = op.kernel(key)
    replaced = Failing(error, kernel.small if isinstance(kernel, weft.backend.KernelBySize) else kernel)
    op.kernels[key.index] = replaced
    try:
        yield replaced
    finally:
        op.kernels[key.index] = kernel


@pytest.mark.parametrize("name", [name for name in sample_names() if "::" in name])
def test_a_kernels_exception_is_raised_and_the_kernel_not_run_again(name):
    function, calls = function_of(name), 0
    for number, (args, kwargs) in enumerate(sample_inputs(name, weft.float32)):
        try:
            function(*args, **kwargs)
        except Exception:
            continue  # a sample that this op refuses
        error = FAILURES[number % len(FAILURES)]
        with failing(name, error) as kernel:
            try:
                function(*args, **kwargs)
            except BaseException as raised:
                assert isinstance(raised, RuntimeError if isinstance(error, MemoryError) else type(error))
        assert kernel.runs <= 1
        calls += kernel.runs


x = [weft.arange(6.0).reshape(2, 3) for _ in range(3)]
FAST_CALLS = {  # calls that leave the declared way, by their op
    "core::add": (
        lambda: x[0] + x[1],
        lambda: x[0] + 2,
        lambda: 2.0 + x[0],
        lambda: x[0].add_(x[1]),
        lambda: x[0].add_(2),
    ),
    "core::neg": (lambda: x[0].neg(), lambda: -x[0], lambda: x[0].neg_()),
    "core::where": (lambda: weft.where(x[0] > 1, x[1], x[2]), lambda: weft.where(x[0] > 1, x[1], 0.0)),
    "core::masked_fill": (lambda: weft.masked_fill(x[0], x[1] > 1, 0.0),),
    "core::lerp": (lambda: weft.lerp(x[0], x[1], 0.5), lambda: weft.lerp(x[0], x[1], x[2])),
    "core::gather": (lambda: x[0].gather(1, weft.tensor([[0], [1]])),),
    "core::index_select": (lambda: x[0].index_select(0, weft.tensor([0, 1])),),
    "core::matmul": (lambda: x[0] @ x[1].T, lambda: x[0].matmul(x[1].T)),
    "core::softmax": (lambda: weft.softmax(x[0], 1),),
    "core::sum": (lambda: x[0].sum(), lambda: x[0].sum(1), lambda: x[0].sum(dim=1)),
    "core::max": (lambda: x[0].max(1),),
    "core::sort": (lambda: x[0].sort(), lambda: weft.sort(x[0], dim=1)),
    "core::topk": (lambda: x[0].topk(2),),
    "core::roll": (lambda: x[0].roll(1, 0),),
    "core::cat": (lambda: weft.cat(x), lambda: weft.cat(x, dim=1)),
    "core::stack": (lambda: weft.stack(x),),
}


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: f"{type(error).__name__} {str(error)[:12]}")
@pytest.mark.parametrize("name", FAST_CALLS)
def test_a_fast_path_runs_a_kernel_that_fails_once(name, error):
    for call in FAST_CALLS[name]:
        first = key_of(weft.bool, float32.device) if name == "core::where" else float32
        with failing(name, error, first) as kernel, pytest.raises((type(error), RuntimeError)) as raised:
            call()
        assert kernel.runs == 1
        assert isinstance(error, MemoryError) or raised.value is error


def test_a_gradients_sum_that_fails_is_not_added_again(monkeypatch):
    kernel = Failing(FAILURES[0])
    leaf = weft.ones(3, requires_grad=True)
    monkeypatch.setattr(float32, "accumulate", kernel)
    with pytest.raises(RuntimeError, match="cannot enter context"):
        (leaf * 2 + leaf * 3 + leaf * 4).sum().backward()
    assert kernel.runs == 1


# Contexts of threads


def in_threads(work, count=2):
    """Run a function in threads that begin together; what each returned."""
    start, results = threading.Barrier(count), [None] * count

    def run(number):
        start.wait()
        results[number] = work()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return results


def test_threads_do_not_meet_in_a_context_after_the_first_time(monkeypatch):
    met = []
    monkeypatch.setattr("weft.ops._declare.run_elsewhere", lambda *args: met.append(args) or run_elsewhere(*args))
    big, matrix = weft.ones(2000), weft.eye(16)
    image, weight = weft.ones(1, 2, 6, 6), weft.ones(2, 2, 3, 3)
    calls = [
        lambda: big + big,
        lambda: -big,
        lambda: matrix @ matrix,
        lambda: weft.softmax(matrix, 1),
        lambda: big.add_(1),
    ]
    if hasattr(weft, "conv2d"):
        calls.append(lambda: weft.conv2d(image, weight))
    separate_threads()
    in_threads(lambda: [call() for _ in range(300) for call in calls])
    assert not met


def test_threads_that_meet_in_the_context_get_one_each():
    code = """
        import threading, weft
        from weft._engine.tensor import local, state
        inside, done, x = threading.Event(), threading.Event(), weft.ones(2)
        op = weft.ops._registry.registry["core::exp"].op
        kernel = op.kernel(x._key)
        def waits(array):
            inside.set()
            assert done.wait(60)
            return kernel(array)
        op.kernels[x._key.index] = waits
        x + x
        assert state.is_shared
        thread = threading.Thread(target=x.exp)
        thread.start()
        assert inside.wait(60)
        assert (x + x).tolist() == [2, 2] and not state.is_shared and local.context is not None
        done.set()
        thread.join()
    """
    assert in_process(code) == ""


def test_a_kernel_that_calls_ops_needs_no_contexts_of_threads():
    code = """
        import numpy, weft
        from weft._engine.tensor import state
        x = weft.ones(2)
        op = weft.ops._registry.registry["core::exp"].op
        op.kernel(x._key)
        def calls(array):
            with numpy.errstate(all="raise"):
                return ((weft.asarray(array) + 1) / 0).numpy()
        op.kernels[x._key.index] = calls
        assert x.exp().tolist() == [float("inf")] * 2 and state.is_shared
    """
    assert in_process(code) == ""


def test_no_thread_warns_of_arithmetic_and_none_loses_its_own_settings():
    def work():
        with warnings.catch_warnings(), np.errstate(divide="raise"):
            (weft.ones(3) / 0, weft.zeros(3).log(), 1 / weft.zeros(3))
            return np.geterr()["divide"]

    assert in_threads(work) == ["raise", "raise"]
    separate_threads()
    assert in_threads(work) == ["raise", "raise"]


def in_process(code):
    """What a new process that runs some code prints."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
