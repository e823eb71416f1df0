"""Marks the wheel as this platform's where it holds prebuilt kernels (``scripts/make_prebuilt.py``)."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PrebuiltHook(BuildHookInterface[Any]):
    """Looks for the extension module that calls the kernels."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Mark the wheel, or say what is missing."""
        made = Path(self.root, "src", "weft", "backend_cpu", "compiled", "prebuilt")
        if not any(made.glob("launch.*")):
            raise FileNotFoundError(f"{made} has no prebuilt kernels: run scripts/make_prebuilt.py")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
