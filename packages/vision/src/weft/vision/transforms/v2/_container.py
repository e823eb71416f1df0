"""Transforms made of transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import weft
from weft import nn
from weft.vision.transforms import composition as first
from weft.vision.transforms.v2._misc import normalized_bytes
from weft.vision.transforms.v2._transform import Transform

__all__ = ["Compose", "RandomApply", "RandomChoice", "RandomOrder"]


class Compose(Transform):
    """Apply transforms one after the other.

    Parameters
    ----------
    transforms : sequence of callable

    Raises
    ------
    TypeError
        If it is no sequence.
    ValueError
        If it is empty.
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        self.transforms = _checked(transforms, "Compose", "a sequence of callables")

    def forward(self, *inputs: Any) -> Any:
        """Return the sample after all transforms."""
        if len(inputs) > 1:
            return _in_turn(self.transforms, inputs)
        sample = inputs[0]
        done = 0
        while done < len(self.transforms):
            both = normalized_bytes(sample, *self.transforms[done : done + 2])
            done += 1 if both is None else 2
            sample = self.transforms[done - 1](sample) if both is None else both
        return sample

    def extra_repr(self) -> str:
        return _listing(self.transforms)


class RandomApply(Transform):
    """Apply all of some transforms with probability ``p``, otherwise none of them."""

    _v1_transform_cls = first.RandomApply

    def __init__(self, transforms: Sequence[Callable[..., Any]] | nn.ModuleList, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = _checked(transforms, "RandomApply", "a sequence of callables or a ModuleList")
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"RandomApply: `p` should be a floating point value in the interval [0.0, 1.0], got {p}")
        self.p = p

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        return {"transforms": self.transforms, "p": self.p}

    def forward(self, *inputs: Any) -> Any:
        """Return the sample, transformed or as it is."""
        if weft.rand(1).item() >= self.p:
            return inputs if len(inputs) > 1 else inputs[0]
        return _in_turn(self.transforms, inputs)

    def extra_repr(self) -> str:
        return _listing(self.transforms)


class RandomChoice(Transform):
    """Apply one of some transforms.

    Parameters
    ----------
    transforms : sequence of callable
    p : sequence of float, optional
        The weight of each; by default all are equally probable.

    Notes
    -----
    The choice is drawn by weft's generator, where that of `weft.vision.transforms` is drawn by Python's `random`.
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]], p: Sequence[float] | None = None) -> None:
        transforms = _checked(transforms, "RandomChoice", "a sequence of callables")
        weights = [1] * len(transforms) if p is None else p
        if len(weights) != len(transforms):
            raise ValueError(
                f"RandomChoice: Length of p doesn't match the number of transforms: {len(weights)} != {len(transforms)}"
            )
        super().__init__()
        self.transforms = transforms
        total = sum(weights)
        self.p = [weight / total for weight in weights]

    def forward(self, *inputs: Any) -> Any:
        """Return the sample after one of the transforms."""
        return self.transforms[int(weft.multinomial(weft.tensor(self.p), 1))](*inputs)


class RandomOrder(Transform):
    """Apply transforms in a random order, which weft's generator draws."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        self.transforms = _checked(transforms, "RandomOrder", "a sequence of callables")

    def forward(self, *inputs: Any) -> Any:
        """Return the sample after all transforms."""
        order = weft.randperm(len(self.transforms)).tolist()
        return _in_turn([self.transforms[index] for index in order], inputs)


def _checked(transforms: Any, name: str, expected: str) -> Any:
    if not isinstance(transforms, (Sequence, nn.ModuleList)):
        raise TypeError(f"{name}: Argument transforms should be {expected}, got {type(transforms).__name__}")
    if len(transforms) == 0:
        raise ValueError(f"{name}: Pass at least one transform")
    return transforms


def _in_turn(transforms: Any, inputs: tuple[Any, ...]) -> Any:
    """Return the sample after transforms; what several arguments become is passed on as several."""
    outputs: Any = inputs if len(inputs) > 1 else inputs[0]
    for transform in transforms:
        outputs = transform(*outputs) if len(inputs) > 1 else transform(outputs)
    return outputs


def _listing(transforms: Any) -> str:
    return "\n".join(f"    {transform}" for transform in transforms)
