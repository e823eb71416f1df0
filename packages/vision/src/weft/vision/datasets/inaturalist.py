"""iNaturalist: plants and animals by species."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from weft.vision.datasets._published import Archive, Published, as_list, one_or_all, open_picture
from weft.vision.datasets.utils import StrPath, list_dir, verify_str_arg
from weft.vision.datasets.vision import Transform

CATEGORIES_2021 = ["kingdom", "phylum", "class", "order", "family", "genus"]


class INaturalist(Published):
    """Up to 2.7 million pictures of 10,000 species, with their place in the tree of life.

    Samples are (PIL picture, target). The files are in ``root/<version>``: of 2021 in folders such as
    ``00000_Animalia_Annelida_Clitellata_Haplotaxida_Lumbricidae_Lumbricus_terrestris``, before in ``Aves/<species>``.

    Parameters
    ----------
    root : path
    version : {"2017", "2018", "2019", "2021_train", "2021_train_mini", "2021_valid"}
    target_type : str or list of str
        "full" for the number of the species; of 2021 also "kingdom", "phylum", "class", "order", "family", "genus",
        before "super". Of a list the target is a tuple.
    transform, target_transform : callable, optional
        Applied to the picture and to the target.
    download : bool, default False
        Fetch the files if they are missing.
    loader : callable, optional
        Makes a picture from a path; by default a PIL picture as the file has it.

    References
    ----------
    G. Van Horn et al.: The iNaturalist species classification and detection dataset. arXiv:1707.06642.
    """

    _address = "https://ml-inat-competition-datasets.s3.amazonaws.com/"
    _versions: ClassVar[dict[str, tuple[str, str]]] = {
        "2017": ("2017/train_val_images.tar.gz", "7c784ea5e424efaec655bd392f87301f"),
        "2018": ("2018/train_val2018.tar.gz", "b1c6952ce38f31868cc50ea72d066cc3"),
        "2019": ("2019/train_val2019.tar.gz", "c60a6e2962c9b8ccbd458d12c8582644"),
        "2021_train": ("2021/train.tar.gz", "e0526d53c7f7b2e3167b2b43bb2690ed"),
        "2021_train_mini": ("2021/train_mini.tar.gz", "db6ed8330e634445efc8fec83ae81442"),
        "2021_valid": ("2021/val.tar.gz", "f6f6e0e242e3d4c9569ba56400938afc"),
    }

    def __init__(
        self,
        root: StrPath,
        version: str = "2021_train",
        target_type: list[str] | str = "full",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Callable[[StrPath], Any] | None = None,
    ) -> None:
        self.version = verify_str_arg(version, "version", self._versions)
        folder = os.path.join(os.path.expanduser(root), version)
        super().__init__(folder, transform=transform, target_transform=target_transform)
        is_2021 = version.startswith("2021")
        ranks = ("full", *CATEGORIES_2021) if is_2021 else ("full", "super")
        self.target_type = [verify_str_arg(each, "target_type", ranks) for each in as_list(target_type)]
        self._obtain(folder, download=download)
        self.all_categories: list[str] = []
        self.categories_index: dict[str, dict[str, int]] = {}
        self.categories_map: list[dict[str, int]] = []
        (self._read_2021 if is_2021 else self._read_older)()
        self.index = [
            (number, name)
            for number, category in enumerate(self.all_categories)
            for name in sorted(os.listdir(os.path.join(self.root, category)))
        ]
        self.loader = loader

    def _read_2021(self) -> None:
        """Fill the tables of categories from the folders' names, which have the species' whole descent."""
        self.all_categories = list_dir(self.root)
        self.categories_index = {rank: {} for rank in CATEGORIES_2021}
        for number, name in enumerate(self.all_categories):
            first, *descent = name.split("_")
            if len(descent) != 7 or first != f"{number:05d}":
                raise RuntimeError(
                    f"INaturalist: the folder {name!r} in {self.root} must be named {number:05d}, six ranks and the "
                    "species, with _ between them"
                )
            ids = {}
            for rank, taxon in zip(CATEGORIES_2021, descent[:6], strict=True):
                known = self.categories_index[rank]
                ids[rank] = known.setdefault(taxon, len(known))
            self.categories_map.append(ids)

    def _read_older(self) -> None:
        """Fill the tables of categories from two levels of folders; the inner ones are numbers but in 2017."""
        found: dict[int, tuple[int, str]] = {}
        self.categories_index = {"super": {}}
        for number, above in enumerate(list_dir(self.root)):
            self.categories_index["super"][above] = number
            for name in list_dir(os.path.join(self.root, above)):
                if self.version != "2017" and not name.isdecimal():
                    raise RuntimeError(f"INaturalist: the folder {above}/{name} in {self.root} must be a number")
                category = len(found) if self.version == "2017" else int(name)
                if category in found:
                    raise RuntimeError(f"INaturalist: {self.root} has category {category} twice")
                found[category] = number, os.path.join(above, name)
        for category in range(len(found)):
            if category not in found:
                raise RuntimeError(f"INaturalist: {self.root} lacks category {category}")
            self.categories_map.append({"super": found[category][0]})
            self.all_categories.append(found[category][1])

    def download(self) -> None:
        """Fetch the archive of this version, check it by its MD5 sum, and unpack it."""
        path, md5 = self._versions[self.version]
        folder = Path(self.root).parent
        Archive(self._address + path, md5, f"{self.version}.tgz").unpack_into(folder)
        unpacked = folder / Path(path).name.removesuffix(".tar.gz")
        if unpacked != Path(self.root):
            os.rename(unpacked, self.root)

    def category_name(self, category_type: str, category_id: int) -> str:
        """Return the name of a category by its number and its rank: "full", or a rank of ``target_type``."""
        if category_type == "full":
            return self.all_categories[category_id]
        if category_type not in self.categories_index:
            raise ValueError(f"INaturalist.category_name: there is no rank {category_type!r} in version {self.version}")
        for name, number in self.categories_index[category_type].items():
            if number == category_id:
                return name
        raise ValueError(f"INaturalist.category_name: {category_type} has no category {category_id}")

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, target)."""
        category, name = self.index[index]
        path = os.path.join(self.root, self.all_categories[category], name)
        picture = open_picture(path) if self.loader is None else self.loader(path)
        ids = {"full": category, **self.categories_map[category]}
        return self._apply(picture, one_or_all([ids[each] for each in self.target_type]))

    def __len__(self) -> int:
        """Return the number of pictures."""
        return len(self.index)
