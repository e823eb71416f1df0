"""Byte-pair encodings: frequent runs of bytes, or of characters, are tokens."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar

from weft import nn
from weft.text.functional import is_list_of, unsupported
from weft.text.utils import get_asset_local_path

StrPath = str | os.PathLike[str]
Ranks = dict[tuple[str, str], int]

_LONGEST_CACHED = 256  # characters; longer words hardly come again


@cache
def bytes_to_unicode() -> dict[int, str]:
    """Return a printable character for each byte: itself where Latin-1 has one, others from U+0100 on.

    Vocabularies of byte-level encodings are written with these characters.
    """
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + place) for place, byte in enumerate(others)}


class GPT2BPETokenizer(nn.Module):
    """GPT-2's byte-level tokens, by its two files.

    Parameters
    ----------
    encoder_json_path : path
        The numbers of the tokens, in JSON.
    vocab_bpe_path : path
        The pairs that are joined, one in each line after the first, the most frequent first.
    return_tokens : bool, default False
        Return the tokens in place of their numbers.

    References
    ----------
    R. Sennrich, B. Haddow, A. Birch: Neural Machine Translation of Rare Words with Subword Units, arXiv:1508.07909.
    """

    SPECIAL_TOKENS_ATTRIBUTES: ClassVar = [
        "bos_token",
        "eos_token",
        "unk_token",
        "sep_token",
        "pad_token",
        "cls_token",
        "mask_token",
        "additional_special_tokens",
    ]

    def __init__(self, encoder_json_path: StrPath, vocab_bpe_path: StrPath, return_tokens: bool = False) -> None:
        super().__init__()
        self._encoder = _read_encoder(encoder_json_path)
        self._decoder = {index: token for token, index in self._encoder.items()}
        self._ranks = _ranks(_read_merges(vocab_bpe_path)[:-1])
        self._return_tokens = return_tokens
        self._special: dict[str, None] = {}
        self._cache: dict[str, list[str]] = {}

    def add_special_tokens(self, special_tokens_dict: Mapping[str, str | Sequence[str]]) -> int:
        """Add tokens that are never split, at the end of the vocabulary unless they are in it.

        Parameters
        ----------
        special_tokens_dict : mapping
            From names of ``SPECIAL_TOKENS_ATTRIBUTES`` to a token; "additional_special_tokens" to a list of them.

        Returns
        -------
        int
            How many were not in the vocabulary.

        Raises
        ------
        AssertionError
            If there is another name.
        """
        before = len(self._encoder)
        for name, tokens in special_tokens_dict.items():
            if name not in self.SPECIAL_TOKENS_ATTRIBUTES:
                raise AssertionError(f"Key '{name}' is not in the special token list: {self.SPECIAL_TOKENS_ATTRIBUTES}")
            for token in [tokens] if isinstance(tokens, str) else tokens:
                index = self._encoder.setdefault(token, len(self._encoder))
                self._decoder[index] = token
                self._special[token] = None
        return len(self._encoder) - before

    def forward(self, input: Any) -> Any:
        """Return the numbers, written out as torchtext does, or the tokens of a str, or of each in a list of str."""
        if isinstance(input, str):
            return self._tokenize(input) if self._return_tokens else self._encode(input)
        if is_list_of(input, str):
            return [self.forward(text) for text in input]
        raise unsupported(type(self).__name__, input)

    def decode(self, tokens: list[str]) -> str:
        """Return the text of numbers that are written out; special tokens stand between blanks.

        Raises
        ------
        IndexError
            If a number is not in the vocabulary.
        """
        pieces: list[str] = []
        run = bytearray()
        for token in map(self._token_of, tokens):
            if token in self._special:
                pieces += [run.decode(errors="ignore")] if run else []
                pieces.append(token)
                run.clear()
            else:
                run += bytes(_unicode_to_bytes()[char] for char in token)
        return " ".join([*pieces, run.decode(errors="ignore")] if run or not pieces else pieces)

    def _token_of(self, index: str) -> str:
        token = self._decoder.get(int(index))
        if token is None:
            raise IndexError(f"decode: no token has the number {index}; there are {len(self._decoder)}")
        return token

    def _encode(self, text: str) -> list[str]:
        return [str(_number(self._encoder, token)) for token in self._tokenize(text)]

    def _tokenize(self, text: str) -> list[str]:
        tokens: list[str] = []
        for part in self._parts(text):
            if part in self._special:
                tokens.append(part)
            else:
                tokens += [token for word in _gpt2_words(part) for token in self._bpe(word)]
        return tokens

    def _parts(self, text: str) -> Iterator[str]:
        """Yield special tokens and what stands between them, less one character of white space on either side."""
        if not self._special:
            yield text
            return
        longest_first = sorted(self._special, key=len, reverse=True)
        pattern = "|".join(map(re.escape, longest_first))
        parts = re.split(f"({pattern})", text)
        for place, part in enumerate(parts):
            if place % 2 == 0:
                part = re.sub(r"\A\s", "", part, flags=re.ASCII) if place > 0 else part
                part = re.sub(r"\s\Z", "", part, flags=re.ASCII) if place < len(parts) - 1 else part
            if part:
                yield part

    def _bpe(self, word: str) -> list[str]:
        """Return the tokens of a word."""
        if word not in self._cache:
            pieces = _merged([bytes_to_unicode()[byte] for byte in word.encode()], self._ranks)
            if len(word) > _LONGEST_CACHED:
                return pieces
            self._cache[word] = pieces
        return self._cache[word]


class CLIPTokenizer(nn.Module):
    """CLIP's byte-level tokens of text in small letters; those at the end of a word end in ``</w>``.

    Parameters
    ----------
    merges_path : path
        The pairs that are joined, one in each line after the first.
    encoder_json_path : path, optional
        The numbers of the tokens, in JSON; by default they follow from the pairs.
    num_merges : int, optional
        Take so many pairs only. With ``encoder_json_path``, its length says how many.
    return_tokens : bool, default False
        Return the tokens in place of their numbers.

    References
    ----------
    A. Radford et al.: Learning Transferable Visual Models From Natural Language Supervision, arXiv:2103.00020.
    """

    _SPECIAL = ("<|startoftext|>", "<|endoftext|>")

    def __init__(
        self,
        merges_path: StrPath,
        encoder_json_path: StrPath | None = None,
        num_merges: int | None = None,
        return_tokens: bool = False,
    ) -> None:
        super().__init__()
        merges = _read_merges(merges_path)
        if encoder_json_path is not None:
            self._encoder = _read_encoder(encoder_json_path)
            merges = merges[: len(self._encoder) - (2 * 256 + len(self._SPECIAL))]  # each byte, also at the end
        else:
            merges = merges[: num_merges or len(merges)]
            alphabet = list(bytes_to_unicode().values())
            tokens = [*alphabet, *(char + "</w>" for char in alphabet), *map("".join, merges), *self._SPECIAL]
            self._encoder = {token: index for index, token in enumerate(tokens)}
        self._ranks = _ranks(merges)
        self._return_tokens = return_tokens
        self._cache: dict[str, list[str]] = {}

    def forward(self, input: Any) -> Any:
        """Return the numbers, written out as torchtext does, or the tokens of a str, or of each in a list of str."""
        if isinstance(input, str):
            return self._tokenize(input) if self._return_tokens else self._encode(input)
        if is_list_of(input, str):
            return [self.forward(text) for text in input]
        raise unsupported("CLIPTokenizer", input)

    def _encode(self, text: str) -> list[str]:
        return [str(_number(self._encoder, token)) for token in self._tokenize(text)]

    def _tokenize(self, text: str) -> list[str]:
        return [token for word in _split(_CLIP_WORD, text.lower().strip()) for token in self._bpe(word)]

    def _bpe(self, word: str) -> list[str]:
        """Return the tokens of a word."""
        if word in self._SPECIAL:
            return [word]
        if word not in self._cache:
            *begin, last = (bytes_to_unicode()[byte] for byte in word.encode())
            pieces = _merged([*begin, last + "</w>"], self._ranks)
            if len(word) > _LONGEST_CACHED:
                return pieces
            self._cache[word] = pieces
        return self._cache[word]


class CharBPETokenizer(nn.Module):
    """Byte-pair encoding over characters, of words that stand between white space.

    Parameters
    ----------
    bpe_encoder_path : path
        The numbers of the tokens, in JSON.
    bpe_merges_path : path
        The pairs that are joined, one in each line after the first.
    return_tokens : bool, default False
        Return the tokens in place of their numbers.
    unk_token : str, optional
        Stands for a token that is not in the vocabulary; without one, such a token is an error.
    suffix : str, optional
        What marks the last token of a word, such as "</w>".
    special_tokens : list of str, optional
        Words that are not split.

    Raises
    ------
    RuntimeError
        If ``unk_token`` or a special token is not in the vocabulary.
    """

    def __init__(
        self,
        bpe_encoder_path: StrPath,
        bpe_merges_path: StrPath,
        return_tokens: bool = False,
        unk_token: str | None = None,
        suffix: str | None = None,
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self._encoder = _read_encoder(bpe_encoder_path)
        self._decoder = {index: token for token, index in self._encoder.items()}
        self._ranks = _ranks(_read_merges(bpe_merges_path)[:-1])
        for token in [*([unk_token] if unk_token else []), *(special_tokens or ())]:
            if token not in self._encoder:
                raise RuntimeError(
                    f"CharBPETokenizer: token {token!r} not found in encoder. Special tokens must be in encoder."
                )
        self._return_tokens = return_tokens
        self._unk_token = unk_token
        self._suffix = suffix or ""
        self._cache = {token: [token] for token in special_tokens or ()}

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""
        return len(self._encoder)

    def forward(self, input: Any) -> Any:
        """Return the numbers or the tokens of a str, or of each in a list of str."""
        if isinstance(input, str):
            return self._tokenize(input) if self._return_tokens else self.encode(input)
        if isinstance(input, list):
            return [self.forward(text) for text in input]
        raise unsupported("CharBPETokenizer", input)

    def encode(self, text: str) -> list[Any]:
        """Return the numbers of a text's tokens, of the type that the JSON file has.

        Raises
        ------
        KeyError
            If a token is not in the vocabulary, and there is no ``unk_token``.
        """
        tokens = self._tokenize(text)
        if self._unk_token:
            unknown = self._encoder[self._unk_token]
            return [self._encoder.get(token, unknown) for token in tokens]
        return [self._encoder[token] for token in tokens]

    def decode(self, tokens: Sequence[Any]) -> str:
        """Return the text of numbers; with a suffix, a blank stands after each word."""
        if self._unk_token:
            pieces = [self._decoder.get(token, self._unk_token) for token in tokens]
        else:
            pieces = [self._decoder[token] for token in tokens]
        return "".join(pieces).replace(self._suffix, " ") if self._suffix else " ".join(pieces)

    def _tokenize(self, text: str) -> list[str]:
        return [token for word in re.findall(r"\S+\n?", text) for token in self._bpe(word)]

    def _bpe(self, word: str) -> list[str]:
        """Return the tokens of a word."""
        if word not in self._cache:
            pieces = _merged([*word[:-1], word[-1] + self._suffix], self._ranks)
            if len(word) > _LONGEST_CACHED:
                return pieces
            self._cache[word] = pieces
        return self._cache[word]


# Words: RE2's patterns, over text whose letters, numbers and other characters are each one of ASCII ----------


class _AsciiOfEachKind(dict[int, str]):
    """A table for `str.translate`: a letter becomes "a", a number "0", another character "!"; ASCII stays.

    Python's `re` cannot ask for the general category of a character. No pattern asks for an "a".
    """

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = char if code < 128 else {"L": "a", "N": "0"}.get(unicodedata.category(char)[0], "!")
        self[code] = kind
        return kind


_KINDS = _AsciiOfEachKind()
_WHITE_SPACE = "\t\n\v\f\r "
_GPT2_WORD = re.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\t\n\v\f\r A-Za-z0-9]+|[\t\n\v\f\r ]+", re.ASCII
)
_CLIP_WORD = re.compile(
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[A-Za-z]+|[0-9]|[^\t\n\f\r A-Za-z0-9]+",
    re.ASCII | re.IGNORECASE,
)


def _split(pattern: re.Pattern[str], text: str) -> list[str]:
    return [text[found.start() : found.end()] for found in pattern.finditer(text.translate(_KINDS))]


def _gpt2_words(text: str) -> Iterator[str]:
    """Yield words, each with the blank before it; of more white space the last character stands apart."""
    words = _split(_GPT2_WORD, text)
    blank = ""
    for place, word in enumerate(words):
        if word.strip(_WHITE_SPACE):
            yield blank + word
            blank = ""
        elif place == len(words) - 1:
            yield word
        else:
            if len(word) > 1:
                yield word[:-1]
            blank = " " if word[-1] == " " else ""
            if not blank:
                yield word[-1]


# Pairs -----------------------------------------------------------------------------------------------------


def _merged(pieces: list[str], ranks: Ranks) -> list[str]:
    """Join the pair of the lowest rank, wherever it stands, until no pair has one."""
    while len(pieces) > 1:
        first, second = min(pairwise(pieces), key=lambda pair: ranks.get(pair, len(ranks)))
        if (first, second) not in ranks:
            break
        joined = []
        place = 0
        while place < len(pieces):
            found = pieces[place] == first and pieces[place + 1 : place + 2] == [second]
            joined.append(first + second if found else pieces[place])
            place += 2 if found else 1
        pieces = joined
    return pieces


def _ranks(merges: Sequence[tuple[str, ...]]) -> Ranks:
    return {(pair[0], pair[1]): rank for rank, pair in enumerate(merges) if len(pair) == 2}


def _read_merges(path: StrPath) -> list[tuple[str, ...]]:
    """Return the parts of each line but the first."""
    with open(get_asset_local_path(path), encoding="utf-8", newline="") as file:
        return [tuple(line.split()) for line in file.read().split("\n")[1:]]


def _read_encoder(path: StrPath) -> dict[str, Any]:
    with open(get_asset_local_path(path), encoding="utf-8") as file:
        return dict(json.load(file))


def _number(encoder: Mapping[str, int], token: str) -> int:
    if token not in encoder:
        raise IndexError(f"the vocabulary has no number for the token {token!r}: do its two files belong together?")
    return encoder[token]


@cache
def _unicode_to_bytes() -> dict[str, int]:
    return {char: byte for byte, char in bytes_to_unicode().items()}
