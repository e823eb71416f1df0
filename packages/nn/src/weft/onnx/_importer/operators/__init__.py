"""The operators of ONNX in weft's terms, a file for each family."""
