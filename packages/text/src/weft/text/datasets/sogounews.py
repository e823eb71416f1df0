"""Chinese news in Latin letters by their topic."""

from __future__ import annotations

from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of, labelled_rows
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbUkVqNEszd0pHaFE"
MD5 = "0c1700ba70b73f964dd8de569d3fd03e"
NUM_LINES = {"train": 450_000, "test": 60_000}
DATASET_NAME = "SogouNews"


def SogouNews(root: StrPath | None = None, split: Splits = ("train", "test")) -> Any:
    """Chinese news in Latin letters by their topic.

    Samples are (class, text), classes 1 to 5.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/SogouNews``, or with the files: ``sogou_news_csv.tar.gz``, or the folder
        ``sogou_news_csv`` of it.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    return TextDataset(labelled_rows, folder.file(f"sogou_news_csv/{split}.csv", URL, archive="sogou_news_csv.tar.gz"))
