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
}
UPLOADS: dict[str, str] = {}
