"""Names of programs that are exported whole: libraries have them in annotations, and weft exports none.

`weft.fx.symbolic_trace` makes a graph of a module.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["ExportedProgram", "export"]

REFUSAL = "weft exports no programs; see weft.fx.symbolic_trace for a module's graph, weft.save for its parameters"


class ExportedProgram:
    """What `export` would return. Transformers and diffusers have it in annotations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"ExportedProgram: {REFUSAL}")


def export(mod: Any, args: Any = (), kwargs: Any = None, **options: Any) -> NoReturn:
    """Refused.

    Raises
    ------
    NotImplementedError
    """
    raise NotImplementedError(f"export: {REFUSAL}")
