"""Pairs of Quora's questions: do they ask the same."""

from __future__ import annotations

from collections.abc import Iterator

from weft.text.datasets._files import TextFile, folder_of
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "http://qim.fs.quoracdn.net/quora_duplicate_questions.tsv"
MD5 = "b6d5672bd9dc1e66ab2bb020ebeafb8d"
NUM_LINES = {"train": 404_290}
DATASET_NAME = "QQP"


def QQP(root: StrPath | None = None) -> TextDataset:
    """Pairs of Quora's questions: do they ask the same.

    Samples are (1 if they do and else 0, first question, second question).

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/QQP``, or with the file ``quora_duplicate_questions.tsv``.

    Raises
    ------
    FileNotFoundError
        If the file is not there; it says what to put where.
    """
    return TextDataset(_question_pairs, folder_of(DATASET_NAME, root).file("quora_duplicate_questions.tsv", URL))


def _question_pairs(file: TextFile) -> Iterator[tuple[int, str, str]]:
    for row in file.rows(skip=1, delimiter="\t"):
        yield int(row[-1]), row[3], row[4]
