"""News articles with their summaries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from weft.text.datasets._files import Folder, Splits, TextFile, datasets_of, members
from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath

_LISTS = "https://raw.githubusercontent.com/abisee/cnn-dailymail/master/url_lists/"
URL = {
    "cnn": "https://drive.google.com/uc?export=download&id=0BwmD_VLjROrfTHk4NFg2SndKcjQ",
    "dailymail": "https://drive.google.com/uc?export=download&id=0BwmD_VLjROrfM1BxdkxVaTY2bWs",
}
MD5 = {"cnn": "85ac23a1926a831e8f46a6b8eaf57263", "dailymail": "f9c5f565e8abe86c38bfa4ae8f96fd72"}
NUM_LINES = {"train": 287_227, "val": 13_368, "test": 11_490}
DATASET_NAME = "CNNDM"
_SPLIT_NAMES = {"train": "training", "val": "validation", "test": "test"}
_ENDS_OF_SENTENCES = (".", "!", "?", "'", "`", '"', "\u2019", "\u201d", ")")


def CNNDM(root: StrPath | None = None, split: Splits = ("train", "val", "test")) -> Any:
    """News articles of CNN and the Daily Mail with their summaries.

    Samples are (article, summary).

    Parameters
    ----------
    root : path, optional
        The folder with ``datasets/CNNDM``, or with the files: ``cnn_stories.tgz`` and ``dailymail_stories.tgz``, or the
        folders ``cnn`` and ``dailymail`` of them; and the lists of the splits, such as
        ``cnn_wayback_training_urls.txt``.
    split : str or tuple of str
        One split, or several for a tuple of data sets.

    Raises
    ------
    FileNotFoundError
        If the files are not there; it says what to put where.

    References
    ----------
    A. See, P. Liu, C. Manning: Get To The Point, arXiv:1704.04368.
    """
    return datasets_of(DATASET_NAME, root, split, tuple(NUM_LINES), _read)


def _read(folder: Folder, split: str) -> TextDataset:
    sources = []
    for source, url in URL.items():
        name = f"{source}_wayback_{_SPLIT_NAMES[split]}_urls.txt"
        stories = folder.file(f"{source}/stories", url, archive=f"{source}_stories.tgz")
        sources.append((stories, folder.file(name, _LISTS + name)))
    return TextDataset(_summaries, sources)


def _summaries(sources: list[tuple[TextFile, TextFile]]) -> Iterator[tuple[str, str]]:
    for stories, addresses in sources:
        wanted = {hashlib.sha1(line.strip().encode(), usedforsecurity=False).hexdigest() for line in addresses.lines()}
        for text in _stories(stories, wanted):
            yield _parts(text)


def _stories(stories: TextFile, wanted: set[str]) -> Iterator[str]:
    """Yield the texts of the stories that belong to a split; they are named by the hash of their address."""
    if stories.member is None:
        for path in sorted(stories.path.glob("*.story")):
            if path.stem in wanted:
                yield path.read_text(encoding="utf-8")
        return
    for name, opened in members(stories.path):
        story = PurePosixPath(name)
        if story.suffix == ".story" and story.stem in wanted:
            with opened() as file:
                yield file.read().decode()


def _parts(story: str) -> tuple[str, str]:
    """Return article and summary: the latter is what follows the first "@highlight"."""
    article: list[str] = []
    summary: list[str] = []
    part = article
    for line in map(str.strip, story.split("\n")):
        if line.startswith("@highlight"):
            part = summary
        elif line:
            ended = "@highlight" in line or line.endswith(_ENDS_OF_SENTENCES)
            part.append(line if ended else f"{line} .")  # captions of pictures have no full stop
    return " ".join(article), " ".join(summary)
