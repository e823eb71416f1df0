"""PyTorch's names for weft's modules, on behalf of a whole process: what stands ready before anybody imports them.

``weft_as_torch.pth`` beside this file has Python call `install` at its start where ``WEFT_AS_TORCH`` is set, in every
process that inherits the variable. Many of these never import ``torch`` (pip, helpers of shells): weft itself is
imported when the program imports that, and nothing else before it is needed.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from importlib.metadata import Distribution
    from typing import Any

VARIABLE = "WEFT_AS_TORCH"
ROOTS = {"functorch": "weft.func.functorch", "torch": "weft", "torchvision": "weft.vision", "torchtext": "weft.text"}
VERSIONS = {"torch": "2.13.0+weft", "torchvision": "0.28.0+weft", "torchtext": "0.18.0+weft"}  # whose names weft has
active = set(ROOTS)  # the names that are weft's in this process
DISTRIBUTIONS = {"torch": "weft-core", "torchvision": "weft-vision", "torchtext": "weft-text"}


class TorchNames:
    """Finder of PyTorch's names; weft's own modules are found as ever, and get PyTorch's names as well."""

    names: "Any" = None  # weft's module that knows them, once the program has asked for one

    def find_spec(
        self, fullname: str, path: "Sequence[str] | None" = None, target: "Any" = None
    ) -> "ModuleSpec | None":
        """Answer for PyTorch's names; None for all others, and for what weft has not."""
        root = fullname.partition(".")[0]
        found: ModuleSpec | None = None
        if root in active:
            if self.names is None:
                import weft._as_torch.names as names

                self.names = names
            found = self.names.find(fullname)
        elif root == "weft" and self.names is not None:
            found = self.names.find_own(fullname, path)
        return found

    def find_distributions(self, context: "Any" = None) -> "Iterable[Distribution]":
        """Let ``importlib.metadata.version("torch")`` find a version: libraries ask it before they import torch."""
        wanted = getattr(context, "name", None)
        return [
            distribution(name) for name in VERSIONS if name in active and wanted in (None, name) and is_installed(name)
        ]


def distribution(name: str) -> "Distribution":
    """What a program finds when it asks for the installed distribution of a name of PyTorch's."""
    from importlib.metadata import Distribution

    class TorchDistribution(Distribution):
        def read_text(self, filename: str) -> "str | None":
            if filename != "METADATA":
                return None
            return f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSIONS[name]}\n"

        def locate_file(self, path: "Any") -> "Any":
            raise FileNotFoundError(f"{name} is weft's own; it has no file {path}")

    return TorchDistribution()


def is_installed(name: str) -> bool:
    """Whether what has one of PyTorch's names is installed; found without importing it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        version(DISTRIBUTIONS[name])
    except PackageNotFoundError:
        return name == "torch"  # weft may be on the path without being installed
    return True


def choose(wanted: str) -> "set[str]":
    """The names that a text with commas has; all of them, if it has none: torchvision's own package runs on "torch"."""
    chosen = set(wanted.split(",")) & VERSIONS.keys() or set(VERSIONS)
    return chosen | {root for root in ROOTS if root not in VERSIONS and "torch" in chosen}


def install(wanted: str = "") -> None:
    """Put the finder first, in this process and in those that it will start; for the names that the variable has."""
    wanted = wanted or os.environ.get(VARIABLE, "")
    active.intersection_update(choose(wanted))
    os.environ[VARIABLE] = wanted if active != set(ROOTS) else "1"
    if not any(isinstance(finder, TorchNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, TorchNames())  # type: ignore[arg-type]  # it is one by its methods
