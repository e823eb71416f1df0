"""Attention against its formula, and its masks."""

import math

import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.nn import functional as F


def heads(*shape):
    return tuple(weft.randn(*shape, dtype=weft.float64) for _ in range(3))


def test_attention_is_the_softmax_of_scaled_products():
    q, k, v = heads(2, 3, 4, 8)
    expected = (q @ k.mT / math.sqrt(8)).softmax(-1) @ v
    assert weft.allclose(F.scaled_dot_product_attention(q, k, v), expected)
    assert weft.allclose(F.scaled_dot_product_attention(q, k, v, scale=1.0), (q @ k.mT).softmax(-1) @ v)


def test_causal_attention_sees_no_later_key():
    q, k, v = heads(1, 4, 8)
    whole = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    for length in range(1, 5):
        part = F.scaled_dot_product_attention(q[:, :length], k[:, :length], v[:, :length], is_causal=True)
        assert weft.allclose(whole[:, :length], part)


def test_masks_of_bool_and_of_numbers_agree():
    q, k, v = heads(1, 4, 8)
    keep = weft.ones(4, 4, dtype=weft.bool).tril()
    added = weft.zeros(4, 4, dtype=weft.float64).masked_fill(~keep, -math.inf)
    by_bool = F.scaled_dot_product_attention(q, k, v, keep)
    assert weft.allclose(by_bool, F.scaled_dot_product_attention(q, k, v, added))
    assert weft.allclose(by_bool, F.scaled_dot_product_attention(q, k, v, is_causal=True))


def test_a_query_that_sees_nothing_gets_zeros():
    q, k, v = heads(1, 2, 4)
    keep = weft.tensor([[True, True], [False, False]])
    assert F.scaled_dot_product_attention(q, k, v, keep)[0, 1].tolist() == [0.0] * 4


def test_fewer_key_heads_are_shared():
    q = weft.randn(1, 4, 3, 8)
    k, v = weft.randn(1, 2, 5, 8), weft.randn(1, 2, 5, 8)
    expected = F.scaled_dot_product_attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))
    assert weft.allclose(F.scaled_dot_product_attention(q, k, v, enable_gqa=True), expected)


def test_attention_has_first_and_second_derivatives():
    inputs = tuple(each.requires_grad_() for each in heads(2, 3, 2))
    assert gradcheck(lambda *each: F.scaled_dot_product_attention(*each, is_causal=True), inputs)
    assert gradgradcheck(lambda *each: F.scaled_dot_product_attention(*each, is_causal=True), inputs)


def several_heads(x, need_weights, **options):
    size = x.shape[-1]
    return F.multi_head_attention_forward(
        x, x, x, size, 2, weft.eye(size, dtype=x.dtype).repeat(3, 1), None, None, None, False, 0.0,
        weft.eye(size, dtype=x.dtype), None, need_weights=need_weights, **options,
    )  # fmt: skip


def test_heads_attend_by_themselves_and_weights_do_not_change_the_output():
    x = weft.randn(5, 3, 4, dtype=weft.float64)
    output, weights = several_heads(x, True)
    bare, none = several_heads(x, False)
    assert none is None
    assert weft.allclose(output, bare)
    assert weights.shape == (3, 5, 5)
    batch_first = x.transpose(0, 1)
    halves = [F.scaled_dot_product_attention(*[half] * 3) for half in batch_first.chunk(2, -1)]
    assert weft.allclose(output.transpose(0, 1), weft.cat(halves, -1))


def test_padded_keys_are_not_seen():
    x = weft.randn(4, 2, 4, dtype=weft.float64)
    hidden = weft.tensor([[False, False, False, True]] * 2)
    output, _ = several_heads(x, True, key_padding_mask=hidden)
    changed = x.clone()
    changed[3] = 100.0
    assert weft.allclose(several_heads(changed, True, key_padding_mask=hidden)[0][:3], output[:3])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda q, k, v: F.scaled_dot_product_attention(q, k[..., :2], v), "do not fit"),
        (lambda q, k, v: F.scaled_dot_product_attention(q, k.float(), v), "same dtype.*float64.*float32"),
        (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, weft.ones(2, 2).bool(), is_causal=True), "is_causal"),
        (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, weft.ones(2, 2)), "attn_mask.*float32"),
    ],
)
def test_wrong_call_is_explained(call, words):
    with pytest.raises(RuntimeError, match=f"scaled_dot_product_attention.*{words}"):
        call(*heads(1, 2, 4))
