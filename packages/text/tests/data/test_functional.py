"""Streams of lines, and SentencePiece's models."""

import sys

import pytest

from weft.text import Vocab, data, transforms
from weft.text.data.functional import load_sp_model

LINES = ["the cat sat on the mat", "a dog ran to the cat", "the mat is on a dog"] * 20


def test_numbers_of_a_stream_without_some_tokens():
    streams = [["a", "b", "c"], ["c"]]
    ids = data.numericalize_tokens_from_iterator(Vocab(["a", "b", "c"]), streams, removed_tokens=["c"])
    assert [list(line) for line in ids] == [[0, 1], []]


def test_what_is_no_stream_is_refused():
    with pytest.raises(TypeError, match="must support iterator semantics"):
        next(data.filter_wikipedia_xml(3))


def test_a_stream_becomes_a_data_set_with_a_length():
    samples = data.to_map_style_dataset(line for line in LINES)
    assert (len(samples), samples[1]) == (60, LINES[1])


def test_wrong_corpora_are_refused():
    with pytest.raises(AssertionError, match="equal to max_n"):
        data.bleu_score([["a"]], [[["a"]]], max_n=2)
    with pytest.raises(AssertionError, match="should be the same: 1 and 2"):
        data.bleu_score([["a"]], [[["a"]], [["b"]]])


def test_sentencepiece_models_are_trained_and_read(tmp_path):
    library = pytest.importorskip("sentencepiece")
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    data.generate_sp_model(tmp_path / "text.txt", vocab_size=22, model_prefix=tmp_path / "spm")
    path = tmp_path / "spm.model"
    with open(path, "rb") as file:
        from_file = load_sp_model(file)
    for model in (load_sp_model(str(path)), load_sp_model(path), from_file):
        oracle = library.SentencePieceProcessor(model_file=str(path))
        assert list(data.sentencepiece_tokenizer(model)(LINES)) == [oracle.encode(line, out_type=str) for line in LINES]
        assert list(data.sentencepiece_numericalizer(model)(LINES)) == [oracle.encode(line) for line in LINES]
    pieces = transforms.SentencePieceTokenizer(path)
    assert pieces(LINES[0]) == pieces(LINES)[0] == oracle.encode(LINES[0], out_type=str)
    with pytest.raises(TypeError, match="Input type not supported"):
        pieces((LINES[0],))
    with pytest.raises(TypeError, match="Unsupported type for spm argument: int"):
        load_sp_model(3)


def test_a_missing_library_is_named_with_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ModuleNotFoundError, match=r"generate_sp_model needs .* pip install sentencepiece"):
        data.generate_sp_model(tmp_path / "text.txt")
