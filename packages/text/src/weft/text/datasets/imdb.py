"""Reviews of films, bad and good ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from weft.text.datasets._files import Folder, Splits, TextFile, datasets_of, members
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "http://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"
MD5 = "7c2ac02c03563afcf9b574c7e56c153a"
NUM_LINES = {"train": 25_000, "test": 25_000}
MAP_LABELS = {"neg": 1, "pos": 2}
DATASET_NAME = "IMDB"


def IMDB(root: StrPath | None = None, split: Splits = ("train", "test")) -> Any:
    """Reviews of films, bad and good ones.

    Samples are (class, text), classes 1 (bad) and 2 (good).

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/IMDB``, or with the files: ``aclImdb_v1.tar.gz``, or the folder ``aclImdb`` of it.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    return TextDataset(_reviews, folder.file(f"aclImdb/{split}", URL, archive="aclImdb_v1.tar.gz"), split)


def _reviews(file: TextFile, split: str) -> Iterator[tuple[int, str]]:
    if file.member is None:
        for label, number in MAP_LABELS.items():
            for path in sorted((file.path / label).glob("*.txt")):
                yield number, path.read_text(encoding="utf-8").strip("\r\n")
        return
    for name, opened in members(file.path):
        *_, part, label, _ = ("", "", *PurePosixPath(name).parts)
        if part == split and label in MAP_LABELS:
            with opened() as content:
                yield MAP_LABELS[label], content.read().decode().strip("\r\n")
