"""Ops that wait for the device, or send it something, each with the reason; PyTorch's do for the same reason.

An op is named as its samples are (`weft.testing._samples`), or as PyTorch's database of operators names it. All others
do neither, and `test_waits` and the conformance columns ``cuda`` and ``cuda_gradient`` hold them to it.
"""

SIZE = "the size of the result depends on values"
VALUE = "the result is a value on the host"

WAITS = {
    "nonzero": SIZE,
    "argwhere": SIZE,
    "masked_select": SIZE,
    "unique": SIZE,
    "unique_consecutive": SIZE,
    "repeat_interleave": SIZE,
    "bincount": SIZE,
    "equal": VALUE,
    "allclose": VALUE,
    "core::allclose": VALUE,
    "nn.functional.one_hot": SIZE + ", where the number of classes is not given",
    "nn.functional.embedding_bag": "the bags of mode='max' are cut out by their sizes",
    "nn.functional.grouped_mm": "the groups are cut out by their ends",
    "nn.functional.gaussian_nll_loss": "whether a variance is negative, as PyTorch does",
    "nn.functional.ctc_loss": "lengths in tensors are read, as PyTorch does",
}
UPLOADS: dict[str, str] = {
    "nn.functional.ctc_loss": "lengths are given by the host, as to PyTorch",
}
