"""Transforms made of transforms."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import weft
from weft import nn

__all__ = ["Compose", "Lambda", "RandomApply", "RandomChoice", "RandomOrder"]

Transform = Callable[[Any], Any]


class Compose:
    """Apply transforms one after the other.

    Parameters
    ----------
    transforms : sequence of callable

    Examples
    --------
    >>> from weft.vision import transforms
    >>> to_input = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
    >>> to_input
    Compose(
        ToTensor()
        Normalize(mean=(0.5,), std=(0.5,))
    )
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        """Return ``img`` after all transforms."""
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return _listing(type(self).__name__, self.transforms)


class Lambda:
    """A function of the user's as a transform."""

    def __init__(self, lambd: Transform) -> None:
        if not callable(lambd):
            raise TypeError(f"Lambda: Argument lambd should be callable, got {type(lambd).__name__}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        """Return ``lambd(img)``."""
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class RandomApply(nn.Module):
    """Apply all of some transforms with probability ``p``, otherwise none of them."""

    def __init__(self, transforms: Sequence[Transform], p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img: Any) -> Any:
        """Return ``img``, transformed or as it is."""
        if self.p < float(weft.rand(1)):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return _listing(type(self).__name__, self.transforms, first=f"p={self.p}")


class RandomChoice:
    """Apply one of some transforms.

    Parameters
    ----------
    transforms : sequence of callable
    p : sequence of float, optional
        The weight of each; by default all are equally probable.

    Notes
    -----
    As in torchvision, the choice is drawn by Python's `random`: ``random.seed`` governs it.
    """

    def __init__(self, transforms: Sequence[Transform], p: Sequence[float] | None = None) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError(f"RandomChoice: Argument transforms should be a sequence, got {type(transforms).__name__}")
        if p is not None and not isinstance(p, Sequence):
            raise TypeError(f"RandomChoice: Argument p should be a sequence, got {type(p).__name__}")
        self.transforms = transforms
        self.p = p

    def __call__(self, *args: Any) -> Any:
        """Return the arguments after one of the transforms."""
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self) -> str:
        return f"{_listing(type(self).__name__, self.transforms)}(p={self.p})"


class RandomOrder:
    """Apply transforms in a random order, which Python's `random` draws as in torchvision."""

    def __init__(self, transforms: Sequence[Transform]) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError(f"RandomOrder: Argument transforms should be a sequence, got {type(transforms).__name__}")
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        """Return ``img`` after all transforms."""
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for index in order:
            img = self.transforms[index](img)
        return img

    def __repr__(self) -> str:
        return _listing(type(self).__name__, self.transforms)


def _listing(name: str, transforms: Sequence[Transform], first: str | None = None) -> str:
    """Return ``name(`` and each transform on a line of its own."""
    lines = [f"    {first}"] if first else []
    lines += [f"    {transform}" for transform in transforms]
    return "\n".join([f"{name}(", *lines, ")"])
