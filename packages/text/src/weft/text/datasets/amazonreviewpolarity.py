"""Amazon's reviews, bad and good ones."""

from __future__ import annotations

from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of, labelled_rows
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbaW12WVVZS2drcnM"
MD5 = "fe39f8b653cada45afd5792e0f0e8f9b"
NUM_LINES = {"train": 3_600_000, "test": 400_000}
DATASET_NAME = "AmazonReviewPolarity"


def AmazonReviewPolarity(root: StrPath | None = None, split: Splits = ("train", "test")) -> Any:
    """Amazon's reviews, bad and good ones.

    Samples are (class, text), classes 1 (bad) and 2 (good).

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/AmazonReviewPolarity``, or with the files: ``amazon_review_polarity_csv.tar.gz``, or
        the folder ``amazon_review_polarity_csv`` of it.
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
        folder.file(f"amazon_review_polarity_csv/{split}.csv", URL, archive="amazon_review_polarity_csv.tar.gz"),
    )
