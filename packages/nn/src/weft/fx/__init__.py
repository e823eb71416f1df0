"""Programs as graphs: record what a module does, look at it, change it, and run it again.

`symbolic_trace` runs a module with a `Proxy` in place of each tensor; each thing that is done with one becomes a `Node`
of a `Graph`; a `GraphModule` is a module whose `forward` is written from the graph.
"""

from weft.fx import immutable_collections as immutable_collections
from weft.fx._symbolic_trace import Tracer, symbolic_trace, wrap
from weft.fx.graph import Graph
from weft.fx.graph_module import GraphModule
from weft.fx.interpreter import Interpreter, Transformer
from weft.fx.node import Node, has_side_effect, map_arg
from weft.fx.proxy import Proxy
from weft.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]
