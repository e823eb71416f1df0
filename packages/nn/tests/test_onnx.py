"""`weft.onnx`: modules as files."""

import pytest

import weft
import weft.onnx
from weft import nn

onnx = pytest.importorskip("onnx")


def test_a_module_is_written_with_its_names(tmp_path):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    path = tmp_path / "model.onnx"
    weft.onnx.export(model, weft.ones(2, 4), path, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}})
    made = onnx.load(path)
    onnx.checker.check_model(made, full_check=True)
    assert [each.name for each in made.graph.input] == ["x"]
    assert [each.name for each in made.graph.output] == ["y"]
    assert {each.name for each in made.graph.initializer} == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert made.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"


def test_ops_without_a_converter_are_listed_at_once():
    class Model(nn.Module):
        def forward(self, x):
            return weft.lgamma(x) + weft.digamma(x)

    with pytest.raises(weft.onnx.OnnxExporterError, match=r"core::lgamma \(test_onnx.py:\d+\), core::digamma"):
        weft.onnx.export(Model(), weft.ones(2))


def test_an_export_is_no_part_of_a_forward_pass():
    assert not weft.onnx.is_in_onnx_export()


def test_a_shape_is_a_tensor_and_a_tensor_a_shape():
    from weft.onnx import operators

    shape = operators.shape_as_tensor(weft.ones(2, 3))
    assert shape.tolist() == [2, 3] and shape.dtype is weft.int64
    assert operators.reshape_from_tensor_shape(weft.arange(6), shape).shape == (2, 3)
