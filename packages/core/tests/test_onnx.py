"""`weft.onnx`: programs import it; nothing is written."""

import pytest

import weft.onnx


def test_an_export_says_what_to_do_instead():
    assert not weft.onnx.is_in_onnx_export()
    with pytest.raises(RuntimeError, match=r"onnx\.export: weft writes no ONNX files\. Save the state_dict"):
        weft.onnx.export(weft.nn.Linear(1, 1), weft.ones(1), "model.onnx")


def test_functions_that_write_operators_are_there_to_be_registered():
    """torchvision registers some for its own operators as it is imported; no export calls them."""
    from weft.onnx import symbolic_opset11
    from weft.onnx.symbolic_helper import parse_args

    @parse_args("v", "i")
    def write(graph, values):
        return symbolic_opset11.squeeze(graph, values, weft.onnx.TensorProtoDataType.FLOAT)

    weft.onnx.register_custom_op_symbolic("vision::write", write, 11)
    with pytest.raises(RuntimeError, match="weft writes no ONNX files"):
        write(None, None)


def test_a_shape_is_a_tensor_and_a_tensor_a_shape():
    from weft.onnx import operators

    shape = operators.shape_as_tensor(weft.ones(2, 3))
    assert shape.tolist() == [2, 3] and shape.dtype is weft.int64
    assert operators.reshape_from_tensor_shape(weft.arange(6), shape).shape == (2, 3)
