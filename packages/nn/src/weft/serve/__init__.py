"""Models for the servers that there are, by the Open Inference Protocol (KServe v2).

`weft.serve.mlserver`, `weft.serve.litserve` and `weft.serve.ray` adapt an `InferenceModel` to their servers.
"""

from weft.serve.batching import Batcher
from weft.serve.endpoints import Endpoints
from weft.serve.model import InferenceModel
from weft.serve.protocol import InferenceError, TensorSpec

__all__ = ["Batcher", "Endpoints", "InferenceError", "InferenceModel", "TensorSpec"]
