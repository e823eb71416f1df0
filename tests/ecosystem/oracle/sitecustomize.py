"""Lets torchvision be imported where its compiled operators do not load, for programs that need none of them.

The wheel of the package index is built for PyTorch with CUDA. Beside PyTorch for the CPU its extension does not load,
and it then fails to describe operators that nobody has defined. This folder is on the path of PyTorch's side of a
comparison.
"""

import sys


class DefinesOperators:
    """A finder that finds nothing: it defines the operators' names before torchvision asks for them."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname == "torchvision.extension":
            import torch

            for name in ("nms", "qnms"):
                if not hasattr(torch.ops.torchvision, name):
                    schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
                    torch.library.define(f"torchvision::{name}", schema)


sys.meta_path.insert(0, DefinesOperators)
