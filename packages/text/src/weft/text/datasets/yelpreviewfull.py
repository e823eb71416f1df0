"""Yelp's reviews by their stars."""

from __future__ import annotations

from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of, labelled_rows
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbZlU4dXhHTFhZQU0"
MD5 = "f7ddfafed1033f68ec72b9267863af6c"
NUM_LINES = {"train": 650_000, "test": 50_000}
DATASET_NAME = "YelpReviewFull"


def YelpReviewFull(root: StrPath | None = None, split: Splits = ("train", "test")) -> Any:
    """Yelp's reviews by their stars.

    Samples are (class, text), classes 1 to 5.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/YelpReviewFull``, or with the files: ``yelp_review_full_csv.tar.gz``, or the folder
        ``yelp_review_full_csv`` of it.
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
        labelled_rows, folder.file(f"yelp_review_full_csv/{split}.csv", URL, archive="yelp_review_full_csv.tar.gz")
    )
