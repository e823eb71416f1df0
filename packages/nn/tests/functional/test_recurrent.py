"""Recurrent layers as one op give what their formula gives, step by step, and so do their gradients."""

import pytest

import weft
from weft import nn
from weft.nn.functional import recurrent

LAYERS = {
    "lstm": (nn.LSTM, {}),
    "lstm with projection": (nn.LSTM, {"proj_size": 2}),
    "gru": (nn.GRU, {}),
    "rnn_tanh": (nn.RNN, {}),
    "rnn_relu": (nn.RNN, {"nonlinearity": "relu"}),
}


@pytest.fixture(params=LAYERS.values(), ids=LAYERS)
def layer(request):
    weft.manual_seed(3)
    make, options = request.param
    return make(4, 3, bidirectional=True, dtype=weft.float64, **options)


@pytest.fixture
def by_formula(monkeypatch):
    """A function's result where layers are no ops."""

    def run(function, *args):
        with monkeypatch.context() as patch:
            patch.setattr(recurrent, "is_one_op", lambda *args: False)
            return function(*args)

    return run


def flat(value):
    return [each for part in value for each in flat(part)] if isinstance(value, (tuple, list)) else [value]


def agree(found, expected):
    assert len(flat(found)) == len(flat(expected))
    for first, second in zip(flat(found), flat(expected)):
        weft.testing.assert_close(first, second)


def steps(length=5, batch=3):
    return weft.randn(length, batch, 4, dtype=weft.float64)


def gradients(layer, x, create_graph=False):
    x = x.detach().requires_grad_()
    output, state = layer(x)
    loss = (output.square().sum(0) * weft.arange(output.size(-1))).sum() + flat(state)[-1].sin().sum()
    return weft.autograd.grad(loss, [x, *layer.parameters()], create_graph=create_graph)


def test_results_are_those_of_the_formula(layer, by_formula):
    x = steps()
    agree(layer(x), by_formula(layer, x))


def test_gradients_are_those_of_the_formula(layer, by_formula):
    x = steps()
    agree(gradients(layer, x), by_formula(gradients, layer, x))


def test_packed_sequences_are_one_op_too(layer, by_formula):
    data, sizes = steps().flatten(0, 1)[:9], weft.tensor([3, 3, 2, 1])

    def run(data):
        data = data.detach().requires_grad_()
        output, state = layer(nn.utils.rnn.PackedSequence(data, sizes))
        loss = output.data.square().sum() + sum(part.sin().sum() for part in flat(state))
        return output.data, state, weft.autograd.grad(loss, [data, *layer.parameters()])

    agree(run(data), by_formula(run, data))


def test_second_derivatives_are_those_of_the_formula(layer, by_formula):
    def second(x):
        x = x.detach().requires_grad_()
        output, _ = layer(x)
        (grad,) = weft.autograd.grad(output.square().sum(), x, create_graph=True)
        return weft.autograd.grad(grad.square().sum(), [x, *layer.parameters()])

    x = steps(3, 2)
    agree(second(x), by_formula(second, x))


def test_transforms_see_the_formula(layer, by_formula):
    examples = weft.randn(2, 3, 2, 4, dtype=weft.float64)

    def outputs(x):
        return layer(x)[0]

    def transformed(examples):
        batch = weft.vmap(outputs)(examples)
        each = weft.vmap(weft.func.grad(lambda x: outputs(x).square().sum()))(examples)
        return batch, each, weft.func.jvp(outputs, (examples[0],), (examples[1],))

    with weft.no_grad():
        agree(transformed(examples), by_formula(transformed, examples))


def test_outputs_may_be_written_to_before_backward(layer):
    x = steps().requires_grad_()
    output, _ = layer(x)
    output += 1
    output.sum().backward()
    assert x.grad.isfinite().all()


def test_biases_have_gradients_of_their_own():
    layer = nn.LSTM(2, 3)
    layer(weft.randn(4, 1, 2))[0].sum().backward()
    layer.bias_ih_l0.grad.zero_()
    assert layer.bias_hh_l0.grad.count_nonzero() > 0


def test_a_layer_has_no_op_for_each_step(layer):
    with weft.profiler.profile() as profile:
        layer(steps())
    names = {event.key for event in profile.key_averages()}
    assert not names & {"aten::addmm", "aten::mm", "aten::sigmoid", "aten::tanh", "aten::relu", "aten::mul"}


def test_products_of_recurrent_layers_are_counted():
    from weft.utils.flop_counter import FlopCounterMode

    layer = nn.LSTM(2, 3)
    with FlopCounterMode(display=False) as counter:
        layer(weft.randn(4, 5, 2))[0].sum().backward()
    rows, by_input, by_state = 20, 12 * 2, 12 * 3
    assert counter.get_total_flops() == 2 * rows * (by_input + by_state) + 2 * rows * (by_input + 2 * by_state)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_one_hidden_feature_of_many_sequences_is_that_of_each_alone(kind):
    """The gates of a step are then columns of one number, four of them side by side."""
    weft.manual_seed(0)
    layer, x = getattr(nn, kind)(3, 1), weft.randn(5, 70, 3)
    alone = weft.cat([layer(x[:, i : i + 1])[0] for i in range(70)], 1)
    weft.testing.assert_close(layer(x)[0], alone)
