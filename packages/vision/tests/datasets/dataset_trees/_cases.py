"""The table of trees, and pictures to fill them with."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

CASES: list["Case"] = []


@dataclass(frozen=True)
class Case:
    """One way to read a tree: the data set's name, what writes the tree, and the arguments after ``root``."""

    name: str
    write: Callable[[Path], None]
    length: int
    arguments: dict[str, Any] = field(default_factory=dict)
    needs: str = ""  # a package that the reader needs
    root: str = ""  # the folder to give as root, relative to the tree

    def __str__(self) -> str:
        return "-".join([self.name, *(str(value).rpartition("/")[2] for value in self.arguments.values())])

    def keywords(self, folder: Path) -> dict[str, Any]:
        """The arguments, with ``{}`` in them the folder of the tree."""
        return {
            name: value.format(folder) if isinstance(value, str) else value for name, value in self.arguments.items()
        }


def tree(name: str, length: int, /, needs: str = "", root: str = "", **arguments: Any) -> Callable[..., Any]:
    """Put a function that writes a tree into the table; it may stand there several times."""

    def register(write: Callable[[Path], None]) -> Callable[[Path], None]:
        CASES.append(Case(name, write, length, arguments, needs, root))
        return write

    return register


def noise(seed: object, *shape: int, below: int = 256) -> np.ndarray:
    """Return numbers that depend on the seed alone."""
    return np.random.default_rng(zlib.crc32(str(seed).encode())).integers(0, below, shape)


def picture(path: Path, width: int = 8, height: int = 6, channels: int = 3) -> None:
    """Write a picture of noise, which depends on the file's name alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = noise(path.name, height, width, channels).astype(np.uint8)
    Image.fromarray(pixels if channels > 1 else pixels[..., 0]).save(path)


def text(path: Path, *lines: object) -> None:
    """Write lines to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
