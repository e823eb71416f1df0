"""MultiheadAttention against its definition."""

import numpy as np
import pytest

import weft
from weft import nn


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def by_definition(layer, query, key, value, added=0.0):
    """Attend, head by head, for one example; the scores get ``added``."""
    size = layer.embed_dim // layer.num_heads
    weight, bias = layer.in_proj_weight.detach().numpy(), layer.in_proj_bias.detach().numpy()
    q, k, v = (x @ w.T + b for x, w, b in zip((query, key, value), np.split(weight, 3), np.split(bias, 3), strict=True))
    outputs, weights = [], []
    for head in range(layer.num_heads):
        part = slice(head * size, (head + 1) * size)
        weights.append(softmax(q[:, part] @ k[:, part].T / np.sqrt(size) + added))
        outputs.append(weights[-1] @ v[:, part])
    joined = np.concatenate(outputs, axis=-1)
    projected = joined @ layer.out_proj.weight.detach().numpy().T + layer.out_proj.bias.detach().numpy()
    return projected, np.stack(weights)


def close(tensor, expected):
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-4, atol=1e-5)


def test_it_is_its_definition():
    layer = nn.MultiheadAttention(8, 2)
    query, memory = weft.randn(3, 8), weft.randn(5, 8)
    output, weights = layer(query, memory, memory, average_attn_weights=False)
    expected, expected_weights = by_definition(layer, query.numpy(), memory.numpy(), memory.numpy())
    close(output, expected)
    close(weights, expected_weights)
    close(layer(query, memory, memory)[1], expected_weights.mean(axis=0))
    output, weights = layer(query, memory, memory, need_weights=False)
    close(output, expected)
    assert weights is None


def test_batch_first_only_moves_axes():
    layer = nn.MultiheadAttention(8, 2)
    first = nn.MultiheadAttention(8, 2, batch_first=True)
    first.load_state_dict(layer.state_dict())
    query, memory = weft.randn(3, 4, 8), weft.randn(5, 4, 8)
    output, weights = layer(query, memory, memory)
    output_first, weights_first = first(query.transpose(0, 1), memory.transpose(0, 1), memory.transpose(0, 1))
    close(output_first.transpose(0, 1), output.detach().numpy())
    close(weights_first, weights.detach().numpy())


def test_in_training_the_output_lies_in_memory_by_position():
    """What dropout behind it zeroes, for a seed, follows from that order."""
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = weft.ones(3, 5, 8)
    for need_weights in (False, True):
        assert layer(x, x, x, need_weights=need_weights)[0].stride() == (8, 24, 1)


def test_masks_hide_keys():
    layer = nn.MultiheadAttention(8, 2)
    x = weft.randn(4, 1, 8)
    causal = weft.triu(weft.ones(4, 4), 1) == 1
    _, weights = layer(x, x, x, attn_mask=causal)
    assert weights[0][causal].abs().sum().item() == 0.0
    padding = weft.tensor([[False, False, True, True]])
    _, weights = layer(x, x, x, key_padding_mask=padding)
    assert weights[0, :, 2:].abs().sum().item() == 0.0
    close(weights.sum(-1), np.ones((1, 4)))


def test_numbers_in_a_mask_are_added_to_the_scores():
    layer = nn.MultiheadAttention(8, 2)
    x, added = weft.randn(4, 8), weft.randn(4, 4)
    expected, _ = by_definition(layer, x.numpy(), x.numpy(), x.numpy(), added.numpy())
    close(layer(x, x, x, attn_mask=added)[0], expected)


def test_keys_and_values_of_their_own_sizes_have_their_own_weights():
    layer = nn.MultiheadAttention(8, 2, kdim=3, vdim=5)
    assert layer.in_proj_weight is None
    assert [layer.q_proj_weight.shape, layer.k_proj_weight.shape, layer.v_proj_weight.shape] == [(8, 8), (8, 3), (8, 5)]
    output, weights = layer(weft.randn(4, 2, 8), weft.randn(6, 2, 3), weft.randn(6, 2, 5))
    assert output.shape == (4, 2, 8)
    assert weights.shape == (2, 4, 6)


def test_added_keys_and_values_lengthen_the_weights():
    layer = nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)
    x = weft.randn(4, 2, 8)
    assert layer(x, x, x)[1].shape == (2, 4, 6)


def test_dropout_acts_in_training_only():
    weft.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, dropout=0.5)
    x = weft.randn(4, 2, 8)
    assert layer(x, x, x)[0].tolist() != layer(x, x, x)[0].tolist()
    layer.eval()
    assert layer(x, x, x)[0].tolist() == layer(x, x, x)[0].tolist()


def test_state_dict_keys():
    assert list(nn.MultiheadAttention(4, 2).state_dict()) == [
        "in_proj_weight",
        "in_proj_bias",
        "out_proj.weight",
        "out_proj.bias",
    ]


@pytest.mark.parametrize(("sizes", "error"), [((8, 3), AssertionError), ((8, 0), ValueError), ((0, 2), ValueError)])
def test_sizes_are_checked(sizes, error):
    with pytest.raises(error):
        nn.MultiheadAttention(*sizes)


def test_the_output_is_contiguous_where_positions_come_first():
    attention, x = nn.MultiheadAttention(16, 4), weft.randn(5, 3, 16)
    assert attention(x, x, x)[0].is_contiguous()
    assert attention(x, x, x, need_weights=False)[0].is_contiguous()


@pytest.mark.parametrize(
    ("key_shape", "masks", "error"),
    [
        ((3, 2, 4), {"key_padding_mask": weft.zeros(2, 1, dtype=weft.bool)}, AssertionError),
        ((3, 2, 4), {"key_padding_mask": weft.zeros(3, 2, dtype=weft.bool)}, AssertionError),
        ((3, 2, 4), {"attn_mask": weft.zeros(1, 3, 3)}, RuntimeError),  # of one head, where there are four
        ((3, 1, 4), {}, RuntimeError),
    ],
)
def test_masks_and_keys_are_not_broadcast_over_the_batch(key_shape, masks, error):
    query, key = weft.ones(3, 2, 4), weft.ones(key_shape)
    with pytest.raises(error, match="multi_head_attention_forward"):
        nn.MultiheadAttention(4, 2)(query, key, key, **masks)


def test_masks_of_two_kinds_warn():
    layer, x = nn.MultiheadAttention(4, 2), weft.randn(3, 2, 4)
    hidden = weft.tensor([[False, False, True]] * 2)
    with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask"):
        layer(x, x, x, key_padding_mask=hidden, attn_mask=weft.zeros(3, 3))
    layer(x, x, x, key_padding_mask=hidden, attn_mask=weft.zeros(3, 3, dtype=weft.bool))
