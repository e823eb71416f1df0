"""A context that Hugging Face's attention masks are made in, by its long name."""

from __future__ import annotations

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex:
    """Make ``tensor[index]`` gather under `weft.func.vmap`, where PyTorch would read the index's value.

    weft always gathers, so this is a plain block.
    """

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, *exception: object) -> None:
        """End."""
