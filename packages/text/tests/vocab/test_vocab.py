"""Vocabularies: order, unknown tokens, saving."""

import copy
import pickle

import pytest

import weft
from weft.text import Vocab, build_vocab_from_iterator
from weft.text.vocab import vocab

LINES = [["b", "a", "b"], ["c", "b", "a"], ["d"]]


def test_frequent_tokens_come_first_and_equals_in_alphabetical_order():
    assert build_vocab_from_iterator(LINES).get_itos() == ["b", "a", "c", "d"]


def test_specials_stand_first_or_last_whatever_their_frequency():
    assert build_vocab_from_iterator(LINES, specials=["<unk>", "a"]).get_itos() == ["<unk>", "a", "b", "c", "d"]
    assert build_vocab_from_iterator(LINES, specials=["<e>"], special_first=False).get_itos()[-1] == "<e>"


def test_rare_tokens_are_left_out():
    assert build_vocab_from_iterator(LINES, min_freq=2, specials=["<unk>"]).get_itos() == ["<unk>", "b", "a"]
    assert build_vocab_from_iterator(LINES, max_tokens=3, specials=["<unk>"]).get_itos() == ["<unk>", "b", "a"]
    with pytest.raises(AssertionError, match="must be greater than the number of specials"):
        build_vocab_from_iterator(LINES, max_tokens=1, specials=["<unk>"])


def test_a_special_among_the_most_frequent_leaves_its_place_empty():
    assert build_vocab_from_iterator(LINES, max_tokens=3, specials=["b"]).get_itos() == ["b", "a"]  # as in torchtext


def test_vocab_keeps_the_order_of_its_mapping():
    assert vocab({"x": 1, "y": 3, "z": 2}, min_freq=2).get_stoi() == {"y": 0, "z": 1}


def test_lookups_go_both_ways():
    words = Vocab(["a", "b", "c"])
    assert words(["c", "a"]) == words.lookup_indices(["c", "a"]) == [2, 0]
    assert words.lookup_tokens([2, 0]) == ["c", "a"]
    assert ("b" in words, "z" in words, len(words)) == (True, False, 3)
    with pytest.raises(RuntimeError, match="no token has the number 3; they go from 0 to 2"):
        words.lookup_token(3)


def test_unknown_tokens_are_errors_without_a_default():
    words = Vocab(["a"])
    with pytest.raises(RuntimeError, match=r"'b' is not among the 1 tokens.*set_default_index"):
        words["b"]
    words.set_default_index(0)
    assert words["b"] == words.get_default_index() == 0
    assert "b" not in words


def test_inserting_moves_later_tokens_up():
    words = Vocab(["a", "b"])
    words.insert_token("c", 1)
    words.append_token("d")
    assert words.get_itos() == ["a", "c", "b", "d"]
    assert words.get_stoi() == {"a": 0, "c": 1, "b": 2, "d": 3}
    with pytest.raises(RuntimeError, match="'a' is there already, with the number 0"):
        words.append_token("a")
    with pytest.raises(RuntimeError, match="expected a place from 0 to 4"):
        words.insert_token("e", 5)
    with pytest.raises(TypeError, match="must be a str, got int"):
        words.append_token(3)


def test_the_state_dict_holds_tokens_and_default(tmp_path):
    words = Vocab(["a", "b"], default_index=1)
    weft.save(words.state_dict(), tmp_path / "words.pt")
    restored = Vocab()
    restored.load_state_dict(weft.load(tmp_path / "words.pt"))
    assert restored.get_itos() == ["a", "b"]
    assert restored["z"] == 1


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda words: pickle.loads(pickle.dumps(words))])
def test_copies_are_independent(copied):
    words = Vocab(["a"])
    other = copied(words)
    other.append_token("b")
    assert (len(words), len(other), other["b"]) == (1, 2, 1)
