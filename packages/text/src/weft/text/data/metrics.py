"""How good generated text is, with the names of ``torchtext.data.metrics``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import weft

__all__ = ["bleu_score"]


def bleu_score(
    candidate_corpus: Sequence[Sequence[str]],
    references_corpus: Sequence[Sequence[Sequence[str]]],
    max_n: int = 4,
    weights: Sequence[float] = (0.25, 0.25, 0.25, 0.25),
) -> float:
    """Return the BLEU score of translations, from 0 to 1.

    It is ``min(1, exp(1 - r / c)) * exp(sum_n weights[n] log p_n)``, with p_n the part of the candidates' runs of n
    tokens that are in a reference, c the candidates' length in tokens and r that of the references nearest to it.

    Parameters
    ----------
    candidate_corpus : sequence of sequences of str
        The tokens of each translation.
    references_corpus : sequence of sequences of sequences of str
        One or several right translations for each.
    max_n : int, default 4
        The longest runs of tokens that count.
    weights : sequence of float
        One for each length of runs.

    Raises
    ------
    AssertionError
        If there are not ``max_n`` weights, or not as many references as candidates.

    References
    ----------
    K. Papineni et al.: BLEU: a Method for Automatic Evaluation of Machine Translation, ACL 2002.

    Examples
    --------
    >>> candidates = [["My", "full", "pytorch", "test"], ["Another", "Sentence"]]
    >>> references = [[["My", "full", "pytorch", "test"], ["Completely", "Different"]], [["No", "Match"]]]
    >>> round(bleu_score(candidates, references), 4)
    0.8409
    """
    if max_n != len(weights):
        raise AssertionError(f'Length of the "weights" list has to be equal to max_n: {len(weights)} and {max_n}')
    if len(candidate_corpus) != len(references_corpus):
        raise AssertionError(
            "The length of candidate and reference corpus should be the same: "
            f"{len(candidate_corpus)} and {len(references_corpus)}"
        )
    matches, totals = [0] * max_n, [0] * max_n
    candidate_length = reference_length = 0
    for candidate, references in zip(candidate_corpus, references_corpus):
        candidate_length += len(candidate)
        reference_length += min(map(len, references), key=lambda length: abs(len(candidate) - length))
        for n in range(max_n):
            totals[n] += max(len(candidate) - n, 0)
            matches[n] += _matches(candidate, references, n + 1)
    if min(matches) == 0:
        return 0.0
    precisions = weft.tensor(matches, dtype=weft.float32) / weft.tensor(totals, dtype=weft.float32)
    score = weft.exp((weft.tensor(list(weights)) * weft.log(precisions)).sum())  # in float32, as torchtext
    return math.exp(min(1 - reference_length / candidate_length, 0)) * float(score)


def _matches(candidate: Sequence[str], references: Sequence[Sequence[str]], n: int) -> int:
    """Return how many runs of n tokens a candidate shares, each counted as often as one reference has it at most."""
    allowed: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        allowed |= _runs(reference, n)
    return (_runs(candidate, n) & allowed).total()


def _runs(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1))
