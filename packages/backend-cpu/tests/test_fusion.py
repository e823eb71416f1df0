"""Chains of captured calls that run as one loop give the bits that the calls give one by one."""

import numpy as np
import pytest

import weft
import weft.nn.functional as F
from weft import nn
from weft.backend import Backend, KernelCall, destination
from weft.backend_cpu import CPUBackend, compiled, libraries
from weft.backend_cpu.compiled import has_numba
from weft.backend_cpu.compiled.codegen.elementwise import scalar_function
from weft.backend_cpu.compiled.kernels import pointwise
from weft.backend_cpu.compiled.kernels.pointwise import ScalarCall
from weft.backend_cpu.registry import MIN_SIZE

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs the compiled kernels")

CALLS = 9  # of a captured function: the first ones are recorded, later ones ask for loops, and some are compared
PROGRAMS = {}


def program(loops, *make):
    """A function of tensors, how many loops are made of its chains, and functions that make its arguments."""

    def register(function):
        PROGRAMS[function.__name__] = function, loops, make
        return function

    return register


def normal(*shape, dtype=None):
    return lambda: weft.randn(*shape).to(dtype or weft.float32)


SPECIAL = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-45, -1e-45, 3e38, -3e38, 1.0, -1.0]
BIG, SMALL = normal(70, 1000), normal(3, 5)


def special():
    """Pairs of special numbers, many times."""
    first, second = weft.tensor(SPECIAL).repeat(len(SPECIAL)), weft.tensor(SPECIAL).repeat_interleave(len(SPECIAL))
    return weft.stack([first, second]).repeat(1, 700)


@program(1, BIG, BIG, BIG)
def activations(x, y, z):
    return F.gelu((x * y + z).relu()).tanh()


@program(1, BIG, BIG, BIG)
def products_before_sums(x, y, z):
    return (x * y + z) * 3.0 - x * z


@program(1, SMALL, SMALL)
def small_arrays(x, y):
    return ((x * y - 1.0).relu() / y).abs()


@program(0 if MIN_SIZE else 1, SMALL)
def small_exponentials_are_numpys(x):
    return (x * 0.5).exp().tanh()


@program(1, BIG)
def large_exponentials(x):
    return (x * 0.5).exp() * 2.0 + 1.0


@program(1, BIG)
def a_result_that_is_read_twice(x):
    half = x * 0.5
    return half * half + half


@program(2, BIG, BIG)
def dropout_between(x, y):
    return F.dropout(x * y + 1.0, 0.3) * y - x


@program(2, BIG, BIG)
def views_between(x, y):
    return ((x * 2.0 + y).view(35, 2000) * 3.0).abs()


@program(2, BIG)
def transposed_between(x):
    return ((x * 2.0 + 1.0).t() * 3.0).abs()


@program(0, BIG)
def results_that_the_caller_keeps(x):
    first = x * 2.0
    second = first + 1.0
    return first, second, second.abs()


@program(1, BIG)
def an_inner_result_that_the_caller_keeps(x):
    kept = (x * 2.0 + 1.0) * x
    return kept, (kept - 1.0).sum()


@program(1, BIG, BIG)
def one_array_for_two_operands(x, y):
    return (x * x + x) * y


@program(1, BIG, BIG)
def a_write_between(x, y):
    made = y + 0.0
    first = x * made
    made.add_(1.0)
    return (first - made).abs() * made


@program(1, lambda: weft.randn(70, 1001)[:, :-1], lambda: weft.randn(70, 1001)[:, 1:])
def strided(x, y):
    return (x * y + 1.0).relu() * y


@program(1, lambda: weft.randn(1000, 70).t(), lambda: weft.randn(1000, 70).t())
def column_major(x, y):
    return (x * y + 1.0).relu() * y


@program(1, BIG, normal(1000))
def a_row(x, row):
    return (x * row + row).relu()


@program(1, BIG, normal(70, 1))
def a_column(x, column):
    return (x * column + column).relu()


@program(1, normal(1), BIG)
def a_broadcast_array_first(number, x):
    return (number - x).relu() * number


@program(1, BIG, lambda: weft.tensor(2.5))
def a_number_in_a_tensor(x, number):
    return (x * number - 1.0) / number


@program(1, special)
def special_numbers(pairs):
    x, y = pairs
    return ((x * y + y).relu() - x) / y


@program(1, special)
def special_numbers_and_functions(pairs):
    x, y = pairs
    return weft.maximum((x + y).exp(), y.neg()).tanh()


@program(1, special)
def choices(pairs):
    x, y = pairs
    return weft.where(x * 2.0 > y, x.abs(), y)


@program(1, special)
def limits(pairs):
    x, y = pairs
    return (x * 2.0).clamp(-1.0, 3.0) + y.clamp(min=-2.0).clamp(max=weft.tensor(5.0))


@program(1, BIG)
def powers(x):
    return (x.pow(2) + x.pow(3.0)).pow(-1) * x


@program(1, normal(70, 1000), lambda: weft.rand(70, 1000) < 0.5)
def filled_by_a_mask(x, mask):
    return (x / 8.0).masked_fill(mask, float("-inf")).abs()


@program(1, lambda: weft.randint(-(2**31), 2**31, (7000,)).to(weft.int32), lambda: weft.full((7000,), 3).to(weft.int32))
def integers_that_wrap_around(x, y):
    return (x * y - y) * x


@program(1, lambda: weft.randint(-(2**31), 2**31, (7000,)).to(weft.int32), lambda: weft.full((7000,), 3).to(weft.int32))
def comparisons_of_integers_that_wrap_around(x, y):
    return weft.where(x * y > x, x, y)


@program(1, normal(70, 1000, dtype=weft.float64), normal(70, 1000, dtype=weft.float64))
def doubles(x, y):
    return (x * y + 0.1).exp() - y


@program(1, normal(70, 1000, dtype=weft.bfloat16), normal(70, 1000, dtype=weft.bfloat16))
def bfloat16(x, y):
    return (x * y + 0.5).relu() - y


@program(1, normal(70, 1000, dtype=weft.float16), normal(70, 1000, dtype=weft.float16))
def float16(x, y):
    return (x * y + 0.5).exp() * y


@program(1, lambda: special().to(weft.float16))
def special_numbers_in_float16(pairs):
    x, y = pairs
    return (x * y + y).relu() - x


@program(1, lambda: special().to(weft.bfloat16))
def special_numbers_in_bfloat16(pairs):
    x, y = pairs
    return (x * y + y).relu() - x


@program(1, lambda: weft.tensor(1.5), lambda: weft.tensor(-2.5))
def no_dimensions(x, y):
    return (x * y + 1.0).abs()


@program(1, lambda: weft.empty(0, 3), lambda: weft.empty(0, 3))
def empty(x, y):
    return (x * y + 1.0).abs()


@program(2, BIG, BIG, BIG, BIG, BIG)
def more_arrays_than_a_loop_takes(a, b, c, d, e):
    return (((a * b + c) * d - e).relu() + a) * b


@program(1, BIG)
def more_numbers_than_a_loop_takes(x):
    return ((x * 2.0 + 3.0) * 5.0 - 7.0).abs()


@program(0, BIG)
def one_call(x):
    return x * 2.0


def bits(result):
    arrays = [
        each.numpy(force=True) if each.dtype != weft.bfloat16 else each.view(weft.int16).numpy() for each in result
    ]
    return [(each.tobytes(), each.dtype, each.shape, each.strides) for each in arrays]


def tuple_of(result):
    return result if isinstance(result, tuple) else (result,)


def loops_of(function):
    return weft.compiler.explain(function).count("one call: ")


@pytest.mark.parametrize("name", PROGRAMS)
def test_fused_calls_give_the_bits_of_single_ones(name):
    function, loops, makers = PROGRAMS[name]
    weft.manual_seed(0)
    batches = [[make() for make in makers] for _ in range(CALLS)]
    weft.manual_seed(1)
    expected = [bits(tuple_of(function(*batch))) for batch in batches]
    captured = weft.compile(function, fullgraph=True)
    weft.manual_seed(1)
    results = [tuple_of(captured(*batch)) for batch in batches]
    assert [bits(each) for each in results] == expected  # all of them, also those that were there before later calls
    assert loops_of(captured) == (loops if has_numba() else 0), weft.compiler.explain(captured)


def test_updates_of_buffers_are_fused():
    def run(capture):
        weft.manual_seed(0)
        buffer, count = weft.randn(50, 30), weft.zeros(50, 30, dtype=weft.float64)
        column = weft.randn(30, 50).t()

        def step(x, y):
            batch = x * y
            buffer.mul_(0.9)
            buffer.add_(batch * 0.1)
            count.add_(1.0).div_(1.5)
            column.sub_(batch).mul_(batch)
            own = batch + 1.0
            own.mul_(batch)
            own.add_(buffer[0])  # a view of what is written to
            own.mul_(2.0).sub_(0.5)
            return own, batch

        called = weft.compile(step, fullgraph=True) if capture else step
        results = [bits(called(weft.randn(50, 30), weft.randn(50, 30))) for _ in range(12)]
        return results, bits([buffer, count, column]), [buffer._version, count._version], called

    *expected, _ = run(capture=False)
    *found, called = run(capture=True)
    assert found == expected
    assert not has_numba() or "core::mul_, %" in weft.compiler.explain(called)
    assert loops_of(called) == (4 if has_numba() else 0), weft.compiler.explain(called)


def test_a_batch_norm_step_with_fused_statistics_is_the_eager_one():
    def run(capture):
        weft.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
        optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
        x, y = weft.randn(8, 1, 8, 8), weft.randint(0, 3, (8,))

        def step():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        called = weft.compile(step, fullgraph=True) if capture else step
        losses = [called().item() for _ in range(CALLS)]
        return losses, bits(list(model.buffers())), [each._version for each in model.buffers()], called

    *expected, _ = run(capture=False)
    *found, called = run(capture=True)
    assert found == expected
    assert loops_of(called) == (2 if has_numba() else 0), weft.compiler.explain(called)


def test_an_update_writes_into_its_array():
    if not has_numba():
        pytest.skip("without Numba there are no other loops than the prebuilt ones")
    buffer, batch = np.ones((20, 30), np.float32), np.full((20, 30), 3, np.float32)
    scaled, part = buffer * 2.0, batch * 0.5
    calls = [
        KernelCall("core::mul", (buffer, 2.0), scaled),
        KernelCall("core::mul", (batch, 0.5), part),
        KernelCall("core::add", (scaled, part), scaled + part),
    ]
    kernel = weft.plugins.backend("cpu").fused_kernel(calls, [buffer, batch], print, 1)
    destination.op, destination.array = "fused", buffer
    try:
        assert kernel(buffer, batch) is buffer
    finally:
        destination.array = None
    assert (buffer == 3.5).all()


def test_a_loop_runs_and_not_the_calls():
    if not has_numba():
        pytest.skip("without Numba there are no other loops than the prebuilt ones")
    backend, (x, row) = weft.plugins.backend("cpu"), (np.float32([[1, 2], [3, 4]]), np.float32([5, -6]))
    product = x * row
    calls = [KernelCall("core::mul", (row, x), product), KernelCall("core::sub", (product, 1.0), product - 1)]

    def unwanted(*arrays):
        raise AssertionError("the calls ran one by one")

    kernel = backend.fused_kernel(calls, [row, x], unwanted, 1)
    assert (kernel(row, x) == product - 1).all()
    assert kernel(row[:0], x[:, :0]).shape == (2, 0)


def train():
    weft.manual_seed(0)
    layers = nn.Linear(64, 200), nn.ReLU(), nn.Dropout(0.2), nn.Linear(200, 200), nn.SiLU(), nn.Linear(200, 10)
    model = nn.Sequential(*layers)
    optimizer = weft.optim.AdamW(model.parameters(), lr=0.01)
    x, y = weft.randn(128, 64), weft.randint(0, 10, (128,))
    return model, optimizer, x, y


def stepped(capture):
    model, optimizer, x, y = train()

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    called = weft.compile(step, fullgraph=True) if capture else step
    losses = [called().item() for _ in range(12)]
    return losses, [bits([each.detach(), each.grad]) for each in model.parameters()], called


def test_a_fused_training_step_is_the_eager_one():
    losses, parameters, _ = stepped(capture=False)
    fused_losses, fused_parameters, called = stepped(capture=True)
    assert fused_losses == losses and fused_parameters == parameters
    assert loops_of(called) == (1 if has_numba() else 0)  # dropout's gradient and the rectifier's


def test_backward_passes_of_captured_models_are_fused():
    def run(capture):
        model, optimizer, x, y = train()
        called = weft.compile(model, fullgraph=True) if capture else model
        losses = []
        for _ in range(12):
            optimizer.zero_grad()
            loss = F.cross_entropy(called(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, called

    losses, captured = run(capture=True)
    assert losses == run(capture=False)[0]
    assert loops_of(captured) == (1 if has_numba() else 0)


def test_arrays_that_a_loop_does_not_take_run_one_by_one():
    """A later argument may lie at an odd address, where its strides are the same."""
    captured = weft.compile(PROGRAMS["products_before_sums"][0], fullgraph=True)
    batch = [weft.randn(300) for _ in range(3)]
    for _ in range(CALLS):
        expected = captured(*batch)
    memory = np.zeros(4 * 300 + 1, np.uint8)
    unaligned = memory[1:].view(np.float32)
    unaligned[...] = batch[0].numpy()
    assert not unaligned.flags.aligned
    assert weft.equal(captured(weft.from_numpy(unaligned), *batch[1:]), expected)


def test_a_formula_of_other_bits_is_refused(monkeypatch):
    wrong = scalar_function("planted", lambda a, b: a * b * (a / a))

    def planted(*args):
        return ScalarCall(wrong, pointwise.operands_of(args))

    monkeypatch.setitem(pointwise.scalar_calls, ("core::mul", "float32"), planted)
    function, _, makers = PROGRAMS["special_numbers"]
    captured = weft.compile(function, fullgraph=True)
    batch = [make() for make in makers]
    for _ in range(CALLS):
        assert bits([captured(*batch)]) == bits([function(*batch)])
    if has_numba():
        assert loops_of(captured) == 0
        assert "it gives other bits" in weft.compiler.explain(captured)


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [(0.0, "no formula gives the bits of core::sin here"), (1e9, "so far, and compiling pays after 1e+09 s")],
)
def test_reasons_are_told(seconds, reason, monkeypatch):
    monkeypatch.setattr(libraries, "COMPILE_AFTER_SECONDS", seconds)

    @weft.compile
    def function(x, y):
        return (x * 0.125).sin().abs() if seconds == 0 else (y - 0.125) * 0.375

    batch = weft.randn(3), weft.randn(200, 300)
    for _ in range(CALLS):
        function(*batch)
    assert (reason if has_numba() else "Numba is not there") in weft.compiler.explain(function)


def test_a_backend_that_raises_is_done_without(monkeypatch):
    def broken(*args):
        raise ValueError("planted")

    monkeypatch.setattr(CPUBackend, "fused_kernel", broken)
    captured = weft.compile(lambda x: (x * 2.0 + 1.0).abs(), fullgraph=True)
    x = weft.randn(100)
    assert all(weft.equal(captured(x), (x * 2.0 + 1.0).abs()) for _ in range(CALLS))
    assert "the backend raises ValueError: planted" in weft.compiler.explain(captured)


def test_backends_without_kernels_say_so():
    chain = Backend("cpu", np, np.ndarray).fused_kernel([], [], print, 1)
    assert chain == "the cpu backend fuses no calls"


def test_fusion_can_be_turned_off():
    function, _, makers = PROGRAMS["activations"]
    captured = weft.compile(function, fullgraph=True)
    batch = [make() for make in makers]
    before = weft.compiler.set_fusion(False)
    try:
        for _ in range(CALLS):
            captured(*batch)
        assert loops_of(captured) == 0
        assert weft.compiler.set_fusion(True) is False
        for _ in range(CALLS):
            captured(*batch)
        assert loops_of(captured) == (1 if has_numba() else 0)
        assert weft.compiler.set_fusion(False) is True
        assert bits([captured(*batch)]) == bits([function(*batch)])
    finally:
        weft.compiler.set_fusion(before)
