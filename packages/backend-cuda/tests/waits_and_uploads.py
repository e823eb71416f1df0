"""Ops that wait for the device, or send it something, each with the reason; PyTorch's do, too.

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
    "item": VALUE,
    "linspace": "limits in tensors are read",
    "logspace": "limits in tensors are read",
    "norm": "of the nuclear kind: singular values",
    "nn.functional.one_hot": SIZE + ", where the number of classes is not given",
    "nn.functional.grouped_mm": "the groups are cut out by their ends, as PyTorch does; only for bfloat16 on compute "
    "capability 9.0 and 10.0 it has a kernel that reads these on the device",
    "nn.functional.gaussian_nll_loss": "whether a variance is negative, as PyTorch does",
    "nn.functional.ctc_loss": "lengths in tensors are read, as PyTorch does",
    "vision.ops.nms": SIZE,
    "vision.ops.batched_nms": SIZE,
    "vision.ops.remove_small_boxes": SIZE,
    "vision.ops.masks_to_boxes": SIZE,
}
WAITS |= dict.fromkeys(
    "cholesky inverse linalg.cholesky linalg.eigh linalg.eigvalsh linalg.inv linalg.ldl_factor linalg.lu_factor "
    "linalg.matrix_power linalg.solve linalg.tensorinv linalg.tensorsolve".split(),
    "the solver's info is checked: a matrix may have no result",
)
WAITS |= dict.fromkeys(
    "linalg.cond linalg.lstsq linalg.matrix_norm linalg.matrix_rank linalg.norm linalg.pinv linalg.svd linalg.svdvals "
    "pca_lowrank pinverse svd svd_lowrank".split(),
    "singular values: the solver's info is checked",
)
WAITS |= dict.fromkeys(["linalg.eig", "linalg.eigvals"], "whether all elements are finite, and the solver's info")
WAITS["matrix_exp"] = WAITS["linalg.matrix_exp"] = "how often the largest norm has to be halved, as PyTorch does"
WAITS["istft"] = "whether the window's envelope is nowhere zero, as PyTorch does"
WAITS["linalg.ldl_solve"] = "the rows that are exchanged; PyTorch waits for the device before each solution, too"
WAITS["cov"] = "whether a weight is negative and whether their sum is 0, as PyTorch does"
WAITS["histc"] = "the limits, where none are given, are the smallest and largest element"
WAITS["histogram"] = WAITS["histogramdd"] = "as histc; PyTorch has them on the CPU alone"
WAITS["__getitem__"] = WAITS["index_put"] = "where a mask is true, if it has another value for each place"
WAITS["narrow"] = WAITS["tensor_split"] = "positions of the cuts in a tensor are read, as PyTorch does"
UPLOADS: dict[str, str] = {
    "__getitem__": "positions in a list come from the host",
    "vision.ops.nms": "the boxes that are kept are found on the host",
    "vision.ops.batched_nms": "the boxes that are kept are found on the host",
    "combinations": "the choices are counted out on the host, where PyTorch waits for those of a mask",
    "nn.functional.ctc_loss": "lengths are given by the host, as to PyTorch",
}
