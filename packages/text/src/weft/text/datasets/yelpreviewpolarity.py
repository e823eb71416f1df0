"""Yelp's reviews, bad and good ones."""

from __future__ import annotations

from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of, labelled_rows
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbNUpYQ2N3SGlFaDg"
MD5 = "620c8ae4bd5a150b730f1ba9a7c6a4d3"
NUM_LINES = {"train": 560_000, "test": 38_000}
DATASET_NAME = "YelpReviewPolarity"


def YelpReviewPolarity(root: StrPath | None = None, split: Splits = ("train", "test")) -> Any:
    """Yelp's reviews, bad and good ones.

    Samples are (class, text), classes 1 (bad) and 2 (good).

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/YelpReviewPolarity``, or with the files: ``yelp_review_polarity_csv.tar.gz``, or the
        folder ``yelp_review_polarity_csv`` of it.
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
        labelled_rows,
        folder.file(f"yelp_review_polarity_csv/{split}.csv", URL, archive="yelp_review_polarity_csv.tar.gz"),
    )
