"""Sentences, right and wrong in their grammar."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from weft.text.datasets._files import Folder, Splits, TextFile, datasets_of
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://nyu-mll.github.io/CoLA/cola_public_1.1.zip"
MD5 = "9f6d88c3558ec424cd9d66ea03589aba"
NUM_LINES = {"train": 8_551, "dev": 527, "test": 516}
_FILES = {"train": "in_domain_train", "dev": "in_domain_dev", "test": "out_of_domain_dev"}
DATASET_NAME = "CoLA"


def CoLA(root: StrPath | None = None, split: Splits = ("train", "dev", "test")) -> Any:
    """Sentences, right and wrong in their grammar.

    Samples are (source, 1 if the sentence is acceptable and else 0, sentence).

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/CoLA``, or with the files: ``cola_public_1.1.zip``, or the folder ``cola_public`` of
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
    file = folder.file(f"cola_public/raw/{_FILES[split]}.tsv", URL, archive="cola_public_1.1.zip")
    return TextDataset(_sentences, file)


def _sentences(file: TextFile) -> Iterator[tuple[str, int, str]]:
    for row in file.rows(skip=1, delimiter="\t", quoting=csv.QUOTE_NONE):
        if len(row) == 4:
            yield row[0], int(row[1]), row[3]
