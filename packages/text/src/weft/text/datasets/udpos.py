"""Sentences with their parts of speech."""

from __future__ import annotations

from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of, tagged_sentences
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://bitbucket.org/sivareddyg/public/downloads/en-ud-v2.zip"
MD5 = "bdcac7c52d934656bae1699541424545"
NUM_LINES = {"train": 12_543, "valid": 2_002, "test": 2_077}
_FILES = {"train": "train.txt", "valid": "dev.txt", "test": "test.txt"}
DATASET_NAME = "UDPOS"


def UDPOS(root: StrPath | None = None, split: Splits = ("train", "valid", "test")) -> Any:
    """Sentences with their parts of speech.

    Samples are [tokens, universal tags, Penn Treebank's tags], lists of str.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/UDPOS``, or with the files: ``en-ud-v2.zip``, or the folder ``en-ud-v2`` of it.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    path = f"en-ud-v2/en-ud-tag.v2.{_FILES[split]}"
    file = folder.file(path, URL, archive="en-ud-v2.zip", also=_FILES[split])
    return TextDataset(tagged_sentences, file, "\t")
