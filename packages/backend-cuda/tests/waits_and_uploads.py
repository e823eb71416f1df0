"""Ops that wait for the device, or send it something, each with the reason; PyTorch's do, too, but where it says so.

An op is named as its samples are (`weft.testing._samples`), or as PyTorch's database of operators names it. All others
do neither, and `test_waits` and the conformance columns ``cuda`` and ``cuda_gradient`` hold them to it.
"""

SIZE = "the size of the result depends on values"
VALUE = "the result is a value on the host"
HOST = "computed by LAPACK on the host; PyTorch's cuSOLVER does it on the device, one matrix after the other"

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
    "nn.functional.grouped_mm": "the groups are cut out by their ends; PyTorch's kernel reads these on the device",
    "nn.functional.gaussian_nll_loss": "whether a variance is negative, as PyTorch does",
    "nn.functional.ctc_loss": "lengths in tensors are read, as PyTorch does",
    "vision.ops.nms": SIZE,
    "vision.ops.batched_nms": SIZE,
    "vision.ops.remove_small_boxes": SIZE,
    "vision.ops.masks_to_boxes": SIZE,
    "vision.ops.roi_align": "how many samples a bin has, where sampling_ratio does not say; torchvision's kernel knows",
    "vision.ops.ps_roi_align": "the same",
    "vision.ops.roi_pool": "how many cells the largest bin has; torchvision's kernel goes over each bin's own",
    "vision.ops.ps_roi_pool": "the same",
}
WAITS |= dict.fromkeys(
    "cholesky inverse linalg.cholesky linalg.eigh linalg.eigvalsh linalg.inv linalg.lu_factor linalg.matrix_power "
    "linalg.solve linalg.tensorinv linalg.tensorsolve".split(),
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
WAITS["linalg.ldl_factor"] = WAITS["linalg.ldl_factor_ex"] = HOST
WAITS["linalg.ldl_solve"] = "the rows that are exchanged"  # PyTorch reads them there
WAITS |= dict.fromkeys(
    [f"special.{name}" for name in ("hermite_polynomial_h", "hermite_polynomial_he")]
    + [f"special.{name}" for name in ("laguerre_polynomial_l", "legendre_polynomial_p")],
    "the largest degree, of a tensor of them: the steps of the recurrence",  # in PyTorch's kernel each takes its own
)
WAITS["cov"] = "whether a weight is negative and whether their sum is 0, as PyTorch does"
WAITS["histc"] = "the limits, where none are given, are the smallest and largest element"
WAITS["histogram"] = WAITS["histogramdd"] = "as histc; PyTorch has them on the CPU alone"
WAITS["__getitem__"] = WAITS["index_put"] = "where a mask is true, if it has another value for each place"
WAITS["narrow"] = WAITS["tensor_split"] = "positions of the cuts in a tensor are read, as PyTorch does"
UPLOADS: dict[str, str] = {
    "linalg.ldl_factor": HOST,
    "linalg.ldl_factor_ex": HOST,
    "__getitem__": "positions in a list come from the host",
    "vision.ops.nms": "the boxes that are kept are found on the host",
    "vision.ops.batched_nms": "the boxes that are kept are found on the host",
    "combinations": "the choices are counted out on the host, where PyTorch waits for those of a mask",
    "nn.functional.ctc_loss": "lengths are given by the host, as to PyTorch",
}
