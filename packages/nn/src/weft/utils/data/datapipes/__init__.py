"""Datasets that are chained by methods: the base classes, wrappers of what Python can iterate over, and registration.

PyTorch's own pipes (``map``, ``shuffle``, ``batch`` and their like) are not here: a generator, or a `DataLoader` with a
sampler and ``collate_fn``, does what they do. A program registers its own with `functional_datapipe`.
"""

from weft.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe, functional_datapipe

__all__ = ["IterDataPipe", "MapDataPipe", "functional_datapipe"]
