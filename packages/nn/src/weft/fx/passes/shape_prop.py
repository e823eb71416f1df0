"""Running a graph once, to note the shapes and dtypes of its values."""

from __future__ import annotations

from typing import Any, NamedTuple

import weft
from weft.fx.interpreter import Interpreter
from weft.fx.node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is noted of a tensor."""

    shape: weft.Size
    dtype: weft.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: weft.memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def metadata_of(tensor: Any) -> TensorMetadata:
    """The description of a tensor."""
    formats = (weft.contiguous_format, weft.channels_last, weft.channels_last_3d)
    ranks = {weft.channels_last: 4, weft.channels_last_3d: 5}
    fitting = (each for each in formats if ranks.get(each, tensor.ndim) == tensor.ndim)
    layout = next((each for each in fitting if tensor.is_contiguous(memory_format=each)), None)
    return TensorMetadata(tensor.shape, tensor.dtype, tensor.requires_grad, tensor.stride(), layout, False, {})


class ShapeProp(Interpreter):
    """Runs a graph, and notes in each node's ``meta`` what its value is: ``"tensor_meta"`` and ``"type"``.

    Examples
    --------
    >>> traced = weft.fx.symbolic_trace(weft.nn.Linear(2, 3))
    >>> _ = ShapeProp(traced).propagate(weft.ones(5, 2))
    >>> traced.graph.output_node().meta["tensor_meta"].shape
    weft.Size([5, 3])
    """

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        found = False

        def describe(value: Any) -> Any:
            nonlocal found
            if isinstance(value, weft.Tensor):
                found = True
                return metadata_of(value)
            return value

        described = map_aggregate(result, describe)
        if found:
            n.meta["tensor_meta"] = described
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph with these arguments; what `run` returns."""
        return super().run(*args)
