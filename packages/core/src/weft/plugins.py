"""The contract between core and its plugins: five hooks, and the entry points that announce them.

A plugin is a module of an installed distribution. An entry point announces it, so that it is found without being
imported, and the module marks the functions that answer::

    # pyproject.toml
    dependencies = ["weft-core~=0.1.0"]
    [project.entry-points."weft.backends"]
    metal = "weft_metal"

    # weft_metal.py
    from weft.plugins import hookimpl

    @hookimpl
    def weft_backend(device):
        return MetalBackend()

=================== ======================================== ===================
group               the entry point's name                   its hook
=================== ======================================== ===================
weft.backends       the device's name, ``metal``             `weft_backend`
weft.kernels        the device whose kernels it replaces     `weft_kernels`
weft.ops            the namespace of its ops, as in          `weft_ops`
                    ``sparkle::glow``
weft.namespace      what it adds to weft: ``weft.sparkle``   `weft_namespace`,
                                                             which is optional
weft.process_groups the backend of process groups, ``mpi``   `weft_communicator`
=================== ======================================== ===================

Everything is lazy and each plugin fails alone: one is imported when its device, name or ops are first asked for, in
a try of its own. Its exception is kept, and raised, chained, in a `PluginError` whenever somebody asks for what it
would have brought. The core version that a plugin was made for is what its distribution requires of ``weft-core``:
pip reads the same line, and it is known before any of the plugin's code runs. ``WEFT_DISABLE_PLUGINS=a,b`` leaves
plugins out, by the name of the distribution or of the entry point. ``weft plugins`` shows what is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import pluggy

from weft._errors import PluginError
from weft._plugins.registry import Record, Registry
from weft.backend import Backend

__all__ = [
    "Hooks",
    "PluginError",
    "Record",
    "backend",
    "backends",
    "communicator",
    "communicators",
    "hookimpl",
    "hookspec",
    "kernels",
    "load_ops",
    "loaded_backends",
    "namespace",
    "namespaces",
    "status",
]

hookspec = pluggy.HookspecMarker("weft")
hookimpl = pluggy.HookimplMarker("weft")


class Hooks:
    """What a plugin may answer. Each hook is called once in a process, when its answer is first needed."""

    @hookspec(firstresult=True)
    def weft_backend(self, device: str) -> Backend | None:
        """Make the backend of a device.

        Called when something first asks for the device that the entry point (group ``weft.backends``) is named for.

        Returns
        -------
        Backend
            It serves all devices of this name (``metal:0``, ``metal:1``) until the process ends.
        None
            The plugin does not serve the device on this machine. To say why is better: see below.

        Raises
        ------
        RuntimeError
            If the machine lacks what the device needs, a chip or a driver. The message, which says so and what to
            do, is kept and shown to whoever asks for the device; ``weft plugins`` calls the plugin unavailable.
        """

    @hookspec
    def weft_kernels(self, device: str) -> dict[str, Callable[..., Any]] | None:
        """Replace kernels of a backend that the plugin does not own.

        Called when an op first runs on the device that the entry point (group ``weft.kernels``) is named for.

        Returns
        -------
        dict
            Kernels by the full name of their op, ``{"nn::conv2d": kernel}``. Each has the signature of the op's
            declared kernel, takes and returns the backend's arrays, and wins over the backend's own. A name that no op
            has is an error; what the kernels return is checked under ``WEFT_CHECK_KERNELS=1``.
        None
            Nothing to replace on this machine.
        """

    @hookspec
    def weft_ops(self) -> Iterable[str | ModuleType] | None:
        """Declare ops under a namespace of the plugin's own.

        Called when an op of the namespace that the entry point (group ``weft.ops``) is named for is first asked for
        by name, ``sparkle::glow``.

        Returns
        -------
        iterable of str or module
            The modules that declare the ops; those given by name are then imported.
        None
            Importing the plugin itself has declared them.
        """

    @hookspec(firstresult=True)
    def weft_namespace(self, name: str) -> Any | None:
        """Bring ``weft.<name>``.

        Called when the attribute that the entry point (group ``weft.namespace``) is named for is first asked for and
        no portion of weft has it.

        Returns
        -------
        object
            What ``weft.<name>`` shall be.
        None
            The module that the entry point names; so too if the plugin has no such hook.
        """

    @hookspec(firstresult=True)
    def weft_communicator(self, backend: str) -> Callable[..., Any] | None:
        """Bring a backend of process groups.

        Called when `weft.distributed.init_process_group` is first asked for the backend that the entry point (group
        ``weft.process_groups``) is named for.

        Returns
        -------
        callable
            ``make(store, rank, size, timeout)``, which returns a `weft.distributed.communicators.Communicator`: often
            that subclass itself.
        None
            The backend does not work on this machine. A RuntimeError that says why is better.
        """


Record.__module__ = __name__  # where users and tracebacks find them

_registry = Registry(Hooks)


def backend(device: str) -> Backend:
    """Load the backend of a device, and no other.

    Parameters
    ----------
    device : str
        The device's type, ``cpu``, without an index.

    Raises
    ------
    RuntimeError
        If no installed plugin serves the device; the message lists those that are installed.
    PluginError
        If the plugin failed, was made for another core, or is disabled.
    """
    found: Backend = _registry.backend(device)
    return found


def backends() -> list[str]:
    """List the devices that have an installed backend, in alphabetical order, without importing any."""
    return _registry.names("weft.backends")


def loaded_backends() -> list[Backend]:
    """List the backends that have been loaded, the oldest first."""
    return list(_registry._backends.values())


def kernels(device: str) -> dict[str, Callable[..., Any]]:
    """Collect the kernels by which plugins replace the backend's own on a device.

    A plugin that fails is left out with a RuntimeWarning: the device works without it.

    Raises
    ------
    PluginError
        If two plugins replace the kernel of the same op.
    """
    return _registry.kernels(device)


def kernel_owner(op: str, device: str) -> Any:
    """The plugin that brings the kernel of an op on a device, or else the device's backend; None if neither."""
    return _registry.kernel_owner(op, device)


def load_ops(namespace: str) -> list[ModuleType]:
    """Import whatever declares ops under a namespace, and return those modules; none if no plugin knows it.

    Raises
    ------
    PluginError
        If a plugin failed. Others of the same namespace have been loaded all the same.
    """
    return _registry.ops(namespace)


def namespace(name: str) -> Any:
    """Load what a plugin registers as ``weft.<name>``.

    Raises
    ------
    AttributeError
        If no plugin registers the name.
    PluginError
        If the plugin failed, was made for another core, or is disabled.
    """
    return _registry.namespace(name)


def namespaces(include_disabled: bool = False) -> list[str]:
    """List the names that plugins add to ``weft``, in alphabetical order, without importing any."""
    return _registry.names("weft.namespace", include_disabled)


def communicator(backend: str) -> Callable[..., Any]:
    """Load what makes communicators of a backend of process groups.

    Raises
    ------
    ValueError
        If no installed plugin brings the backend; the message lists those that are installed.
    PluginError
        If the plugin failed, was made for another core, or is disabled.
    """
    return _registry.communicator(backend)


def communicators() -> list[str]:
    """List the backends of process groups that are installed, in alphabetical order, without importing any."""
    return _registry.names("weft.process_groups")


def status(load: bool = False) -> list[Record]:
    """Describe every installed plugin; with ``load``, try first to load each one."""
    return _registry.status(load)
