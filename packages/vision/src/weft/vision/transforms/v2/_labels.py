"""Where the labels of a sample are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from weft.vision.transforms.v2.functional._utils import is_pure_tensor

__all__ = ["labels_by_convention", "labels_getter_of"]

Getter = Callable[[Any], Any]


def labels_getter_of(labels_getter: Getter | str | None, name: str) -> Getter:
    """Return the function that finds the labels, given it, ``"default"`` or None, which is for no labels.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if labels_getter == "default":
        return labels_by_convention
    if callable(labels_getter):
        return labels_getter
    if labels_getter is None:
        return _no_labels
    raise ValueError(f"{name}: labels_getter should either be 'default', a callable or None, got {labels_getter!r}")


def _no_labels(sample: Any) -> None:
    """For samples without labels."""


def labels_by_convention(sample: Any) -> Any:
    """Return the second part of a pair if it is a tensor, else what a dictionary has for "labels" or a like key."""
    if isinstance(sample, (tuple, list)):
        sample = sample[1]
    if is_pure_tensor(sample):
        return sample
    if not isinstance(sample, Mapping):
        raise ValueError(
            "When using the default labels_getter, a sample must be a dictionary or a two-tuple whose second item is a "
            f"dictionary or a tensor; got {type(sample).__name__}"
        )
    keys = [key for key in sample if isinstance(key, str)]
    exact = [key for key in keys if key.lower() == "labels"]
    found = exact or [key for key in keys if "label" in key.lower()]
    if not found:
        raise ValueError(
            "Could not infer where the labels are in the sample. Pass a callable as labels_getter, or None if there "
            "are no labels"
        )
    return sample[found[0]]
