"""TED talks with their translations, of 2016."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.text.datasets._files import Folder, Splits, datasets_of
from weft.text.datasets._iwslt import check_pair, find_talks, sentence_pairs, talk_files
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "https://drive.google.com/uc?id=1l5y6Giag9aRPwGtuZHswh3w5v3qEz8D8"
MD5 = "c393ed3fc2a1b0f004b3331043f615ae"
NUM_LINES = {
    "train": {
        "train": {("ar", "en"): 224_126, ("de", "en"): 196_884, ("en", "fr"): 220_400, ("cs", "en"): 114_390},
    },
}
DATASET_NAME = "IWSLT2016"
SUPPORTED_DATASETS: dict[str, Any] = {
    "valid_test": ["dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014"],
    "language_pair": {
        "en": ["ar", "de", "fr", "cs"],
        "ar": ["en"],
        "fr": ["en"],
        "de": ["en"],
        "cs": ["en"],
    },
    "year": 16,
}
_ARCHIVE = "2016-01.tgz"


def IWSLT2016(
    root: StrPath | None = None,
    split: Splits = ("train", "valid", "test"),
    language_pair: Sequence[str] = ("de", "en"),
    valid_set: str = "tst2013",
    test_set: str = "tst2014",
) -> Any:
    """TED talks with their translations, of 2016.

    Samples are (source sentence, target sentence), with their line breaks.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/IWSLT2016``, or with ``2016-01.tgz``, packed or unpacked.
    split : str or tuple of str
        One split, or several for a tuple of data sets.
    language_pair : (str, str), default ("de", "en")
        Source and target: English to or from Arabic, German, French or Czech.
    valid_set, test_set : str
        "dev2010", or "tst2010" to "tst2014"; there is none of 2014 in Czech.

    Raises
    ------
    ValueError
        If there is no such translation or set.
    FileNotFoundError
        If the files are not there; it says what to put where.
    """
    languages = check_pair(language_pair, SUPPORTED_DATASETS["language_pair"])
    sets = {"train": "train", "valid": _checked("valid_set", valid_set, languages)}
    sets["test"] = _checked("test_set", test_set, languages)

    def read(folder: Folder, split: str) -> TextDataset:
        source, target = languages
        inner = f"texts/{source}/{target}/{source}-{target}.tgz"
        names = talk_files(SUPPORTED_DATASETS["year"], sets[split], languages)
        return TextDataset(sentence_pairs, *(find_talks(folder, name, inner, _ARCHIVE, URL) for name in names))

    return datasets_of(DATASET_NAME, root, split, ("train", "valid", "test"), read)


def _checked(argument: str, name: str, languages: tuple[str, str]) -> str:
    there = [each for each in SUPPORTED_DATASETS["valid_test"] if each != "tst2014" or "cs" not in languages]
    if name not in there:
        raise ValueError(f"{argument} '{name}' is not valid for the language pair {languages}. Supported are {there}")
    return name
