"""What torchtext called a prototype, with the results that torchtext 0.18 gives."""

import pytest

import weft
from weft.text import Vocab
from weft.text.prototype import transforms, vectors, vocab_factory


def test_english_is_ascii_only():
    normalize = transforms.basic_english_normalize()
    assert type(normalize) is transforms.BasicEnglishNormalize
    assert normalize('Don\'t SAY: "x"; (Ångström)!') == ["don", "'", "t", "say", "x", "(", "Ångström", ")", "!"]
    assert normalize("no\u00a0break\u2028line<br />Ⅷ ΟΔΥΣ") == ["no\u00a0break\u2028line", "Ⅷ", "ΟΔΥΣ"]


def test_vocabularies_come_from_files(tmp_path):
    (tmp_path / "text.txt").write_text("z y y\nb\tb b\u00a0b\nC C\n")
    build = vocab_factory.build_vocab_from_text_file
    assert build(tmp_path / "text.txt").get_itos() == ["b", "C", "y", "z"]
    assert build(tmp_path / "text.txt", list, min_freq=3).get_itos() == [" ", "b"]
    (tmp_path / "vocab.txt").write_text("c\nb\nb\na a a\n\n x\ty \n")
    assert vocab_factory.load_vocab_from_file(tmp_path / "vocab.txt").get_itos() == ["c", "b", "a", "x"]
    assert vocab_factory.load_vocab_from_file(tmp_path / "vocab.txt", min_freq=2).get_itos() == ["b"]


def test_vectors_are_read_set_and_looked_up(tmp_path):
    (tmp_path / "words.csv").write_text("a,1 2 3 4\nb,3 4 5 6\n")
    words = vectors.load_vectors_from_file_path(tmp_path / "words.csv")
    assert words(["a", "b", "q"]).tolist() == [[1, 2, 3, 4], [3, 4, 5, 6], [0, 0, 0, 0]]
    words["a"], words["n"] = weft.full((4,), 9.0), weft.full((4,), 5.0)
    assert (words["a"].tolist(), len(words), words.lookup_vectors([]).shape) == ([9] * 4, 3, (0, 0))
    assert transforms.VectorTransform(words)(["n"]).tolist() == [[5] * 4]
    (tmp_path / "words.csv").write_text("a,1 2\na,3 4\n")
    with pytest.raises(ValueError, match=r"Found duplicate tokens in file: \['a'\]"):
        vectors.load_vectors_from_file_path(tmp_path / "words.csv")
    with pytest.raises(TypeError, match="float32"):
        words["a"] = weft.ones(4, dtype=weft.int64)
    with pytest.raises(RuntimeError, match=r"must have shape \(4,\), got \(3,\)"):
        words["a"] = weft.ones(3)


def test_vectors_are_built_from_tensors():
    built = vectors.build_vectors(["x", "y"], weft.ones(2, 3), weft.full((3,), 7.0))
    assert (built["x"].tolist(), built["?"].tolist()) == ([1] * 3, [7] * 3)
    for tokens, rows, error in (
        ([], weft.zeros(0, 2), ValueError),
        (["x"], weft.ones(1, 2, dtype=weft.int64), TypeError),
        (["x", "x"], weft.ones(2, 2), RuntimeError),
        (["x"], weft.ones(2, 2), RuntimeError),
    ):
        with pytest.raises(error):
            vectors.build_vectors(tokens, rows)


def test_published_vectors_are_modules_too(tmp_path):
    (tmp_path / "glove.6B.50d.txt").write_text("the " + " ".join(["1"] * 50) + "\n")
    (tmp_path / "wiki.en.vec").write_text("word 1 2\nword 3 4\n")
    assert vectors.GloVe("6B", 50, root=tmp_path)["the"].sum() == 50
    assert vectors.FastText(root=tmp_path, unk_tensor=weft.ones(2))(["word", "x"]).tolist() == [[3, 4], [1, 1]]


def test_numbers_and_pieces(tmp_path):
    assert transforms.VocabTransform(Vocab(["a", "b"]))(["b", "a"]) == [1, 0]
    assert len(transforms.PRETRAINED_SP_MODEL) == 6
    library = pytest.importorskip("sentencepiece")
    (tmp_path / "text.txt").write_text("the cat sat\na dog ran\n" * 20)
    library.SentencePieceTrainer.train(
        input=str(tmp_path / "text.txt"), model_prefix=str(tmp_path / "spm"), vocab_size=16, minloglevel=2
    )
    pieces = transforms.sentencepiece_tokenizer(str(tmp_path / "spm.model"))
    numbers = transforms.sentencepiece_processor(str(tmp_path / "spm.model"))
    assert pieces.decode(pieces("the cat")) == numbers.decode(numbers("the cat")) == "the cat"
