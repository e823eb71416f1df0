"""Amazon's reviews by their stars."""

from __future__ import annotations

from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of, labelled_rows
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbZVhsUnRWRDhETzA"
MD5 = "57d28bd5d930e772930baddf36641c7c"
NUM_LINES = {"train": 3_000_000, "test": 650_000}
DATASET_NAME = "AmazonReviewFull"


def AmazonReviewFull(root: StrPath | None = None, split: Splits = ("train", "test")) -> Any:
    """Amazon's reviews by their stars.

    Samples are (class, text), classes 1 to 5.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/AmazonReviewFull``, or with the files: ``amazon_review_full_csv.tar.gz``, or the
        folder ``amazon_review_full_csv`` of it.
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
        labelled_rows, folder.file(f"amazon_review_full_csv/{split}.csv", URL, archive="amazon_review_full_csv.tar.gz")
    )
