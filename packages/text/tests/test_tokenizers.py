"""Tokenizers: what is encoded is decoded again."""

import copy
import json
import pickle
import sys

import pytest

import weft
from weft.text import BPETokenizer, CharTokenizer, PretrainedTokenizer, WordTokenizer

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


@pytest.fixture(scope="module")
def trained():
    pytest.importorskip("tokenizers")
    return BPETokenizer.train([TEXT] * 3, vocab_size=280, specials=["<pad>", "<end>"])


@pytest.fixture
def folder(trained, tmp_path):
    trained.save(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"pad_token": {"content": "<pad>"}, "unk_token": "<unk>", "model_max_length": 1e30})
    )
    (tmp_path / "config.json").write_text(json.dumps({"eos_token_id": 1, "pad_token_id": 1}))
    (tmp_path / "chat_template.jinja").write_text("{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}")
    return tmp_path


def test_a_folder_says_what_special_tokens_are_for(folder):
    tokenizer = PretrainedTokenizer.from_pretrained(folder)
    assert (tokenizer.pad_token, tokenizer.pad_token_id) == ("<pad>", 0)
    assert (tokenizer.eos_token, tokenizer.eos_token_id) == ("<end>", 1)
    assert (tokenizer.unk_token_id, tokenizer.bos_token, tokenizer.bos_token_id) == (276, None, None)  # it was missing
    assert tokenizer.special_tokens_map == {"eos_token": "<end>", "unk_token": "<unk>", "pad_token": "<pad>"}
    assert tokenizer.model_max_length is None
    assert tokenizer.convert_tokens_to_ids(["<end>", "no such token"]) == [1, 276]
    assert tokenizer.convert_ids_to_tokens(weft.tensor([0, 1])) == ["<pad>", "<end>"]


def test_a_batch_of_tensors_is_what_a_model_takes(folder):
    tokenizer = PretrainedTokenizer.from_pretrained(folder / "tokenizer.json")
    tokenizer.pad_token = "<pad>"
    batch = tokenizer(["The cat", "a"], padding=True, return_tensors="pt", return_offsets_mapping=True)
    assert sorted(batch) == ["attention_mask", "input_ids", "offset_mapping"]
    assert batch.input_ids.dtype == weft.int64
    assert batch.to("cpu").offset_mapping[0].max() == 7
    assert tokenizer.batch_decode(batch.input_ids, skip_special_tokens=True) == ["The cat", "a"]
    assert tokenizer("a", return_tensors="np")["input_ids"].shape == (1, 1)
    with pytest.raises(AttributeError, match="has no 'labels'; it has"):
        batch.labels


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"padding": "max_length"}, "padding='max_length' needs a max_length"),
        (
            {"padding": True, "pad_to_multiple_of": 4, "truncation": True, "max_length": 6},
            r"max_length \(6\) cannot be filled up to a multiple of pad_to_multiple_of \(4\)",
        ),
    ],
)
def test_lengths_that_cannot_be_met_say_why(options, message, trained):
    tokenizer = copy.deepcopy(trained)
    tokenizer.pad_token = "<pad>"
    with pytest.raises(ValueError, match=message):
        tokenizer(["a", "b c"], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"padding": True}, "padding needs a padding token"),
        ({"padding": "widest"}, "padding must be True"),
        ({"truncation": True}, "truncation needs a max_length"),
        ({"truncation": "first", "max_length": 3}, "truncation must be"),
        ({"truncation": True, "max_length": 3, "stride": 3}, r"stride \(3\) must be less than the 3 tokens"),
        ({"return_tensors": "pt"}, "from 1 to 2 tokens, which is no tensor: pass padding=True"),
        ({"return_tensors": "tf"}, "return_tensors must be"),
        ({"text_pair": ["b"]}, "two texts, or as many; got 2 and 1"),
    ],
)
def test_options_that_cannot_be_met_say_why(options, message, trained):
    with pytest.raises(ValueError, match=message):
        trained(["a", "b c"], **options)


def test_tokenizers_are_pickled_for_workers(trained, tmp_path):
    other = pickle.loads(pickle.dumps(trained))
    assert other.encode(TEXT) == copy.deepcopy(trained).encode(TEXT) == trained.encode(TEXT)
    pytest.importorskip("tiktoken")
    (tmp_path / "own.tiktoken").write_text("YQ== 0\nYg== 1\nYWI= 2\n")
    tokenizer = PretrainedTokenizer.from_pretrained(tmp_path / "own.tiktoken", pattern=r"\w+")
    assert pickle.loads(pickle.dumps(tokenizer)).encode("abb") == [2, 1]


def test_a_text_is_a_string(trained):
    with pytest.raises(TypeError, match="a text must be a str, got int: 3"):
        trained(["a", 3])
    assert trained([])["input_ids"] == []


def test_files_that_are_missing_or_damaged_say_so(tmp_path):
    pytest.importorskip("tokenizers")
    with pytest.raises(FileNotFoundError, match=r"has no tokenizer\.json"):
        PretrainedTokenizer.from_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("[PAD]")
    with pytest.raises(FileNotFoundError, match=r"of its vocab\.txt, transformers' AutoTokenizer makes one"):
        PretrainedTokenizer.from_pretrained(tmp_path)
    for content in ("", "{}", "[1]", '{"model": {"type": "BPE", "vocab": 3}}', "\x00"):
        (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(ValueError, match=r"is no tokenizer\.json that the library tokenizers can read"):
            PretrainedTokenizer.from_pretrained(tmp_path)


def test_a_damaged_configuration_is_named(folder):
    (folder / "tokenizer_config.json").write_text("[1]")
    with pytest.raises(ValueError, match=r"tokenizer_config\.json must be a JSON object, got list"):
        PretrainedTokenizer.from_pretrained(folder)
    (folder / "tokenizer_config.json").write_text("{")
    with pytest.raises(ValueError, match=r"tokenizer_config\.json is no JSON"):
        PretrainedTokenizer.from_pretrained(folder)


def test_chats_follow_the_folder_s_template(folder):
    pytest.importorskip("jinja2")
    tokenizer = PretrainedTokenizer.from_pretrained(folder)
    messages = [{"role": "user", "content": "The"}, {"role": "assistant", "content": "cat"}]
    assert tokenizer.apply_chat_template(messages, tokenize=False) == "The<end>cat<end>"
    several = tokenizer.apply_chat_template([messages, messages[:1]], tokenizer_kwargs={"padding": True})
    assert tokenizer.batch_decode(several["input_ids"], skip_special_tokens=True) == ["Thecat", "The"]
    with pytest.raises(ValueError, match="there is no message"):
        tokenizer.apply_chat_template([])
    tokenizer.chat_template = None
    with pytest.raises(ValueError, match="has no chat template"):
        tokenizer.apply_chat_template(messages)


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages.__class__.__mro__ }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{% for i in range(10**9) %}{% endfor %}",
        "{{ messages.append(1) }}",
        "{{ raise_exception('no') }}",
        "{% broken",
        "{{ undefined.attribute }}",
    ],
)
def test_a_template_stays_in_its_sandbox(template, trained):
    pytest.importorskip("jinja2")
    with pytest.raises(ValueError, match="the chat template refuses the messages"):
        trained.apply_chat_template([{"role": "user", "content": "a"}], chat_template=template, tokenize=False)


def test_a_template_sees_plain_values_only(trained):
    pytest.importorskip("jinja2")
    messages = [{"role": "user", "content": "a", "picture": weft.ones(2), "none": None}]
    options = {"chat_template": "{{ messages[0] | tojson }}", "tokenize": False}
    text = trained.apply_chat_template(messages, **options)
    assert json.loads(text) == {"role": "user", "content": "a", "picture": "<Tensor>"}


def test_tiktoken_files_need_a_pattern_and_whole_lines(tmp_path):
    pytest.importorskip("tiktoken")
    path = tmp_path / "own.tiktoken"
    path.write_text("YQ== 0\nYg== 1\nYWI= 2\n")
    with pytest.raises(ValueError, match=r"does not say by which pattern .* cl100k_base.tiktoken"):
        PretrainedTokenizer.from_pretrained(path)
    tokenizer = PretrainedTokenizer.from_pretrained(path, pattern=r"\w+", special_tokens={"<e>": 3})
    found = tokenizer("abb<e>", return_offsets_mapping=True, return_special_tokens_mask=True)
    assert (found["input_ids"], found["offset_mapping"]) == ([2, 1, 3], [(0, 2), (2, 3), (3, 6)])
    assert tokenizer("abbab", truncation=True, max_length=2)["input_ids"] == [2, 1]
    tokenizer.truncation_side = "left"
    parts = tokenizer("abbab", truncation=True, max_length=2, stride=1, return_overflowing_tokens=True)
    assert parts["input_ids"] == [[1, 2], [2, 1]]
    assert (tokenizer.decode([2, 3, 1]), tokenizer.decode([2, 3, 1], skip_special_tokens=True)) == ("ab<e>b", "abb")
    with pytest.raises(ValueError, match="does not say what stands between the texts of a pair"):
        tokenizer("a", "b")
    tokenizer.save(tmp_path / "copy.tiktoken")
    assert (tmp_path / "copy.tiktoken").read_text() == path.read_text()
    with pytest.raises(ValueError, match="the file lacks tokens for bytes of the text"):
        tokenizer.encode("xyz")
    for content in ("", "YQ== -1\n", "YQ== 99999999999999\n", "YQ== 0\nYg== 0\n"):
        path.write_text(content)
        with pytest.raises(ValueError, match="are nothing that the library tiktoken can read"):
            PretrainedTokenizer.from_pretrained(path, pattern="a")
    path.write_text("??? 1\n")
    with pytest.raises(ValueError, match="is no file of tiktoken"):
        PretrainedTokenizer.from_pretrained(path, pattern="a")


def test_sentencepiece_folders_add_what_their_settings_say(tmp_path):
    library = pytest.importorskip("sentencepiece")
    (tmp_path / "text.txt").write_text("\n".join(["the cat sat on the mat", "a dog ran to the cat"] * 20))
    library.SentencePieceTrainer.train(
        input=str(tmp_path / "text.txt"), model_prefix=str(tmp_path / "tokenizer"), vocab_size=19, minloglevel=2
    )
    settings = {"add_bos_token": True, "add_eos_token": False, "bos_token": "<s>", "eos_token": "</s>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    bare = PretrainedTokenizer.from_pretrained(tmp_path / "tokenizer.model")
    tokenizer = PretrainedTokenizer.from_pretrained(tmp_path)
    assert tokenizer.encode("the cat") == [1, *bare.encode("the cat")]
    assert pickle.loads(pickle.dumps(tokenizer)).encode("the cat") == tokenizer.encode("the cat")
    assert tokenizer.encode("the</s>", add_special_tokens=False)[-1] == tokenizer.eos_token_id == 2
    assert tokenizer.decode(tokenizer.encode("the cat"), skip_special_tokens=True) == "the cat"
    assert tokenizer.add_special_tokens({"pad_token": "<pad>"}) == 1
    assert (tokenizer.pad_token_id, len(tokenizer), tokenizer.convert_ids_to_tokens(19)) == (19, 20, "<pad>")
    with pytest.raises(ValueError, match="'foo' is none of"):
        tokenizer.add_special_tokens({"foo": "x"})
    (tmp_path / "broken.model").write_bytes(b"\x00\x01")
    with pytest.raises(ValueError, match="is no model that the library sentencepiece can read"):
        PretrainedTokenizer.from_pretrained(tmp_path / "broken.model")
