"""Runs ONNX files on weft: see the README in this folder."""
