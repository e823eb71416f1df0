"""Captions of pictures in German and English."""

from __future__ import annotations

from functools import partial
from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of, line_pairs
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

_ADDRESS = "https://raw.githubusercontent.com/neychev/small_DL_repo/master/datasets/Multi30k/"
URL = {
    "train": f"{_ADDRESS}training.tar.gz",
    "valid": f"{_ADDRESS}validation.tar.gz",
    "test": f"{_ADDRESS}mmt16_task1_test.tar.gz",
}
MD5 = {  # these are SHA-256 sums, under torchtext's name
    "train": "20140d013d05dd9a72dfde46478663ba05737ce983f478f960c1123c6671be5e",
    "valid": "a7aa20e9ebd5ba5adce7909498b94410996040857154dab029851af3a866da8c",
    "test": "6d1ca1dba99e2c5dd54cae1226ff11c2551e6ce63527ebb072a1f70f72a5cd36",
}
NUM_LINES = {"train": 29_000, "valid": 1_014, "test": 1_000}
DATASET_NAME = "Multi30k"
_PREFIX = {"train": "train", "valid": "val", "test": "test"}


def Multi30k(
    root: StrPath | None = None,
    split: Splits = ("train", "valid", "test"),
    language_pair: tuple[str, str] = ("de", "en"),
) -> Any:
    """Captions of pictures in German and English.

    Samples are (source sentence, target sentence).

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/Multi30k``, or with the files: the archives of the three splits, named as at the end
        of their addresses in ``URL``, or ``train.de``, ``train.en``, ``val.de``, ... of them.
    split : str or tuple of str
        One split, or several for a tuple of data sets.
    language_pair : ("de", "en") or ("en", "de")
        Of source and target.

    Raises
    ------
    AssertionError
        If the languages are others.
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    if sorted(language_pair) != ["de", "en"]:
        raise AssertionError(f"language_pair must be either ('de','en') or ('en', 'de'), got {language_pair}")
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), partial(_read, language_pair=language_pair))


def _read(folder: Folder, split: str, language_pair: tuple[str, str]) -> TextDataset:
    archive = URL[split].rpartition("/")[2]
    files = [folder.file(f"{_PREFIX[split]}.{language}", URL[split], archive=archive) for language in language_pair]
    return TextDataset(line_pairs, *files)
