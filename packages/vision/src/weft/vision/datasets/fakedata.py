"""Random pictures: a data set to try a program with."""

from __future__ import annotations

from typing import Any

import weft
from weft.vision.datasets.vision import Transform, VisionDataset
from weft.vision.transforms.functional import to_pil_image


class FakeData(VisionDataset):
    """Pictures of noise with random classes; the same ones each time, whatever the state of the generator.

    Parameters
    ----------
    size : int, default 1000
        The number of samples.
    image_size : (channels, height, width), default (3, 224, 224)
    num_classes : int, default 10
    transform, target_transform : callable, optional
        Applied to the PIL picture and to the class.
    random_offset : int, default 0
        Added to the index to seed a sample: another offset, other data.
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, ...] = (3, 224, 224),
        num_classes: int = 10,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.image_size = image_size
        self.num_classes = num_classes
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, class)."""
        if index >= self.size:
            raise IndexError(f"FakeData: index {index} is out of range; there are {self.size} samples")
        generator = weft.Generator().manual_seed(index + self.random_offset)
        noise = weft.randn(*self.image_size, generator=generator)
        target = weft.randint(0, self.num_classes, (1,), dtype=weft.int64, generator=generator)
        return self._apply(to_pil_image(noise), int(target[0]))

    def __len__(self) -> int:
        """Return the number of samples."""
        return self.size
