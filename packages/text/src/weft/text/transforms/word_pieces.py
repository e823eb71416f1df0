"""BERT's tokens: words cut into the longest pieces that are in a vocabulary."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from weft import nn
from weft.text.functional import is_list_of, unsupported
from weft.text.utils import get_asset_local_path
from weft.text.vocab import Vocab

_UNKNOWN = "[UNK]"
_LONGEST_WORD = 100  # bytes; a longer word is unknown
_IDEOGRAPHS = (  # the blocks that BERT's authors count as Chinese characters
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class BERTTokenizer(nn.Module):
    """BERT's tokens by a ``vocab.txt``.

    Parameters
    ----------
    vocab_path : path
        A token in each line; the number of a token is that of its line, from 0.
    do_lower_case : bool, default True
    strip_accents : bool, optional
        Remove accents; by default if letters are made small.
    return_tokens : bool, default False
        Return the tokens in place of their numbers.
    never_split : sequence of str, optional
        Words, as they stand between blanks, that keep their form.

    References
    ----------
    Y. Wu et al.: Google's Neural Machine Translation System, arXiv:1609.08144, section 4.1.
    """

    def __init__(
        self,
        vocab_path: str | os.PathLike[str],
        do_lower_case: bool = True,
        strip_accents: bool | None = None,
        return_tokens: bool = False,
        never_split: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        with open(get_asset_local_path(vocab_path), encoding="utf-8") as file:
            lines = [line.removesuffix("\n") or "\n" for line in file]
        self.vocab = Vocab(dict.fromkeys(lines))
        self._do_lower_case = do_lower_case
        self._strip_accents = do_lower_case if strip_accents is None else strip_accents
        self._return_tokens = return_tokens
        self._never_split = frozenset(never_split or ())

    def forward(self, input: Any) -> Any:
        """Return the numbers, written out as torchtext does, or the tokens of a str, or of each in a list of str."""
        if isinstance(input, str):
            return self._tokenize(input) if self._return_tokens else self._encode(input)
        if is_list_of(input, str):
            return [self.forward(text) for text in input]
        raise unsupported("BERTTokenizer", input)

    def _encode(self, text: str) -> list[str]:
        return [str(index) for index in self.vocab.lookup_indices(self._tokenize(text))]

    def _tokenize(self, text: str) -> list[str]:
        """Return the pieces of a text's words."""
        words = [word for part in text.strip().split(" ") for word in self._words(part)]
        return [piece for word in words for piece in self._pieces(word)]

    def _words(self, part: str) -> list[str]:
        """Return the words and marks of what stands between two blanks."""
        keep = part in self._never_split
        if self._strip_accents:
            part = unicodedata.normalize("NFD", part)
        cleaned = "".join(_clean(part, strip_accents=self._strip_accents and not keep))
        spaced = "".join(f" {char} " if _stands_alone(char, keep) else char for char in cleaned)
        if self._do_lower_case and not keep:
            spaced = "".join(char.lower()[0] for char in spaced)  # by character: one may have two small letters
        return [word for word in spaced.split(" ") if word]

    def _pieces(self, word: str) -> list[str]:
        """Return the longest pieces from the left; one unknown token if a rest has none."""
        if len(word.encode()) > _LONGEST_WORD:
            return [_UNKNOWN]
        pieces: list[str] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self.vocab), None)
            if end is None:
                return [_UNKNOWN]
            pieces.append(prefix + word[start:end])
            start = end
        return pieces


def _clean(text: str, strip_accents: bool) -> Iterator[str]:
    """Yield the characters without control characters, and accents if wanted; white space as blanks."""
    for char in text:
        category = unicodedata.category(char)
        if char in "\t\n\r" or category == "Zs":
            yield " "
        elif char != "\ufffd" and not category.startswith("C") and not (strip_accents and category == "Mn"):
            yield char


def _stands_alone(char: str, keep_marks: bool) -> bool:
    """Return whether a character is a word by itself: ideographs, and punctuation unless it is to be kept."""
    if any(first <= ord(char) <= last for first, last in _IDEOGRAPHS):
        return True
    if keep_marks:
        return False
    if char.isascii():
        return char.isprintable() and not char.isalnum() and char != " "  # "$" and "^" too, which Unicode calls symbols
    return unicodedata.category(char).startswith("P")
