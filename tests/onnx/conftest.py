"""The modules of this folder are no doctests."""

collect_ignore = ["agreement.py", "models.py", "modules.py", "ops.py", "onnx_table.py"]
