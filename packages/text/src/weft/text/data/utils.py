"""Words from a line of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# What basic_english does to punctuation: spaced out where it carries meaning, dropped where it does not.
_BASIC_ENGLISH = str.maketrans(
    {"'": " ' ", ".": " . ", ",": " , ", "(": " ( ", ")": " ) ", "!": " ! ", "?": " ? ", ";": " ", ":": " "}
)
_UNICODE_WORD = re.compile(r"\w+|[^\w\s]")


def get_tokenizer(tokenizer: str | Callable[[str], list[str]] | None, language: str = "en") -> Callable[[str], Any]:
    """Return a function from a line of text to a list of tokens.

    Parameters
    ----------
    tokenizer : {"basic_english", "words"}, callable or None
        "basic_english": small letters, punctuation apart, quotation marks, colons and semicolons dropped;
        "words": words and punctuation marks of any script, unchanged. None: split at white space.
        A callable is returned as it is.
    language : str, default "en"
        "basic_english" knows English only.

    Raises
    ------
    ValueError
        If the name is unknown, or the language is not that of the tokenizer.

    Examples
    --------
    >>> get_tokenizer("basic_english")("Don't: PANIC!")
    ['don', "'", 't', 'panic', '!']
    """
    if tokenizer is None:
        return str.split
    if callable(tokenizer):
        return tokenizer
    if tokenizer == "basic_english":
        if language != "en":
            raise ValueError(f"get_tokenizer: basic_english is for language 'en', got {language!r}")
        return _basic_english
    if tokenizer == "words":
        return _UNICODE_WORD.findall
    raise ValueError(
        f"get_tokenizer: unknown tokenizer {tokenizer!r}; there are 'basic_english' and 'words', or pass a function "
        "from a line to a list of tokens (such as nlp.tokenizer of spaCy)"
    )


def ngrams_iterator(token_list: Sequence[str], ngrams: int) -> Iterator[str]:
    """Yield the tokens, then all runs of two, ..., up to ``ngrams`` tokens, joined by a space.

    Examples
    --------
    >>> list(ngrams_iterator(["here", "we", "are"], 2))
    ['here', 'we', 'are', 'here we', 'we are']
    """
    yield from token_list
    for length in range(2, ngrams + 1):
        for start in range(len(token_list) - length + 1):
            yield " ".join(token_list[start : start + length])


def _basic_english(line: str) -> list[str]:
    return line.lower().replace('"', "").replace("<br />", " ").translate(_BASIC_ENGLISH).split()
