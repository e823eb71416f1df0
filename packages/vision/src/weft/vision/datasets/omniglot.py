"""Omniglot: characters of fifty alphabets, each drawn by twenty people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image

from weft.vision.datasets._published import Archive, ImageList, Loader, open_picture
from weft.vision.datasets.utils import StrPath, list_dir, list_files
from weft.vision.datasets.vision import Transform


def _load_gray(path: StrPath) -> Image.Image:
    return open_picture(path, "L")


class Omniglot(ImageList):
    """32,460 drawings of 1,623 characters.

    Samples are (PIL picture of mode "L", character). The files are in
    ``root/omniglot-py/images_background/<alphabet>/<character>`` and ``images_evaluation``.

    Parameters
    ----------
    root : path
    background : bool, default True
        The 30 alphabets to learn from, or the 20 to evaluate with.
    transform, target_transform : callable, optional
        Applied to the picture and to the character.
    download : bool, default False
        Fetch the files if they are missing.
    loader : callable, optional
        Makes a picture from a path.

    References
    ----------
    B. Lake, R. Salakhutdinov, J. Tenenbaum: Human-level concept learning through probabilistic program induction.
    Science 350, 2015.
    """

    def __init__(
        self,
        root: StrPath,
        background: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader | None = None,
    ) -> None:
        folder = str(Path(root).expanduser() / "omniglot-py")
        super().__init__(folder, transform, target_transform, loader or _load_gray)
        self.background = background
        self.target_folder = str(Path(self.root) / self._name)
        self._obtain(self.target_folder, download=download)
        samples: list[tuple[Any, int]] = []
        characters = [
            character
            for alphabet in list_dir(self.target_folder, prefix=True)
            for character in list_dir(alphabet, prefix=True)
        ]
        for label, character in enumerate(characters):
            samples += [(path, label) for path in list_files(character, ".png", prefix=True)]
        self._take(samples)

    @property
    def _name(self) -> str:
        return "images_background" if self.background else "images_evaluation"

    def download(self) -> None:
        """Fetch the archive of this part, check it by its MD5 sum, and unpack it."""
        md5 = "68d2efa1b9178cc56df9314c21c6e718" if self.background else "6b91aef0f799c5bb55b94e3f2daec811"
        address = f"https://raw.githubusercontent.com/brendenlake/omniglot/master/python/{self._name}.zip"
        Archive(address, md5).unpack_into(self.root)
