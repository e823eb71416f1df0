"""Writing with a language model."""

import math

import pytest

import weft
from weft.text import generate

PROBABILITIES = (0.5, 0.3, 0.15, 0.05)


def count_on(tokens):
    """Logits that make the next token one more, modulo ten."""
    return weft.eye(10)[(tokens + 1) % 10] * 100


def unconditional(tokens):
    """Logits (B, V) of `PROBABILITIES` whatever came before."""
    return weft.tensor([math.log(p) for p in PROBABILITIES]).expand(len(tokens), 4)


def draw(count=4000, **options):
    """The share of each token among ``count`` draws."""
    prompt = weft.zeros(count, 1, dtype=weft.int64)
    options.setdefault("generator", weft.Generator().manual_seed(0))
    drawn = generate(unconditional, prompt, 1, **options)[:, 1]
    return [(drawn == token).float().mean().item() for token in range(4)]


def test_greedy_takes_the_most_probable_token():
    assert generate(count_on, weft.tensor([[7], [2]]), 4, temperature=0).tolist() == [[7, 8, 9, 0, 1], [2, 3, 4, 5, 6]]
    assert generate(count_on, weft.tensor([1, 2]), 2).tolist() == [1, 2, 3, 4]


def test_samples_have_the_model_s_probabilities():
    assert draw() == pytest.approx(PROBABILITIES, abs=0.03)


def test_temperature_sharpens_or_flattens():
    powers = [p**2 for p in PROBABILITIES]
    assert draw(temperature=0.5) == pytest.approx([p / sum(powers) for p in powers], abs=0.03)
    assert draw(temperature=1e6) == pytest.approx([0.25] * 4, abs=0.03)


def test_top_k_keeps_the_k_most_probable():
    assert draw(top_k=2) == pytest.approx([0.625, 0.375, 0, 0], abs=0.03)
    assert draw(top_k=9) == pytest.approx(PROBABILITIES, abs=0.03)


def test_top_p_keeps_the_nucleus():
    assert draw(top_p=0.4) == [1.0, 0.0, 0.0, 0.0]
    assert draw(top_p=0.81) == pytest.approx([0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0], abs=0.03)


def test_min_p_keeps_what_is_not_far_less_probable_than_the_first():
    assert draw(min_p=0.61) == [1.0, 0.0, 0.0, 0.0]
    assert draw(min_p=0.29) == pytest.approx([0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0], abs=0.03)
    assert draw(min_p=0.0) == pytest.approx(PROBABILITIES, abs=0.03)


def test_no_run_of_tokens_is_repeated():
    def model(tokens):
        return weft.tensor([1.0, 0.8, 0.5]).expand(len(tokens), 3)

    prompt = weft.tensor([0, 1])
    assert generate(model, prompt, 4, temperature=0, no_repeat_ngram_size=2).tolist() == [0, 1, 0, 0, 2, 0]
    assert generate(model, prompt, 1, temperature=0, no_repeat_ngram_size=1).tolist() == [0, 1, 2]
    assert generate(model, prompt, 4, temperature=0, no_repeat_ngram_size=9).tolist() == [0, 1, 0, 0, 0, 0]


def test_padding_begins_no_run_of_tokens():
    def model(tokens, attention_mask):
        return weft.tensor([1.0, 0.8, 0.5]).expand(len(tokens), 3)

    prompt, mask = weft.tensor([[0, 0, 0], [0, 0, 0]]), weft.tensor([[0, 0, 1], [1, 1, 1]])
    found = generate(model, prompt, 1, temperature=0, no_repeat_ngram_size=2, attention_mask=mask)
    assert found[:, 3].tolist() == [0, 1]


def test_the_same_seed_gives_the_same_text():
    first, second = (draw(50, generator=weft.Generator().manual_seed(3)) for _ in range(2))
    assert first == second


def test_the_model_sees_at_most_block_size_tokens():
    seen = []

    def model(tokens):
        seen.append(tokens.shape[1])
        return count_on(tokens)

    generate(model, weft.tensor([[1, 2]]), 4, block_size=3)
    assert seen == [2, 3, 3, 3]


def test_a_stop_token_ends_each_sequence():
    result = generate(count_on, weft.tensor([[5], [7], [9]]), 9, temperature=0, stop_token=9)
    assert result.tolist()[:2] == [[5, 6, 7, 8, 9, 9, 9, 9, 9, 9], [7, 8, 9, 9, 9, 9, 9, 9, 9, 9]]
    assert generate(count_on, weft.tensor([5]), 9, temperature=0, stop_token=8).tolist() == [5, 6, 7, 8]


def test_no_history_is_recorded():
    weight = weft.ones(10, 10, requires_grad=True)
    seen = []

    def model(tokens):
        seen.append((weight[tokens] * 2).requires_grad)
        return weight[tokens] * 2

    generate(model, weft.tensor([[1]]), 1)
    assert seen == [False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -1}, "0 is greedy"),
        ({"top_k": 0}, "top_k must be at least 1"),
        ({"top_p": 0}, "top_p must be greater than 0"),
        ({"top_p": 1.5}, "at most 1, got 1.5"),
        ({"min_p": 1.5}, "min_p must be from 0 to 1"),
        ({"no_repeat_ngram_size": 0}, "no_repeat_ngram_size must be at least 1"),
        ({"block_size": 0}, "block_size must be at least 1"),
        ({"repetition_penalty": 0}, "repetition_penalty must be positive, got 0; 1 is none"),
    ],
)
def test_options_out_of_range_are_explained(options, message):
    with pytest.raises(ValueError, match=message):
        generate(count_on, weft.tensor([1]), 1, **options)


def test_an_empty_prompt_and_a_negative_count_are_errors():
    with pytest.raises(ValueError, match="at least one token"):
        generate(count_on, weft.zeros(1, 0, dtype=weft.int64), 1)
    with pytest.raises(ValueError, match="must not be negative"):
        generate(count_on, weft.tensor([1]), -1)


def test_one_of_several_stop_tokens_ends_a_sequence_and_is_repeated():
    result = generate(count_on, weft.tensor([[5], [1]]), 9, temperature=0, stop_token={8, 4})
    assert result.tolist() == [[5, 6, 7, 8], [1, 2, 3, 4]]
    result = generate(count_on, weft.tensor([[6], [1]]), 9, temperature=0, stop_token=[8, 4])
    assert result.tolist() == [[6, 7, 8, 8], [1, 2, 3, 4]]


def test_the_stream_has_each_token_as_it_comes():
    seen = []
    result = generate(count_on, weft.tensor([[5], [1]]), 3, temperature=0, stream=lambda new: seen.append(new.tolist()))
    assert seen == [[6, 2], [7, 3], [8, 4]]
    assert result[:, 1:].T.tolist() == seen


def test_repetition_divides_positive_logits_and_multiplies_negative_ones():
    logits = weft.tensor([3.0, 2.9, -1.0, -1.1])

    def model(tokens):
        return logits.expand(len(tokens), 4)

    assert generate(model, weft.tensor([0]), 2, temperature=0, repetition_penalty=1.5).tolist() == [0, 1, 0]
    negative = [generate(lambda tokens: -model(tokens), weft.tensor([3]), 1, temperature=0, repetition_penalty=p)
                for p in (1.05, 1.2)]  # fmt: skip
    assert [each.tolist() for each in negative] == [[3, 3], [3, 2]]


def test_presence_and_frequency_count_what_was_added():
    def model(tokens):
        return weft.tensor([1.0, 0.8, 0.5]).expand(len(tokens), 3)

    prompt = weft.tensor([0, 0, 0])
    assert generate(model, prompt, 4, temperature=0, presence_penalty=0.3)[3:].tolist() == [0, 1, 0, 0]
    assert generate(model, prompt, 5, temperature=0, frequency_penalty=0.15)[3:].tolist() == [0, 0, 1, 0, 1]


def test_a_model_with_a_cache_is_given_the_new_tokens_alone():
    class Model:
        seen = []

        class Cache:
            length = 0

        def make_cache(self, batch_size, max_length):
            self.seen.append((batch_size, max_length))
            return self.Cache()

        def __call__(self, tokens, attention_mask, cache, logits_to_keep):
            cache.length += tokens.shape[1]
            self.seen.append((tokens.tolist(), attention_mask, logits_to_keep))
            return count_on(tokens)

    result = generate(Model(), weft.tensor([[1, 2]]), 3, temperature=0)
    assert result.tolist() == [[1, 2, 3, 4, 5]]
    assert Model.seen == [(1, 4), ([[1, 2]], None, 1), ([[3]], None, 1), ([[4]], None, 1)]


def test_masks_grow_and_all_ones_are_none():
    seen = []

    def model(tokens, attention_mask=None):
        seen.append(None if attention_mask is None else attention_mask.int().tolist())
        return count_on(tokens)

    generate(model, weft.tensor([[0, 1]]), 2, temperature=0, attention_mask=weft.tensor([[0, 1]]))
    assert seen == [[[0, 1]], [[0, 1, 1]]]
    seen.clear()
    generate(model, weft.tensor([3, 1]), 1, temperature=0, attention_mask=weft.tensor([1, 1]))
    assert seen == [None]


def test_masks_of_another_shape_or_padded_on_the_right_are_errors():
    with pytest.raises(ValueError, match="attention_mask must have the prompt's shape"):
        generate(count_on, weft.tensor([[1, 2]]), 1, attention_mask=weft.tensor([1, 1]))
    with pytest.raises(ValueError, match="must be padded on the left"):
        generate(count_on, weft.tensor([[1, 2]]), 1, attention_mask=weft.tensor([[1, 0]]))
