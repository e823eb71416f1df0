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


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x, scale=None):
        x = self.second(nn.functional.relu_(self.first(x)))
        return {"logits": x if scale is None else x * scale, "same": x}


def written(*args, **options):
    return weft.onnx.export(*args, **options).model_proto.SerializeToString(deterministic=True)


def test_a_file_is_the_same_for_the_same_model():
    model, x = Model(), weft.ones(2, 4)
    assert written(model, x) == written(model, x)


@pytest.mark.parametrize("opset", [18, 19, 20, 21])
def test_a_file_is_of_the_opset_that_was_asked_for(opset):
    made = weft.onnx.export(Model(), weft.ones(2, 4), opset_version=opset).model_proto
    onnx.checker.check_model(made, full_check=True)
    assert [(each.domain, each.version) for each in made.opset_import] == [("", opset)]


def test_what_cannot_be_written_leaves_the_file_that_was_there(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")
    monkeypatch.setattr("os.replace", lambda *args: (_ for _ in ()).throw(OSError("the disk is full")))
    with pytest.raises(OSError, match="the disk is full"):
        weft.onnx.export(Model(), weft.ones(2, 4), path)
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]


def test_inputs_and_outputs_have_the_names_that_were_given():
    x, scale = weft.ones(2, 4), weft.ones(1, 3)
    with pytest.raises(weft.export.UserError, match="with inputs of other sizes Model fails"):  # two sizes that are one
        weft.onnx.export(Model(), (x, scale), input_names=["a", "b"], dynamic_axes={"a": [0], "b": [1]})
    made = weft.onnx.export(
        Model(), (x,), kwargs={"scale": scale}, input_names=["a"], output_names=["y"], dynamic_axes={"a": {0: "n"}}
    )
    graph = made.model_proto.graph
    assert [each.name for each in graph.input] == ["a", "scale"] and graph.output[0].name == "y"
    assert graph.output[1].name != "y" and len(graph.output) == 2
    with pytest.raises(ValueError, match="3 input_names for 1 inputs"):
        weft.onnx.export(Model(), x, input_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="opset_version must be 18 to 21, got 11"):
        weft.onnx.export(Model(), x, opset_version=11)


def test_a_module_is_written_in_eval_mode_and_keeps_its_own():
    model = nn.Sequential(nn.Dropout(), nn.BatchNorm1d(3))
    made = weft.onnx.export(model, weft.ones(2, 3)).model_proto
    assert "Dropout" not in {node.op_type for node in made.graph.node}
    assert model.training and model[0].training and model[1].num_batches_tracked == 0


def test_a_program_is_written_as_well():
    program = weft.export.export(Model(), (weft.ones(2, 4),), dynamic_shapes={"x": {0: weft.export.Dim("rows")}})
    made = weft.onnx.export(program).model_proto
    assert made.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "rows"


def test_an_argument_that_an_op_cannot_have_is_refused_with_its_line():
    with pytest.raises(weft.onnx.OnnxExporterError, match=r"nn::resample at test_onnx.py:\d+: weights that depend"):
        weft.onnx.export(nn.AdaptiveAvgPool2d((5, 2)), weft.ones(1, 1, 7, 7), dynamic_axes={"input": {2: "height"}})
