"""Modules of function transforms under PyTorch's private names, which libraries reach into."""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)  # weft-nn ships weft/_functorch/make_functional.py
