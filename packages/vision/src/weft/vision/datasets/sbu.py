"""SBU: photos of Flickr with what their owners wrote of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from weft.vision.datasets._published import Archive, Loader, Published, lines_of
from weft.vision.datasets.folder import default_loader
from weft.vision.datasets.utils import StrPath, download_url
from weft.vision.datasets.vision import Transform


class SBU(Published):
    """A million photos with captions.

    Samples are (picture, str). The files are in ``root/dataset``: two lists, of addresses and captions, and the photos.

    Parameters
    ----------
    root : path
    transform, target_transform : callable, optional
        Applied to the picture and to the caption.
    download : bool, default True
        Fetch the lists, and then each photo from its address, if the lists are missing.
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    V. Ordonez, G. Kulkarni, T. Berg: Im2Text: describing images using 1 million captioned photographs. NIPS 2011.
    """

    _archives = (
        Archive(
            "https://www.cs.rice.edu/~vo9/sbucaptions/SBUCaptionedPhotoDataset.tar.gz",
            "9aec147b3488753cf758b4d493422285",
        ),
    )

    def __init__(
        self,
        root: StrPath,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = True,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self._folder = Path(self.root) / "dataset"
        captions = self._folder / "SBU_captioned_photo_dataset_captions.txt"
        self._obtain(self._addresses, captions, download=download)
        photos = [os.path.basename(address) for address in lines_of(self._addresses)]
        pairs = zip(photos, lines_of(captions), strict=False)
        there = [(photo, caption) for photo, caption in pairs if (self._folder / photo).exists()]
        self.photos = [photo for photo, _ in there]
        self.captions = [caption for _, caption in there]

    @property
    def _addresses(self) -> Path:
        return self._folder / "SBU_captioned_photo_dataset_urls.txt"

    def download(self) -> None:
        """Fetch the lists, and then each photo; many are on Flickr no longer."""
        super().download()
        for address in lines_of(self._addresses):
            try:
                download_url(address, self._folder)
            except RuntimeError:
                continue

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, caption)."""
        return self._apply(self.loader(os.fspath(self._folder / self.photos[index])), self.captions[index])

    def __len__(self) -> int:
        """Return the number of photos that are there."""
        return len(self.photos)
