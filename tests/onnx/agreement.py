"""Whether a file that was exported gives what weft gives, with inputs of other sizes than those of the example."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime

import weft
from weft import nn
from weft.export import Dim, export
from weft.utils._pytree import tree_leaves, tree_map

EXAMPLE = 2, 8  # batch size and length of what is recorded
OTHERS = ((3, 11), (1, 13), (5, 8))
TOLERANCE = 1e-5  # of the largest element

Inputs = Callable[[int, int], tuple[Any, ...]]


class Wrapped(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def is_changed(fixed: str) -> tuple[bool, bool]:
    """Whether the batch size and the length are dynamic."""
    return "batch" not in fixed, "length" not in fixed


def sizes_of(fixed: str) -> list[tuple[int, int]]:
    """Batch sizes and lengths to try, the example's where one is fixed."""
    changes = is_changed(fixed)
    found = [tuple(n if change else e for n, e, change in zip(sizes, EXAMPLE, changes)) for sizes in OTHERS]
    return list(dict.fromkeys(found))


def dynamic_shapes(inputs: Inputs, fixed: str) -> Any:
    """Which sizes of the inputs depend on the batch size and on the length, and how."""
    n, length = EXAMPLE
    batch_changes, length_changes = is_changed(fixed)
    example, batches, lengths = inputs(n, length), inputs(n + 1, length), inputs(n, length + 2)

    def dims(leaf: Any, more: Any, longer: Any) -> dict[int, Any]:
        found: dict[int, Any] = {}
        for place, (size, at_more, at_longer) in enumerate(zip(leaf.shape, more.shape, longer.shape)):
            if at_more != size and batch_changes:
                factor = at_more - size
                found[place] = factor * Dim("batch") + (size - factor * n)
            if at_longer != size and length_changes:
                factor = (at_longer - size) // 2
                found[place] = factor * Dim("length", min=4) + (size - factor * length)
        return found

    return tree_map(dims, example, batches, lengths)


def program_of(module: Any, inputs: Inputs, fixed: str) -> Any:
    """The exported program of a module in evaluation mode."""
    shapes = dynamic_shapes(inputs, fixed)
    return export(module.eval(), inputs(*EXAMPLE), dynamic_shapes=(shapes,) if isinstance(module, Wrapped) else shapes)


def model_of(program: Any, opset: int) -> bytes:
    """The bytes of its file, which is checked."""
    file = io.BytesIO()
    weft.onnx.export(program, f=file, opset_version=opset)
    onnx.checker.check_model(onnx.load_from_string(file.getvalue()), full_check=True)
    return file.getvalue()


def difference(module: Any, model: bytes, inputs: Inputs, fixed: str) -> float:
    """The largest difference of a file's results from weft's, in largest elements.

    Raises
    ------
    AssertionError
        If shapes or dtypes differ.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    worst = 0.0
    for sizes in sizes_of(fixed):
        weft.manual_seed(sum(sizes))
        given = inputs(*sizes)
        with weft.no_grad():
            expected = [each for each in tree_leaves(module.eval()(*given)) if isinstance(each, weft.Tensor)]
        names = [each.name for each in session.get_inputs()]
        feed = dict(zip(names, (each.numpy() for each in tree_leaves(given)), strict=True))
        for found, wanted in zip(session.run(None, feed), expected, strict=True):
            worst = max(worst, relative(np.asarray(found), wanted.numpy()))
    return worst


def relative(found: Any, wanted: Any) -> float:
    """The largest difference of two arrays, in largest elements."""
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    assert found.dtype == wanted.dtype, (found.dtype, wanted.dtype)
    if found.dtype.kind in "biu":
        return 0.0 if (found == wanted).all() else np.inf
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(found[~finite], wanted[~finite])
    size = float(np.abs(wanted[finite]).max(initial=0)) or 1.0
    apart = np.abs(found[finite].astype(np.float64) - wanted[finite])
    return float(apart.max(initial=0)) / size
