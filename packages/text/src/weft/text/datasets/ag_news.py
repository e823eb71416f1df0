"""News articles by their topic."""

from __future__ import annotations

from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of, labelled_rows
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = {
    "train": "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/train.csv",
    "test": "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/test.csv",
}
MD5 = {"train": "b1a00f826fdfbd249f79597b59e1dc12", "test": "d52ea96a97a2d943681189a97654912d"}
NUM_LINES = {"train": 120_000, "test": 7_600}
DATASET_NAME = "AG_NEWS"


def AG_NEWS(root: StrPath | None = None, split: Splits = ("train", "test")) -> Any:
    """News articles by their topic.

    Samples are (class, text), classes 1 (world), 2 (sports), 3 (business) and 4 (science).

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/AG_NEWS``, or with the files: ``train.csv`` and ``test.csv``.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    return TextDataset(labelled_rows, folder.file(f"{split}.csv", URL[split]))
