"""Samplers of clips, with the names of ``torchvision.datasets.samplers``."""

from weft.vision.datasets.samplers.clip_sampler import DistributedSampler, RandomClipSampler, UniformClipSampler

__all__ = ["DistributedSampler", "RandomClipSampler", "UniformClipSampler"]
