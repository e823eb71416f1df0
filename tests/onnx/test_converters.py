"""Files that are exported give what weft gives, module by module and op by op.

`WEFT_ONNX` chooses: `all`, `K/N`, or `changed` (default), see tests/selection.py. What is tried is the table in
docs/onnx-table.md.
"""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import models
import modules
import onnx_table
import ops
import selection
from agreement import TOLERANCE, Wrapped, difference, model_of, program_of

import weft
import weft.onnx
from weft.export import UserError

SETTING = os.environ.get("WEFT_ONNX", "changed")
OPSETS = (18, 21)
ALWAYS = ["Decoder as GPT-2", "Encoder as BERT", "digits"]  # models that take a second


def assert_agrees(name: str, module: Any, case: Any) -> set[str]:
    """A module's file is valid and gives the same; the ops that it has."""
    program = program_of(module, case.inputs, case.fixed)
    for opset in OPSETS if SETTING != "changed" else [selection.drawn(name, OPSETS)]:
        assert difference(module, model_of(program, opset), case.inputs, case.fixed) <= TOLERANCE
    return onnx_table.own_names(program)


def chosen(names: Any) -> list[str]:
    return selection.chosen(names, SETTING, lambda name: {selection.declaring_module(name)})


@pytest.mark.parametrize("name", chosen(modules.CASES.keys() - modules.REFUSED.keys()))
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_a_module_agrees_with_onnxruntime(name: str) -> None:
    for case in modules.CASES[name]:
        weft.manual_seed(0)
        module = case.make().eval()
        if name.startswith("Lazy"):
            module(*case.inputs(2, 8))
        assert_agrees(name, module, case)


@pytest.mark.parametrize("name", chosen(ops.CASES))
@pytest.mark.filterwarnings("ignore:The reduce argument")
def test_an_op_agrees_with_onnxruntime(name: str) -> None:
    for case in ops.CASES[name]:
        weft.manual_seed(0)
        assert name in assert_agrees(name, Wrapped(case.function), case)


@pytest.mark.parametrize("name", [selection.drawn("a model", ALWAYS)] if SETTING == "changed" else chosen(models.CASES))
def test_a_model_agrees_with_onnxruntime(name: str) -> None:
    weft.manual_seed(0)
    case = models.CASES[name]
    assert_agrees(name, case.make().eval(), case)


@pytest.mark.parametrize("name", modules.REFUSED)
def test_a_module_without_a_counterpart_is_refused_with_op_and_line(name: str) -> None:
    for case in modules.CASES[name]:
        with pytest.raises((UserError, weft.onnx.OnnxExporterError), match=r"core::\w+.*\w+\.py:\d+"):
            model_of(program_of(case.make(), case.inputs, case.fixed), 21)


@pytest.mark.parametrize("name", ops.REFUSED)
def test_an_op_without_a_counterpart_is_refused_with_its_line(name: str) -> None:
    reason, function = ops.REFUSED[name]
    with pytest.raises((UserError, weft.onnx.OnnxExporterError), match=rf"{name} at ops.py:\d+: {reason}"):
        model_of(program_of(Wrapped(function), ops.real, ""), 21)


def test_every_converter_has_a_case() -> None:
    by_modules = {
        *("nn::conv1d nn::conv2d nn::conv3d nn::conv1d_input_gradient nn::conv2d_input_gradient".split()),
        *("nn::conv3d_input_gradient nn::max_pool_with_indices nn::adaptive_max_pool_with_indices".split()),
        *("nn::lstm_layer nn::gru_layer nn::rnn_layer nn::resample".split()),
    }
    aliases = {"core::contiguous_copy", "core::detach", "core::empty_like"}  # recordings leave them out
    assert set(onnx_table.converters()) - set(ops.CASES) == by_modules | aliases | {"nn::prelu_backward"}


def test_the_table_is_current() -> None:
    assert onnx_table.PATH.read_text(encoding="utf-8") == onnx_table.text(), "run: python tests/onnx/onnx_table.py"
