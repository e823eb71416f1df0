"""Recurrent layers and attention in steps that observers see compute what those in one piece do."""

import pytest

import weft
from weft import nn
from weft.ao.nn import quantizable


@pytest.mark.parametrize(
    "options", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False, "batch_first": True}]
)
def test_lstm_computes_what_the_layer_in_one_piece_does(options):
    weft.manual_seed(0)
    layer = nn.LSTM(3, 4, **options)
    made = quantizable.LSTM.from_float(layer, qconfig="some")
    x = weft.randn(5, 2, 3)
    output, states = layer(x)
    found, found_states = made(x)
    weft.testing.assert_close((found, *found_states), (output, *states))
    later, _ = layer(x, states)
    weft.testing.assert_close(made(x, states)[0], later)
    assert made.layers[0].layer_fw.cell.igates.qconfig == "some"


def test_cell_computes_what_the_cell_in_one_piece_does():
    cell = nn.LSTMCell(3, 4)
    cell.qconfig = None
    made = quantizable.LSTMCell.from_float(cell)
    x = weft.randn(2, 3)
    weft.testing.assert_close(made(x), cell(x))


@pytest.mark.parametrize(
    "options",
    [{}, {"add_bias_kv": True, "add_zero_attn": True}, {"kdim": 3, "vdim": 5}, {"bias": False, "batch_first": True}],
)
@pytest.mark.parametrize("masks", [(), ("attn_mask",), ("attn_mask", "key_padding_mask")])
def test_attention_computes_what_the_layer_in_one_piece_does(options, masks):
    weft.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, **options).eval()
    layer.qconfig = None
    made = quantizable.MultiheadAttention.from_float(layer).eval()
    sizes = (3, 3)  # steps and examples, whichever comes first
    query = weft.randn(*sizes, 8)
    key, value = weft.randn(*sizes, options.get("kdim", 8)), weft.randn(*sizes, options.get("vdim", 8))
    given = {"attn_mask": weft.tensor([[0, 1, 1], [0, 0, 1], [0, 0, 0]]).bool()}
    given["key_padding_mask"] = weft.tensor([[0, 0, 0], [0, 0, 1], [0, 0, 1]]).bool()
    given = {name: given[name] for name in masks}
    for average in (True, False):
        expected = layer(query, key, value, average_attn_weights=average, **given)
        weft.testing.assert_close(made(query, key, value, average_attn_weights=average, **given), expected)


def test_layers_without_a_configuration_are_refused():
    with pytest.raises(AssertionError, match="qconfig"):
        quantizable.LSTM.from_float(nn.LSTM(3, 4))
    with pytest.raises(AssertionError, match="expected a LSTM, got Linear"):
        quantizable.LSTM.from_float(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="dropout should be a number"):
        quantizable.LSTM(3, 4, dropout=2.0)
