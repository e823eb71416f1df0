"""Pairs of sentences: do they say the same."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from weft.text.datasets._files import Folder, Splits, TextFile, datasets_of
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = {
    "train": "https://dl.fbaipublicfiles.com/senteval/senteval_data/msr_paraphrase_train.txt",
    "test": "https://dl.fbaipublicfiles.com/senteval/senteval_data/msr_paraphrase_test.txt",
}
MD5 = {"train": "793daf7b6224281e75fe61c1f80afe35", "test": "e437fdddb92535b820fe8852e2df8a49"}
NUM_LINES = {"train": 4_076, "test": 1_725}
DATASET_NAME = "MRPC"


def MRPC(root: StrPath | None = None, split: Splits = ("train", "test")) -> Any:
    """Pairs of sentences: do they say the same.

    Samples are (1 if they do and else 0, first sentence, second sentence).

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/MRPC``, or with the files: ``msr_paraphrase_train.txt`` and
        ``msr_paraphrase_test.txt``.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    return TextDataset(_sentence_pairs, folder.file(f"msr_paraphrase_{split}.txt", URL[split]))


def _sentence_pairs(file: TextFile) -> Iterator[tuple[int, str, str]]:
    for row in file.rows(skip=1, delimiter="\t", quoting=csv.QUOTE_NONE):
        yield int(row[0]), row[3], row[4]
