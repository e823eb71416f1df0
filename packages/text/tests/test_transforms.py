"""Steps on sequences: what they make of one, of a batch, and what they refuse."""

import pickle

import pytest

import weft
from weft.text import Vocab, functional, transforms

VOCAB = Vocab(["<pad>", "<bos>", "a", "b"])


def test_steps_in_a_row_make_a_batch():
    steps = transforms.Sequential(
        transforms.VocabTransform(VOCAB),
        transforms.Truncate(2),
        transforms.AddToken(1),
        transforms.AddToken(3, begin=False),
        transforms.ToTensor(padding_value=0),
        transforms.PadTransform(6, 0),
    )
    expected = [[1, 2, 3, 3, 0, 0], [1, 3, 3, 0, 0, 0]]
    assert steps([["a", "b", "a"], ["b"]]).tolist() == expected
    assert pickle.loads(pickle.dumps(steps))([["a", "b", "a"], ["b"]]).tolist() == expected
    assert steps(["a", "b"]).tolist() == [1, 2, 3, 3, 0, 0]


def test_tensors_have_the_type_that_torchtext_gives_them():
    assert functional.to_tensor([1, 2], dtype=weft.float32).dtype == weft.int64
    assert functional.to_tensor([[1], [2]], dtype=weft.float32).dtype == weft.float32
    assert functional.to_tensor([[1, 2], [3]], padding_value=-1, dtype=weft.int32).tolist() == [[1, 2], [3, -1]]
    assert functional.to_tensor([]).shape == (0,)
    with pytest.raises(ValueError):
        functional.to_tensor([[1, 2], [3]])


def test_sequences_of_numbers_and_of_strings_are_cut_and_extended():
    assert functional.truncate([1, 2, 3], 2) == [1, 2]
    assert functional.truncate([["a", "b"], ["c"]], 1) == [["a"], ["c"]]
    assert functional.add_token([1], 0) == [0, 1]
    assert functional.add_token([["a"], []], "z", begin=False) == [["a", "z"], ["z"]]
    assert transforms.StrToIntTransform()(["1", "-2"]) == [1, -2]
    assert functional.str_to_int([["1"], ["2", "3"]]) == [[1], [2, 3]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: functional.to_tensor((1, 2)),
        lambda: functional.to_tensor(["a"]),
        lambda: functional.truncate([1, "a"], 1),
        lambda: functional.add_token([1], "a"),
        lambda: functional.add_token("a", "a"),
        lambda: functional.str_to_int([1]),
        lambda: transforms.VocabTransform(VOCAB)("a"),
        lambda: transforms.LabelToIndex(["a"])(3),
    ],
)
def test_other_inputs_are_refused(call):
    with pytest.raises(TypeError, match="Input type not supported"):
        call()


def test_labels_come_from_a_list_or_a_file(tmp_path):
    (tmp_path / "labels.txt").write_text("b\n\n a \n")
    labels = transforms.LabelToIndex(label_path=tmp_path / "labels.txt")
    assert (labels("a"), labels(["b", "a"]), labels.label_names) == (1, [0, 1], ["b", "a"])
    assert transforms.LabelToIndex(["b", "a"], sort_names=True).label_names == ["a", "b"]
    with pytest.raises(RuntimeError, match="'c' is not among"):
        labels("c")
    with pytest.raises(AssertionError, match="mutually exclusive"):
        transforms.LabelToIndex(["a"], tmp_path / "labels.txt")
    with pytest.raises(AssertionError, match="required"):
        transforms.LabelToIndex()


def test_a_long_tensor_is_not_padded():
    assert transforms.PadTransform(2, 9)(weft.tensor([1, 2, 3])).tolist() == [1, 2, 3]


def test_a_vocabulary_is_asked_for():
    with pytest.raises(AssertionError, match=r"expected a weft.text.Vocab, got dict"):
        transforms.VocabTransform({"a": 0})


def test_a_pattern_that_python_does_not_know_is_an_error():
    with pytest.raises(ValueError, match=r"'\\\\pL' is not a regular expression of Python's re"):
        transforms.RegexTokenizer([(r"\pL", "x")])


def test_special_tokens_are_checked_against_the_vocabulary(tmp_path):
    (tmp_path / "encoder.json").write_text('{"a": 0}')
    (tmp_path / "merges.txt").write_text("#version\n")
    with pytest.raises(RuntimeError, match="'<unk>' not found in encoder"):
        transforms.CharBPETokenizer(tmp_path / "encoder.json", tmp_path / "merges.txt", unk_token="<unk>")
    tokenizer = transforms.GPT2BPETokenizer(tmp_path / "encoder.json", tmp_path / "merges.txt")
    with pytest.raises(AssertionError, match="'foo' is not in the special token list"):
        tokenizer.add_special_tokens({"foo": "x"})
    with pytest.raises(IndexError, match="no number for the token 'b'"):
        tokenizer("b")
    with pytest.raises(IndexError, match="no token has the number 7"):
        tokenizer.decode(["7"])
    assert transforms.CharBPETokenizer(tmp_path / "encoder.json", tmp_path / "merges.txt").vocab_size == 1
    with pytest.raises(FileNotFoundError, match="it is no address"):
        transforms.BERTTokenizer(tmp_path / "vocab.txt")


def test_every_byte_has_a_printable_character():
    table = transforms.bytes_to_unicode()
    assert sorted(table) == list(range(256))
    assert len(set(table.values())) == 256
    assert all(char.isprintable() and char != " " for char in table.values())
