"""PyTorch's module names for weft's modules: ``import torch`` gives the module ``weft`` itself.

A finder that comes first on ``sys.meta_path`` answers for the names below. It makes no modules: it puts weft's own into
``sys.modules`` under the second name, so that each class is there once, whichever name it was imported by.

weft also speaks of itself as PyTorch: in its printed forms, its version and what is installed.
"""

import importlib
import importlib.util
import multiprocessing.spawn
import pkgutil
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from types import ModuleType
from typing import Any

import weft
from weft import _display_name
from weft._lazy import FIRST_PARTY
from weft.torch_version import TorchVersion

ROOTS = {"torch": "weft", "torchvision": "weft.vision", "torchtext": "weft.text"}
BROUGHT_ALONG = ("weft.nn", "weft.optim", "weft.distributions")  # which ``import torch`` imports, too
VERSIONS = {"torch": "2.13.0+weft", "torchvision": "0.28.0+weft"}  # whose names and behaviour weft has


class TorchNames(MetaPathFinder, Loader):
    """Finder and loader of PyTorch's names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Answer for PyTorch's names alone.

        Raises
        ------
        ModuleNotFoundError
            If weft has no such module. Not None: another finder would look in weft's own folders.
        """
        name = weft_name(fullname)
        if name is None:
            return None
        if not exists(name):
            raise ModuleNotFoundError(explain(fullname, name), name=fullname)
        return ModuleSpec(fullname, self, origin=name)

    def find_distributions(
        self,
        context: DistributionFinder.Context,  # type: ignore[override]  # it is always given
    ) -> Iterable[Distribution]:
        """Let ``importlib.metadata.version("torch")`` find a version: libraries ask it before they import torch."""
        return [TorchDistribution(name) for name in VERSIONS if context.name in (None, name)]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave Python a module of its own to write the spec to: weft's keeps its own spec."""

    def exec_module(self, module: ModuleType) -> None:
        """Put weft's module in the place of the new one, as the import system allows."""
        spec = module.__spec__
        assert spec is not None
        assert spec.origin is not None
        sys.modules[spec.name] = importlib.import_module(spec.origin)
        if spec.name == "torch":
            for name in BROUGHT_ALONG:
                if exists(name):
                    importlib.import_module(name)
        share_loaded_modules()


def share_loaded_modules() -> None:
    """Put the public modules of weft that are imported into ``sys.modules`` under PyTorch's names.

    Libraries look there instead of importing: transformers, which replaces functions of ``torch.nn.init`` while it
    loads a model, would initialize loaded weights again where it found none. Where something else has a module's name
    in its package (``autograd.gradcheck`` is a function), Python would make the module that attribute if it imported
    it.
    """
    roots = {f"{own}.": f"{root}." for root, own in reversed(ROOTS.items())}  # "weft." last: others begin so
    for name, loaded in list(sys.modules.items()):
        own = next((own for own in roots if name.startswith(own)), None)
        if own is not None and "._" not in name:
            sys.modules.setdefault(roots[own] + name.removeprefix(own), loaded)


class TorchDistribution(Distribution):
    """What a program finds when it asks for the installed distribution of a name of PyTorch's."""

    def __init__(self, name: str) -> None:
        self.distribution = name

    def read_text(self, filename: str) -> str | None:
        """Return the metadata; there is no other file."""
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: {self.distribution}\nVersion: {VERSIONS[self.distribution]}\n"

    def locate_file(self, path: Any) -> Any:
        """Never: no file is listed."""
        raise FileNotFoundError(f"{self.distribution} is weft's own; it has no file {path}")


def weft_name(fullname: str) -> str | None:
    """Give weft's name for a module of PyTorch's; None for any other module.

    Examples
    --------
    >>> weft_name("torch.nn.functional"), weft_name("torchvision.transforms"), weft_name("torchaudio")
    ('weft.nn.functional', 'weft.vision.transforms', None)
    """
    root, dot, rest = fullname.partition(".")
    return ROOTS[root] + dot + rest if root in ROOTS else None


def exists(name: str) -> bool:
    """Whether weft has a module, imported already or not."""
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        if f"{name}.".startswith(f"{error.name}."):
            return False
        raise  # the package is there; something that it imports is not


def explain(fullname: str, name: str) -> str:
    """Say what is missing: a package to install, or something that weft does not offer."""
    for portion, distribution in FIRST_PARTY.items():
        if f"{name}.".startswith(f"{portion}.") and not exists(portion):
            return f"No module named {fullname!r}: it is {name}, which has to be installed: pip install {distribution}"
    parent = name.rpartition(".")[0]
    while not exists(parent):
        parent = parent.rpartition(".")[0]
    package = importlib.import_module(parent)
    offered = sorted(m.name for m in pkgutil.iter_modules(getattr(package, "__path__", [])) if m.name[0] != "_")
    return (
        f"No module named {fullname!r}: weft has no {name}. {parent} offers the modules: {', '.join(offered) or 'none'}"
    )


class Installer:
    """Goes into what multiprocessing hands to a fresh interpreter: to unpickle it there is to call `install`."""

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return install, ()


def install() -> None:
    """Make PyTorch's names weft's, in this process and in those that multiprocessing starts from it.

    A forked child inherits the finder. For a spawned one (and for a fork server's), the preparation data is unpickled
    before the main module is imported: that is when the child installs the finder for itself.
    """
    if any(isinstance(finder, TorchNames) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, TorchNames())
    speak_as_torch()
    original = multiprocessing.spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**original(name), "weft_torch_names": Installer()}

    multiprocessing.spawn.get_preparation_data = get_preparation_data


def speak_as_torch() -> None:
    """Print dtypes, shapes and types, and give the version, as a program of PyTorch's expects them."""
    _display_name.name = "torch"
    weft.__version__ = TorchVersion(VERSIONS["torch"])
    for public in (weft.Tensor, weft.Size, weft.dtype, weft.device):
        public.__module__ = "torch"
