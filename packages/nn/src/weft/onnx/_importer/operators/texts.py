"""Strings, which are NumPy's arrays of objects: weft has no tensors of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from weft.onnx._importer.registry import operator


def texts(values: list[Any], shape: Any) -> Any:
    """An array of strings."""
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made.reshape(shape)


@operator("StringConcat")
def string_concat(x: Any, y: Any) -> Any:
    return np.asarray(np.add(x, y), dtype=object)


@operator("StringNormalizer")
def string_normalizer(
    x: Any,
    *,
    case_change_action: str = "NONE",
    is_case_sensitive: int = 0,
    locale: str | None = None,
    stopwords: Any = None,
) -> Any:
    change: Any = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}[case_change_action]
    compared: Callable[[str], str] = str if is_case_sensitive else str.lower
    stopped = {compared(each) for each in stopwords or []}
    kept = [change(each) for each in x.ravel().tolist() if compared(each) not in stopped] or [""]
    return texts(kept, [-1] if x.ndim == 1 else [1, -1])


@operator("StringSplit")
def string_split(x: Any, *, delimiter: str | None = None, maxsplit: int | None = None) -> Any:
    parts = [each.split(delimiter or None, -1 if maxsplit is None else maxsplit) for each in x.ravel().tolist()]
    most = max(map(len, parts), default=0)
    padded = [each for row in parts for each in [*row, *[""] * (most - len(row))]]
    counts = np.array([len(row) for row in parts], np.int64).reshape(x.shape)
    return texts(padded, [*x.shape, most]), weft.from_numpy(counts)


@operator("RegexFullMatch")
def regex_full_match(x: Any, *, pattern: str) -> Any:
    compiled = re.compile(pattern)
    found = [compiled.fullmatch(each) is not None for each in x.ravel().tolist()]
    return weft.from_numpy(np.array(found, bool).reshape(x.shape))


@operator("TfIdfVectorizer")
def tf_idf_vectorizer(
    x: Any,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Any,
    ngram_indexes: Any,
    pool_int64s: Any = None,
    pool_strings: Any = None,
    weights: Any = None,
) -> Any:
    pool = pool_int64s if pool_int64s is not None else pool_strings
    grams: dict[tuple[Any, ...], int] = {}
    for length, start in enumerate(ngram_counts, 1):
        end = ngram_counts[length] if length < len(ngram_counts) else len(pool)
        for place in range(start, end, length):
            grams[tuple(pool[place : place + length])] = len(grams)
    rows = x.reshape(-1, x.shape[-1]).tolist() if x.ndim else []
    counts = weft.zeros(len(rows), max(ngram_indexes) + 1).numpy()  # refused where there is no memory for it
    for row, tokens in zip(counts, rows):
        for gram in grams_of(tokens, min_gram_length, max_gram_length, max_skip_count):
            if gram in grams:
                row[ngram_indexes[grams[gram]]] += 1
    if mode == "IDF":
        counts = (counts > 0).astype(np.float32)
    if mode != "TF" and weights is not None:
        factors = np.ones(counts.shape[1], np.float32)
        factors[ngram_indexes] = weights
        counts = counts * factors
    return weft.from_numpy(counts.reshape([*x.shape[:-1], counts.shape[1]]))


def grams_of(tokens: list[Any], shortest: int, longest: int, most_skipped: int) -> Any:
    """The n-grams of a row, also those with the same number of tokens left out between each two."""
    count = len(tokens)
    for length in range(shortest, min(longest, count) + 1):
        for stride in range(1, (min(most_skipped, count) if length > 1 else 0) + 2):
            for start in range(count - (length - 1) * stride):
                yield tuple(tokens[start + k * stride] for k in range(length))
