"""The decorator that keeps functions from being captured, under PyTorch's private name."""

from weft.compiler import disable as _disable_dynamo

__all__ = ["_disable_dynamo"]
