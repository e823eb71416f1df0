"""Exported programs: a module as a graph of ops, that runs, is saved, and is written for other runtimes.

`export` records what a module does with example inputs; `ExportedProgram` is what comes of it.
"""

from weft.export import dynamic_shapes as dynamic_shapes
from weft.export import graph_signature as graph_signature
from weft.export._archive import load, save
from weft.export._decompositions import default_decompositions
from weft.export._export import export
from weft.export._program import ExportedProgram
from weft.export.dynamic_shapes import Dim, dims
from weft.export.errors import UserError
from weft.export.graph_signature import ExportGraphSignature
from weft.utils._pytree import register_dataclass

__all__ = [
    "Dim",
    "ExportGraphSignature",
    "ExportedProgram",
    "UserError",
    "default_decompositions",
    "dims",
    "export",
    "load",
    "register_dataclass",
    "save",
]
