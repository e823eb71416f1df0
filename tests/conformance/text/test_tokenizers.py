"""Numbers and offsets are those of transformers, tokenizers, sentencepiece and tiktoken, on lines in many scripts."""

import base64
import json
import os
import random
import re
from functools import cache
from typing import Any

import pytest

pytest.importorskip("transformers", reason="the oracles are installed in the conformance environment only")
pytest.importorskip("sentencepiece")
pytest.importorskip("tiktoken")

import sentencepiece
import tiktoken
import tokenizers
import transformers
from tests.conformance.text.scripts import lines
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers

from weft.text import PretrainedTokenizer

ALL = os.environ.get("WEFT_CONFORMANCE") == "all"
LINES = lines(2000 if ALL else 300)
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]


def around(begin: str, end: str, tokenizer: Any, types: bool) -> Any:
    """What stands around a text and between the texts of a pair."""
    second = 1 if types else 0
    return processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} $B:{second} {end}:{second}",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (begin, end)],
    )


def word_pieces() -> Any:
    """As BERT."""
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer, trainers.WordPieceTrainer(vocab_size=900, special_tokens=SPECIAL, show_progress=False)


def byte_pairs() -> Any:
    """As GPT-2 and RoBERTa."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return tokenizer, trainers.BpeTrainer(
        vocab_size=900, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )


def unigram() -> Any:
    """As T5 and XLM-RoBERTa."""
    tokenizer = tokenizers.Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer, trainers.UnigramTrainer(
        vocab_size=700, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
    )


def byte_fallback() -> Any:
    """As Llama 2 and Mistral."""
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    special = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))]
    return tokenizer, trainers.BpeTrainer(
        vocab_size=600, special_tokens=special, limit_alphabet=60, show_progress=False
    )


def words() -> Any:
    """A word is a token; texts lose their accents."""
    tokenizer = tokenizers.Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)]
    )
    return tokenizer, trainers.WordLevelTrainer(vocab_size=300, special_tokens=SPECIAL, show_progress=False)


def split_byte_pairs() -> Any:
    """As Llama 3 and Qwen: words by a pattern, whole ones before their pairs."""
    tokenizer = tokenizers.Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.normalizer = normalizers.NFC()
    pattern = (
        r"(?i:'s|'t|'re|'ll)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return tokenizer, trainers.BpeTrainer(
        vocab_size=900, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )


def suffixed_pairs() -> Any:
    """As GPT and CLIP: characters, of which the last of a word is another one."""
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder("</w>")
    return tokenizer, trainers.BpeTrainer(
        vocab_size=600, special_tokens=SPECIAL, end_of_word_suffix="</w>", show_progress=False
    )


MODELS = {
    each.__name__: each
    for each in (word_pieces, byte_pairs, unigram, byte_fallback, words, split_byte_pairs, suffixed_pairs)
}

# Tokens that are found in texts before they are split, and what may stand around them.
ADDED = [
    AddedToken("<new>", lstrip=True, rstrip=True, normalized=False),
    AddedToken("brown", single_word=True),
    AddedToken("größe", lstrip=True, single_word=True),
    AddedToken("世界", rstrip=True, normalized=False),
    AddedToken("a b"),
]
AMONG = "<new>| <new> |brown|Größe|größe |世界|<mask>|</s>|a b|A B| |  |x|é|".split("|")


@cache
def folder(name: str, root: Any, added: bool = False) -> Any:
    """The folder of a tokenizer that was trained on other lines of the kind."""
    tokenizer, trainer = MODELS[name]()
    tokenizer.train_from_iterator(lines(400, seed=1), trainer)
    tokenizer.post_processor = around("<s>", "</s>", tokenizer, types=name == "word_pieces")
    if added:
        tokenizer.add_tokens(ADDED)
        tokenizer.add_special_tokens([AddedToken("<turn>", lstrip=True), AddedToken("X", single_word=True)])
    path = root / (f"{name}_added" if added else name)
    path.mkdir()
    tokenizer.save(str(path / "tokenizer.json"))
    roles = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if name == "word_pieces" else [])]
    settings = {**roles, "model_max_length": 64, "model_input_names": names, "chat_template": TEMPLATES[0]}
    (path / "tokenizer_config.json").write_text(
        json.dumps({**settings, "tokenizer_class": "PreTrainedTokenizerFast"}), encoding="utf-8"
    )
    return path


def vocabulary(name: str, root: Any) -> tuple[Any, Any]:
    """The vocabulary and the pairs of a trained model, with GPT-2's and BERT's special tokens."""
    model = json.loads((folder(name, root) / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    if name == "unigram":
        return [tuple(piece) for piece in model["vocab"]], None
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<|endoftext|>"]
    numbers = {token: place for place, token in enumerate(dict.fromkeys([*model["vocab"], *marks]))}
    return numbers, [tuple(pair) for pair in model.get("merges", ())]


CLASSES = {
    "BertTokenizer": "word_pieces",
    "DistilBertTokenizer": "word_pieces",
    "GPT2Tokenizer": "byte_pairs",
    "RobertaTokenizer": "byte_pairs",
    "Qwen2Tokenizer": "byte_pairs",
    "CLIPTokenizer": "byte_pairs",
    "LlamaTokenizer": "byte_fallback",
    "GemmaTokenizer": "byte_fallback",
    "T5Tokenizer": "unigram",
    "XLMRobertaTokenizer": "unigram",
}


@pytest.mark.parametrize("name", CLASSES)
def test_folders_that_transformers_wrote(name: str, root: Any) -> None:
    numbers, pairs = vocabulary(CLASSES[name], root)
    made = getattr(transformers, name)(vocab=numbers, **({"merges": pairs} if pairs else {}))
    made.save_pretrained(root / name)
    ours, theirs = (
        PretrainedTokenizer.from_pretrained(root / name),
        transformers.AutoTokenizer.from_pretrained(root / name),
    )
    padding = {"padding": theirs.pad_token is not None}
    batch, pair = LINES[:200], (LINES[200:220], LINES[220:240])
    assert plain(ours(batch, return_offsets_mapping=True, **padding)) == plain(
        theirs(batch, return_offsets_mapping=True, **padding)
    )
    assert plain(ours(*pair)) == plain(theirs(*pair))
    ids = theirs(batch)["input_ids"]
    for skip in (False, True):
        assert ours.batch_decode(ids, skip_special_tokens=skip) == theirs.batch_decode(ids, skip_special_tokens=skip)
    assert ours.special_tokens_map == theirs.special_tokens_map
    assert (len(ours), ours.padding_side) == (len(theirs), theirs.padding_side)


TEMPLATES = [
    "{% for m in messages %}{{ bos_token }}[{{ m['role'] }}]\n{{ m['content'] | trim }}{{ eos_token }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant]\n{% endif %}",
    "{%- if tools %}{{ tools | tojson }} {%- endif %}{%- set ns = namespace(n=0) -%}\n{%- for m in messages %}\n"
    "    {%- if m.role == 'system' %}{% continue %}{% endif %}\n    {%- set ns.n = ns.n + 1 %}\n"
    "{{ ns.n }} {% generation %}{{ m.content }}{% endgeneration %}<mask>\n{%- endfor %}{{ extra or 'none' }}",
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tmp_path_factory.mktemp("tokenizers")


@pytest.fixture(params=MODELS)
def both(request: pytest.FixtureRequest, root: Any) -> Any:
    path = folder(request.param, root)
    return PretrainedTokenizer.from_pretrained(path), transformers.AutoTokenizer.from_pretrained(path)


def plain(batch: Any) -> dict[str, Any]:
    """A batch as lists."""
    parts = {name: part.tolist() if hasattr(part, "tolist") else part for name, part in batch.items()}
    if "offset_mapping" in parts:
        nested = isinstance(parts["offset_mapping"][0][0], (list, tuple))
        rows = parts["offset_mapping"] if nested else [parts["offset_mapping"]]
        parts["offset_mapping"] = [[tuple(place) for place in row] for row in rows]
    return parts


def test_numbers_and_offsets_of_each_line(both: Any) -> None:
    ours, theirs = both
    options = {"return_offsets_mapping": True, "return_special_tokens_mask": True}
    assert plain(ours(LINES, **options)) == plain(theirs(LINES, **options))
    for line in LINES[:50]:
        assert ours.encode(line) == theirs.encode(line)
        assert ours.tokenize(line) == theirs.tokenize(line)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_added_tokens(name: str, side: str, root: Any) -> None:
    path = folder(name, root, added=True)
    ours, theirs = PretrainedTokenizer.from_pretrained(path), transformers.AutoTokenizer.from_pretrained(path)
    ours.truncation_side = theirs.truncation_side = side
    draws = random.Random(2)
    among = ["".join(draws.choices([*AMONG, "<turn>", "X", "XX"], k=8)) for _ in range(100)]
    options = {"return_offsets_mapping": True, "return_special_tokens_mask": True}
    cut = {"truncation": True, "max_length": 8, "padding": True, "padding_side": side, "pad_to_multiple_of": 4}
    parts = {"truncation": True, "max_length": 7, "stride": 2, "return_overflowing_tokens": True}
    for each in ({}, cut, parts):
        assert plain(ours(among, **options, **each)) == plain(theirs(among, **options, **each))
    assert [ours.tokenize(line) for line in among] == [theirs.tokenize(line) for line in among]
    ids = theirs(among)["input_ids"]
    for skip in (False, True):
        assert ours.batch_decode(ids, skip_special_tokens=skip) == theirs.batch_decode(ids, skip_special_tokens=skip)


def test_a_length_that_is_no_multiple_is_refused(root: Any) -> None:
    path = folder("words", root)
    options = {"truncation": True, "max_length": 11, "padding": True, "pad_to_multiple_of": 8}
    for tokenizer in (PretrainedTokenizer.from_pretrained(path), transformers.AutoTokenizer.from_pretrained(path)):
        with pytest.raises(ValueError, match="pad_to_multiple_of"):
            tokenizer(LINES[:3], **options)


def test_parts_of_pairs_that_overflow_are_longer_than_the_others(root: Any) -> None:
    path = folder("words", root)
    ours, theirs = PretrainedTokenizer.from_pretrained(path), transformers.AutoTokenizer.from_pretrained(path)
    pairs = [line or "x" for line in LINES[:12]], [line or "x" for line in LINES[12:24]]
    options = {"truncation": True, "max_length": 6, "padding": True, "return_overflowing_tokens": True}
    assert plain(ours(*pairs, **options)) == plain(theirs(*pairs, **options))


def test_texts_of_numbers(both: Any) -> None:
    ours, theirs = both
    ids = theirs(LINES)["input_ids"]
    for skip in (False, True):
        assert ours.batch_decode(ids, skip_special_tokens=skip) == theirs.batch_decode(ids, skip_special_tokens=skip)
    assert [ours.convert_ids_to_tokens(row) for row in ids] == [theirs.convert_ids_to_tokens(row) for row in ids]


OPTIONS = [
    {"padding": True, "return_tensors": "np"},
    {"padding": "max_length", "max_length": 40, "truncation": True},
    {"padding": True, "padding_side": "left", "pad_to_multiple_of": 8},
    {"truncation": True, "max_length": 9},
    {"truncation": True, "padding": "max_length"},
    {"truncation": True, "max_length": 7, "stride": 2, "return_overflowing_tokens": True, "padding": True},
    {"truncation": True, "max_length": 5, "add_special_tokens": False, "return_overflowing_tokens": True},
    {"return_token_type_ids": True, "return_attention_mask": False, "return_length": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options.values())))
def test_batches(options: dict[str, Any], both: Any) -> None:
    ours, theirs = both
    batch = LINES[:100]
    options = {"return_offsets_mapping": True, **options}
    assert plain(ours(batch, **options)) == plain(theirs(batch, **options))


PAIRS = [
    {},
    {"truncation": True, "max_length": 12, "padding": True},
    {"truncation": "only_first", "max_length": 40},
    {"truncation": "only_second", "max_length": 40, "stride": 3, "return_overflowing_tokens": True},
]


@pytest.mark.parametrize("options", PAIRS, ids=lambda options: "-".join(map(str, options.values())))
def test_pairs(options: dict[str, Any], both: Any) -> None:
    ours, theirs = both
    first, second = [line[:20] for line in LINES[:20]], [line or "x" for line in LINES[20:40]]
    options = {"return_offsets_mapping": True, "return_special_tokens_mask": True, **options}
    for a, b in zip(first, second):
        try:
            expected = plain(theirs([a], [b], **options))
        except BaseException as error:  # the library's own: the text that is to be cut is too short, which may panic
            assert re.search("too short|must be strictly less", str(error))
            with pytest.raises(ValueError, match=r"too short|must be strictly less"):
                ours([a], [b], **options)
        else:
            assert plain(ours([a], [b], **options)) == expected


def test_special_tokens(both: Any) -> None:
    ours, theirs = both
    for role in ("bos_token", "eos_token", "pad_token", "unk_token", "mask_token", "sep_token"):
        assert getattr(ours, role) == getattr(theirs, role)
        assert getattr(ours, f"{role}_id") == getattr(theirs, f"{role}_id")
    assert (len(ours), ours.get_vocab()) == (len(theirs), theirs.get_vocab())
    assert set(ours.all_special_ids) == set(theirs.all_special_ids)
    text = "the <mask> 世界</s> x<new> y"
    assert ours(text)["input_ids"] == theirs(text)["input_ids"]
    assert ours.add_tokens(["<new>"]) == theirs.add_tokens(["<new>"]) == 1
    assert ours(text)["input_ids"] == theirs(text)["input_ids"]
    added = {"sep_token": "<sep>", "mask_token": "<mask>"}
    assert ours.add_special_tokens(added) == theirs.add_special_tokens(added) == 1
    assert ours("a<sep>b")["input_ids"] == theirs("a<sep>b")["input_ids"]
    assert ours.sep_token_id == theirs.sep_token_id


MESSAGES = [
    {"role": "system", "content": ' be <brief> & "kind" '},
    {"role": "user", "content": "Größe 世界?", "tool_calls": None},
    {"role": "assistant", "content": "שלום 😀"},
]


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("prompt", [False, True])
def test_chats(template: str, prompt: bool, both: Any) -> None:
    ours, theirs = both
    tools = [{"type": "function", "function": {"name": "größe", "parameters": {"a": [1, 2.5, None, True]}}}]
    options = {"chat_template": template, "tools": tools, "add_generation_prompt": prompt, "extra": "ja"}
    expected = theirs.apply_chat_template(MESSAGES, tokenize=False, **options)
    assert ours.apply_chat_template(MESSAGES, tokenize=False, **options) == expected
    assert plain(ours.apply_chat_template(MESSAGES, **options)) == plain(
        theirs.apply_chat_template(MESSAGES, **options)
    )
    assert ours.apply_chat_template([MESSAGES, MESSAGES[1:]], tokenize=False) == theirs.apply_chat_template(
        [MESSAGES, MESSAGES[1:]], tokenize=False
    )


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_sentencepiece_files(kind: str, root: Any) -> None:
    (root / f"{kind}.txt").write_text(
        "\n".join(line.replace("\n", " ") for line in lines(400, seed=1)), encoding="utf-8"
    )
    sentencepiece.SentencePieceTrainer.train(
        input=str(root / f"{kind}.txt"),
        model_prefix=str(root / kind),
        vocab_size=600,
        model_type=kind,
        byte_fallback=True,
        character_coverage=0.98,
        minloglevel=2,
    )
    path = root / f"{kind}.model"
    ours, theirs = PretrainedTokenizer.from_pretrained(path), sentencepiece.SentencePieceProcessor(model_file=str(path))
    found = ours(LINES, return_offsets_mapping=True)
    expected = [theirs.encode(line, return_type="offset_mapping") for line in LINES]
    assert found["input_ids"] == [row["ids"] for row in expected]
    assert found["offset_mapping"] == [row["offsets"] for row in expected]
    assert ours.batch_decode(found["input_ids"]) == [theirs.decode(ids) for ids in found["input_ids"]]
    assert (ours.bos_token, ours.eos_token_id, len(ours)) == ("<s>", theirs.eos_id(), theirs.get_piece_size())


def test_tiktoken_files(root: Any) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    for line in lines(60, seed=1):
        for word in line.split():
            ranks.setdefault(word.encode()[:2], len(ranks))
            ranks.setdefault(word.encode()[:4], len(ranks))
    content = "".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items())
    for name, pattern in (("cl100k_base", None), ("own", r"\p{L}+|[^\p{L}]")):
        path = root / f"{name}.tiktoken"
        path.write_text(content)
        special = {"<|end|>": len(ranks)}
        ours = PretrainedTokenizer.from_pretrained(path, pattern=pattern, special_tokens=special)
        theirs = tiktoken.Encoding(
            "own", pat_str=ours.engine.model._pat_str, mergeable_ranks=ranks, special_tokens=special
        )
        found = ours([*LINES, "a<|end|>é"], return_offsets_mapping=True)
        assert found["input_ids"] == [theirs.encode(line, allowed_special="all") for line in [*LINES, "a<|end|>é"]]
        assert ours.batch_decode(found["input_ids"]) == [theirs.decode(ids) for ids in found["input_ids"]]
        for line, ids, offsets in zip(LINES, found["input_ids"], found["offset_mapping"]):
            assert [start for start, _ in offsets] == theirs.decode_with_offsets(ids)[1]
            assert not offsets or offsets[-1][1] == len(line)


def test_patterns_of_known_files_are_tiktokens(monkeypatch: pytest.MonkeyPatch) -> None:
    from tiktoken_ext import openai_public

    from weft.text.tokenizers._engines import TIKTOKEN_ENCODINGS

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})
    for name, (pattern, special) in TIKTOKEN_ENCODINGS.items():
        theirs = getattr(openai_public, name)()
        assert (pattern, special) == (theirs["pat_str"], theirs["special_tokens"])
