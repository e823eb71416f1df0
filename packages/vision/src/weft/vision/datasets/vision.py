"""What every vision data set has in common: a root folder and transforms."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from weft.utils.data import Dataset
from weft.vision.datasets.utils import StrPath

Transform = Callable[..., Any]


class VisionDataset(Dataset[Any]):
    """Base of the vision data sets: a root folder, and transforms for the picture and its target.

    Parameters
    ----------
    root : path, optional
        The folder where the data set lives; ``~`` is the home folder. None for one that needs no folder.
    transforms : callable, optional
        Called with (picture, target), returns both. Not together with the two below.
    transform : callable, optional
        Called with the picture.
    target_transform : callable, optional
        Called with the target.

    Raises
    ------
    ValueError
        If ``transforms`` is given together with one of the other two.
    """

    def __init__(
        self,
        root: StrPath | None = None,
        transforms: Transform | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ValueError(
                f"{type(self).__name__}: pass either transforms (called with picture and target) or "
                "transform/target_transform (called with one of them), not both"
            )
        self.root: Any = os.path.expanduser(root) if isinstance(root, str) else root
        self.transform = transform
        self.target_transform = target_transform
        if transforms is None and (transform is not None or target_transform is not None):
            transforms = StandardTransform(transform, target_transform)
        self.transforms = transforms

    def __getitem__(self, index: int) -> Any:
        """Return the sample at ``index``, usually (picture, target)."""
        raise NotImplementedError(f"{type(self).__name__}.__getitem__: a VisionDataset must define it")

    def __len__(self) -> int:
        """Return the number of samples."""
        raise NotImplementedError(f"{type(self).__name__}.__len__: a VisionDataset must define it")

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if getattr(self, "transforms", None) is not None:
            body.append(repr(self.transforms))
        return "\n".join([f"Dataset {type(self).__name__}", *("    " + line for line in body)])

    def extra_repr(self) -> str:
        """Lines that a subclass adds to its repr, such as the split."""
        return ""

    def _apply(self, picture: Any, target: Any) -> tuple[Any, Any]:
        """Return the sample as ``transform`` and ``target_transform`` leave it; they may be set anew at any time."""
        if self.transform is not None:
            picture = self.transform(picture)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return picture, target

    def _apply_jointly(self, picture: Any, target: Any) -> tuple[Any, Any]:
        """Return the sample as ``transforms`` leaves it, which sees the picture and its target together."""
        return (picture, target) if self.transforms is None else self.transforms(picture, target)


class StandardTransform:
    """One transform for the picture and one for its target, as a single callable of both."""

    def __init__(self, transform: Transform | None = None, target_transform: Transform | None = None) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        """Return the pair, each transformed by its own transform."""
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        lines = ["StandardTransform"]
        if self.transform is not None:
            lines += _indented("Transform: ", self.transform)
        if self.target_transform is not None:
            lines += _indented("Target transform: ", self.target_transform)
        return "\n".join(lines)


def _indented(head: str, transform: Transform) -> list[str]:
    """Return the transform's repr behind ``head``, its further lines in the same column."""
    first, *rest = repr(transform).splitlines()
    return [head + first, *(" " * len(head) + line for line in rest)]
