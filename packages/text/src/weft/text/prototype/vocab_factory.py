"""Vocabularies from text files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable

from weft.text.vocab import Vocab, build_vocab_from_iterator, vocab

__all__ = ["build_vocab_from_text_file", "load_vocab_from_file"]


def build_vocab_from_text_file(
    file_path: str | os.PathLike[str],
    tokenizer: Callable[[str], Iterable[str]] | None = None,
    min_freq: int = 1,
    num_cpus: int | None = 4,
) -> Vocab:
    """Count the tokens of a text file, and make a vocabulary of them, the most frequent first.

    Parameters
    ----------
    file_path : path
    tokenizer : callable, optional
        From a line to its tokens; by default they stand between white space.
    min_freq : int, default 1
        Leave rarer tokens out.
    num_cpus : int
        Accepted.
    """
    with open(file_path, encoding="utf-8") as file:
        lines = (line.rstrip("\n") for line in file)
        return build_vocab_from_iterator(map(tokenizer or str.split, lines), min_freq)


def load_vocab_from_file(file_path: str | os.PathLike[str], min_freq: int = 1, num_cpus: int = 4) -> Vocab:
    """Read a vocabulary from the first words of a file's lines, in their order, each once.

    Parameters
    ----------
    file_path : path
    min_freq : int, default 1
        Leave out what stands in fewer lines.
    num_cpus : int
        Accepted.
    """
    with open(file_path, encoding="utf-8") as file:
        return vocab(Counter(words[0] for line in file if (words := line.split())), min_freq)
