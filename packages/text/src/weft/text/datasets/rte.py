"""Pairs of sentences: does the second follow from the first."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from weft.text.datasets._files import Folder, Splits, TextFile, datasets_of
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://dl.fbaipublicfiles.com/glue/data/RTE.zip"
MD5 = "bef554d0cafd4ab6743488101c638539"
NUM_LINES = {"train": 2_490, "dev": 277, "test": 3_000}
MAP_LABELS = {"entailment": 0, "not_entailment": 1}
DATASET_NAME = "RTE"


def RTE(root: StrPath | None = None, split: Splits = ("train", "dev", "test")) -> Any:
    """Pairs of sentences: does the second follow from the first.

    Samples are (0 entailment or 1 not, first text, second text); of the test split the two texts.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/RTE``, or with the files: ``RTE.zip``, or the folder ``RTE`` of it.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    file = folder.file(f"RTE/{split}.tsv", URL, archive="RTE.zip")
    return TextDataset(_unlabelled if split == "test" else _labelled, file)


def _labelled(file: TextFile) -> Iterator[tuple[int, str, str]]:
    for row in file.rows(skip=1, delimiter="\t", quoting=csv.QUOTE_NONE):
        yield MAP_LABELS[row[3]], row[1], row[2]


def _unlabelled(file: TextFile) -> Iterator[tuple[str, str]]:
    for row in file.rows(skip=1, delimiter="\t", quoting=csv.QUOTE_NONE):
        yield row[1], row[2]
