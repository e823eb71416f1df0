"""Transformer layers: composition, order of norms, masks, shapes."""

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn import functional as F


def close(first, second):
    np.testing.assert_allclose(first.detach().numpy(), second.detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_layer_is_attention_and_a_network_with_residuals(norm_first):
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, norm_first=norm_first)
    x = weft.randn(5, 3, 8)

    def attend(x):
        return layer.self_attn(x, x, x)[0]

    def network(x):
        return layer.linear2(F.relu(layer.linear1(x)))

    if norm_first:
        hidden = x + attend(layer.norm1(x))
        expected = hidden + network(layer.norm2(hidden))
    else:
        hidden = layer.norm1(x + attend(x))
        expected = layer.norm2(hidden + network(hidden))
    close(layer(x), expected)


def test_a_causal_mask_keeps_the_future_out():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    x = weft.randn(4, 1, 8)
    changed = x.clone()
    changed[3] += 1
    close(layer(x, src_mask=mask)[:3], layer(changed, src_mask=mask)[:3])
    close(layer(x, src_mask=mask), layer(x, src_mask=weft.isinf(mask)))


def test_padded_positions_are_not_attended_to():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    padding = weft.tensor([[False, False, True]])
    x = weft.randn(1, 3, 8)
    changed = x.clone()
    changed[0, 2] += 1
    close(layer(x, src_key_padding_mask=padding)[:, :2], layer(changed, src_key_padding_mask=padding)[:, :2])


def test_an_encoder_copies_its_layer_and_ends_with_the_norm():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    norm = nn.LayerNorm(8)
    encoder = nn.TransformerEncoder(layer, 2, norm)
    x = weft.randn(4, 1, 8)
    close(encoder(x), norm(layer(layer(x))))
    assert encoder.layers[0].linear1.weight is not layer.linear1.weight
    assert next(iter(encoder.state_dict())) == "layers.0.self_attn.in_proj_weight"


def test_a_decoder_layer_attends_to_itself_and_to_memory():
    layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0)
    x, memory = weft.randn(4, 1, 8), weft.randn(6, 1, 8)
    hidden = layer.norm1(x + layer.self_attn(x, x, x)[0])
    hidden = layer.norm2(hidden + layer.multihead_attn(hidden, memory, memory)[0])
    expected = layer.norm3(hidden + layer.linear2(F.relu(layer.linear1(hidden))))
    close(layer(x, memory), expected)
    close(nn.TransformerDecoder(layer, 1)(x, memory), expected)


@pytest.mark.parametrize("batch_first", [False, True])
def test_the_whole_gives_the_shape_of_the_target(batch_first):
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=batch_first, activation="gelu", bias=False)
    assert model(weft.randn(3, 3, 8), weft.randn(3, 3, 8)).shape == (3, 3, 8)
    assert not any(name.endswith("bias") for name in model.state_dict())


def test_wrong_sizes_are_named():
    model = nn.Transformer(8, 2, 1, 1, 16)
    with pytest.raises(RuntimeError, match="d_model"):
        model(weft.randn(3, 2, 7), weft.randn(3, 2, 8))
    with pytest.raises(RuntimeError, match="batch number"):
        model(weft.randn(3, 2, 8), weft.randn(3, 1, 8))
    with pytest.raises(RuntimeError, match="relu/gelu"):
        nn.TransformerEncoderLayer(8, 2, activation="tanh")


def test_a_callable_activation_is_used():
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation=weft.tanh)
    assert layer.activation is weft.tanh
    assert layer(weft.randn(3, 1, 8)).shape == (3, 1, 8)


def test_the_causal_mask_is_minus_infinity_above_the_diagonal():
    mask = nn.Transformer.generate_square_subsequent_mask(2)
    assert mask.tolist() == [[0.0, float("-inf")], [0.0, 0.0]]


def test_an_inference_writes_zeros_where_sequences_are_padded_at_their_end():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2).eval()
    source = weft.randn(2, 3, 4)
    padding = weft.tensor([[False, False, True], [False, True, True]])
    recorded = encoder(source, src_key_padding_mask=padding)
    with weft.no_grad():
        skipped = encoder(source, src_key_padding_mask=padding)
        holey = encoder(source, src_key_padding_mask=padding.flip(1))
    assert (skipped[padding] == 0).all() and (recorded[padding] != 0).all()
    weft.testing.assert_close(skipped[~padding], recorded[~padding])
    assert (holey != 0).all()
