"""Exponential families, under the module's name in PyTorch."""

from weft.distributions.distribution import ExponentialFamily

__all__ = ["ExponentialFamily"]
