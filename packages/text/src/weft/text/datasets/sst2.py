"""Sentences of reviews of films, bad and good ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.text.datasets._files import Folder, Splits, TextFile, datasets_of
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://dl.fbaipublicfiles.com/glue/data/SST-2.zip"
MD5 = "9f81648d4199384278b86e315dac217c"
NUM_LINES = {"train": 67_349, "dev": 872, "test": 1_821}
DATASET_NAME = "SST2"


def SST2(root: StrPath | None = None, split: Splits = ("train", "dev", "test")) -> Any:
    """Sentences of reviews of films, bad and good ones.

    Samples are (sentence, 0 for a bad and 1 for a good one); of the test split (sentence,).

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/SST2``, or with the files: ``SST-2.zip``, or the folder ``SST-2`` of it.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    file = folder.file(f"SST-2/{split}.tsv", URL, archive="SST-2.zip")
    return TextDataset(_unlabelled if split == "test" else _labelled, file)


def _labelled(file: TextFile) -> Iterator[tuple[str, int]]:
    for row in file.rows(skip=1, delimiter="\t"):
        yield row[0].strip(), int(row[1])


def _unlabelled(file: TextFile) -> Iterator[tuple[str]]:
    for row in file.rows(skip=1, delimiter="\t"):
        yield (row[1].strip(),)
