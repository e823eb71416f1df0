"""torchvision beside PyTorch for the CPU: the oracle of weft.vision's tests.

The wheel of the package index is built for PyTorch with CUDA, so its compiled operators do not load. Two of them must
be declared before torchvision is imported; `operators.py` implements them, and the others, in plain tensor code.
"""

import torch

SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
for name in ("nms", "qnms"):
    if not hasattr(torch.ops.torchvision, name):
        torch.library.define(f"torchvision::{name}", SCHEMA)

import torchvision as torchvision  # noqa: E402  (after the declarations)
