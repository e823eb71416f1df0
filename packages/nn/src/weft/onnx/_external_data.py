"""Weights in a file of their own, beside that of the model: ONNX's files hold 2 GB."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Any

from weft.serialization._archive import replacing

__all__ = ["MOST_INSIDE", "bytes_of_weights", "save_with_data"]

MOST_INSIDE = 2**31 - 2**26  # bytes of weights; the rest is for nodes and names
LEAST_OUTSIDE = 1024  # bytes: smaller tensors stay inside
ALIGNMENT = 4096  # so that runtimes can map the file


def bytes_of_weights(model: Any) -> int:
    """How many bytes the tensors of a model have."""
    return sum(len(each.raw_data) for each in model.graph.initializer)


def save_with_data(model: Any, path: str) -> None:
    """Write a model and its weights as two files.

    The data's name has their digest: the file that was there before keeps its own until the new one is whole, and
    files of other data are removed then.
    """
    from onnx import TensorProto

    folder, name = os.path.split(path)
    large = [each for each in model.graph.initializer if len(each.raw_data) >= LEAST_OUTSIDE]
    contents = [each.raw_data for each in large]
    digest = hashlib.sha256()
    for content in contents:
        digest.update(content)
    data = f"{name}-{digest.hexdigest()[:12]}.data"
    try:
        with replacing(os.path.join(folder, data)) as file:
            for tensor, content in zip(large, contents):
                file.write(bytes(-file.tell() % ALIGNMENT))
                entries = {"location": data, "offset": str(file.tell()), "length": str(len(content))}
                tensor.ClearField("raw_data")
                tensor.data_location = TensorProto.EXTERNAL
                for key, value in entries.items():
                    tensor.external_data.add(key=key, value=value)
                file.write(content)
        with replacing(path) as file:
            file.write(model.SerializeToString(deterministic=True))
    finally:
        for tensor, content in zip(large, contents):
            tensor.ClearField("data_location")
            tensor.ClearField("external_data")
            tensor.raw_data = content
    for each in os.listdir(folder or "."):
        if re.fullmatch(re.escape(name) + "-[0-9a-f]{12}[.]data", each) and each != data:
            os.unlink(os.path.join(folder, each))
