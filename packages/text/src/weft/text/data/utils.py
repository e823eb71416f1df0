"""Words from a line of text."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from weft.text._libraries import imported

# What basic_english does to punctuation: spaced out where it carries meaning, dropped where it does not.
_BASIC_ENGLISH = str.maketrans(
    {"'": " ' ", ".": " . ", ",": " , ", "(": " ( ", ")": " ) ", "!": " ! ", "?": " ? ", ";": " ", ":": " "}
)
_UNICODE_WORD = re.compile(r"\w+|[^\w\s]")


def get_tokenizer(tokenizer: str | Callable[[str], list[str]] | None, language: str = "en") -> Callable[[str], Any]:
    """Return a function from a line of text to a list of tokens.

    Parameters
    ----------
    tokenizer : str, callable or None
        - "basic_english": small letters, punctuation apart, quotation marks, colons and semicolons dropped;
        - "words": words and punctuation marks of any script, unchanged;
        - "spacy": spaCy's, of the model that ``language`` names;
        - "moses": sacremoses'; "toktok": NLTK's; "revtok" and "subword": revtok's, "subword" with marks for capitals;
        - None: split at white space;
        - a callable is returned as it is.
    language : str, default "en"
        The name of spaCy's model, such as "de_core_news_sm"; the others do not use it. "basic_english" knows English
        only.

    Raises
    ------
    ValueError
        If the name is unknown, or the language is not that of the tokenizer.
    ModuleNotFoundError
        If the library is not installed.

    Examples
    --------
    >>> get_tokenizer("basic_english")("Don't: PANIC!")
    ['don', "'", 't', 'panic', '!']
    """
    if tokenizer is None:
        return str.split
    if callable(tokenizer):
        return tokenizer
    if tokenizer == "basic_english" and language != "en":
        raise ValueError(f"get_tokenizer: basic_english is for language 'en', got {language!r}")
    if tokenizer not in _TOKENIZERS:
        raise ValueError(
            f"get_tokenizer: unknown tokenizer {tokenizer!r}; there are {sorted(_TOKENIZERS)}, or pass a function from "
            "a line to a list of tokens"
        )
    return _TOKENIZERS[tokenizer](language)


def _spacy(language: str) -> Callable[[str], list[str]]:
    spacy = imported("spacy", "get_tokenizer('spacy')")
    try:
        return partial(_spacy_tokens, model=spacy.load(language))
    except OSError:
        full_name = getattr(spacy.errors, "OLD_MODEL_SHORTCUTS", {}).get(language)
        if full_name is None:
            raise
        warnings.warn(f"get_tokenizer: spaCy has no model {language!r}; loading {full_name!r}", stacklevel=3)
        return partial(_spacy_tokens, model=spacy.load(full_name))


def _spacy_tokens(line: str, model: Any) -> list[str]:
    return [token.text for token in model.tokenizer(line)]


def _basic_english(line: str) -> list[str]:
    return line.lower().replace('"', "").replace("<br />", " ").translate(_BASIC_ENGLISH).split()


_TOKENIZERS: dict[str, Callable[[str], Callable[[str], list[str]]]] = {
    "basic_english": lambda language: _basic_english,
    "words": lambda language: _UNICODE_WORD.findall,
    "spacy": _spacy,
    "moses": lambda language: imported("sacremoses", "get_tokenizer('moses')").MosesTokenizer().tokenize,
    "toktok": lambda language: imported("nltk.tokenize.toktok", "get_tokenizer('toktok')").ToktokTokenizer().tokenize,
    "revtok": lambda language: imported("revtok", "get_tokenizer('revtok')").tokenize,
    "subword": lambda language: partial(imported("revtok", "get_tokenizer('subword')").tokenize, decap=True),
}


def is_tokenizer_serializable(tokenizer: str | Callable[[str], list[str]] | None, language: str) -> bool:
    """Return whether what `get_tokenizer` gives for a name can be pickled; spaCy's cannot."""
    return tokenizer != "spacy"


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


def interleave_keys(a: int, b: int) -> int:
    """Return a number whose bits are in turn those of two numbers below 65,536: their place on a Z-order curve.

    Sorting by it puts those together that are near in both numbers, such as the lengths of a sentence and of its
    translation.

    Examples
    --------
    >>> interleave_keys(0b11, 0b01)
    11
    """
    return int("".join(x + y for x, y in zip(f"{a:016b}", f"{b:016b}")), base=2)


class RandomShuffler:
    """Shuffle with a random state of its own, by Python's `random`.

    Parameters
    ----------
    random_state : tuple, optional
        Of `random.getstate`; by default the state now.

    Attributes
    ----------
    random_state : tuple
        The state after what was shuffled so far.
    """

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random.getstate() if random_state is None else random_state

    def __call__(self, data: Sequence[Any]) -> list[Any]:
        """Return a new list in random order."""
        own = random.Random()
        own.setstate(self.random_state)
        shuffled = own.sample(data, len(data))
        self.random_state = own.getstate()
        return shuffled
