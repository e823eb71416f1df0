"""Tokenizers: what is encoded is decoded again."""

import sys

import pytest

import weft
from weft.text import BPETokenizer, CharTokenizer, WordTokenizer

TEXT = "The cat, the dog;\n\tand  'thé' cow. "


def test_characters_are_numbered_by_code_point_and_restored():
    tokenizer = CharTokenizer(TEXT)
    assert tokenizer.vocab.get_itos() == sorted(set(TEXT))
    assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT
    assert tokenizer.decode(weft.tensor(tokenizer.encode("cat"))) == "cat"
    assert len(tokenizer) == len(set(TEXT))


def test_an_unknown_character_is_an_error_unless_one_stands_for_it():
    with pytest.raises(RuntimeError, match="'z' is not among"):
        CharTokenizer("abc").encode("az")
    tokenizer = CharTokenizer("abc", unknown="?")
    assert tokenizer.decode(tokenizer.encode("azb")) == "a?b"


def test_words_carry_the_space_before_them_so_that_text_is_restored():
    tokenizer = WordTokenizer([TEXT])
    assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT
    assert WordTokenizer(TEXT).vocab.get_itos() == tokenizer.vocab.get_itos()


def test_rare_and_new_words_are_unknown():
    tokenizer = WordTokenizer(["a b b", "a c"], min_freq=2)
    assert tokenizer.decode(tokenizer.encode("a b c")) == "a b<unk>"
    assert WordTokenizer(["a b b", "a c"], max_tokens=3).vocab.get_itos() == ["<unk>", " b", "a"]


def test_without_the_library_byte_pairs_say_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ModuleNotFoundError, match="pip install tokenizers"):
        BPETokenizer.train(["text"], vocab_size=300)


def test_byte_pairs_restore_any_text_and_are_saved(tmp_path):
    pytest.importorskip("tokenizers")
    tokenizer = BPETokenizer.train([TEXT] * 3, vocab_size=280, specials=["<end>"])
    tokens = tokenizer.encode(TEXT)
    assert len(tokens) < len(TEXT.encode())
    assert tokenizer.decode(tokenizer.encode(TEXT + "世界")) == TEXT + "世界"
    tokenizer.save(tmp_path / "tokenizer.json")
    assert BPETokenizer.load(tmp_path / "tokenizer.json").encode(TEXT) == tokens
