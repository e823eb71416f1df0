"""TED talks with their translations, of 2017."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of
from weft.text.datasets._iwslt import check_pair, find_talks, sentence_pairs, talk_files
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = (
    "https://fbk.sharepoint.com/sites/MTUnit/_layouts/15/download.aspx?SourceUrl=%2Fsites%2FMTUnit%2FShared%20Documents"
    "%2Fwebsites%2FWIT3%2Dlibrary%2F2017%2D01%2Dtrnmted%2Etgz"
)
MD5 = "aca701032b1c4411afc4d9fa367796ba"
NUM_LINES = {
    "train": {
        "train": {
            ("en", "nl"): 237_240,
            ("de", "en"): 206_112,
            ("en", "it"): 231_619,
            ("en", "ro"): 220_538,
            ("de", "ro"): 201_455,
            ("nl", "ro"): 206_920,
            ("it", "ro"): 217_551,
            ("de", "nl"): 213_628,
            ("de", "it"): 205_465,
            ("it", "nl"): 233_415,
        },
    },
}
DATASET_NAME = "IWSLT2017"
SUPPORTED_DATASETS: dict[str, Any] = {
    "valid_test": ["dev2010", "tst2010"],
    "language_pair": {
        "en": ["nl", "de", "it", "ro"],
        "ro": ["de", "en", "nl", "it"],
        "de": ["ro", "en", "nl", "it"],
        "it": ["en", "nl", "de", "ro"],
        "nl": ["de", "en", "it", "ro"],
    },
    "year": 17,
}
_ARCHIVE = "2017-01-trnmted.tgz"
_INNER = "texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo.tgz"
_SETS = {"train": "train", "valid": "dev2010", "test": "tst2010"}


def IWSLT2017(
    root: StrPath | None = None,
    split: Splits = ("train", "valid", "test"),
    language_pair: Sequence[str] = ("de", "en"),
) -> Any:
    """TED talks with their translations, of 2017.

    Samples are (source sentence, target sentence), with their line breaks.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/IWSLT2017``, or with ``2017-01-trnmted.tgz``, packed or unpacked.
    split : str or tuple of str
        One split, or several for a tuple of data sets.
    language_pair : (str, str), default ("de", "en")
        Source and target: two of English, Dutch, German, Italian and Romanian.

    Raises
    ------
    ValueError
        If there is no such translation.
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    languages = check_pair(language_pair, SUPPORTED_DATASETS["language_pair"])

    def read(folder: Folder, split: str) -> TextDataset:
        names = talk_files(SUPPORTED_DATASETS["year"], _SETS[split], languages)
        return TextDataset(sentence_pairs, *(find_talks(folder, name, _INNER, _ARCHIVE, URL) for name in names))

    return datasets_of(DATASET_NAME, root, split, tuple(_SETS), read)
