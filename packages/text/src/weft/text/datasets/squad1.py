"""Questions about paragraphs of Wikipedia's articles."""

from __future__ import annotations

from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of, questions
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = {
    "train": "https://rajpurkar.github.io/SQuAD-explorer/dataset/train-v1.1.json",
    "dev": "https://rajpurkar.github.io/SQuAD-explorer/dataset/dev-v1.1.json",
}
MD5 = {"train": "981b29407e0affa3b1b156f72073b945", "dev": "3e85deb501d4e538b6bc56f786231552"}
NUM_LINES = {"train": 87_599, "dev": 10_570}
DATASET_NAME = "SQuAD1"


def SQuAD1(root: StrPath | None = None, split: Splits = ("train", "dev")) -> Any:
    """Questions about paragraphs of Wikipedia's articles.

    Samples are (context, question, answers, their first characters in the context), both of the last lists.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/SQuAD1``, or with the files: ``train-v1.1.json`` and ``dev-v1.1.json``.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    return TextDataset(questions, folder.file(f"{split}-v1.1.json", URL[split]))
