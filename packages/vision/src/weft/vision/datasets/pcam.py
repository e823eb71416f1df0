"""PatchCamelyon: lymph nodes under the microscope, with a tumour or without."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from PIL import Image

from weft.vision.datasets._published import Published
from weft.vision.datasets.utils import StrPath, download_file_from_google_drive, extract_archive, verify_str_arg
from weft.vision.datasets.vision import Transform


class PCAM(Published):
    """327,680 pictures of 96 x 96 pixels; the class is 1 if there is a tumour in the middle.

    Samples are (PIL picture of mode "RGB", 0 or 1). The files are in ``root/pcam``, and the package h5py reads them.

    Parameters
    ----------
    root : path
    split : {"train", "test", "val"}
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Fetch the files from Google Drive if they are missing.

    Raises
    ------
    RuntimeError
        If h5py is not installed, or files are missing.

    References
    ----------
    B. Veeling et al.: Rotation equivariant CNNs for digital pathology. arXiv:1806.03962.
    """

    _files: ClassVar[dict[str, tuple[tuple[str, str, str], tuple[str, str, str]]]] = {  # name, id, MD5
        "train": (
            ("train_x", "1Ka0XfEMiwgCYPdTI-vv6eUElOBnKFKQ2", "1571f514728f59376b705fc836ff4b63"),
            ("train_y", "1269yhu3pZDP8UYFQs-NYs3FPwuK-nGSG", "35c2d7259d906cfc8143347bb8e05be7"),
        ),
        "test": (
            ("test_x", "1qV65ZqZvWzuIVthK8eVDhIwrbnsJdbg_", "d8c2d60d490dbd479f8199bdfa0cf6ec"),
            ("test_y", "17BHrSrwWKjYsOgTMmoqrIjDy6Fa2o_gP", "60a7035772fbdb7f34eb86d4420cf66a"),
        ),
        "val": (
            ("valid_x", "1hgshYGWK8V-eGRy8LToWJJgDU_rXWVJ3", "d5b63470df7cfa627aeec8b9dc0c066e"),
            ("valid_y", "1bH8ZRbhSVAhScTS0p9-ZzGnX91cHT3uO", "2b85f58b927af9964a4c15b8f7e8f179"),
        ),
    }

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        try:
            import h5py
        except ModuleNotFoundError as error:
            raise RuntimeError("PCAM: h5py reads the files, and is not installed: pip install h5py") from error
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", self._files)
        self._open = h5py.File
        self._folder = Path(self.root) / "pcam"
        self._images_file, self._targets_file = (
            self._folder / f"camelyonpatch_level_2_split_{name}.h5" for name, _, _ in self._files[split]
        )
        self._obtain(self._images_file, self._targets_file, download=download)

    def download(self) -> None:
        """Fetch the files of this part from Google Drive, check them by their MD5 sums, and unpack them."""
        for name, file_id, md5 in self._files[self._split]:
            archive = f"camelyonpatch_level_2_split_{name}.h5.gz"
            download_file_from_google_drive(file_id, self._folder, archive, md5)
            extract_archive(self._folder / archive)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, class)."""
        with self._open(self._images_file) as images, self._open(self._targets_file) as targets:
            picture = Image.fromarray(images["x"][index]).convert("RGB")
            target = int(targets["y"][index, 0, 0, 0])
        return self._apply(picture, target)

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        with self._open(self._images_file) as images:
            return int(images["x"].shape[0])
