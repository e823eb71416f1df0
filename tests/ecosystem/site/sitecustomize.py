"""The surroundings of a program: nothing but what it declares, and torchvision importable beside PyTorch for the CPU.

`run.py` puts this folder on the path and names what is hidden in two variables.
"""

import importlib.machinery
import os
import re
import sys

DISTRIBUTIONS = frozenset(os.environ.get("ECOSYSTEM_HIDDEN_DISTRIBUTIONS", "").split(","))
MODULES = frozenset(os.environ.get("ECOSYSTEM_HIDDEN_MODULES", "").split(","))


class DeclaredFinder(importlib.machinery.PathFinder):
    """The path's finder without what is hidden."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        return None if fullname in MODULES else super().find_spec(fullname, path, target)

    @classmethod
    def find_distributions(cls, *args, **kwargs):
        for each in super().find_distributions(*args, **kwargs):
            if re.sub(r"[-_.]+", "-", each.name or "").lower() not in DISTRIBUTIONS:
                yield each


class DefinesOperators:
    """A finder that finds nothing: it declares two operators before torchvision asks for them.

    torchvision's wheel of the package index is built for PyTorch with CUDA. Beside PyTorch for the CPU its extension
    does not load, and it then fails to describe operators that nobody has defined.
    """

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname == "torchvision.extension":
            import torch

            for name in ("nms", "qnms"):
                if not hasattr(torch.ops.torchvision, name):
                    schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
                    torch.library.define(f"torchvision::{name}", schema)


sys.meta_path[sys.meta_path.index(importlib.machinery.PathFinder)] = DeclaredFinder
if "WEFT_AS_TORCH" not in os.environ:
    sys.meta_path.insert(0, DefinesOperators)
