"""What weft's modules, classes and functions are called where PyTorch's names are weft's.

A module has one object and two names: ``sys.modules["torch.nn"] is sys.modules["weft.nn"]``. It gets the second one as
soon as it is imported by any, with those of its classes and functions, so that pickles, printed forms and programs that
look into ``sys.modules`` find PyTorch's names. ``__spec__`` and ``__package__`` keep weft's.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import Any

import weft
from _weft_as_torch import ROOTS, VERSIONS, TorchNames, active
from weft import _display_name
from weft._as_torch import paths
from weft._as_torch.unloaded import content, is_loaded, unloaded
from weft._lazy import FIRST_PARTY, home_of
from weft.torch_version import TorchVersion

BACKENDS = ("weft.backend_cpu", "weft.backend_cuda")  # of which PyTorch has no public names


# From PyTorch's names to modules


def find(fullname: str) -> ModuleSpec | None:
    """The spec of a module of PyTorch's; None if weft has none."""
    was_loaded = fullname in sys.modules
    begin()
    name = weft_name(fullname)
    assert name is not None
    if fullname in paths.joined():
        homes = paths.joined()
        is_package = any(each.startswith(f"{fullname}.") for each in homes)
        return ModuleSpec(fullname, Joined(homes[fullname].split()), is_package=is_package)
    found = exists(name)
    if not was_loaded:  # what gets this name while it is looked for would be loaded again, by its own spec
        sys.modules.pop(fullname, None)
    return ModuleSpec(fullname, Alias(), origin=name) if found else None


class Alias(Loader):
    """Puts weft's module in the place of the new one, as the import system allows."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave Python a module of its own to write the spec to: weft's keeps its own spec."""

    def exec_module(self, module: ModuleType) -> None:
        """Import weft's module, and what importing it under this name brings along."""
        spec = module.__spec__
        assert spec is not None
        assert spec.origin is not None
        sys.modules[spec.name] = importlib.import_module(spec.origin)
        if spec.name == "torch":
            bring_along()

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of weft's module, for ``python -m torch.distributed.run``."""
        spec = importlib.util.find_spec(weft_name(fullname) or fullname)
        code: CodeType | None = spec.loader.get_code(spec.name) if spec is not None else None  # type: ignore[union-attr]
        return code


class MadeByPackage(Loader):
    """Loads a module without a file: its package fills it."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Import the package."""
        assert module.__spec__ is not None
        importlib.import_module(module.__spec__.parent or "")


class Joined(Loader):
    """Makes a module of PyTorch's out of those of weft that have its names."""

    def __init__(self, homes: list[str]) -> None:
        self.homes = homes

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Fill the module; names that a home finds when they are asked for are found then."""
        homes = [importlib.import_module(home) for home in self.homes]
        for home in homes:
            vars(module).update({name: value for name, value in vars(home).items() if not name.startswith("__")})

        def __getattr__(name: str) -> Any:
            for home in homes:
                if not name.startswith("__") and hasattr(home, name):
                    return getattr(home, name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        vars(module)["__getattr__"] = __getattr__
        module.__doc__ = f"The names of {', '.join(self.homes)}."


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


def is_own(module: ModuleType) -> bool:
    """Whether a module is one of weft's, or made of them."""
    loader = getattr(module.__spec__, "loader", None)
    return f"{module.__package__}.".startswith("weft.") or isinstance(loader, (Alias, Joined))


def explain(fullname: str) -> str:
    """Say what is missing: a package to install, or something that weft does not offer."""
    name = weft_name(fullname) or fullname
    for portion, distribution in FIRST_PARTY.items():
        if f"{name}.".startswith(f"{portion}.") and not exists(portion):
            return f"{fullname} is {name}, which has to be installed: pip install {distribution}"
    parent = name.rpartition(".")[0]
    while not exists(parent):
        parent = parent.rpartition(".")[0]
    package = importlib.import_module(parent)
    offered = sorted(m.name for m in pkgutil.iter_modules(getattr(package, "__path__", [])) if m.name[0] != "_")
    return f"weft has no {name}. {parent} offers the modules: {', '.join(offered) or 'none'}"


def bring_along() -> None:
    """Put what PyTorch imports with itself into ``sys.modules``; it is loaded when somebody looks into it."""
    for name in paths.BROUGHT_ALONG:
        alias = f"torch.{name}"
        if alias in sys.modules:
            continue
        package, _, child = name.rpartition(".")
        parent = sys.modules.get(f"torch.{package}" if package else "torch")
        if parent is None:
            continue
        spec = find(alias) if alias in paths.JOINED else None
        module = own_unloaded(f"weft.{name}", parent) if spec is None else unloaded(spec)
        if module is not None:
            sys.modules[alias] = module
            if name not in paths.FUNCTIONS:
                content(parent).setdefault(child, module)


def own_unloaded(name: str, parent: ModuleType) -> ModuleType | None:
    """A module of weft's that is loaded when somebody looks into it; None if it is not installed."""
    if name not in sys.modules:
        spec = find_own(name, content(parent)["__path__"])
        if spec is None and name.rpartition(".")[0] in paths.WITHOUT_FILES:
            spec = ModuleSpec(name, Renaming(MadeByPackage()))
        if spec is None:
            return None
        sys.modules[name] = unloaded(spec)
    return sys.modules[name]


# From weft's modules to PyTorch's names


def begin() -> None:
    """Give what is imported already its names, once; what comes later gets them as it is imported."""
    if _display_name.name == "torch":
        return
    _display_name.name = "torch"
    importlib.import_module("weft._plugins.registry")  # which compares plugins with weft's own version
    vars(weft)["torch"] = weft  # PyTorch's module is an attribute of itself; transformers' UVDoc reaches it so
    explain_missing_modules()
    for name, module in list(sys.modules.items()):
        if f"{name}.".startswith("weft."):
            rename(name, module)


def find_own(fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """The spec of a module of weft's, from the other finders; when it has been loaded, it gets PyTorch's names."""
    if _display_name.name != "torch":
        return None
    for finder in sys.meta_path:
        find_spec = None if isinstance(finder, TorchNames) else getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = None if find_spec is None else find_spec(fullname, path)
        if spec is not None:
            if spec.loader is not None:
                spec.loader = Renaming(spec.loader)
            return spec
    return None


def explain_missing_modules() -> None:
    """Add to the message of a program that ends because it misses a module of PyTorch's what weft says of it."""
    show = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if isinstance(error, ModuleNotFoundError) and weft_name(error.name or "") is not None:
            error.add_note(explain(str(error.name)))
        show(kind, error, traceback)

    sys.excepthook = excepthook


class Renaming(Loader):
    """Loads as another loader does; then it is out of the way."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """What the other one makes."""
        made: ModuleType | None = self.loader.create_module(spec)
        return made

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of a module that is to be run, not imported."""
        code: CodeType | None = self.loader.get_code(fullname)
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Load the module; it is there under PyTorch's name as soon as under weft's."""
        spec = module.__spec__
        assert spec is not None
        load_parent(spec.name, module)
        if spec.loader is not self:  # its package has loaded it
            return
        spec.loader = module.__loader__ = self.loader
        alias = torch_name(spec.name)
        if alias is not None:
            sys.modules[alias] = module
        try:
            self.loader.exec_module(module)
        except BaseException:
            spec.loader = self  # for another attempt
            if alias is not None:
                sys.modules.pop(alias, None)
            raise
        rename(spec.name, sys.modules.get(spec.name, module))
        if spec.submodule_search_locations is not None:  # a package may have made modules without a file
            for name, made in list(sys.modules.items()):
                if name.startswith(f"{spec.name}.") and torch_name(name) not in sys.modules and is_loaded(made):
                    rename(name, made)


def load_parent(name: str, module: ModuleType) -> None:
    """Load the package of a module that somebody looked into first, as importing the module would have done.

    The package may look into the module while it is loaded: then it finds it waiting still, not half loaded.
    """
    parent = sys.modules.get(name.rpartition(".")[0])
    if type(parent) not in (ModuleType, type(None)):
        object.__setattr__(module, "__class__", type(parent))
        parent.__doc__  # noqa: B018  # looking loads it


def torch_name(name: str) -> str | None:
    """PyTorch's name for a public module of weft's; None for one that PyTorch's users do not know.

    Examples
    --------
    >>> torch_name("weft.nn.functional"), torch_name("weft.vision.transforms"), torch_name("weft._tensor.base")
    ('torch.nn.functional', 'torchvision.transforms', None)
    """
    if name.startswith(BACKENDS) or public_module(name) != name:
        return None
    own, root = next((own, root) for root, own in reversed(ROOTS.items()) if f"{name}.".startswith(f"{own}."))
    return root + name.removeprefix(own) if root in active else None


def rename(name: str, module: ModuleType) -> None:
    """Give a module of weft's, its classes and its functions PyTorch's names."""
    alias = torch_name(name)
    if alias is not None:
        sys.modules.setdefault(alias, module)
        module.__name__ = alias
        if alias in VERSIONS:
            vars(module)["__version__"] = TorchVersion(VERSIONS[alias])
    for key, value in list(vars(module).items()):
        if not issubclass(type(value), (type, FunctionType)):  # `isinstance` would load a module that is not
            continue
        if value.__module__ in (name, "weft") and value.__qualname__ == key:
            home = home_in_torch(name, key, value)
            if home is not None:
                with contextlib.suppress(TypeError, AttributeError):  # a class whose fields are fixed
                    value.__module__ = home


def home_in_torch(module: str, name: str, value: Any) -> str | None:
    """The module of PyTorch's that has a class or function of weft's; None if none has."""
    torch_file = paths.file_of_portion(module)
    if torch_file is not None:
        return torch_file(name)
    public = public_module(module)
    if public == module:
        return torch_name(module)
    loaded = sys.modules.get(public)
    if vars(loaded).get(name) is value if loaded is not None else False:
        return torch_name(public)
    return "torch" if home_of(name) == module else None


def public_module(name: str) -> str:
    """The nearest package around a module that PyTorch's users know; the module itself if they know it.

    Examples
    --------
    >>> public_module("weft.serialization._load"), public_module("weft.ops.pointwise"), public_module("weft.linalg")
    ('weft.serialization', 'weft', 'weft.linalg')
    """
    parts = name.split(".")
    first = 2 if ".".join(parts[:2]) in paths.PRIVATE else 1
    hidden = (place for place, part in enumerate(parts) if place >= first and (part.startswith("_") or part == "ops"))
    return ".".join(parts[: next(hidden, len(parts))])
