"""Pairs of sentences: is a pronoun replaced by what it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.text.datasets._files import Folder, Splits, TextFile, datasets_of
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://dl.fbaipublicfiles.com/glue/data/WNLI.zip"
MD5 = "a1b4bd2861017d302d29e42139657a42"
NUM_LINES = {"train": 635, "dev": 71, "test": 146}
DATASET_NAME = "WNLI"


def WNLI(root: StrPath | None = None, split: Splits = ("train", "dev", "test")) -> Any:
    """Pairs of sentences: is a pronoun replaced by what it stands for.

    Samples are (1 if it is and else 0, first sentence, second sentence); of the test split the two sentences.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/WNLI``, or with the files: ``WNLI.zip``, or the folder ``WNLI`` of it.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    file = folder.file(f"WNLI/{split}.tsv", URL, archive="WNLI.zip")
    return TextDataset(_unlabelled if split == "test" else _labelled, file)


def _labelled(file: TextFile) -> Iterator[tuple[int, str, str]]:
    for row in file.rows(skip=1, delimiter="\t"):
        yield int(row[3]), row[1], row[2]


def _unlabelled(file: TextFile) -> Iterator[tuple[str, str]]:
    for row in file.rows(skip=1, delimiter="\t"):
        yield row[1], row[2]
