"""`as_torch`: PyTorch's names for a program, and for the processes that it starts."""

from __future__ import annotations

import importlib
import os
import sys

import _weft_as_torch
from weft._as_torch import names

__all__ = ["as_torch"]


def as_torch(*roots: str) -> None:
    """Let ``import torch``, here and in processes started from here, give weft; torchvision and torchtext as well.

    Parameters
    ----------
    *roots : str
        Some of the names, where the others are to stay what they are: with "torch" alone, torchvision's own package
        runs on weft. The variable may have them too (``WEFT_AS_TORCH=torch``).

    Notes
    -----
    Call it before anything imports these names. ``weft run``, the environment variable ``WEFT_AS_TORCH=1`` and the
    distribution that ``weft provide-torch`` installs do the same for a whole process.

    Raises
    ------
    RuntimeError
        If one of the names is imported already, as something else: PyTorch's classes would stand beside weft's.
    ValueError
        If there is no such name.

    Examples
    --------
    >>> weft.as_torch()  # doctest: +SKIP
    >>> import torch  # doctest: +SKIP
    >>> torch is weft  # doctest: +SKIP
    True
    """
    unknown = set(roots) - _weft_as_torch.VERSIONS.keys()
    if unknown:
        raise ValueError(f"as_torch(): the names are {', '.join(_weft_as_torch.VERSIONS)}; got {', '.join(unknown)}")
    wanted = ",".join(roots) or os.environ.get(_weft_as_torch.VARIABLE, "")
    for root in _weft_as_torch.choose(wanted):
        loaded = sys.modules.get(root)
        if loaded is not None and not names.is_own(loaded):
            place = getattr(loaded, "__file__", None)
            raise RuntimeError(
                f"as_torch(): {root} is imported already, from {place or 'a module without a file'}; call "
                "weft.as_torch() before anything imports it, or start the program with `weft run`"
            )
    _weft_as_torch.install(wanted)
    importlib.import_module("torch")
