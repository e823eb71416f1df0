"""How core itself comes to plugins: `weft.plugins` is loaded when something is first asked of it.

It is above what asks (backends are made of tensors), and what finds plugins, importlib.metadata and pluggy, takes a
fifth as long to import as all of core. So everything that ``import weft`` loads asks here.
"""

from __future__ import annotations

from typing import Any


def plugins() -> Any:
    """The module `weft.plugins`."""
    import weft.plugins

    return weft.plugins
