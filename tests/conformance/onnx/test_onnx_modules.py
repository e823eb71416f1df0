"""Modules that are exported agree with PyTorch's, run by onnxruntime: on the samples of PyTorch's database of modules.

`WEFT_CONFORMANCE` chooses, as for PyTorch's own tests: `all`, `K/N`, or `changed`.
"""

import os
import sys
import warnings
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
pytest.importorskip("onnxruntime")

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "onnx"))

import onnxruntime
import selection
import torch
from agreement import TOLERANCE, model_of, relative
from test_modules import MODULES, called, pairs, tensors

import weft
from weft.export import export
from weft.utils._pytree import tree_leaves, tree_map_only

REFUSED = {"CTCLoss", "FractionalMaxPool2d", "FractionalMaxPool3d"}  # see tests/onnx/modules.py
PROJECTED = "LSTM"  # ONNX has none with projections
SETTING = os.environ.get("WEFT_CONFORMANCE", "0/16")
TRIED = {
    name for name in MODULES if name not in REFUSED and not name.startswith("Lazy")
}  # those have weights of their own
NAMES = selection.chosen(TRIED, SETTING, lambda name: {getattr(weft.nn, name).__module__})
pytestmark = pytest.mark.filterwarnings("ignore")  # of either library: not the claim here


@pytest.mark.parametrize("name", NAMES)
def test_a_file_agrees_with_pytorch(name: str) -> None:
    for theirs, module, their_inputs, (args, kwargs) in pairs(name, "float32", training=False):
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = called(torch, theirs, their_inputs)
        if isinstance(expected, type) or (name == PROJECTED and module.proj_size):
            continue
        args, kwargs = tree_map_only(weft.Tensor, weft.Tensor.detach, (tuple(args), kwargs))
        program = export(module, args, kwargs)
        session = onnxruntime.InferenceSession(model_of(program, 18), providers=["CPUExecutionProvider"])
        leaves = [each.numpy() for each in tree_leaves((args, kwargs)) if isinstance(each, weft.Tensor)]
        feed = dict(zip([each.name for each in session.get_inputs()], leaves, strict=True))
        for found, wanted in zip(session.run(None, feed), tensors(expected), strict=True):
            assert relative(found, wanted.numpy()) <= TOLERANCE
