"""Tokenizers that need no library and no file: characters, and words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from weft import Tensor
from weft.text.vocab import Vocab, build_vocab_from_iterator

_WORD = re.compile(r"\s*(?:\w+|[^\w\s])|\s+$")  # a word or mark with the space before it, so that joining restores all


class Tokenizer(Protocol):
    """What every tokenizer here can do."""

    def encode(self, text: str) -> list[int]:
        """Return the numbers of the text's tokens."""

    def decode(self, indices: Iterable[int] | Tensor) -> str:
        """Return the text of tokens."""

    def __len__(self) -> int:
        """Return the number of different tokens."""


class CharTokenizer:
    """Each character is a token.

    Parameters
    ----------
    characters : iterable of str
        The alphabet; a text will do. Numbers go by the characters' code points, whatever their order here.
    unknown : str, optional
        A character, not in the alphabet, that stands for all others; without one they are errors.

    Examples
    --------
    >>> tokenizer = CharTokenizer("hello world")
    >>> tokenizer.encode("held")
    [3, 2, 4, 1]
    >>> tokenizer.decode([3, 2, 4, 1])
    'held'
    """

    def __init__(self, characters: Iterable[str], unknown: str | None = None) -> None:
        alphabet = sorted(set(characters) - {unknown})
        self.vocab = Vocab(([] if unknown is None else [unknown]) + alphabet, None if unknown is None else 0)

    def encode(self, text: str) -> list[int]:
        """Return the number of each character."""
        return self.vocab.lookup_indices(text)

    def decode(self, indices: Iterable[int] | Tensor) -> str:
        """Return the text of numbers, a list or a tensor of shape (N,)."""
        return "".join(self.vocab.lookup_tokens(integers(indices)))

    def __len__(self) -> int:
        """Return the number of different characters."""
        return len(self.vocab)


class WordTokenizer:
    """Words and punctuation marks, each with the white space before it, are tokens: decoding restores the text.

    Parameters
    ----------
    texts : iterable of str
        What the vocabulary is counted from, such as the lines of a file.
    min_freq : int, default 1
        Rarer tokens count as unknown.
    max_tokens : int, optional
        The greatest number of different tokens, the unknown one among them.
    unknown : str, default "<unk>"
        What stands for a token that is not in the vocabulary; its number is 0.

    Examples
    --------
    >>> tokenizer = WordTokenizer(["the cat, the dog"])
    >>> tokenizer.decode(tokenizer.encode("the cat, the cow"))
    'the cat, the<unk>'
    """

    def __init__(
        self, texts: Iterable[str], min_freq: int = 1, max_tokens: int | None = None, unknown: str = "<unk>"
    ) -> None:
        if isinstance(texts, str):
            texts = [texts]
        self.vocab = build_vocab_from_iterator(map(_WORD.findall, texts), min_freq, [unknown], max_tokens=max_tokens)
        self.vocab.set_default_index(0)

    def encode(self, text: str) -> list[int]:
        """Return the number of each word and mark."""
        return self.vocab.lookup_indices(_WORD.findall(text))

    def decode(self, indices: Iterable[int] | Tensor) -> str:
        """Return the text of numbers, a list or a tensor of shape (N,)."""
        return "".join(self.vocab.lookup_tokens(integers(indices)))

    def __len__(self) -> int:
        """Return the number of different tokens."""
        return len(self.vocab)


def integers(indices: Iterable[int] | Tensor) -> list[int]:
    """Return token numbers as Python integers."""
    return [int(index) for index in (indices.tolist() if isinstance(indices, Tensor) else indices)]
