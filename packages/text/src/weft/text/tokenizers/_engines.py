"""The libraries that read the three kinds of files, behind one interface."""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from weft.text._libraries import imported
from weft.text.tokenizers.batches import Encoding, Offsets, Truncation, windows

Texts = str | tuple[str, str]


class Engine(Protocol):
    """What `PretrainedTokenizer` needs of a library."""

    def encode(self, texts: list[Texts], add_special_tokens: bool, truncation: Truncation | None) -> list[Encoding]:
        """Return the tokens of texts, or of pairs of texts."""

    def tokens(self, texts: Texts, add_special_tokens: bool) -> list[str]:
        """Return the tokens of one text, or pair of texts, as strings."""

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        """Return the text of tokens."""

    def token_to_id(self, token: str) -> int | None:
        """Return the number of a token."""

    def id_to_token(self, index: int) -> str | None:
        """Return the token with a number."""

    def vocabulary(self) -> dict[str, int]:
        """Return the numbers of all tokens."""

    def add_tokens(self, tokens: Sequence[str], special: bool) -> int:
        """Add tokens that are never split; return how many were new."""

    def save(self, path: str) -> None:
        """Write the file that the engine was made from."""


@contextmanager
def _refusals(what: str) -> Iterator[None]:
    """Turn what a library raises into a ValueError: Exception itself, or where it panics a BaseException."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ValueError(f"{what}: {error}") from error


class JSONEngine:
    """``tokenizer.json``, by the library `tokenizers`: all that the file says about texts, pairs and special tokens."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self._settings = Lock()  # how texts are cut is a setting of the library's object
        tokenizer.no_truncation()
        tokenizer.no_padding()

    def __reduce__(self) -> tuple[type[JSONEngine], tuple[Any]]:  # a lock cannot be pickled; workers make their own
        return type(self), (self.tokenizer,)

    @classmethod
    def read(cls, path: Path) -> JSONEngine:
        """Read a file."""
        library = imported("tokenizers", "PretrainedTokenizer")
        with _refusals(f"{path} is no tokenizer.json that the library tokenizers can read"):
            return cls(library.Tokenizer.from_file(str(path)))

    def encode(self, texts: list[Texts], add_special_tokens: bool, truncation: Truncation | None) -> list[Encoding]:
        room = truncation.max_length - self._added(texts, add_special_tokens) if truncation else 0
        if truncation and truncation.stride >= room:
            raise ValueError(
                f"stride ({truncation.stride}) must be less than the {room} tokens that a part has of a text"
            )
        with self._settings:
            try:
                with _refusals(f"the texts cannot be cut as {truncation} says"):
                    if truncation is not None:
                        self.tokenizer.enable_truncation(**vars(truncation))
                    found = self.tokenizer.encode_batch(texts, add_special_tokens=add_special_tokens)
            finally:
                self.tokenizer.no_truncation()
        return [_from_library(each) for each in found]

    def tokens(self, texts: Texts, add_special_tokens: bool) -> list[str]:
        with self._settings:
            (found,) = self.tokenizer.encode_batch([texts], add_special_tokens=add_special_tokens)
        return list(found.tokens)

    def _added(self, texts: list[Texts], add_special_tokens: bool) -> int:
        """Return how many special tokens are added to a text."""
        pair = bool(texts) and not isinstance(texts[0], str)
        return int(self.tokenizer.num_special_tokens_to_add(pair)) if add_special_tokens else 0

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=skip_special_tokens))

    def token_to_id(self, token: str) -> int | None:
        return self.tokenizer.token_to_id(token)

    def id_to_token(self, index: int) -> str | None:
        return self.tokenizer.id_to_token(index)

    def vocabulary(self) -> dict[str, int]:
        return dict(self.tokenizer.get_vocab())

    def add_tokens(self, tokens: Sequence[str], special: bool) -> int:
        add = self.tokenizer.add_special_tokens if special else self.tokenizer.add_tokens
        return int(add(list(tokens)))

    def save(self, path: str) -> None:
        self.tokenizer.save(path)


def _from_library(found: Any) -> Encoding:
    """Return what the library found as an `Encoding`."""
    return Encoding(
        ids=found.ids,
        type_ids=found.type_ids,
        special_tokens_mask=found.special_tokens_mask,
        offsets=found.offsets,
        overflowing=[_from_library(part) for part in found.overflowing],
    )


class _PieceEngine:
    """A file that says how one text is cut into pieces; the special tokens around it are those of the settings.

    Parameters
    ----------
    special : mapping from str to int
        Tokens that stand for themselves wherever they are in a text.
    begin, end : list of int
        What is added around a text.
    """

    kind = ""

    def __init__(self, special: Mapping[str, int], begin: list[int], end: list[int]) -> None:
        self.special = dict(special)
        self.begin = begin
        self.end = end

    def pieces(self, text: str) -> tuple[list[int], Offsets]:
        """Return the numbers of a text's tokens, none of them special, and where they are in it."""
        raise NotImplementedError

    def encode(self, texts: list[Texts], add_special_tokens: bool, truncation: Truncation | None) -> list[Encoding]:
        begin, end = (self.begin, self.end) if add_special_tokens else ([], [])
        return [self._encoded(text, begin, end, truncation) for text in texts]

    def tokens(self, texts: Texts, add_special_tokens: bool) -> list[str]:
        (found,) = self.encode([texts], add_special_tokens, None)
        return [str(self.id_to_token(index)) for index in found.ids]

    def _encoded(self, text: Texts, begin: list[int], end: list[int], truncation: Truncation | None) -> Encoding:
        if not isinstance(text, str):
            raise ValueError(
                f"a {self.kind} file does not say what stands between the texts of a pair; join the texts, or use the "
                "model's tokenizer.json"
            )
        ids, offsets = self._with_special_tokens(text)
        added = len(begin) + len(end)
        cuts = [slice(0, len(ids))]
        if truncation is not None:
            cuts = windows(len(ids), truncation.max_length - added, truncation)
        first, *others = (_surrounded(ids[cut], offsets[cut], begin, end) for cut in cuts)
        first.overflowing = others
        return first

    def _with_special_tokens(self, text: str) -> tuple[list[int], Offsets]:
        ids: list[int] = []
        offsets: Offsets = []
        start = 0
        for part in self._parts(text):
            found, places = ([self.special[part]], [(0, len(part))]) if part in self.special else self.pieces(part)
            ids += found
            offsets += [(start + first, start + last) for first, last in places]
            start += len(part)
        return ids, offsets

    def _parts(self, text: str) -> list[str]:
        """Return special tokens and what stands between them."""
        if not self.special:
            return [text]
        longest_first = sorted(self.special, key=len, reverse=True)
        return [part for part in re.split(f"({'|'.join(map(re.escape, longest_first))})", text) if part]

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        special = {index: token for token, index in self.special.items()}
        hidden = {*special, *self.begin, *self.end} if skip_special_tokens else set()
        texts: list[str] = []
        run: list[int] = []
        for index in [index for index in ids if index not in hidden]:
            if index in special:
                texts += [self.text_of(run)] if run else []
                texts.append(special[index])
                run = []
            else:
                run.append(index)
        return "".join([*texts, self.text_of(run)] if run else texts)

    def text_of(self, ids: list[int]) -> str:
        """Return the text of tokens, none of them special."""
        raise NotImplementedError

    def add_tokens(self, tokens: Sequence[str], special: bool) -> int:
        vocabulary = self.vocabulary()
        new = [token for token in dict.fromkeys(tokens) if token not in vocabulary]
        self.special.update({token: vocabulary[token] for token in tokens if token in vocabulary})
        self.special.update({token: len(vocabulary) + place for place, token in enumerate(new)})
        return len(new)

    def vocabulary(self) -> dict[str, int]:
        raise NotImplementedError

    def id_to_token(self, index: int) -> str | None:
        raise NotImplementedError

    def token_to_id(self, token: str) -> int | None:
        return self.vocabulary().get(token)


def _surrounded(ids: list[int], offsets: Offsets, begin: list[int], end: list[int]) -> Encoding:
    mask = [1] * len(begin) + [0] * len(ids) + [1] * len(end)
    places = [(0, 0)] * len(begin) + offsets + [(0, 0)] * len(end)
    return Encoding([*begin, *ids, *end], [0] * len(mask), mask, places)


class SentencePieceEngine(_PieceEngine):
    """A ``*.model`` of SentencePiece, by the library `sentencepiece`."""

    kind = "SentencePiece"

    def __init__(self, path: Path, special: Sequence[str] = (), begin: bool = False, end: bool = False) -> None:
        library = imported("sentencepiece", "PretrainedTokenizer")
        self._content = path.read_bytes()
        with _refusals(f"{path} is no model that the library sentencepiece can read"):
            self.model = library.SentencePieceProcessor(model_proto=self._content)
        self._has_offset_mapping = "return_type" in signature(library.SentencePieceProcessor.Encode).parameters  # 0.2.3
        self._pieces = {self.model.id_to_piece(index): index for index in range(self.model.get_piece_size())}
        super().__init__(
            {token: self._pieces[token] for token in special if token in self._pieces},
            [self.model.bos_id()] if begin else [],
            [self.model.eos_id()] if end else [],
        )

    def pieces(self, text: str) -> tuple[list[int], Offsets]:
        if self._has_offset_mapping:
            found = self.model.encode(text, return_type="offset_mapping")
            return found["ids"], found["offsets"]
        pieces = self.model.encode(text, out_type="immutable_proto").pieces
        return [piece.id for piece in pieces], [(piece.begin, piece.end) for piece in pieces]

    def text_of(self, ids: list[int]) -> str:
        return str(self.model.decode(ids))

    def vocabulary(self) -> dict[str, int]:
        return {**self._pieces, **self.special}

    def id_to_token(self, index: int) -> str | None:
        if 0 <= index < len(self._pieces):
            return str(self.model.id_to_piece(index))
        return next((token for token, number in self.special.items() if number == index), None)

    def save(self, path: str) -> None:
        Path(path).write_bytes(self._content)

    def roles(self) -> dict[str, str]:
        """Return the tokens that the model itself has for the beginning, the end, padding and what is unknown."""
        numbers = {
            "bos_token": self.model.bos_id(),
            "eos_token": self.model.eos_id(),
            "pad_token": self.model.pad_id(),
            "unk_token": self.model.unk_id(),
        }
        return {role: self.model.id_to_piece(index) for role, index in numbers.items() if index >= 0}


_GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_CL100K_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
    r"\s+(?!\S)|\s"
)
_O200K_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_END = "<|endoftext|>"
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")

# What the published files do not have in them: the words that pairs are joined in, and the special tokens.
TIKTOKEN_ENCODINGS: dict[str, tuple[str, dict[str, int]]] = {
    "r50k_base": (_GPT2_PATTERN, {_END: 50256}),
    "p50k_base": (_GPT2_PATTERN, {_END: 50256}),
    "cl100k_base": (
        _CL100K_PATTERN,
        {_END: 100257, **dict(zip(_FIM, (100258, 100259, 100260))), "<|endofprompt|>": 100276},
    ),
    "o200k_base": (_O200K_PATTERN, {_END: 199999, "<|endofprompt|>": 200018}),
}


class TiktokenEngine(_PieceEngine):
    """A ``*.tiktoken`` file, by the library `tiktoken`: in each line a token in base 64 and its number."""

    kind = "tiktoken"

    def __init__(self, path: Path, pattern: str | None, special: Mapping[str, int] | None) -> None:
        library = imported("tiktoken", "PretrainedTokenizer")
        known = TIKTOKEN_ENCODINGS.get(path.stem)
        if pattern is None and known is None:
            names = ", ".join(f"{name}.tiktoken" for name in TIKTOKEN_ENCODINGS)
            raise ValueError(
                f"{path} does not say by which pattern a text is split into words; pass pattern=, the regular "
                f"expression of its model (known by name: {names})"
            )
        pattern = pattern or (known or ("", {}))[0]
        special = (known or ("", {}))[1] if special is None else special
        self._content = path.read_bytes()
        self._ranks = _read_ranks(self._content, path)
        with _refusals(f"{path} and its pattern are nothing that the library tiktoken can read"):
            self.model = library.Encoding(path.stem, pat_str=pattern, mergeable_ranks=self._ranks, special_tokens={})
        super().__init__(special, [], [])

    def pieces(self, text: str) -> tuple[list[int], Offsets]:
        with _refusals("the file lacks tokens for bytes of the text"):
            ids = self.model.encode_ordinary(text)
        lengths = [len(self.model.decode_single_token_bytes(index)) for index in ids]
        return ids, _character_offsets(text, lengths)

    def text_of(self, ids: list[int]) -> str:
        return str(self.model.decode(ids))

    def vocabulary(self) -> dict[str, int]:
        return {token.decode("latin-1"): index for token, index in self._ranks.items()} | self.special

    def id_to_token(self, index: int) -> str | None:
        return next((token for token, number in self.vocabulary().items() if number == index), None)

    def save(self, path: str) -> None:
        Path(path).write_bytes(self._content)


def _read_ranks(content: bytes, path: Path) -> dict[bytes, int]:
    try:
        lines = (line.split() for line in content.splitlines() if line)
        return {base64.b64decode(token, validate=True): int(rank) for token, rank in lines}
    except (ValueError, binascii.Error) as error:
        raise ValueError(
            f"{path} is no file of tiktoken, with a token in base 64 and its number in each line"
        ) from error


def _character_offsets(text: str, lengths: list[int]) -> Offsets:
    """Return which characters tokens of so many bytes each touch."""
    starts = [0, *accumulate(len(char.encode()) for char in text)]  # of the characters, in bytes
    offsets: Offsets = []
    first = 0
    for length in lengths:
        last = first + length
        offsets.append((bisect_right(starts, first) - 1, bisect_right(starts, last - 1)))
        first = last
    return offsets
