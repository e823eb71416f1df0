"""Wikipedia's good articles as a text for language models."""

from __future__ import annotations

from typing import Any

from weft.text.datasets._files import Folder, Splits, TextFile, datasets_of
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://s3.amazonaws.com/research.metamind.io/wikitext/wikitext-2-v1.zip"
MD5 = "542ccefacc6c27f945fb54453812b3cd"
NUM_LINES = {"train": 36_718, "valid": 3_760, "test": 4_358}
DATASET_NAME = "WikiText2"


def WikiText2(root: StrPath | None = None, split: Splits = ("train", "valid", "test")) -> Any:
    """Wikipedia's good articles as a text for language models.

    Samples are lines with their line breaks, str.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/WikiText2``, or with the files: ``wikitext-2-v1.zip``, or the folder ``wikitext-2``
        of it.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    return TextDataset(TextFile.lines, folder.file(f"wikitext-2/wiki.{split}.tokens", URL, archive="wikitext-2-v1.zip"))
