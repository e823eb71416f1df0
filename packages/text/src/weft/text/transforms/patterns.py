"""Tokens by regular expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from weft import nn


class RegexTokenizer(nn.Module):
    r"""Replace patterns one after the other, then split at blanks.

    Parameters
    ----------
    patterns_list : iterable of (str, str)
        Regular expressions and what replaces them, both in the syntax of Python's `re`. As in torchtext's, ``\s``,
        ``\w`` and ``\d`` are about ASCII, and only blanks split: a line break does not, unless a pattern replaces it.

    Raises
    ------
    ValueError
        If a pattern is no regular expression.

    Examples
    --------
    >>> from weft.text.transforms import RegexTokenizer
    >>> RegexTokenizer([(r"[,._+ ]+", r" ")])("Basic.Regex,Tokenization_for+a..Line,,of  Text")
    ['Basic', 'Regex', 'Tokenization', 'for', 'a', 'Line', 'of', 'Text']
    """

    def __init__(self, patterns_list: Iterable[tuple[str, str]]) -> None:
        super().__init__()
        self.patterns = [(_compiled(pattern), replacement) for pattern, replacement in patterns_list]

    def forward(self, line: str) -> list[str]:
        """Return the tokens of a line."""
        for pattern, replacement in self.patterns:
            line = pattern.sub(replacement, line)
        return [token for token in line.split(" ") if token]


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        raise ValueError(
            f"RegexTokenizer: {pattern!r} is not a regular expression of Python's re: {error}; RE2's classes such as "
            r"\pL are written otherwise there: [^\W\d_]"
        ) from error
