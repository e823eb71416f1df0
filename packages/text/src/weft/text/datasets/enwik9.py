"""The first 10^9 bytes of the English Wikipedia's XML."""

from __future__ import annotations

from weft.text.datasets._files import folder_of, stripped_lines
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

URL = "http://mattmahoney.net/dc/enwik9.zip"
MD5 = "3e773f8a1577fda2e27f871ca17f31fd"
NUM_LINES = {"train": 13_147_026}
DATASET_NAME = "EnWik9"


def EnWik9(root: StrPath | None = None) -> TextDataset:
    """The first 10^9 bytes of the English Wikipedia's XML, for `weft.text.data.filter_wikipedia_xml`.

    Samples are lines, str.

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/EnWik9``, or with the file ``enwik9.zip``, packed or unpacked.

    Raises
    ------
    FileNotFoundError
        If the file is not there; it says what to put where.
    """
    return TextDataset(stripped_lines, folder_of(DATASET_NAME, root).file("enwik9", URL, archive="enwik9.zip"))
