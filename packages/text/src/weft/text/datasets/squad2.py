"""Questions about paragraphs of Wikipedia's articles, some without an answer."""

from __future__ import annotations

from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of, questions
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = {
    "train": "https://rajpurkar.github.io/SQuAD-explorer/dataset/train-v2.0.json",
    "dev": "https://rajpurkar.github.io/SQuAD-explorer/dataset/dev-v2.0.json",
}
MD5 = {"train": "62108c273c268d70893182d5cf8df740", "dev": "246adae8b7002f8679c027697b0b7cf8"}
NUM_LINES = {"train": 130_319, "dev": 11_873}
DATASET_NAME = "SQuAD2"


def SQuAD2(root: StrPath | None = None, split: Splits = ("train", "dev")) -> Any:
    """Questions about paragraphs of Wikipedia's articles, some without an answer.

    Samples are (context, question, answers, their first characters in the context), both of the last lists; without an
    answer ``['']`` and ``[-1]``.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/SQuAD2``, or with the files: ``train-v2.0.json`` and ``dev-v2.0.json``.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    return TextDataset(questions, folder.file(f"{split}-v2.0.json", URL[split]))
