"""Yahoo's questions and answers by their topic."""

from __future__ import annotations

from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of, labelled_rows
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9Qhbd2JNdDBsQUdocVU"
MD5 = "f3f9899b997a42beb24157e62e3eea8d"
NUM_LINES = {"train": 1_400_000, "test": 60_000}
DATASET_NAME = "YahooAnswers"


def YahooAnswers(root: StrPath | None = None, split: Splits = ("train", "test")) -> Any:
    """Yahoo's questions and answers by their topic.

    Samples are (class, text), classes 1 to 10.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/YahooAnswers``, or with the files: ``yahoo_answers_csv.tar.gz``, or the folder
        ``yahoo_answers_csv`` of it.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    return TextDataset(
        labelled_rows, folder.file(f"yahoo_answers_csv/{split}.csv", URL, archive="yahoo_answers_csv.tar.gz")
    )
