"""Steps over streams of lines, with the names of ``torchtext.data.functional``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from weft.text._libraries import imported
from weft.utils.data import Dataset

__all__ = [
    "generate_sp_model",
    "load_sp_model",
    "sentencepiece_numericalizer",
    "sentencepiece_tokenizer",
    "custom_replace",
    "simple_space_split",
    "numericalize_tokens_from_iterator",
    "filter_wikipedia_xml",
    "to_map_style_dataset",
]


# SentencePiece ---------------------------------------------------------------------------------------------


def generate_sp_model(
    filename: str | os.PathLike[str], vocab_size: int = 20000, model_type: str = "unigram", model_prefix: str = "m_user"
) -> None:
    """Train a SentencePiece model, by the library `sentencepiece`, and write it to files.

    Parameters
    ----------
    filename : path
        The text, a sentence in each line.
    vocab_size : int, default 20000
    model_type : {"unigram", "bpe", "char", "word"}
    model_prefix : str, default "m_user"
        The files are ``<model_prefix>.model`` and ``<model_prefix>.vocab``.
    """
    imported("sentencepiece", "generate_sp_model").SentencePieceTrainer.train(
        input=os.fspath(filename),
        vocab_size=vocab_size,
        model_type=model_type,
        model_prefix=os.fspath(model_prefix),
        minloglevel=1,
    )


def load_sp_model(spm: Any) -> Any:
    """Return the SentencePiece model in a file, a ``sentencepiece.SentencePieceProcessor``.

    Parameters
    ----------
    spm : path, or file opened in binary mode

    Raises
    ------
    TypeError
        If it is neither.
    """
    if isinstance(spm, (str, os.PathLike)):
        with open(spm, "rb") as file:
            content = file.read()
    elif isinstance(getattr(spm, "mode", ""), str) and "b" in getattr(spm, "mode", ""):
        content = spm.read()
    else:
        raise TypeError(
            f"Unsupported type for spm argument: {type(spm).__name__}. Supported types are: str, os.PathLike, "
            "io.BufferedReader"
        )
    return imported("sentencepiece", "load_sp_model").SentencePieceProcessor(model_proto=content)


def sentencepiece_numericalizer(sp_model: Any) -> Callable[[Iterable[str]], Iterator[list[int]]]:
    """Return a function from lines to a generator over the numbers of each line's pieces.

    Parameters
    ----------
    sp_model
        What `load_sp_model` returned.
    """

    def numericalize(lines: Iterable[str]) -> Iterator[list[int]]:
        for line in lines:
            yield sp_model.EncodeAsIds(line)

    return numericalize


def sentencepiece_tokenizer(sp_model: Any) -> Callable[[Iterable[str]], Iterator[list[str]]]:
    """Return a function from lines to a generator over each line's pieces; ``sp_model`` is `load_sp_model`'s."""

    def tokenize(lines: Iterable[str]) -> Iterator[list[str]]:
        for line in lines:
            yield sp_model.EncodeAsPieces(line)

    return tokenize


# Lines and tokens ------------------------------------------------------------------------------------------


def custom_replace(replace_pattern: Iterable[tuple[str, str]]) -> Callable[[Iterable[str]], Iterator[str]]:
    r"""Return a function that replaces patterns, one after the other, in each of many lines.

    Parameters
    ----------
    replace_pattern : iterable of (str, str)
        Regular expressions and what replaces them.

    Examples
    --------
    >>> list(custom_replace([(r"S", "s"), (r"\s+", " ")])(["Sentencepiece encode  aS  pieces", "exampleS to   try!"]))
    ['sentencepiece encode as pieces', 'examples to try!']
    """
    patterns = [(re.compile(pattern), replacement) for pattern, replacement in replace_pattern]

    def replace(lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            for pattern, replacement in patterns:
                line = pattern.sub(replacement, line)
            yield line

    return replace


def simple_space_split(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Yield the words of each line, split at white space."""
    for line in iterator:
        yield line.split()


def numericalize_tokens_from_iterator(
    vocab: Any, iterator: Iterable[Iterable[str]], removed_tokens: Sequence[str] | None = None
) -> Iterator[Iterator[int]]:
    """Yield an iterator over the numbers of each sequence's tokens.

    Parameters
    ----------
    vocab : mapping or Vocab
    iterator : iterable of iterables of str
    removed_tokens : sequence of str, optional
        Tokens to leave out.

    Examples
    --------
    >>> lines = simple_space_split(["Sentencepiece as pieces", "as pieces"])
    >>> ids = numericalize_tokens_from_iterator({"Sentencepiece": 0, "encode": 1, "as": 2, "pieces": 3}, lines)
    >>> [list(line) for line in ids]
    [[0, 2, 3], [2, 3]]
    """
    removed = set(removed_tokens or ())
    for tokens in iterator:
        yield _numbers(vocab, tokens, removed)


def _numbers(vocab: Any, tokens: Iterable[str], removed: set[str]) -> Iterator[int]:
    return (vocab[token] for token in tokens if token not in removed)


_DIGITS = "zero one two three four five six seven eight nine".split()
_WIKIPEDIA_MARKUP = (  # the steps of fastText's wikifil.pl
    (r"<.*>", ""),
    (r"&amp;", "&"),
    (r"&lt;", "<"),
    (r"&gt;", ">"),
    (r"<ref[^<]*</ref>", ""),
    (r"<[^>]*>", ""),
    (r"\[http:[^] ]*", "["),
    (r"\|thumb", ""),
    (r"\|left", ""),
    (r"\|right", ""),
    (r"\|\d+px", ""),
    (r"\[\[image:[^\[\]]*\|", ""),
    (r"\[\[category:([^|\]]*)[^]]*\]\]", "[[$1]]"),  # torchtext took Perl's "$1" over, which Python writes as it is
    (r"\[\[[a-z\-]*:[^\]]*\]\]", ""),
    (r"\[\[[^|\]]*\|", "[["),
    (r"\{\{[^}]*\}\}", ""),
    (r"\{[^}]*\}", ""),
    (r"\[", ""),
    (r"\]", ""),
    (r"&[^;]*;", " "),
    *((chr(code), chr(code).lower()) for code in range(ord("A"), ord("Z") + 1)),
    *((str(digit), f" {name} ") for digit, name in enumerate(_DIGITS)),
    (r"[^a-z\n]+", " "),
    (r"\n ", ""),
    (r"\s+", " "),
)


def filter_wikipedia_xml(text_iterator: Iterable[str]) -> Iterator[str]:
    """Yield the plain words, in small letters and without digits, of lines of Wikipedia's XML; no empty lines.

    Parameters
    ----------
    text_iterator : iterable of str
        Such as the data set EnWik9; lines that redirect are left out.

    Raises
    ------
    TypeError
        If it is not iterable.
    """
    try:
        lines = iter(text_iterator)
    except TypeError as error:
        raise TypeError(f"Input {text_iterator} must support iterator semantics") from error
    kept = (line for line in lines if "#redirect" not in line and "#REDIRECT" not in line)
    for line in custom_replace(_WIKIPEDIA_MARKUP)(kept):
        if stripped := line.strip():
            yield stripped


class _MapStyleDataset(Dataset[Any]):
    def __init__(self, samples: Iterable[Any]) -> None:
        self._data = list(samples)

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, index: int) -> Any:
        return self._data[index]


def to_map_style_dataset(iter_data: Iterable[Any]) -> Dataset[Any]:
    """Read all of a stream into memory, as a data set with a length whose samples are found by their number.

    Examples
    --------
    >>> samples = to_map_style_dataset(iter(["a", "b", "c"]))
    >>> len(samples), samples[2]
    (3, 'c')
    """
    return _MapStyleDataset(iter_data)
