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
        ({"block_size": 0}, "block_size must be at least 1"),
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
