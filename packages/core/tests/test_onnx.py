"""`weft.onnx`: programs import it; nothing is written."""

import pytest

import weft.onnx


def test_an_export_says_what_to_do_instead():
    assert not weft.onnx.is_in_onnx_export()
    with pytest.raises(RuntimeError, match=r"onnx\.export: weft writes no ONNX files\. Save the state_dict"):
        weft.onnx.export(weft.nn.Linear(1, 1), weft.ones(1), "model.onnx")
