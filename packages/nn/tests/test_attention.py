"""weft.nn.attention: causal masks that are not square, and attention with a function of scores."""

import pytest

import weft
from weft.nn.attention.bias import CausalVariant, causal_lower_right, causal_upper_left
from weft.nn.attention.flex_attention import (
    AuxRequest,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    or_masks,
)
from weft.nn.functional import scaled_dot_product_attention


@pytest.fixture
def heads():
    return [weft.randn(2, 2, length, 4) for length in (3, 5, 5)]


def test_causal_masks_begin_from_the_corner_that_their_name_says():
    assert causal_upper_left(2, 3).tolist() == [[True, False, False], [True, True, False]]
    assert causal_lower_right(2, 3).tolist() == [[True, True, False], [True, True, True]]
    assert causal_lower_right(2, 3).variant is CausalVariant.LOWER_RIGHT


def test_a_causal_mask_is_a_mask_of_attention(heads):
    query, key, value = heads
    found = scaled_dot_product_attention(query, key, value, attn_mask=causal_lower_right(3, 5))
    plain = scaled_dot_product_attention(query, key, value, attn_mask=weft.ones(3, 5, dtype=weft.bool).tril(2))
    assert weft.equal(found, plain) and type(found) is weft.Tensor


def test_scores_can_be_changed_by_place(heads):
    query, key, value = heads
    slopes = weft.tensor([0.5, 0.25])

    def alibi(score, b, h, q_idx, kv_idx):
        return score - slopes[h] * (q_idx - kv_idx)

    distance = weft.arange(3)[:, None] - weft.arange(5)
    bias = -slopes[:, None, None] * distance
    expected = scaled_dot_product_attention(query, key, value, attn_mask=bias)
    weft.testing.assert_close(flex_attention(query, key, value, alibi), expected)


def test_a_block_mask_hides_what_its_function_says(heads):
    query, key, value = heads
    mask = create_block_mask(lambda b, h, q, k: (q + 2 >= k) & (b == 0), 2, None, 3, 5)
    found = flex_attention(query, key, value, block_mask=mask)
    expected = scaled_dot_product_attention(query, key, value, attn_mask=causal_lower_right(3, 5))
    weft.testing.assert_close(found[0], expected[0])
    assert (found[1] == 0).all()  # it sees nothing


def test_masks_are_joined():
    def causal(b, h, q, k):
        return q >= k

    def near(b, h, q, k):
        return q - k <= 1

    window = create_mask(and_masks(causal, near), None, None, 3, 3)
    assert window[0, 0].tolist() == [[True, False, False], [True, True, False], [False, True, True]]
    assert create_mask(or_masks(causal, near), 1, 2, 3, 3).shape == (1, 2, 3, 3)


def test_sparsity_counts_the_blocks_that_show_nothing():
    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 200, 200, BLOCK_SIZE=100)
    assert mask.to_dense().tolist() == [[[[1, 0], [1, 1]]]]
    assert mask.sparsity() == 25.0


def test_the_logarithm_of_the_sum_can_be_returned(heads):
    query, key, value = heads
    _, found = flex_attention(query, key, value, scale=1.0, return_lse=True)
    weft.testing.assert_close(found, (query @ key.mT).logsumexp(-1))


def test_queries_may_have_more_heads(heads):
    query, key, value = heads
    found = flex_attention(query, key[:, :1], value[:, :1], enable_gqa=True)
    weft.testing.assert_close(
        found, flex_attention(query, key[:, :1].repeat(1, 2, 1, 1), value[:, :1].repeat(1, 2, 1, 1))
    )
    with pytest.raises(ValueError, match="enable_gqa"):
        flex_attention(query, key[:, :1], value[:, :1])


def test_flex_attention_returns_what_a_request_names():
    """Transformers asks with AuxRequest, not with return_lse."""
    query, key, value = weft.randn(3, 1, 2, 4, 8)
    expected, lse = flex_attention(query, key, value, return_lse=True)
    output, found = flex_attention(query, key, value, return_aux=AuxRequest(lse=True))
    assert weft.equal(output, expected) and weft.equal(found.lse, lse) and found.max_scores is None
    _, found = flex_attention(query, key, value, return_aux=AuxRequest(max_scores=True))
    weft.testing.assert_close(found.max_scores, (query @ key.mT / 8**0.5).amax(-1))
