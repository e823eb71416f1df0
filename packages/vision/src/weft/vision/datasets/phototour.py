"""PhotoTour: patches of photos of three sights, and which of them show the same point."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import weft
from weft import Tensor
from weft.vision.datasets._published import Archive, Published, lines_of, open_picture
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform

_HARRIS = "http://matthewalunbrown.com/patchdata/"
_ALL = "http://icvl.ee.ic.ac.uk/vbalnt/"


class PhotoTour(Published):
    """Grey patches of 64 x 64 pixels around points of interest.

    Samples to train with are uint8 tensors of shape (64, 64); to test with (patch, patch, whether they show the same
    point). The files are in ``root/<name>``: pictures ``*.bmp`` of patches, ``info.txt`` and
    ``m50_100000_100000_0.txt``; what they have is kept in ``root/<name>.pt``.

    Parameters
    ----------
    root : path
    name : {"notredame", "yosemite", "liberty"}, or one of them with the ending "_harris"
    train : bool, default True
        All patches, or pairs of them.
    transform : callable, optional
        Applied to each patch.
    download : bool, default False
        Fetch the files if they are missing.

    Attributes
    ----------
    data : Tensor, uint8, shape (N, 64, 64)
    labels : Tensor, int64, shape (N,)
        The point that a patch shows.
    matches : Tensor, int64, shape (M, 3)
        Numbers of two patches, and 1 if they show the same point.
    mean, std : float
        Of the values divided by 255.

    References
    ----------
    S. Winder, M. Brown: Learning local image descriptors. CVPR 2007.
    """

    # address, MD5, patches, mean, standard deviation
    _sights: ClassVar[dict[str, tuple[str, str, int, float, float]]] = {
        "notredame_harris": (_HARRIS, "69f8c90f78e171349abdf0307afefe4d", 325295, 0.4854, 0.1864),
        "yosemite_harris": (_HARRIS, "a73253d1c6fbd3ba2613c45065c00d46", 450912, 0.4844, 0.1818),
        "liberty_harris": (_HARRIS, "c731fcfb3abb4091110d0ae8c7ba182c", 379587, 0.4437, 0.2019),
        "notredame": (_ALL, "509eda8535847b8c0a90bbb210c83484", 468159, 0.4854, 0.1864),
        "yosemite": (_ALL, "533b2e8eb7ede31be40abc317b2fd4f0", 633587, 0.4844, 0.1818),
        "liberty": (_ALL, "fdd9152f138ea5ef2091746689176414", 450092, 0.4437, 0.2019),
    }  # fmt: skip

    def __init__(
        self, root: StrPath, name: str, train: bool = True, transform: Transform | None = None, download: bool = False
    ) -> None:
        super().__init__(root, transform=transform)
        self.name = verify_str_arg(name, "name", self._sights)
        self.train = train
        _, _, self._count, self.mean, self.std = self._sights[name]
        kept = self._archives_folder.with_suffix(".pt")
        if not kept.exists():
            self._obtain(self._archives_folder / "info.txt", download=download)
            weft.save(self._read(), kept)
        self.data, self.labels, self.matches = weft.load(kept, weights_only=True)

    @property
    def _archives_folder(self) -> Path:
        return Path(self.root) / self.name

    def download(self) -> None:
        """Fetch the archive, check it by its MD5 sum, and unpack it."""
        address, md5, *_ = self._sights[self.name]
        Archive(f"{address}{self.name}.zip", md5).unpack_into(self._archives_folder)

    def _read(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the patches, their points, and the pairs."""
        folder = self._archives_folder
        patches = np.concatenate([_patches(path) for path in sorted(folder.glob("*.bmp"))])[: self._count]
        points = [int(line.split()[0]) for line in lines_of(folder / "info.txt")]
        rows = [line.split() for line in lines_of(folder / "m50_100000_100000_0.txt")]
        pairs = [[int(row[0]), int(row[3]), int(row[1] == row[4])] for row in rows]  # patch, point, _, patch, point, _
        return weft.from_numpy(patches), weft.tensor(points), weft.tensor(pairs)

    def __getitem__(self, index: int) -> Any:
        """Return a patch, or (patch, patch, whether they show the same point)."""
        if self.train:
            return self._transformed(index)
        first, second, same = self.matches[index]
        return self._transformed(int(first)), self._transformed(int(second)), same

    def _transformed(self, patch: int) -> Any:
        return self.data[patch] if self.transform is None else self.transform(self.data[patch])

    def __len__(self) -> int:
        """Return the number of patches, or of pairs."""
        return len(self.data if self.train else self.matches)

    def extra_repr(self) -> str:
        """Return the line that names the part."""
        return f"Split: {'Train' if self.train else 'Test'}"


def _patches(path: Path) -> np.ndarray[Any, Any]:
    """Return the patches of a picture, row by row: (N, 64, 64)."""
    pixels = np.asarray(open_picture(path, "L"))
    rows, columns = pixels.shape[0] // 64, pixels.shape[1] // 64
    return pixels.reshape(rows, 64, columns, 64).swapaxes(1, 2).reshape(-1, 64, 64)
