"""Wikipedia's articles by what they are about."""

from __future__ import annotations

from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of, labelled_rows
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbQ2Vic1kxMmZZQ1k"
MD5 = "dca7b1ae12b1091090db52aa7ec5ca64"
NUM_LINES = {"train": 560_000, "test": 70_000}
DATASET_NAME = "DBpedia"


def DBpedia(root: StrPath | None = None, split: Splits = ("train", "test")) -> Any:
    """Wikipedia's articles by what they are about.

    Samples are (class, text), classes 1 to 14.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/DBpedia``, or with the files: ``dbpedia_csv.tar.gz``, or the folder ``dbpedia_csv``
        of it.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    return TextDataset(labelled_rows, folder.file(f"dbpedia_csv/{split}.csv", URL, archive="dbpedia_csv.tar.gz"))
