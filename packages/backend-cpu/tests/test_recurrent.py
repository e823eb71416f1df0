"""The compiled recurrent layers give what NumPy's kernels give, in one loop over all steps and step by step."""

import numpy as np
import pytest

from weft.backend_cpu import compiled, libraries
from weft.nn.functional import recurrent as declared

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")

LSTM, GRU, RNN = declared.lstm_layer, declared.gru_layer, declared.rnn_layer
GRADIENTS = {
    LSTM: declared.lstm_layer_gradient,
    GRU: declared.gru_layer_gradient,
    RNN: declared.rnn_layer_gradient,
}
SIZES = {
    "one sequence": ((1,) * 5, 16),
    "sequences of one length": ((6,) * 5, 7),
    "sequences that end": ((6, 6, 4, 1), 7),
    "products of matrices": ((40,) * 6, 40),
    "products of matrices that shrink": ((40, 40, 33, 5), 40),
    "few steps": ((40, 40), 40),
}


@pytest.fixture(autouse=True)
def every_size(monkeypatch):
    from weft.backend_cpu.compiled.kernels import recurrent

    monkeypatch.setattr(recurrent, "MIN_GATES", 0)


def kernels(op):
    """NumPy's and the compiled one."""
    from weft.backend_cpu.compiled.kernels import recurrent

    def generic(*args):
        return op.declaration.generic(np, *args)

    return generic, getattr(recurrent, op.declaration.short)(refused)


def refused(*args):
    raise AssertionError("left to NumPy's kernel")


def arguments(op, sizes, width, bias, dtype):
    """A layer's tensors, and how to run it."""
    random = np.random.default_rng(len(sizes) + width)
    gates = {LSTM: 4, GRU: 3, RNN: 1}[op] * width
    shapes = [(sum(sizes), 5), *[(sizes[0], width)] * (2 if op is LSTM else 1), (gates, 5), (gates, width)]
    found = [random.standard_normal(shape).astype(dtype) for shape in shapes]
    found += [random.standard_normal(gates).astype(dtype) if bias else None for _ in range(2)]
    return [*found, None] if op is LSTM else found


def agree(found, expected):
    assert len(found) == len(expected)
    for first, second in zip(found, expected):
        tolerance = 2e-4 if second.dtype == np.float32 else 1e-11
        scale = max(1.0, float(np.abs(second).max()))
        np.testing.assert_allclose(first, second, rtol=tolerance, atol=tolerance * scale)


def compare(op, options, sizes, width, reverse):
    for bias, dtype in ((True, np.float32), (False, np.float64)):
        args = arguments(op, sizes, width, bias, dtype)
        generic, run = kernels(op)
        expected = generic(*args, sizes, reverse, *options)
        agree(run(*args, sizes, reverse, *options), expected)
        states = 2 if op is LSTM else 1
        weights = args[1 + states : 3 + states] + ([None] if op is LSTM else [])
        grads = [np.cos(each) for each in expected[: 1 + states]]
        generic, run = kernels(GRADIENTS[op])
        needs = (True,) * (7 if op is LSTM else 6) + ((False,) if op is LSTM else ())
        for given in (grads, [grads[0], *[None] * states], [None, *grads[1:]]):
            call = (args[0], *weights, *expected[1 + states :], *given, sizes, reverse, *options, needs)
            agree(run(*call), generic(*call))


@pytest.mark.parametrize(
    ("op", "options"),
    [(LSTM, ()), (GRU, ()), (RNN, (False,)), (RNN, (True,))],
    ids=["lstm", "gru", "rnn_tanh", "rnn_relu"],
)
@pytest.mark.parametrize(("sizes", "width"), SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("reverse", [False, True])
def test_layers_and_gradients_are_those_of_numpys_kernel(op, options, sizes, width, reverse):
    compare(op, options, sizes, width, reverse)


@pytest.mark.parametrize(("op", "options"), [(LSTM, ()), (RNN, (False,))], ids=["lstm", "rnn"])
def test_gradients_of_large_weights_are_those_of_numpys_kernel(op, options, monkeypatch):
    from weft.backend_cpu.compiled.kernels import recurrent

    monkeypatch.setattr(recurrent, "MIN_PRODUCT", 0)
    monkeypatch.setattr(recurrent, "MIN_COLUMNS", 0)
    compare(op, options, (40, 40, 33, 5), 40, False)


def test_only_the_gradients_that_are_asked_for_come():
    args = arguments(GRU, (3, 3), 4, True, np.float32)
    _, run = kernels(GRU)
    output, h, *kept = run(*args, (3, 3), False)
    _, run = kernels(GRADIENTS[GRU])
    needs = (False, False, True, False, False, True)
    found = run(args[0], *args[2:4], *kept, output, h, (3, 3), False, needs)
    assert [each.shape for each in found] == [(12, 5), (12,)]


def test_arguments_are_not_written_to():
    args = arguments(LSTM, (3, 2), 4, True, np.float32)
    before = [None if each is None else each.copy() for each in args]
    _, run = kernels(LSTM)
    run(*args, (3, 2), False)
    for first, second in zip(args, before):
        assert first is None or np.array_equal(first, second)


def test_infinities_and_nan_are_those_of_numpys_kernel():
    args = arguments(LSTM, (2, 2), 4, True, np.float32)
    args[0][0, :2] = np.inf, np.nan
    generic, run = kernels(LSTM)
    with np.errstate(all="ignore"):
        expected = generic(*args, (2, 2), False)
    agree(run(*args, (2, 2), False)[:3], expected[:3])


def test_a_projected_state_is_left_to_numpys_kernel():
    args = arguments(LSTM, (2, 2), 4, True, np.float32)
    args[-1] = np.ones((4, 4), np.float32)
    from weft.backend_cpu.compiled.kernels import recurrent

    assert recurrent.lstm_layer(lambda *given: len(given))(*args, (2, 2), False) == 10


@pytest.mark.parametrize(("batch", "width"), [(6, 40), (6, 7), (1, 8)])
def test_a_layer_of_bfloat16_is_near_to_one_of_float32(batch, width):
    import weft

    weft.manual_seed(0)
    layer, input = weft.nn.LSTM(5, width), weft.randn(9, batch, 5)
    expected = layer(input)[0]
    found = layer.to(weft.bfloat16)(input.to(weft.bfloat16))[0]
    assert found.dtype is weft.bfloat16
    weft.testing.assert_close(found.float(), expected, rtol=0.05, atol=0.03)
