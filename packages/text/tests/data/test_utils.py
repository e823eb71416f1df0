"""Words from a line of text."""

import pytest

from weft.text import get_tokenizer, ngrams_iterator


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("You can now, (really) do it!", ["you", "can", "now", ",", "(", "really", ")", "do", "it", "!"]),
        ('Don\'t say: "maybe"; why?', ["don", "'", "t", "say", "maybe", "why", "?"]),
        ("one<br />two  three.", ["one", "two", "three", "."]),
        ("", []),
    ],
)
def test_basic_english_spaces_punctuation_out_in_small_letters(line, tokens):
    assert get_tokenizer("basic_english")(line) == tokens


def test_words_keeps_every_script_and_case():
    assert get_tokenizer("words")("Ça va, 世界?") == ["Ça", "va", ",", "世界", "?"]


def test_none_splits_at_white_space_and_a_function_is_returned():
    assert get_tokenizer(None)("a  b\tc") == ["a", "b", "c"]
    assert get_tokenizer(list) is list


def test_unknown_names_and_languages_are_errors():
    with pytest.raises(ValueError, match="unknown tokenizer 'spam'"):
        get_tokenizer("spam")
    with pytest.raises(ValueError, match="language 'en', got 'fr'"):
        get_tokenizer("basic_english", "fr")


def test_ngrams_follow_the_tokens_by_length():
    assert list(ngrams_iterator(list("abc"), 3)) == ["a", "b", "c", "a b", "b c", "a b c"]
    assert list(ngrams_iterator(["a"], 2)) == ["a"]
