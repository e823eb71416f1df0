"""Transforms of pictures in bytes, 375 x 500 pixels: weft.vision's and torchvision's."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from rounds import Effort

from suites.vision import vision_of

EFFORT = Effort(rounds=9, turns=2, seconds=0.1)
PICTURES = 20
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def over(
    lib: Any, make: Callable[[Any], Callable[[Any], Any]], size: tuple[int, int] = (375, 500)
) -> Callable[[], Any]:
    """Some pictures through a transform, which draws the same numbers each time."""
    transform = make(importlib.import_module(f"{vision_of(lib).__name__}.transforms.v2"))
    pixels = np.random.default_rng(0).integers(0, 256, (PICTURES, 3, *size), dtype=np.uint8)
    pictures = [lib.from_numpy(each) for each in pixels]

    def run() -> None:
        lib.manual_seed(0)
        for picture in pictures:
            transform(picture)

    return run


def training(lib: Any) -> Callable[[], Any]:
    """What classifiers are trained with: a random part in 224 x 224, flipped or not, as normalized floats."""

    def make(v2: Any) -> Any:
        scaled = [v2.ToDtype(lib.float32, scale=True), v2.Normalize(MEAN, STD)]
        return v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), *scaled])

    return over(lib, make)


def evaluation(lib: Any) -> Callable[[], Any]:
    """What classifiers are evaluated with: the middle of the picture in 256 pixels, as normalized floats."""

    def make(v2: Any) -> Any:
        scaled = [v2.ToDtype(lib.float32, scale=True), v2.Normalize(MEAN, STD)]
        return v2.Compose([v2.Resize(256), v2.CenterCrop(224), *scaled])

    return over(lib, make)


CASES: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "random resized crop, flip, to float, normalize": training,
    "resize, center crop, to float, normalize": evaluation,
    "resize to 224 x 224": lambda lib: over(lib, lambda v2: v2.Resize((224, 224))),
    "resize to 224 x 224, bicubic": lambda lib: over(lib, lambda v2: v2.Resize((224, 224), interpolation="bicubic")),
    "random resized crop": lambda lib: over(lib, lambda v2: v2.RandomResizedCrop(224)),
    "flip": lambda lib: over(lib, lambda v2: v2.RandomHorizontalFlip(p=1.0), (224, 224)),
}
