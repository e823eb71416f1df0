"""Flickr8k and Flickr30k: photos with five captions each."""

from __future__ import annotations

import glob
import os
from collections import defaultdict
from html.parser import HTMLParser
from typing import Any

from weft.vision.datasets._published import Loader, lines_of
from weft.vision.datasets.folder import default_loader
from weft.vision.datasets.utils import StrPath
from weft.vision.datasets.vision import Transform, VisionDataset


class _Flickr(VisionDataset):
    """Photos by id, with their captions in ``annotations``."""

    def __init__(
        self,
        root: StrPath,
        ann_file: str,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.ann_file = os.path.expanduser(ann_file)
        self.loader = loader
        self.annotations = self._read_captions()
        self.ids = sorted(self.annotations)

    def _read_captions(self) -> dict[str, list[str]]:
        raise NotImplementedError

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, captions)."""
        name = self.ids[index]
        return self._apply(self.loader(self._path(name)), self.annotations[name])

    def _path(self, name: str) -> str:
        return os.path.join(self.root, name)

    def __len__(self) -> int:
        """Return the number of photos."""
        return len(self.ids)


class Flickr8k(_Flickr):
    """8,092 photos with their captions, which are in a page of HTML.

    Samples are (picture, list of str). To be had after registration from the University of Illinois.

    Parameters
    ----------
    root : path
        The folder of the photos.
    ann_file : path
        The page with the captions.
    transform, target_transform : callable, optional
        Applied to the picture and to the captions.
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    M. Hodosh, P. Young, J. Hockenmaier: Framing image description as a ranking task. JAIR 47, 2013.
    """

    def _read_captions(self) -> dict[str, list[str]]:
        parser = _CaptionsPage(self.root)
        with open(self.ann_file, encoding="utf-8") as file:
            parser.feed(file.read())
        return parser.annotations

    def _path(self, name: str) -> str:
        return name  # the ids are paths


class _CaptionsPage(HTMLParser):
    """Reads a table of links to photos (``<a>.../<id>/``), each followed by its captions (``<li>``)."""

    def __init__(self, root: StrPath) -> None:
        super().__init__()
        self._root = glob.escape(os.fspath(root))
        self._in_table = False
        self._tag: str | None = None
        self._photo: str | None = None
        self.annotations: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        self._in_table |= tag == "table"

    def handle_endtag(self, tag: str) -> None:
        self._tag = None
        self._in_table &= tag != "table"

    def handle_data(self, data: str) -> None:
        if not self._in_table:
            return
        if data == "Image Not Found":
            self._photo = None
        elif self._tag == "a":
            pattern = os.path.join(self._root, glob.escape(data.split("/")[-2]) + "_*.jpg")
            found = sorted(glob.glob(pattern))
            if not found:
                raise FileNotFoundError(f"Flickr8k: there is no {pattern}, which the captions speak of")
            self._photo = found[0]
            self.annotations[self._photo] = []
        elif self._tag == "li" and self._photo is not None:
            self.annotations[self._photo].append(data.strip())


class Flickr30k(_Flickr):
    """31,783 photos with their captions, in lines of ``<name>.jpg#<number><tab><caption>``.

    Samples are (picture, list of str); parameters as of `Flickr8k`. To be had after registration from the University
    of Illinois.

    References
    ----------
    P. Young, A. Lai, M. Hodosh, J. Hockenmaier: From image descriptions to visual denotations. TACL 2, 2014.
    """

    def _read_captions(self) -> dict[str, list[str]]:
        captions = defaultdict(list)
        for line in lines_of(self.ann_file):
            name, caption = line.split("\t")
            captions[name[:-2]].append(caption)
        return dict(captions)
