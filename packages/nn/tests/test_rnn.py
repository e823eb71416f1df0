"""Recurrent layers: the equations, layers and directions, packed sequences, errors."""

import copy

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn.utils import rnn

LAYERS = [nn.RNN, nn.LSTM, nn.GRU]
CELLS = {nn.RNN: nn.RNNCell, nn.LSTM: nn.LSTMCell, nn.GRU: nn.GRUCell}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def close(first, second):
    for tensor in (first, second):
        assert tensor.shape == first.shape
    np.testing.assert_allclose(first.detach().numpy(), second.detach().numpy(), rtol=1e-4, atol=1e-5)


def weights(cell):
    return [getattr(cell, name).detach().numpy() for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]


def test_an_elman_cell_is_its_equation():
    x, h = weft.randn(2, 3), weft.randn(2, 4)
    for nonlinearity, function in (("tanh", np.tanh), ("relu", lambda value: np.maximum(value, 0))):
        cell = nn.RNNCell(3, 4, nonlinearity=nonlinearity)
        w_ih, w_hh, b_ih, b_hh = weights(cell)
        expected = function(x.numpy() @ w_ih.T + b_ih + h.numpy() @ w_hh.T + b_hh)
        np.testing.assert_allclose(cell(x, h).detach().numpy(), expected, rtol=1e-4, atol=1e-6)


def test_an_lstm_cell_is_its_equations():
    cell, x, h, c = nn.LSTMCell(3, 4), weft.randn(2, 3), weft.randn(2, 4), weft.randn(2, 4)
    w_ih, w_hh, b_ih, b_hh = weights(cell)
    i, f, g, o = np.split(x.numpy() @ w_ih.T + b_ih + h.numpy() @ w_hh.T + b_hh, 4, axis=1)
    expected_c = sigmoid(f) * c.numpy() + sigmoid(i) * np.tanh(g)
    new_h, new_c = cell(x, (h, c))
    np.testing.assert_allclose(new_c.detach().numpy(), expected_c, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(new_h.detach().numpy(), sigmoid(o) * np.tanh(expected_c), rtol=1e-4, atol=1e-6)


def test_a_gru_cell_is_its_equations():
    cell, x, h = nn.GRUCell(3, 4), weft.randn(2, 3), weft.randn(2, 4)
    w_ih, w_hh, b_ih, b_hh = weights(cell)
    (i_r, i_z, i_n), (h_r, h_z, h_n) = (
        np.split(value, 3, axis=1) for value in (x.numpy() @ w_ih.T + b_ih, h.numpy() @ w_hh.T + b_hh)
    )
    r, z = sigmoid(i_r + h_r), sigmoid(i_z + h_z)
    expected = (1 - z) * np.tanh(i_n + r * h_n) + z * h.numpy()
    np.testing.assert_allclose(cell(x, h).detach().numpy(), expected, rtol=1e-4, atol=1e-6)


def hidden(state):
    return state[0] if isinstance(state, tuple) else state


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_applies_its_cell_step_by_step(layer):
    network, cell = layer(3, 4), CELLS[layer](3, 4)
    cell.load_state_dict({key.removesuffix("_l0"): value for key, value in network.state_dict().items()})
    input, state = weft.randn(5, 2, 3), None
    output, last = network(input)
    for step in range(5):
        state = cell(input[step], state)
        close(output[step], hidden(state))
    close(hidden(last)[0], hidden(state))


@pytest.mark.parametrize("layer", LAYERS)
def test_the_second_direction_runs_from_the_end(layer):
    both, one = layer(3, 4, bidirectional=True), layer(3, 4)
    state = both.state_dict()
    input = weft.randn(5, 2, 3)
    for suffix, columns, flip in (("", slice(0, 4), False), ("_reverse", slice(4, 8), True)):
        one.load_state_dict({key: state[key + suffix] for key in one.state_dict()})
        output = one(input.flip(0) if flip else input)[0]
        close(both(input)[0][..., columns], output.flip(0) if flip else output)
    output, last = both(input)
    close(hidden(last)[1], output[0, :, 4:])


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_are_stacked(layer):
    deep = layer(3, 4, num_layers=2)
    first, second = layer(3, 4), layer(4, 4)
    state = deep.state_dict()
    first.load_state_dict({key: state[key] for key in first.state_dict()})
    second.load_state_dict({key: state[key.replace("l0", "l1")] for key in second.state_dict()})
    input = weft.randn(5, 2, 3)
    output, last = deep(input)
    close(output, second(first(input)[0])[0])
    assert hidden(last).shape == (2, 2, 4)


@pytest.mark.parametrize("layer", LAYERS)
def test_batch_first_and_no_batch_only_move_axes(layer):
    network, first = layer(3, 4), layer(3, 4, batch_first=True)
    first.load_state_dict(network.state_dict())
    input = weft.randn(5, 2, 3)
    output, last = network(input)
    close(first(input.transpose(0, 1))[0].transpose(0, 1), output)
    close(network(input[:, 1])[0], output[:, 1])
    close(hidden(network(input[:, 1])[1]), hidden(last)[:, 1])


def test_an_lstm_can_project_its_state():
    network = nn.LSTM(3, 5, proj_size=2)
    output, (h, c) = network(weft.randn(4, 2, 3))
    assert [output.shape, h.shape, c.shape] == [(4, 2, 2), (1, 2, 2), (1, 2, 5)]
    assert list(network.state_dict())[-1] == "weight_hr_l0"


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}], ids=["plain", "deep"])
def test_a_packed_batch_gives_each_sequence_what_it_gets_alone(layer, options):
    network = layer(3, 4, **options)
    sequences = [weft.randn(length, 3) for length in (3, 5, 2)]
    output, last = network(rnn.pack_sequence(sequences, enforce_sorted=False))
    for number, (sequence, found) in enumerate(zip(sequences, rnn.unpack_sequence(output), strict=True)):
        alone, alone_last = network(sequence)
        close(found, alone)
        close(hidden(last)[:, number], hidden(alone_last))


@pytest.mark.parametrize("layer", LAYERS)
def test_gradients_reach_all_weights_through_time(layer):
    network = layer(3, 4, num_layers=2, bidirectional=True)
    network(weft.randn(5, 2, 3))[0].sum().backward()
    assert all(parameter.grad.abs().sum().item() > 0 for parameter in network.parameters())


def test_dropout_between_layers_acts_in_training_only():
    weft.manual_seed(0)
    network, input = nn.LSTM(3, 4, num_layers=2, dropout=0.5), weft.randn(5, 2, 3)
    assert network(input)[0].tolist() != network(input)[0].tolist()
    network.eval()
    assert network(input)[0].tolist() == network(input)[0].tolist()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nn.LSTM(3, 0), ValueError),
        (lambda: nn.LSTM(3, 1.5), TypeError),
        (lambda: nn.LSTM(3, 4, 0), ValueError),
        (lambda: nn.LSTM(3, 4, proj_size=4), ValueError),
        (lambda: nn.LSTM(3, 4, 2, dropout=2.0), ValueError),
        (lambda: nn.GRU(3, 4, proj_size=2), ValueError),
        (lambda: nn.RNN(3, 4, nonlinearity="sigmoid"), ValueError),
        (lambda: nn.LSTM(3, 4)(weft.ones(5, 2, 2)), RuntimeError),
        (lambda: nn.LSTM(3, 4)(weft.ones(5)), ValueError),
        (lambda: nn.GRU(3, 4)(weft.ones(5, 2, 3), weft.ones(1, 3, 4)), RuntimeError),
        (lambda: nn.GRU(3, 4)(weft.ones(5, 2, 3), weft.ones(1, 4)), RuntimeError),
        (lambda: nn.GRUCell(3, 4)(weft.ones(2, 5)), RuntimeError),
        (lambda: nn.GRUCell(3, 4)(weft.ones(2, 2, 3)), ValueError),
        (lambda: nn.GRU(3, 4)(weft.ones(0, 2, 3)), RuntimeError),
        (lambda: nn.LSTM(3, 4, batch_first=True)(weft.ones(2, 0, 3)), RuntimeError),
        (lambda: nn.LSTM(3, 4)(weft.ones(5, 2, 3), (weft.ones(1, 2, 4),)), RuntimeError),
        (lambda: nn.LSTM(3, 4)(weft.ones(5, 2, 3), [weft.ones(1, 2, 4)] * 3), RuntimeError),
        (lambda: nn.LSTMCell(3, 4)(weft.ones(2, 3), (weft.ones(2, 4),)), RuntimeError),
        (lambda: nn.LSTMCell(3, 4)(weft.ones(2, 3), weft.ones(2, 4)), TypeError),
    ],
)
def test_wrong_sizes_are_refused(make, error):
    with pytest.raises(error):
        make()


def test_dropout_of_one_layer_is_surely_unmeant():
    with pytest.warns(UserWarning, match="all but last"):
        nn.GRU(3, 4, dropout=0.5)


def test_repr():
    assert repr(nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True, proj_size=2)) == (
        "LSTM(3, 4, proj_size=2, num_layers=2, batch_first=True, bidirectional=True)"
    )
    assert repr(nn.RNNCell(3, 4, bias=False, nonlinearity="relu")) == "RNNCell(3, 4, bias=False, nonlinearity=relu)"


def test_flat_weights_are_the_weights_as_they_are_now():
    layer = nn.LSTM(3, 4, proj_size=2, bidirectional=True)
    assert [id(each) for each in layer._flat_weights] == [id(each) for each in layer.parameters()]
    assert layer._flat_weights_names == [name for name, _ in layer.named_parameters()]
    assert [len(each) for each in layer._all_weights] == [5, 5]
    copied = copy.deepcopy(layer)
    assert copied._flat_weights[0] is copied.weight_ih_l0
    weight = layer.weight_hh_l0
    del layer.weight_hh_l0
    assert layer._flat_weights[1] is None
    layer.weight_hh_l0 = weight.detach().clone()  # a tensor, as what a hook computes
    assert layer._flat_weights[1] is layer.weight_hh_l0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bias": 1}, TypeError, "bias should be of type bool, got: int"),
        ({"batch_first": "yes"}, TypeError, "batch_first should be of type bool, got: str"),
        ({"input_size": 3.0}, TypeError, "input_size should be of type int, got: float"),
        ({"input_size": 0}, ValueError, "input_size must be greater than zero"),
    ],
)
@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_options_of_another_type_or_size_are_refused(kind, options, error, message):
    with pytest.raises(error, match=message):
        kind(**{"input_size": 3, "hidden_size": 2, **options})


@pytest.mark.parametrize(
    ("input", "hidden", "message"),
    [
        ((3, 10), (5, 20), "Input batch size 3 doesn't match hidden0 batch size 5"),
        ((3, 10), (3, 21), "hidden0 has inconsistent hidden_size: got 21, expected 20"),
        ((3, 10), (20,), "hidden0 must be 2-D"),
    ],
)
@pytest.mark.parametrize("cell", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_a_cell_says_which_state_does_not_fit(cell, input, hidden, message):
    state = weft.zeros(hidden)
    with pytest.raises(RuntimeError, match=message):
        cell(10, 20)(weft.zeros(input), (state, weft.zeros(3, 20)) if cell is nn.LSTMCell else state)
