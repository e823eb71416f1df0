"""Published tokenizers, read from their folders or files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from weft import Tensor
from weft.text._libraries import imported
from weft.text.tokenizers import chat
from weft.text.tokenizers._engines import Engine, JSONEngine, SentencePieceEngine, Texts, TiktokenEngine
from weft.text.tokenizers.batches import BatchEncoding, Encoding, Truncation, as_tensors, flat, padded
from weft.text.tokenizers.characters_and_words import integers

Self = TypeVar("Self", bound="PretrainedTokenizer")
StrPath = str | os.PathLike[str]

_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_STRATEGIES = ("longest_first", "only_first", "only_second")
_CLEANED = (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're")
# What a class of transformers has where its files do not say it.
_TYPES = "Bert Canine Deberta DebertaV2 Electra FNet LayoutLMv2 Lxmert MarkupLM MobileBert".split()
_PADDED_LEFT = "CodeLlama Cohere Gemma Llama XLNet".split()
_UNLIMITED = 10**9  # what configurations write where a model has no greatest length


class PretrainedTokenizer:
    """The tokenizer of a published model: batches, pairs, padding, truncation, offsets, special tokens and chats.

    It is read by `from_pretrained`, and called as those of transformers are, with the same names and results.

    Attributes
    ----------
    bos_token, eos_token, unk_token, sep_token, pad_token, cls_token, mask_token : str or None
        The special tokens by what they are for; ``eos_token_id``, ... are their numbers. They may be set.
    padding_side, truncation_side : {"right", "left"}
    model_max_length : int or None
        The most tokens that the model takes.
    chat_template : str or None
        See `apply_chat_template`.

    Examples
    --------
    >>> tokenizer = BPETokenizer.train(["to be or not to be"] * 9, vocab_size=270, specials=["<pad>"])
    >>> tokenizer.pad_token = "<pad>"
    >>> batch = tokenizer(["to be or", "to"], padding=True, return_tensors="pt")
    >>> batch.attention_mask
    tensor([[1, 1, 1],
            [1, 0, 0]])
    >>> tokenizer.batch_decode(batch.input_ids)
    ['to be or', 'to<pad><pad>']
    """

    bos_token: str | None = None
    eos_token: str | None = None
    unk_token: str | None = None
    sep_token: str | None = None
    pad_token: str | None = None
    cls_token: str | None = None
    mask_token: str | None = None

    def __init__(self, engine: Engine, settings: Mapping[str, Any] | None = None) -> None:
        settings = settings or {}
        self.engine = engine
        for role in _ROLES:
            setattr(self, role, _written(settings.get(role)))
        self.additional_special_tokens = _several(settings)
        family = str(settings.get("tokenizer_class") or "").removesuffix("Fast").removesuffix("Tokenizer")
        self.padding_side = settings.get("padding_side", "left" if family in _PADDED_LEFT else "right")
        self.truncation_side = settings.get("truncation_side", "right")
        length = settings.get("model_max_length") or _UNLIMITED
        self.model_max_length = int(length) if length < _UNLIMITED else None
        self.chat_template: Any = settings.get("chat_template")
        self.clean_up_tokenization_spaces = bool(settings.get("clean_up_tokenization_spaces"))
        names = settings.get("model_input_names")
        if names is None and not family:
            self._returns_type_ids = self._model_name == "WordPiece"
        else:
            self._returns_type_ids = family in _TYPES if names is None else "token_type_ids" in names
        engine.add_tokens([token for token in self.all_special_tokens if engine.token_to_id(token) is None], True)

    # Reading and writing ------------------------------------------------------------------------------------

    @classmethod
    def from_pretrained(
        cls: type[Self],
        path: StrPath,
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
    ) -> Self:
        """Read the tokenizer of a model's folder, or of a file.

        Parameters
        ----------
        path : path
            ``tokenizer.json``; a SentencePiece ``*.model``; a ``*.tiktoken``; or a folder with one of them (looked for
            in this order), where ``tokenizer_config.json`` and its neighbours say what special tokens are for.
        pattern : str, optional
            For tiktoken: the regular expression by which a text is split into words. The names of OpenAI's files,
            such as ``cl100k_base.tiktoken``, tell it.
        special_tokens : mapping from str to int, optional
            For tiktoken: tokens that are not in the file.

        Raises
        ------
        FileNotFoundError
            If there is nothing of the kind.
        ValueError
            If the file is damaged or says too little.
        ModuleNotFoundError
            If the library for the file (tokenizers, sentencepiece or tiktoken) is not installed.
        """
        place = Path(path).expanduser()
        file = _tokenizer_file(place)
        settings = _settings(place) if place.is_dir() else {}
        if file.suffix == ".json":
            engine: Engine = JSONEngine.read(file)
        elif file.suffix == ".tiktoken" or pattern is not None:
            engine = TiktokenEngine(file, pattern, special_tokens)
        else:
            special = [*(_written(settings.get(role)) or "" for role in _ROLES), *_several(settings)]
            begin, end = bool(settings.get("add_bos_token")), bool(settings.get("add_eos_token"))
            engine = read = SentencePieceEngine(file, special if place.is_dir() else (), begin, end)
            settings = {**read.roles(), **{key: value for key, value in settings.items() if value is not None}}
        return cls(engine, _with_roles_of_config(settings, place, engine))

    def save(self, path: StrPath) -> None:
        """Write the tokenizer's file, of the kind that it was read from; `from_pretrained` reads it."""
        self.engine.save(os.fspath(path))

    # Texts to numbers ---------------------------------------------------------------------------------------

    def __call__(
        self,
        text: str | Sequence[str],
        text_pair: str | Sequence[str] | None = None,
        *,
        add_special_tokens: bool = True,
        padding: bool | str = False,
        truncation: bool | str = False,
        max_length: int | None = None,
        stride: int = 0,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: str | None = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool = True,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
    ) -> BatchEncoding:
        """Return the token numbers of a text or of several, and what a model needs beside them.

        Parameters
        ----------
        text : str or sequence of str
        text_pair : str or sequence of str, optional
            The second text of each pair.
        add_special_tokens : bool, default True
            Add those that stand around a text, or between two.
        padding : bool or {"longest", "max_length"}
            Fill up to the longest of the batch (True), or to ``max_length``.
        truncation : bool or {"longest_first", "only_first", "only_second"}
            Cut to ``max_length``, of a pair the longer text (True), or the one that is named.
        max_length : int, optional
            By default the model's.
        stride : int, default 0
            How many tokens the parts of a text that is cut share.
        pad_to_multiple_of : int, optional
        padding_side : {"right", "left"}, optional
            By default the attribute.
        return_tensors : {"pt", "weft", "np"}, optional
            Tensors of shape (N, L), or NumPy's arrays, in place of lists.
        return_token_type_ids, return_attention_mask, return_overflowing_tokens, return_special_tokens_mask, \
return_offsets_mapping, return_length : bool
            Which parts there are; with "overflowing_tokens" the parts of a text that is cut are rows of their own, and
            "overflow_to_sample_mapping" tells whose.

        Returns
        -------
        BatchEncoding
            With "input_ids", "token_type_ids" where the model tells the texts of a pair apart, "attention_mask",
            "special_tokens_mask", "offset_mapping" (pairs of a token's first character and the one after its last, in
            its text), "length". Of a single text without tensors these are no lists of lists.

        Raises
        ------
        ValueError
            If an option is unknown; if it needs a padding token or a greatest length and there is none; if texts of
            different lengths are to be a tensor.
        """
        texts, single = _texts(text, text_pair)
        cut = self._truncation(truncation, max_length, stride)
        found = self.engine.encode(texts, add_special_tokens, cut)
        rows = flat(found) if return_overflowing_tokens else found
        wanted = {
            "input_ids": True,
            "token_type_ids": self._returns_type_ids if return_token_type_ids is None else return_token_type_ids,
            "special_tokens_mask": return_special_tokens_mask,
            "attention_mask": return_attention_mask,
            "offset_mapping": return_offsets_mapping,
        }
        parts = [{name: part for name, part in _parts(row).items() if wanted[name]} for row in rows]
        side = self.padding_side if padding_side is None else padding_side
        longest = max((len(each.ids) for each in found), default=0)  # parts that overflow may be longer
        parts = self._padded(parts, padding, cut, longest, max_length, pad_to_multiple_of, side)
        batch = BatchEncoding({name: [row[name] for row in parts] for name in parts[0]} if parts else {"input_ids": []})
        if return_overflowing_tokens:
            owners = [owner for owner, each in enumerate(found) for _ in flat([each])]
            batch["overflow_to_sample_mapping"] = owners
        if return_length:
            batch["length"] = [len(ids) for ids in batch["input_ids"]]
        if return_tensors is not None:
            return as_tensors(batch, return_tensors)
        if single and not return_overflowing_tokens:
            return BatchEncoding({name: part[0] for name, part in batch.items()})
        return batch

    def encode(self, text: str, text_pair: str | None = None, **options: Any) -> Any:
        """Return the token numbers of a text, or of a pair; options as of a call."""
        return self(text, text_pair, **options)["input_ids"]

    def tokenize(self, text: str, text_pair: str | None = None, add_special_tokens: bool = False) -> list[str]:
        """Return the tokens of a text, or of a pair, as strings."""
        (given,), _ = _texts(text, text_pair)
        return self.engine.tokens(given, add_special_tokens)

    def _truncation(self, strategy: bool | str, max_length: int | None, stride: int) -> Truncation | None:
        if strategy is False or strategy == "do_not_truncate":
            return None
        name = "longest_first" if strategy is True else strategy
        if name not in _STRATEGIES:
            raise ValueError(f"truncation must be True, False or one of {_STRATEGIES}, got {strategy!r}")
        return Truncation(self._greatest_length(max_length, "truncation"), name, stride, self.truncation_side)

    def _greatest_length(self, max_length: int | None, option: str) -> int:
        """Return ``max_length``, by default the model's; the error names the option that needs it."""
        length = self.model_max_length if max_length is None else max_length
        if length is None:
            raise ValueError(f"{option} needs a max_length: the tokenizer's files name no greatest length of the model")
        return length

    def _padded(
        self,
        rows: list[dict[str, list[Any]]],
        padding: bool | str,
        cut: Truncation | None,
        longest: int,
        max_length: int | None,
        multiple: int | None,
        side: str,
    ) -> list[dict[str, list[Any]]]:
        """Return the rows filled up, as `__call__` says."""
        if padding is False or padding == "do_not_pad" or not rows:
            return rows
        if padding not in (True, "longest", "max_length"):
            raise ValueError(f"padding must be True, False, 'longest' or 'max_length', got {padding!r}")
        if self.pad_token_id is None:
            raise ValueError(
                "padding needs a padding token, and the tokenizer has none: set tokenizer.pad_token, for example to "
                "tokenizer.eos_token"
            )
        length = longest
        if padding == "max_length":
            length = self._greatest_length(cut.max_length if cut else max_length, "padding='max_length'")
        if cut is not None and multiple and cut.max_length % multiple:
            raise ValueError(
                f"texts that are cut to max_length ({cut.max_length}) cannot be filled up to a multiple of "
                f"pad_to_multiple_of ({multiple}); pass a max_length that is one"
            )
        length += -length % (multiple or 1)
        fill = {"input_ids": self.pad_token_id, "special_tokens_mask": 1, "offset_mapping": (0, 0)}
        fill |= {"token_type_ids": 0, "attention_mask": 0}
        return [padded(row, length, side, fill) for row in rows]

    # Numbers to texts ---------------------------------------------------------------------------------------

    def decode(self, indices: Iterable[int] | Tensor | int, skip_special_tokens: bool = False) -> str:
        """Return the text of numbers, a list or a tensor of shape (N,); special tokens are written out, or left out."""
        ids = [int(indices)] if isinstance(indices, int) else integers(indices)
        text = self.engine.decode(ids, skip_special_tokens)
        if self.clean_up_tokenization_spaces and self._model_name != "BPE":  # those tokens have their blanks with them
            for spaced in _CLEANED:
                text = text.replace(spaced, spaced.strip())
        return text

    def batch_decode(self, sequences: Iterable[Any] | Tensor, skip_special_tokens: bool = False) -> list[str]:
        """Return the text of each row, of a list of lists or a tensor of shape (N, L)."""
        rows = sequences.tolist() if isinstance(sequences, Tensor) else sequences
        return [self.decode(row, skip_special_tokens) for row in rows]

    @property
    def _model_name(self) -> str:
        """The kind of the model in a ``tokenizer.json``."""
        return type(getattr(getattr(self.engine, "tokenizer", None), "model", None)).__name__

    def convert_tokens_to_ids(self, tokens: str | Sequence[str]) -> Any:
        """Return the number of a token, or those of several; that of the unknown one for what is not there."""
        if isinstance(tokens, str):
            index = self.engine.token_to_id(tokens)
            return self._id_of(self.unk_token) if index is None else index
        return [self.convert_tokens_to_ids(token) for token in tokens]

    def convert_ids_to_tokens(self, ids: int | Sequence[int] | Tensor) -> Any:
        """Return the token with a number, or those with several; None for a number that is not there."""
        if isinstance(ids, int):
            return self.engine.id_to_token(ids)
        return [self.engine.id_to_token(index) for index in integers(ids)]

    # The vocabulary -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of different tokens."""
        return len(self.engine.vocabulary())

    def get_vocab(self) -> dict[str, int]:
        """Return the number of each token."""
        return self.engine.vocabulary()

    def add_tokens(self, tokens: str | Sequence[str], special_tokens: bool = False) -> int:
        """Add tokens that are never split, and return how many are new; a model's embedding must grow with them."""
        return self.engine.add_tokens([tokens] if isinstance(tokens, str) else tokens, special_tokens)

    def add_special_tokens(self, special_tokens_dict: Mapping[str, Any]) -> int:
        """Set special tokens by what they are for, add them to the vocabulary, and return how many are new.

        Parameters
        ----------
        special_tokens_dict : mapping
            From "bos_token", ... to a token; "additional_special_tokens" to a list of them.

        Raises
        ------
        ValueError
            If there is another name.
        """
        added: list[str] = []
        for role, value in special_tokens_dict.items():
            if role == "additional_special_tokens":
                self.additional_special_tokens = [*self.additional_special_tokens, *value]
                added += value
            elif role in _ROLES:
                setattr(self, role, value)
                added.append(value)
            else:
                raise ValueError(f"add_special_tokens: {role!r} is none of {(*_ROLES, 'additional_special_tokens')}")
        return self.add_tokens(added, special_tokens=True)

    @property
    def special_tokens_map(self) -> dict[str, str]:
        """The special tokens by what they are for."""
        return {role: token for role in _ROLES if (token := getattr(self, role)) is not None}

    @property
    def all_special_tokens(self) -> list[str]:
        """All special tokens, each once."""
        return list(dict.fromkeys([*self.special_tokens_map.values(), *self.additional_special_tokens]))

    @property
    def all_special_ids(self) -> list[int]:
        """The numbers of all special tokens."""
        return [self.convert_tokens_to_ids(token) for token in self.all_special_tokens]

    def _id_of(self, token: str | None) -> int | None:
        return None if token is None else self.engine.token_to_id(token)

    @property
    def bos_token_id(self) -> int | None:
        """The number of the token at the beginning of a text."""
        return self._id_of(self.bos_token)

    @property
    def eos_token_id(self) -> int | None:
        """The number of the token at the end of a text."""
        return self._id_of(self.eos_token)

    @property
    def unk_token_id(self) -> int | None:
        """The number of the token for what is unknown."""
        return self._id_of(self.unk_token)

    @property
    def sep_token_id(self) -> int | None:
        """The number of the token between two texts."""
        return self._id_of(self.sep_token)

    @property
    def pad_token_id(self) -> int | None:
        """The number of the token that fills up."""
        return self._id_of(self.pad_token)

    @property
    def cls_token_id(self) -> int | None:
        """The number of the token whose output stands for the text."""
        return self._id_of(self.cls_token)

    @property
    def mask_token_id(self) -> int | None:
        """The number of the token that hides another."""
        return self._id_of(self.mask_token)

    # Chats --------------------------------------------------------------------------------------------------

    def apply_chat_template(
        self,
        conversation: Sequence[Any],
        *,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        tokenize: bool = True,
        tokenizer_kwargs: Mapping[str, Any] | None = None,
        **variables: Any,
    ) -> Any:
        """Return the tokens of a conversation as the model was trained on it, or the text.

        Parameters
        ----------
        conversation : sequence of mappings, or sequence of such sequences
            Messages with "role" and "content"; or several conversations.
        tools, documents, add_generation_prompt, **variables
            As of `weft.text.tokenizers.chat.render`.
        chat_template : str, optional
            In place of the model's; or the name of one, where the model has several.
        tokenize : bool, default True
            Return a `BatchEncoding` of the text, without further special tokens; else the text.
        tokenizer_kwargs : mapping, optional
            Options of a call, such as ``padding`` and ``return_tensors``.

        Raises
        ------
        ValueError
            If there is no template, no message, or the template refuses the messages.
        ModuleNotFoundError
            If Jinja2 is not installed.
        """
        template = self._template(chat_template)
        if len(conversation) == 0:
            raise ValueError("apply_chat_template: there is no message")
        several = not isinstance(conversation[0], Mapping)
        values = {**self.special_tokens_map, **variables}
        values |= {"tools": tools, "documents": documents, "add_generation_prompt": add_generation_prompt}
        texts = [chat.render(template, each, **values) for each in (conversation if several else [conversation])]
        if not tokenize:
            return texts if several else texts[0]
        return self(texts if several else texts[0], add_special_tokens=False, **(tokenizer_kwargs or {}))

    def _template(self, wanted: str | None) -> str:
        templates = self.chat_template if isinstance(self.chat_template, Mapping) else {"default": self.chat_template}
        found = templates.get(wanted or "default", wanted)
        if not isinstance(found, str):
            raise ValueError(
                "apply_chat_template: the tokenizer's folder has no chat template "
                f"({sorted(templates)} by name); pass chat_template="
            )
        return found


class BPETokenizer(PretrainedTokenizer):
    """Byte-pair encoding, by the library `tokenizers`: frequent runs of bytes are tokens, and no text is unknown.

    Made by `train`, or read by `load`.

    References
    ----------
    R. Sennrich, B. Haddow, A. Birch: Neural Machine Translation of Rare Words with Subword Units, arXiv:1508.07909.
    """

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int, specials: Sequence[str] = ()) -> BPETokenizer:
        """Learn the tokens from texts.

        Parameters
        ----------
        texts : iterable of str
        vocab_size : int
            The greatest number of tokens; 256 of them are the bytes.
        specials : sequence of str, optional
            Tokens such as "<end>" that are never split; they have the first numbers.
        """
        library = imported("tokenizers", "BPETokenizer")
        model = library.ByteLevelBPETokenizer()
        model.train_from_iterator(texts, vocab_size=vocab_size, special_tokens=list(specials), show_progress=False)
        return cls(JSONEngine(library.Tokenizer.from_str(model.to_str())))

    @classmethod
    def load(cls, path: StrPath) -> BPETokenizer:
        """Read what `save` wrote; `PretrainedTokenizer.from_pretrained` reads the tokenizers of all models."""
        return cls.from_pretrained(path)


def _parts(row: Encoding) -> dict[str, list[Any]]:
    return {
        "input_ids": row.ids,
        "token_type_ids": row.type_ids,
        "special_tokens_mask": row.special_tokens_mask,
        "attention_mask": [1] * len(row.ids),
        "offset_mapping": row.offsets,
    }


def _texts(text: Any, pair: Any) -> tuple[list[Texts], bool]:
    """Return the texts or pairs of a call, and whether it was a single one."""
    single = isinstance(text, str)
    first = [text] if single else list(text)
    if pair is None:
        second = None
    else:
        second = [pair] if isinstance(pair, str) else list(pair)
        if len(first) != len(second) or single != isinstance(pair, str):
            raise ValueError(f"text and text_pair must be two texts, or as many; got {len(first)} and {len(second)}")
    for each in [*first, *(second or ())]:
        if not isinstance(each, str):
            raise TypeError(f"a text must be a str, got {type(each).__name__}: {each!r:.80}")
    return (list(first) if second is None else list(zip(first, second))), single


# Files -------------------------------------------------------------------------------------------------------


def _tokenizer_file(place: Path) -> Path:
    """Return the file to read, in a folder the first that there is."""
    if place.is_file():
        return place
    names = ("tokenizer.json", "tokenizer.model", "sentencepiece.bpe.model", "spiece.model", "spm.model")
    candidates = [place / name for name in names]
    if place.is_dir():
        candidates += sorted(place.glob("*.model")) + sorted(place.glob("*.tiktoken"))
    found = next((file for file in candidates if file.is_file()), None)
    if found is None:
        older = [name for name in ("vocab.txt", "vocab.json") if (place / name).is_file()]
        remedy = f"; of its {older[0]}, transformers' AutoTokenizer makes one: save_pretrained" if older else ""
        raise FileNotFoundError(f"from_pretrained: {place} has no tokenizer.json, *.model or *.tiktoken{remedy}")
    return found


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"from_pretrained: {path} is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"from_pretrained: {path} must be a JSON object, got {type(content).__name__}")
    return content


def _settings(folder: Path) -> dict[str, Any]:
    """Return what the files beside a tokenizer say, the more particular one first."""
    settings = {**_read_json(folder / "special_tokens_map.json"), **_read_json(folder / "tokenizer_config.json")}
    template = folder / "chat_template.jinja"
    if template.is_file():
        settings["chat_template"] = template.read_text(encoding="utf-8")
    settings.setdefault("chat_template", _read_json(folder / "chat_template.json").get("chat_template"))
    if isinstance(settings["chat_template"], list):
        settings["chat_template"] = {each["name"]: each["template"] for each in settings["chat_template"]}
    return settings


def _with_roles_of_config(settings: Mapping[str, Any], place: Path, engine: Engine) -> dict[str, Any]:
    """Return settings with the tokens whose numbers the model's ``config.json`` has, where nothing else names them."""
    config = _read_json(place / "config.json") if place.is_dir() else {}
    found = {}
    for role in ("bos_token", "eos_token", "pad_token"):
        index = config.get(f"{role}_id")
        if isinstance(index, int):
            found[role] = engine.id_to_token(index)
    return {**found, **{key: value for key, value in settings.items() if value is not None}}


def _written(token: Any) -> str | None:
    """Return a token that a configuration writes as a string, or as an object with its content."""
    return token.get("content") if isinstance(token, Mapping) else token


def _several(settings: Mapping[str, Any]) -> list[str]:
    named = settings.get("additional_special_tokens") or settings.get("extra_special_tokens") or []
    listed = named.values() if isinstance(named, Mapping) else named
    return [written for token in listed if (written := _written(token)) is not None]
