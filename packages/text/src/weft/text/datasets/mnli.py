"""Pairs of sentences: does the second follow from the first."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from weft.text.datasets._files import Folder, Splits, TextFile, datasets_of
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://cims.nyu.edu/~sbowman/multinli/multinli_1.0.zip"
MD5 = "0f70aaf66293b3c088a864891db51353"
NUM_LINES = {"train": 392_702, "dev_matched": 9_815, "dev_mismatched": 9_832}
LABEL_TO_INT = {"entailment": 0, "neutral": 1, "contradiction": 2}
DATASET_NAME = "MNLI"


def MNLI(root: StrPath | None = None, split: Splits = ("train", "dev_matched", "dev_mismatched")) -> Any:
    """Pairs of sentences: does the second follow from the first.

    Samples are (0 entailment, 1 neutral or 2 contradiction, first sentence, second sentence).

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/MNLI``, or with the files: ``multinli_1.0.zip``, or the folder ``multinli_1.0`` of
        it.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    file = folder.file(f"multinli_1.0/multinli_1.0_{split}.txt", URL, archive="multinli_1.0.zip")
    return TextDataset(_sentence_pairs, file)


def _sentence_pairs(file: TextFile) -> Iterator[tuple[int, str, str]]:
    for row in file.rows(skip=1, delimiter="\t", quoting=csv.QUOTE_NONE):
        if row[0] in LABEL_TO_INT:  # "-" is where those who judged did not agree
            yield LABEL_TO_INT[row[0]], row[5], row[6]
