"""Names of nodes as PyTorch spells them, for the ops whose own name is another.

A node's name is its op's in title case, ``MulBackward0``; programs that draw or search graphs look for PyTorch's.
Where PyTorch has several ops in place of one of ours, the name is that of the most common: `matmul` is its ``mm``.
"""

from __future__ import annotations

NODE_NAMES = {
    "avg_pool": "AvgPool2D",
    "batch_norm_training": "NativeBatchNorm",
    "contiguous_copy": "Clone",
    "conv1d": "Convolution",
    "conv2d": "Convolution",
    "conv2d_input_gradient": "Convolution",
    "conv3d": "Convolution",
    "convert": "ToCopy",
    "embed": "DiagEmbed",
    "entr": "SpecialEntr",
    "group_norm": "NativeGroupNorm",
    "layer_norm": "NativeLayerNorm",
    "linalg_cholesky": "LinalgCholeskyEx",
    "linalg_inv": "LinalgInvEx",
    "linear": "Addmm",
    "logsigmoid": "LogSigmoid",
    "matmul": "Mm",
    "max_pool_with_indices": "MaxPool2DWithIndices",
    "pad_constant": "ConstantPadNd",
    "prelu": "PreluKernel",
    "sample": "GridSampler2D",
    "vector_norm": "LinalgVectorNorm",
}


def node_name(op: str) -> str:
    """The name of the nodes of an op."""
    return (NODE_NAMES.get(op) or "".join(part.title() for part in op.split("_"))) + "Backward0"
