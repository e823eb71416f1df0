"""Pairs of sentences by how similar they are."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from weft.text.datasets._files import Folder, Splits, TextFile, datasets_of
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "http://ixa2.si.ehu.es/stswiki/images/4/48/Stsbenchmark.tar.gz"
MD5 = "4eb0065aba063ef77873d3a9c8088811"
NUM_LINES = {"train": 5_749, "dev": 1_500, "test": 1_379}
DATASET_NAME = "STSB"


def STSB(root: StrPath | None = None, split: Splits = ("train", "dev", "test")) -> Any:
    """Pairs of sentences by how similar they are.

    Samples are (number, similarity from 0 to 5, first sentence, second sentence).

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/STSB``, or with the files: ``Stsbenchmark.tar.gz``, or the folder ``stsbenchmark`` of
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
    file = folder.file(f"stsbenchmark/sts-{split}.csv", URL, archive="Stsbenchmark.tar.gz")
    return TextDataset(_sentence_pairs, file)


def _sentence_pairs(file: TextFile) -> Iterator[tuple[int, float, str, str]]:
    for row in file.rows(delimiter="\t", quoting=csv.QUOTE_NONE):
        yield int(row[3]), float(row[4]), row[5], row[6]
