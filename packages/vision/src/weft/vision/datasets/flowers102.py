"""Flowers 102: flowers of the United Kingdom."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from weft.vision.datasets._published import Archive, ImageList, Loader, load_mat
from weft.vision.datasets.folder import default_loader
from weft.vision.datasets.utils import StrPath, download_url, verify_str_arg
from weft.vision.datasets.vision import Transform

_CLASSES = """
pink primrose, hard-leaved pocket orchid, canterbury bells, sweet pea, english marigold, tiger lily, moon orchid,
bird of paradise, monkshood, globe thistle, snapdragon, colt's foot, king protea, spear thistle, yellow iris,
globe-flower, purple coneflower, peruvian lily, balloon flower, giant white arum lily, fire lily, pincushion flower,
fritillary, red ginger, grape hyacinth, corn poppy, prince of wales feathers, stemless gentian, artichoke, sweet
william, carnation, garden phlox, love in the mist, mexican aster, alpine sea holly, ruby-lipped cattleya, cape
flower, great masterwort, siam tulip, lenten rose, barbeton daisy, daffodil, sword lily, poinsettia, bolero deep
blue, wallflower, marigold, buttercup, oxeye daisy, common dandelion, petunia, wild pansy, primula, sunflower,
pelargonium, bishop of llandaff, gaura, geranium, orange dahlia, pink-yellow dahlia?, cautleya spicata, japanese
anemone, black-eyed susan, silverbush, californian poppy, osteospermum, spring crocus, bearded iris, windflower,
tree poppy, gazania, azalea, water lily, rose, thorn apple, morning glory, passion flower, lotus, toad lily,
anthurium, frangipani, clematis, hibiscus, columbine, desert-rose, tree mallow, magnolia, cyclamen, watercress,
canna lily, hippeastrum, bee balm, ball moss, foxglove, bougainvillea, camellia, mallow, mexican petunia, bromelia,
blanket flower, trumpet creeper, blackberry lily
"""


class Flowers102(ImageList):
    """8,189 pictures of flowers in 102 classes.

    Samples are (picture, class). The files are in ``root/flowers-102``: the folder ``jpg``, ``imagelabels.mat`` and
    ``setid.mat``, which SciPy reads.

    Parameters
    ----------
    root : path
    split : {"train", "val", "test"}
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Fetch the files if they are missing.
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    M.-E. Nilsback, A. Zisserman: Automated flower classification over a large number of classes. ICVGIP 2008.
    """

    classes = _CLASSES.strip().replace("\n", " ").split(", ")
    _address = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
    _archives = (Archive(_address + "102flowers.tgz", "52808999861908f626f3c1f4e79d11fa"),)
    _tables: ClassVar[dict[str, str]] = {
        "imagelabels.mat": "e0620be6f572b9609742df49c70aed4d",
        "setid.mat": "a5357ecc9cb78c4bef273ce3793fc85c",
    }
    _splits: ClassVar[dict[str, str]] = {"train": "trnid", "val": "valid", "test": "tstid"}

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform, target_transform, loader)
        self._split = verify_str_arg(split, "split", self._splits)
        folder = self._archives_folder
        self._obtain(folder / "jpg", *(folder / name for name in self._tables), download=download)
        numbers = load_mat(folder / "setid.mat")[self._splits[split]].ravel().tolist()
        labels = load_mat(folder / "imagelabels.mat")["labels"].ravel().tolist()
        self._take([(folder / "jpg" / f"image_{n:05d}.jpg", labels[n - 1] - 1) for n in numbers])  # both count from 1

    @property
    def _archives_folder(self) -> Path:
        return Path(self.root) / "flowers-102"

    def download(self) -> None:
        """Fetch the pictures and the two tables, and check them by their MD5 sums."""
        super().download()
        for name, md5 in self._tables.items():
            download_url(self._address + name, self._archives_folder, md5=md5)

    def extra_repr(self) -> str:
        """Return the line that names the part."""
        return f"split={self._split}"
