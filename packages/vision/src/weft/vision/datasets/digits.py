"""Scikit-learn's handwritten digits: a real data set that needs no download."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from PIL import Image

from weft.vision.datasets.vision import Transform, VisionDataset


class Digits(VisionDataset):
    """1,797 pictures of handwritten digits, 8 x 8 pixels, that come with scikit-learn.

    They are the test part of the UCI "Optical Recognition of Handwritten Digits" data: 13 people wrote them.
    Samples are (PIL picture of mode "L", class from 0 to 9), the grey levels stretched from 0..16 to 0..255.

    Parameters
    ----------
    train : bool, default True
        The training part (1,442 pictures) or the test part (355). Of each class every fifth picture, in the file's
        order, is for testing: both parts have all classes and all writers, and never change.
    transform, target_transform : callable, optional
        Applied to the picture and to the class.

    Attributes
    ----------
    data : numpy.ndarray, uint8, shape (N, 8, 8)
    targets : numpy.ndarray, int64, shape (N,)
    classes : list of str

    Raises
    ------
    ModuleNotFoundError
        If scikit-learn is not installed.

    References
    ----------
    E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits. UCI Machine Learning Repository, 1998.
    """

    classes: ClassVar[list[str]] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]

    def __init__(
        self,
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.train = train
        levels, classes = _load_digits()
        part = _is_test(classes) != train
        self.data = np.rint(levels[part] * (255 / 16)).astype(np.uint8)
        self.targets = classes[part].astype(np.int64)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, class)."""
        return self._apply(Image.fromarray(self.data[index]), int(self.targets[index]))

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        return len(self.data)

    def extra_repr(self) -> str:
        """Return the line that names the part."""
        return f"Split: {'Train' if self.train else 'Test'}"


def _load_digits() -> tuple[np.ndarray, np.ndarray]:
    """Return (levels 0..16 of shape (1797, 8, 8), classes)."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Digits: the pictures come with scikit-learn, which is not installed: pip install scikit-learn",
            name=error.name,
        ) from error
    bunch = load_digits()
    return bunch.images, bunch.target


def _is_test(classes: np.ndarray) -> np.ndarray:
    """Mark every fifth picture of each class."""
    nth = np.zeros(len(classes), dtype=np.int64)  # which one of its class a picture is
    for label in np.unique(classes):
        members = classes == label
        nth[members] = np.arange(members.sum())
    return np.equal(nth % 5, 4)
