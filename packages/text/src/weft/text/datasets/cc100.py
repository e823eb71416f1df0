"""Monolingual text from the web in more than a hundred languages."""

from __future__ import annotations

from collections.abc import Iterator

from weft.text.datasets._files import TextFile, folder_of, stripped_lines
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "http://data.statmt.org/cc-100/%s.txt.xz"
MD5 = None
NUM_LINES = None
DATASET_NAME = "CC100"
VALID_CODES = frozenset(
    """
    am ar as az be bg bn bn_rom br bs ca cs cy da de el en eo es et eu fa ff fi fr fy ga gd gl gn gu ha he hi hi_rom hr
    ht hu hy id ig is it ja jv ka kk km kn ko ku ky la lg li ln lo lt lv mg mk ml mn mr ms my my_zaw ne nl no ns om or
    pa pl ps pt qu rm ro ru sa si sc sd sk sl so sq sr ss su sv sw ta ta_rom te te_rom th tl tn tr ug uk ur ur_rom uz
    vi wo xh yi yo zh-Hans zh-Hant zu
    """.split()
)


def CC100(root: StrPath | None = None, language_code: str = "en") -> TextDataset:
    """Monolingual text from the web in more than a hundred languages.

    Samples are (language code, line).

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/CC100``, or with the file ``<language_code>.txt.xz``, packed or unpacked.
    language_code : str, default "en"
        One of ``VALID_CODES``.

    Raises
    ------
    ValueError
        If there is no such language.
    FileNotFoundError
        If the file is not there; it says what to put where.
    """
    if language_code not in VALID_CODES:
        raise ValueError(f"Invalid language code {language_code}; expected one of {sorted(VALID_CODES)}")
    name = f"{language_code}.txt"
    file = folder_of(DATASET_NAME, root).file(f"{name}.xz", URL % language_code, also=name)
    return TextDataset(_lines, file, language_code)


def _lines(file: TextFile, language_code: str) -> Iterator[tuple[str, str]]:
    return ((language_code, line) for line in stripped_lines(file))
