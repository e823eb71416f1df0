"""Vocabularies made from counts and from text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from weft.text.vocab.vocab import Vocab


def vocab(
    ordered_dict: Mapping[str, int],
    min_freq: int = 1,
    specials: Sequence[str] | None = None,
    special_first: bool = True,
) -> Vocab:
    """Make a `Vocab` of the keys of a mapping from tokens to frequencies, in its order.

    Parameters
    ----------
    ordered_dict : mapping from str to int
    min_freq : int, default 1
        Leave rarer tokens out.
    specials : sequence of str, optional
        Tokens such as "<unk>" that are in it whatever their frequency.
    special_first : bool, default True
        Put them before all others, or after.
    """
    extra = list(specials or ())
    tokens = [token for token, count in ordered_dict.items() if count >= min_freq and token not in set(extra)]
    return Vocab(extra + tokens if special_first else tokens + extra)


def build_vocab_from_iterator(
    iterator: Iterable[Iterable[str]],
    min_freq: int = 1,
    specials: Sequence[str] | None = None,
    special_first: bool = True,
    max_tokens: int | None = None,
) -> Vocab:
    """Count tokens and make a `Vocab` of them, the most frequent first and equals in alphabetical order.

    Parameters
    ----------
    iterator : iterable of iterables of str
        For example the tokens of each line of a file.
    min_freq, specials, special_first
        As of `vocab`.
    max_tokens : int, optional
        The specials and the ``max_tokens - len(specials)`` most frequent tokens; a special that is among those leaves
        its place there empty, as in torchtext.

    Raises
    ------
    AssertionError
        If ``max_tokens`` leaves no room beside the specials.
    """
    counts: Counter[str] = Counter()
    for tokens in iterator:
        counts.update(tokens)
    room = None if max_tokens is None else max_tokens - len(specials or ())
    if room is not None and room <= 0:
        raise AssertionError(
            f"build_vocab_from_iterator: max_tokens ({max_tokens}) must be greater than the number of specials "
            f"({len(specials or ())})"
        )
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return vocab(dict(ranked[:room]), min_freq, specials, special_first)
