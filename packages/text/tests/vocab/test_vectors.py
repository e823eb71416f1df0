"""Word vectors: files, archives, the kept copy, and what is not there."""

import gzip
import io
import os
import tarfile
import zipfile

import pytest

import weft
from weft.text.vocab import CharNGram, FastText, GloVe, Vectors, pretrained_aliases

TEXT = "the 0.1 -2 3e1\nCat 4 5 6\nno\u00a0break 7 8 9\ncat 1 1 1\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "words.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path


def test_tokens_have_the_vectors_of_their_lines(folder):
    words = Vectors("words.txt", cache=folder)
    assert words.itos == ["the", "Cat", "no\u00a0break", "cat"]
    assert (words.stoi["cat"], words.dim, len(words), words.vectors.shape) == (3, 3, 4, (4, 3))
    assert words["the"].tolist() == weft.tensor([0.1, -2.0, 30.0]).tolist()
    assert ("Cat" in words, "dog" in words) == (True, False)
    assert words["dog"].tolist() == [0, 0, 0]
    assert words.get_vecs_by_tokens(["Cat", "DOG"]).tolist() == [[4, 5, 6], [0, 0, 0]]
    assert words.get_vecs_by_tokens("THE", lower_case_backup=True).tolist() == words["the"].tolist()


def test_what_was_read_is_kept_until_the_text_changes(folder):
    path = folder / "words.txt"
    first = Vectors(str(path), cache=folder / "kept")
    assert os.listdir(folder / "kept") == ["words.txt.pt"]
    os.utime(path, (1, 1))
    path.write_text("changed 1 2 3\n")
    os.utime(path, (1, 1))  # as if it were older than the copy
    assert Vectors(str(path), cache=folder / "kept").itos == first.itos
    os.utime(path)
    os.utime(folder / "kept" / "words.txt.pt", (2, 2))
    assert Vectors(str(path), cache=folder / "kept").itos == ["changed"]
    path.unlink()
    assert Vectors("words.txt", cache=folder / "kept").itos == ["changed"]


def test_the_first_ones_only(folder):
    assert Vectors("words.txt", cache=folder, max_vectors=2).itos == ["the", "Cat"]
    assert (folder / "words.txt_2.pt").exists()
    assert len(Vectors("words.txt", cache=folder, max_vectors=9)) == 4


def test_headers_and_broken_tokens_are_skipped(tmp_path):
    (tmp_path / "words.vec").write_bytes(b"2 3\nok 1 2 3\n\xff\xfe 1 2 3\nfine 4 5 6 \n")
    assert Vectors("words.vec", cache=tmp_path).itos == ["ok", "fine"]


def test_unknown_tokens_are_what_the_caller_makes(folder):
    assert (
        Vectors("words.txt", cache=folder, unk_init=weft.Tensor.fill_ and (lambda x: x.fill_(7)))["?"].tolist()
        == [7] * 3
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [("a 1 2 3\nb 1 2\n", "has 2 dimensions, but previously read vectors have 3"), ("a 1 x\n", "not numbers")],
)
def test_lines_that_do_not_fit_are_errors(text, message, tmp_path):
    (tmp_path / "words.txt").write_text(text)
    with pytest.raises(RuntimeError, match=message):
        Vectors("words.txt", cache=tmp_path)


def test_compressed_files_are_read(folder):
    (folder / "words.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert Vectors("words.gz", cache=folder).itos[:2] == ["the", "Cat"]


def test_glove_is_read_from_its_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "glove.6B.zip", "w") as archive:
        archive.writestr("glove.6B.50d.txt", "the " + " ".join(["1"] * 50) + "\n")
    words = GloVe(name="6B", dim=50, cache=tmp_path)
    assert (words.itos, words.dim) == (["the"], 50)
    assert pretrained_aliases["glove.6B.50d"](cache=tmp_path)["the"].sum() == 50
    with pytest.raises(RuntimeError, match=r"no glove.6B.100d.txt in .*glove.6B.zip"):
        GloVe(name="6B", dim=100, cache=tmp_path)
    with pytest.raises(KeyError, match="no vectors '7B'"):
        GloVe(name="7B", cache=tmp_path)


def test_fasttext_is_read_by_its_language(tmp_path):
    (tmp_path / "wiki.simple.vec").write_text("1 2\nword 1 2\n")
    assert FastText(language="simple", cache=tmp_path)["word"].tolist() == [1, 2]
    with pytest.raises(RuntimeError, match=r"no vectors found at .*wiki.de.vec: they are published at https.*put the"):
        FastText(language="de", cache=tmp_path)


def test_character_vectors_are_means_over_runs(tmp_path):
    lines = b"2gram-#BEGIN#a 1 2\n2gram-a#END# 3 4\n3gram-#BEGIN#a#END# 5 9\n"
    with tarfile.open(tmp_path / "jmt_pre-trained_embeddings.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("jmt/charNgram.txt")
        entry.size = len(lines)
        archive.addfile(entry, io.BytesIO(lines))
    runs = CharNGram(cache=tmp_path)
    assert runs["a"].tolist() == [[3, 5]]
    assert runs["b"].tolist() == runs["<unk>"].tolist() == [[0, 0]]


def test_aliases_name_the_published_sets():
    assert len(pretrained_aliases) == 13
    assert {"charngram.100d", "fasttext.en.300d", "glove.twitter.27B.25d"} <= set(pretrained_aliases)
