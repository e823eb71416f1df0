"""How plugins are found, checked and loaded; `weft.plugins` says what they may do.

An entry point becomes a `Plugin`, which is loaded at most once. Its module is imported before any lock of ours is
taken: another thread may be importing the same module, holding Python's import lock, and ask for a plugin itself.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

import pluggy

from weft import __version__ as CORE_VERSION
from weft._errors import PluginError
from weft._lazy import FIRST_PARTY
from weft._plugins.name_checks import check_names
from weft._plugins.versions import meets, normalized, requirement_on
from weft._processes import renew_in_child
from weft.backend import Backend

HOOKS = {  # each group of entry points, and the hook that its plugins answer
    "weft.backends": "weft_backend",
    "weft.kernels": "weft_kernels",
    "weft.ops": "weft_ops",
    "weft.namespace": "weft_namespace",
    "weft.process_groups": "weft_communicator",
}
OPTIONAL = {"weft_namespace"}
ARGUMENT = {  # gets the entry's name
    "weft_backend": "device",
    "weft_kernels": "device",
    "weft_namespace": "name",
    "weft_communicator": "backend",
}

BUILT_IN = {"meta": "weft._meta.backend"}  # backends that core brings itself, imported when first asked for

NOT_LOADED, LOADED, FAILED = "not loaded", "loaded", "failed"
UNAVAILABLE, REFUSED, DISABLED = "unavailable", "refused", "disabled"


@dataclass(frozen=True)
class Record:
    """What is known of one plugin.

    Attributes
    ----------
    group, name : str
        Of the entry point: ``weft.backends``, ``cpu``.
    distribution, version : str
        Which installed distribution brings it.
    state : str
        ``not loaded``, ``loaded``, ``failed``, ``unavailable`` (the machine lacks what it needs), ``refused`` (made
        for another core) or ``disabled``.
    reason : str
        Why it is not loaded; empty where there is nothing to say.
    """

    group: str
    name: str
    distribution: str
    version: str
    state: str
    reason: str


class Unavailable(Exception):
    """Carries the RuntimeError by which a hook says that the machine lacks what the plugin needs."""


class Plugin:
    """One entry point, and what became of loading it."""

    def __init__(self, entry: EntryPoint) -> None:
        self.entry = entry
        self.name = entry.name
        self.group = entry.group
        self.hook = HOOKS[entry.group]
        self.distribution = entry.dist.name if entry.dist is not None else "unknown"
        self.version = entry.dist.version if entry.dist is not None else "unknown"
        self.lock = threading.RLock()
        renew_in_child(self, "lock", threading.RLock)
        self.result: Any = None
        self.error: BaseException | None = None
        self.state, self.reason = self._may_load()

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"

    def _may_load(self) -> tuple[str, str]:
        """The state before loading, from the metadata alone."""
        disabled = {normalized(name.strip()) for name in os.environ.get("WEFT_DISABLE_PLUGINS", "").split(",")}
        if normalized(self.distribution) in disabled or normalized(self.name) in disabled:
            return DISABLED, f"left out by WEFT_DISABLE_PLUGINS={os.environ['WEFT_DISABLE_PLUGINS']}"
        requirements = (self.entry.dist.requires or []) if self.entry.dist is not None else []
        wanted = requirement_on("weft-core", requirements)
        if not meets(CORE_VERSION, wanted):
            return REFUSED, f"it is made for weft-core {wanted} and this is weft-core {CORE_VERSION}"
        return NOT_LOADED, ""

    def failed(self, error: BaseException) -> None:
        """Keep the exception by which loading ended."""
        if isinstance(error, Unavailable):
            self.state, self.error = UNAVAILABLE, error.__cause__
            self.reason = str(error.__cause__)
        else:
            self.state, self.error = FAILED, error
            self.reason = f"{type(error).__name__}: {error}".rstrip(": ")

    def explain(self, wanted: str) -> PluginError:
        """The error for somebody who asked for what the plugin would have brought."""
        happened, advice = {
            FAILED: (
                "failed to load",
                f"Repair or reinstall it; `weft plugins` lists all. WEFT_DISABLE_PLUGINS={self.name} leaves it out.",
            ),
            UNAVAILABLE: ("is unavailable on this machine", ""),
            REFUSED: (
                "is refused",
                f"Install versions that fit together: pip install --upgrade weft-core {self.distribution}",
            ),
            DISABLED: ("is disabled", "Remove it from that list to use it."),
        }[self.state]
        return PluginError(f"{wanted}: plugin {self} {happened}: {self.reason.rstrip('.')}. {advice}".rstrip())

    def record(self) -> Record:
        """What `weft.plugins.status` tells of it."""
        return Record(self.group, self.name, self.distribution, self.version, self.state, self.reason)


class Manager(pluggy.PluginManager):
    """pluggy's manager, which never asks a module for a name that it makes on demand."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        """Look for hooks among what a module has: ``dir()`` of a lazy package also lists what it could import."""
        if isinstance(plugin, ModuleType) and name not in vars(plugin):
            return None
        return super().parse_hookimpl_opts(plugin, name)


class Registry:
    """All plugins of a process, by group; each is loaded when it is first asked for."""

    def __init__(self, hooks: type) -> None:
        self._manager = Manager("weft")
        self._manager.add_hookspecs(hooks)
        self._lock = threading.RLock()  # guards the tables below; no plugin's code runs while it is held
        renew_in_child(self, "_lock", threading.RLock)
        self._groups: dict[str, list[Plugin]] = {}
        self._backends: dict[str, Any] = {}
        self._kernels: dict[str, dict[str, Callable[..., Any]]] = {}
        self._owners: dict[str, dict[str, Plugin]] = {}  # by device and op
        self._importing = threading.local()

    def plugins(self, group: str, name: str | None = None) -> list[Plugin]:
        """The installed plugins of a group, by distribution; their names are read once, and nothing is imported."""
        with self._lock:
            if group not in self._groups:
                found = sorted(entry_points(group=group), key=lambda entry: (entry.name, str(entry.value)))
                self._groups[group] = [Plugin(entry) for entry in found]
            return [plugin for plugin in self._groups[group] if name is None or plugin.name == name]

    def names(self, group: str, include_disabled: bool = False) -> list[str]:
        """The names of a group's entry points, without importing any."""
        plugins = self.plugins(group)
        return sorted({plugin.name for plugin in plugins if include_disabled or plugin.state != DISABLED})

    def backend(self, device: str) -> Any:
        """See `weft.plugins.backend`."""
        if device not in self._backends:
            if device in BUILT_IN:
                self._backends[device] = import_module(BUILT_IN[device]).MetaBackend()
                return self._backends[device]
            plugin = self._only(self.plugins("weft.backends", device), f"device {device!r}")
            if plugin is None:
                raise RuntimeError(no_backend(device, self.names("weft.backends")))
            self._backends[device] = self.load(plugin, f"device {device!r}")
        return self._backends[device]

    def kernels(self, device: str) -> dict[str, Callable[..., Any]]:
        """See `weft.plugins.kernels`."""
        if device not in self._kernels:
            self._kernels[device] = self._merged_kernels(device)
        return self._kernels[device]

    def _merged_kernels(self, device: str) -> dict[str, Callable[..., Any]]:
        found: dict[str, Callable[..., Any]] = {}
        owner: dict[str, Plugin] = {}
        for plugin in self._enabled(self.plugins("weft.kernels", device)):
            try:
                brought = self.load(plugin, f"kernels for {device!r}")
            except PluginError as error:
                warnings.warn(f"{error} The device works with its own kernels.", RuntimeWarning, stacklevel=4)
                continue
            for op in brought:
                if op in owner:
                    raise self._conflict(f"the kernel of {op!r} on {device!r}", [owner[op], plugin])
                owner[op] = plugin
            found.update(brought)
        self._owners[device] = owner
        return found

    def kernel_owner(self, op: str, device: str) -> Plugin | None:
        """The plugin that brings an op's kernel on a device, or else the device's backend."""
        if op in self._owners.get(device, {}):
            return self._owners[device][op]
        loaded = [plugin for plugin in self.plugins("weft.backends", device) if plugin.state == LOADED]
        return loaded[0] if loaded else None

    def ops(self, namespace: str) -> list[ModuleType]:
        """See `weft.plugins.load_ops`."""
        modules: list[ModuleType] = []
        failures: list[PluginError] = []
        for plugin in self._enabled(self.plugins("weft.ops", namespace)):
            try:
                modules += self.load(plugin, f"ops of {namespace!r}")
            except PluginError as error:
                failures.append(error)
        if failures:
            raise failures[0]
        return modules

    def namespace(self, name: str) -> Any:
        """See `weft.plugins.namespace`."""
        plugin = self._only(self.plugins("weft.namespace", name), f"weft.{name}")
        if plugin is None:
            raise AttributeError(f"module 'weft' has no attribute {name!r}")
        return self.load(plugin, f"weft.{name}")

    def communicator(self, backend: str) -> Any:
        """See `weft.plugins.communicator`."""
        plugin = self._only(self.plugins("weft.process_groups", backend), f"process groups of backend {backend!r}")
        if plugin is None:
            installed = ", ".join(self.names("weft.process_groups")) or "none"
            raise ValueError(f"no backend {backend!r} of process groups is installed (installed: {installed})")
        return self.load(plugin, f"process groups of backend {backend!r}")

    def status(self, load: bool) -> list[Record]:
        """See `weft.plugins.status`."""
        plugins = [plugin for group in HOOKS for plugin in self.plugins(group)]
        for plugin in plugins if load else []:
            try:
                self.load(plugin, plugin.name)
            except PluginError:
                continue  # the record has the reason
        return [plugin.record() for plugin in plugins]

    def load(self, plugin: Plugin, wanted: str) -> Any:
        """What the plugin's hook answers; ``wanted`` says in an error what was asked for."""
        if plugin.state == NOT_LOADED:
            importing: set[Plugin] = self._importing.__dict__.setdefault("plugins", set())
            if plugin in importing:
                raise PluginError(
                    f"{wanted}: plugin {plugin} asks for itself while it is being loaded. "
                    "Its author should move what uses it out of the import and into a function."
                )
            importing.add(plugin)
            try:
                self._load(plugin)
            except (Exception, SystemExit) as error:  # a plugin that calls sys.exit() fails alone, too
                with plugin.lock:
                    if plugin.state == NOT_LOADED:
                        plugin.failed(error)
            finally:
                importing.discard(plugin)
        if plugin.state != LOADED:
            raise plugin.explain(wanted) from plugin.error
        return plugin.result

    def _load(self, plugin: Plugin) -> None:
        module = plugin.entry.load()
        with plugin.lock:
            if plugin.state == NOT_LOADED:
                self._register(module, plugin)
                plugin.result = CHECKS[plugin.group](plugin, module, self._answer(module, plugin))
                plugin.state = LOADED

    def _register(self, module: Any, plugin: Plugin) -> None:
        """Let pluggy check names and arguments of the module's hooks; a misspelt one is an error at once."""
        with self._lock:
            if not self._manager.is_registered(module):
                self._manager.register(module)
                try:
                    self._manager.check_pending()
                except pluggy.PluginValidationError:
                    self._manager.unregister(module)
                    raise
            answered = {caller.name for caller in self._manager.get_hookcallers(module) or []}
        if plugin.hook not in answered | OPTIONAL:
            raise TypeError(
                f"{plugin.entry.value} has no hook {plugin.hook!r}, which group {plugin.group!r} asks for; "
                f"define it in the module and mark it with @weft.plugins.hookimpl"
            )

    def _answer(self, module: Any, plugin: Plugin) -> Any:
        """Call the hook of this plugin and of no other."""
        others = [other for other in self._manager.get_plugins() if other is not module]
        caller = self._manager.subset_hook_caller(plugin.hook, others)
        argument = ARGUMENT.get(plugin.hook)
        try:
            return caller(**({argument: plugin.name} if argument else {}))
        except RuntimeError as error:
            raise Unavailable from error

    def _only(self, plugins: list[Plugin], wanted: str) -> Plugin | None:
        """The one plugin that brings something; two that are enabled are a question for the user."""
        enabled = self._enabled(plugins)
        if len(enabled) > 1:
            raise self._conflict(wanted, enabled)
        if enabled:
            return enabled[0]
        if plugins:
            raise plugins[0].explain(wanted)
        return None

    @staticmethod
    def _enabled(plugins: list[Plugin]) -> list[Plugin]:
        return [plugin for plugin in plugins if plugin.state != DISABLED]

    @staticmethod
    def _conflict(wanted: str, plugins: list[Plugin]) -> PluginError:
        return PluginError(
            f"{wanted} is brought by {' and by '.join(map(str, plugins))}. Uninstall all but one, or leave it out by "
            f"the name of its distribution: WEFT_DISABLE_PLUGINS={plugins[-1].distribution}"
        )


def no_backend(device: str, installed: list[str]) -> str:
    """The message for a device that no installed plugin serves."""
    distribution = FIRST_PARTY.get(f"weft.backend_{device}")
    if distribution is not None:
        advice = f"Install it with: pip install {distribution}"
    else:  # no guess at a name: anybody might have published it
        advice = "A plugin must bring it (an entry point of the group weft.backends); see `weft plugins`"
    return f"device {device!r}: no backend is installed for it (installed: {', '.join(installed) or 'none'}). {advice}."


def check_backend(plugin: Plugin, module: Any, answer: Any) -> Any:
    """The backend that `weft_backend` made."""
    if answer is None:
        raise Unavailable from RuntimeError(f"weft_backend({plugin.name!r}) returned None")
    if not isinstance(answer, Backend):
        raise TypeError(f"weft_backend({plugin.name!r}) must return a weft.backend.Backend, got {type(answer)}")
    if plugin.distribution not in FIRST_PARTY.values():  # ours have a test
        check_names(answer.kernels, f"weft_backend({plugin.name!r}) of plugin {plugin}")
    return answer


def check_kernels(plugin: Plugin, module: Any, answer: list[Any]) -> dict[str, Callable[..., Any]]:
    """The kernels that `weft_kernels` named; none if it returned None."""
    kernels: dict[str, Callable[..., Any]] = answer[0] if answer else {}
    if not isinstance(kernels, dict):
        raise TypeError(f"weft_kernels({plugin.name!r}) must return a dict of kernels by op, got {type(kernels)}")
    for op, kernel in kernels.items():
        if not isinstance(op, str) or "::" not in op or not callable(kernel):
            raise TypeError(
                f"weft_kernels({plugin.name!r}) must map the full names of ops to functions, as in "
                f"{{'nn::conv2d': conv2d}}, got {op!r}: {kernel!r}"
            )
    check_names(kernels, f"weft_kernels({plugin.name!r}) of plugin {plugin}")
    return kernels


def check_ops(plugin: Plugin, module: Any, answer: list[Any]) -> list[ModuleType]:
    """The modules that `weft_ops` named, imported; the plugin itself if it returned None."""
    declared: Iterable[str | ModuleType] = answer[0] if answer else [module]
    if isinstance(declared, str):
        raise TypeError(f"weft_ops() must return a list of modules or of their names, got the string {declared!r}")
    return [import_module(each) if isinstance(each, str) else each for each in declared]


def check_namespace(plugin: Plugin, module: Any, answer: Any) -> Any:
    """What ``weft.<name>`` shall be."""
    return module if answer is None else answer


def check_communicator(plugin: Plugin, module: Any, answer: Any) -> Any:
    """What makes communicators, by `weft_communicator`."""
    if answer is None:
        raise Unavailable from RuntimeError(f"weft_communicator({plugin.name!r}) returned None")
    if not callable(answer):
        raise TypeError(f"weft_communicator({plugin.name!r}) must return a function or class, got {type(answer)}")
    return answer


CHECKS: dict[str, Callable[[Plugin, Any, Any], Any]] = {
    "weft.backends": check_backend,
    "weft.kernels": check_kernels,
    "weft.ops": check_ops,
    "weft.namespace": check_namespace,
    "weft.process_groups": check_communicator,
}
