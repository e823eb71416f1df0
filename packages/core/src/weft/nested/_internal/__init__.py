"""Jagged tensors by the private names of PyTorch's modules, which programs and its own tests import."""
