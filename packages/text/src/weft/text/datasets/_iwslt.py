"""Talks and their translations, as the workshop IWSLT publishes them: text among tags, and archives in archives."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from weft.text.datasets._files import Folder, member

_TAGS = (
    "<url",
    "<keywords",
    "<talkid",
    "<description",
    "<reviewer",
    "<translator",
    "<title",
    "<speaker",
    "<doc",
    "</doc",
)


class Talks(NamedTuple):
    """A file of talks: by itself, in an archive, or in an archive that is in another."""

    path: Path
    name: str
    inner: str | None = None

    def content(self) -> bytes:
        """Return the bytes of the file."""
        if self.path.name == self.name:
            return self.path.read_bytes()
        if self.inner is None:
            with member(self.path, self.name) as file:
                return file.read()
        with member(self.path, self.inner) as file, tarfile.open(fileobj=io.BytesIO(file.read())) as archive:
            entry = next((each for each in archive if f"/{each.name}".endswith(f"/{self.name}")), None)
            packed = None if entry is None else archive.extractfile(entry)
            if packed is None:
                raise FileNotFoundError(f"there is no {self.name} in {self.inner} of {self.path}")
            return packed.read()

    def lines(self) -> list[str]:
        """Return the sentences, each with a line break at its end."""
        content = self.content().decode("utf-8")
        if self.name.endswith(".xml"):
            documents = ElementTree.fromstring(content)[0].iter("doc")
            return [f"{(seg.text or '').strip()}\n" for doc in documents for seg in doc.findall("seg")]
        lines = content.split("\n")[: -1 if content.endswith("\n") else None]
        return [f"{line.strip()}\n" for line in lines if not any(tag in line for tag in _TAGS)]


def find_talks(folder: Folder, name: str, inner: str, archive: str, url: str) -> Talks:
    """Return a file of talks.

    Parameters
    ----------
    folder : Folder
    name : str
        Of the file.
    inner : str
        The path, in the published archive, of the archive with it; unpacked, the file is in a folder of that name.
    archive, url : str
        The published archive.

    Raises
    ------
    FileNotFoundError
        If it is not there; it says what to put where.
    """
    top, packed = archive.removesuffix(".tgz"), inner.removesuffix(".tgz")
    for place in folder.places:
        for found in (Talks(place / top / packed / name, name), Talks(place / top / inner, name)):
            if found.path.is_file():
                return found
        if (place / archive).is_file():
            return Talks(place / archive, name, inner)
    raise FileNotFoundError(folder.missing(f"{top}/{packed}/{name}", url, archive))


def sentence_pairs(source: Talks, target: Talks) -> Iterator[tuple[str, str]]:
    """Yield the sentences of two languages side by side, with their line breaks as torchtext leaves them."""
    return zip(source.lines(), target.lines())


def talk_files(year: int, part: str, languages: Sequence[str]) -> list[str]:
    """Return the names of the files in two languages: of a set such as "tst2013", or "train"."""
    pair = "-".join(languages)
    if part == "train":
        return [f"train.tags.{pair}.{language}" for language in languages]
    return [f"IWSLT{year}.TED.{part}.{pair}.{language}.xml" for language in languages]


def check_pair(language_pair: Sequence[str], pairs: dict[str, list[str]]) -> tuple[str, str]:
    """Return source and target language; raise if there is no such translation."""
    if not isinstance(language_pair, (list, tuple)):
        raise ValueError(f"language_pair must be list or tuple but got {type(language_pair)} instead")
    if len(language_pair) != 2:
        raise AssertionError(f"language_pair must contain only 2 elements: src and tgt language; got {language_pair}")
    source, target = language_pair
    if source not in pairs:
        raise ValueError(f"src_language '{source}' is not valid. Supported source languages are {list(pairs)}")
    if target not in pairs[source]:
        raise ValueError(
            f"tgt_language '{target}' is not valid for the given src_language '{source}'. Supported target languages "
            f"are {pairs[source]}"
        )
    return source, target
