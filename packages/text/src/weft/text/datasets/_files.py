"""Finding the published files of a data set, as they are or in their archives, and reading them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from weft.text.datasets._stream import TextDataset
from weft.text.utils import StrPath, cache_folder

Splits = str | tuple[str, ...]

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


class TextFile(NamedTuple):
    """A file on disk, or the member of an archive that ends in a path; ``.gz`` and ``.xz`` are unpacked."""

    path: Path
    member: str | None = None

    @contextmanager
    def bytes(self) -> Iterator[IO[bytes]]:
        """Open the file for its bytes."""
        if self.member is not None:
            with member(self.path, self.member) as file:
                yield file
        else:
            with _OPENERS.get(self.path.suffix, open)(self.path, "rb") as file:
                yield file

    @contextmanager
    def text(self) -> Iterator[IO[str]]:
        """Open the file for its text, UTF-8."""
        with self.bytes() as file, io.TextIOWrapper(file, encoding="utf-8") as text:
            yield text

    def lines(self) -> Iterator[str]:
        """Yield the lines, each with its line break."""
        with self.text() as file:
            yield from file

    def rows(self, skip: int = 0, **options: Any) -> Iterator[list[str]]:
        """Yield the rows of a table that are not empty, but the first ``skip``; options as of `csv.reader`."""
        with self.text() as file:
            for _ in range(skip):
                next(file, None)
            yield from filter(None, csv.reader(file, **options))

    def json(self) -> Any:
        """Return what a JSON file has."""
        with self.bytes() as file:
            return json.load(file)


class Folder(NamedTuple):
    """Where the files of a data set may be: in ``datasets/<name>`` as torchtext has them, ``<name>``, or the root."""

    name: str
    root: Path

    @property
    def places(self) -> list[Path]:
        """The folders, the usual one first."""
        return [self.root / "datasets" / self.name, self.root / self.name, self.root]

    def file(self, path: str, url: str, archive: str | None = None, also: str | None = None) -> TextFile:
        """Return a file of the data set.

        Parameters
        ----------
        path : str
            Where it is when everything is unpacked.
        url : str
            What the error says to fetch.
        archive : str, optional
            The archive that it is a member of.
        also : str, optional
            Another name that it may have.

        Raises
        ------
        FileNotFoundError
            If neither is there; it says what to put where.
        """
        unpacked = [place / path for place in self.places]
        own = self.places[:2]  # the root may have a train.csv of another data set
        unpacked += [place / name for name in (os.path.basename(path), also) if name for place in own]
        for candidate in unpacked:
            if candidate.exists():
                return TextFile(candidate)
        for place in self.places if archive else ():
            if (place / str(archive)).is_file():
                return TextFile(place / str(archive), path)
        raise FileNotFoundError(self.missing(path, url, archive))

    def missing(self, path: str, url: str, archive: str | None) -> str:
        """Return what the error for a missing file says."""
        place = self.places[0]
        if archive is None:
            return f"{self.name}: there is no {place / path}; fetch {url} and put it there"
        return f"{self.name}: there is no {place / path}; fetch {url} and put it there as {archive}, packed or unpacked"


@contextmanager
def member(archive: Path, path: str) -> Iterator[IO[bytes]]:
    """Open a member of an archive by its path, below any folder; failing that, by its name.

    Raises
    ------
    FileNotFoundError
        If there is none.
    """
    for ending in dict.fromkeys((path, os.path.basename(path))):
        for name, opened in members(archive):
            if f"/{name}".endswith(f"/{ending}"):
                with opened() as file:
                    yield file
                return
    raise FileNotFoundError(f"there is no {path} in {archive}: is it the published file?")


def members(archive: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """Yield the paths of the files in a tar or zip archive, each with a function that opens it, in their order."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            for name in zipped.namelist():
                if not name.endswith("/") and "__MACOSX" not in name:  # where macOS keeps what is its own
                    yield name, partial(zipped.open, name)
    else:
        with tarfile.open(archive) as tarred:
            for entry in tarred:
                if entry.isfile():
                    yield entry.name, partial(_opened, tarred, entry)


def _opened(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    file = archive.extractfile(entry)
    assert file is not None  # it is a file
    return file


def datasets_of(
    name: str,
    root: StrPath | None,
    split: Splits,
    splits: Sequence[str],
    read: Callable[[Folder, str], TextDataset],
) -> Any:
    """Return the data set of a split, or the tuple of those of several.

    Parameters
    ----------
    name : str
    root : path or None
        The folder around `Folder.places`; None is weft's own for files that were fetched.
    split : str or tuple of str
    splits : sequence of str
        All that there are.
    read : callable
        From a `Folder` and a split to its data set.

    Raises
    ------
    TypeError
        If there is no such split.
    """
    wanted = (split,) if isinstance(split, str) else tuple(split)
    if not set(wanted) <= set(splits):
        raise TypeError(
            f"Given selection {wanted} of splits is not supported for dataset {name}. Please choose from "
            f"{tuple(splits)}."
        )
    found = tuple(read(folder_of(name, root), each) for each in wanted)
    return found[0] if isinstance(split, str) else found


def folder_of(name: str, root: StrPath | None) -> Folder:
    """Return where the files of a data set may be."""
    return Folder(name, Path(cache_folder() if root is None else root).expanduser())


# Forms that several data sets share -------------------------------------------------------------------------


def labelled_rows(file: TextFile) -> Iterator[tuple[int, str]]:
    """Yield (class, text) of a table with the class first; further columns are joined by a blank."""
    for label, *texts in file.rows():
        yield int(label), " ".join(texts)


def stripped_lines(file: TextFile) -> Iterator[str]:
    """Yield the lines without their line breaks."""
    return (line.strip("\r\n") for line in file.lines())


def tagged_sentences(file: TextFile, separator: str) -> Iterator[list[list[str]]]:
    """Yield the columns of each sentence: a token and its tags in each line, an empty line between sentences."""
    rows: list[list[str]] = []
    for line in file.lines():
        if stripped := line.strip():
            rows.append(stripped.split(separator))
        elif rows:
            yield columns(rows)
            rows = []
    if rows:
        yield columns(rows)


def columns(rows: list[list[str]]) -> list[list[str]]:
    """Return the columns of rows, which may be short at the end."""
    return [[row[place] for row in rows if place < len(row)] for place in range(max(map(len, rows)))]


def questions(file: TextFile) -> Iterator[tuple[str, str, list[str], list[int]]]:
    """Yield (context, question, answers, starts) of a file of SQuAD's; no answer is ``[""]`` at ``[-1]``."""
    for article in file.json()["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                answers = question["answers"] or [{"text": "", "answer_start": -1}]
                texts = [answer["text"] for answer in answers]
                yield paragraph["context"], question["question"], texts, [each["answer_start"] for each in answers]


def line_pairs(source: TextFile, target: TextFile) -> Iterator[tuple[str, str]]:
    """Yield the lines of two texts side by side, without their line breaks."""
    return zip(stripped_lines(source), stripped_lines(target))
