"""Transforms of pictures and tensors, with the names of ``torchvision.transforms``."""
