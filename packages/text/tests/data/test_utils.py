"""Words from a line of text."""

import random
import sys
import types

import pytest

from weft.text import get_tokenizer, ngrams_iterator
from weft.text.data.utils import RandomShuffler, is_tokenizer_serializable


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


def test_libraries_tokenize_by_their_names(monkeypatch):
    class Token:
        def __init__(self, text):
            self.text = text

    class Language:
        def tokenizer(self, line):
            return map(Token, line.split("-"))

    def load(name):
        if name == "en":
            raise OSError("no model of this name")
        return Language()

    spacy = types.ModuleType("spacy")
    spacy.load, spacy.errors = load, types.SimpleNamespace(OLD_MODEL_SHORTCUTS={"en": "en_core_web_sm"})
    revtok = types.ModuleType("revtok")
    revtok.tokenize = lambda line, decap=False: [line, str(decap)]
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    monkeypatch.setitem(sys.modules, "revtok", revtok)
    assert get_tokenizer("spacy", "de_core_news_sm")("a-b") == ["a", "b"]
    with pytest.warns(UserWarning, match="loading 'en_core_web_sm'"):
        assert get_tokenizer("spacy")("a-b") == ["a", "b"]
    assert get_tokenizer("revtok")("a") == ["a", "False"]
    assert get_tokenizer("subword")("a") == ["a", "True"]
    spacy.errors.OLD_MODEL_SHORTCUTS = {}
    with pytest.raises(OSError, match="no model of this name"):
        get_tokenizer("spacy")


@pytest.mark.parametrize(("name", "library"), [("moses", "sacremoses"), ("toktok", "nltk"), ("subword", "revtok")])
def test_a_missing_library_is_named_with_how_to_get_it(name, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError, match=rf"get_tokenizer\('{name}'\) needs .* pip install {library}"):
        get_tokenizer(name)


def test_moses_is_the_librarys():
    pytest.importorskip("sacremoses")
    assert get_tokenizer("moses")("Hello, World.") == ["Hello", ",", "World", "."]


def test_a_shuffler_repeats_from_its_state():
    shuffle = RandomShuffler()
    before = random.getstate()
    start = shuffle.random_state
    first = shuffle(range(20))
    assert sorted(first) == list(range(20)) != first
    assert RandomShuffler(start)(range(20)) == first != shuffle(range(20))
    assert random.getstate() == before


def test_spacys_tokenizers_cannot_be_pickled():
    assert not is_tokenizer_serializable("spacy", "en")
    assert is_tokenizer_serializable("moses", "en")
