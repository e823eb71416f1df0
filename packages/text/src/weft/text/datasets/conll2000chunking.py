"""Sentences in chunks: noun phrases, verb phrases, ...."""

from __future__ import annotations

from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of, tagged_sentences
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = {
    "train": "https://www.clips.uantwerpen.be/conll2000/chunking/train.txt.gz",
    "test": "https://www.clips.uantwerpen.be/conll2000/chunking/test.txt.gz",
}
MD5 = {"train": "6969c2903a1f19a83569db643e43dcc8", "test": "a916e1c2d83eb3004b38fc6fcd628939"}
NUM_LINES = {"train": 8_936, "test": 2_012}
DATASET_NAME = "CoNLL2000Chunking"


def CoNLL2000Chunking(root: StrPath | None = None, split: Splits = ("train", "test")) -> Any:
    """Sentences in chunks: noun phrases, verb phrases, ....

    Samples are [tokens, parts of speech, chunk tags], lists of str.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/CoNLL2000Chunking``, or with the files: ``train.txt.gz`` and ``test.txt.gz``, or the
        two unpacked.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    return TextDataset(tagged_sentences, folder.file(f"{split}.txt.gz", URL[split], also=f"{split}.txt"), " ")
