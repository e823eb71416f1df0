"""Names of backends: PyTorch's, weft's own, and those that programs and plugins register."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

import weft

__all__ = ["Backend", "BackendConfig", "default_backend", "is_backend_available", "makers_of"]

ALIASES = {"gloo": "", "ucc": "", "fake": ""}  # PyTorch's engines of the CPU: what serves the CPU here
LAUNCHED_BY_MPI = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK")


class Backend(str):
    """The name of what carries messages between processes, in lower case: ``tcp``, ``mpi``, ``nccl``, or ``gloo``."""

    UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE, TCP = "undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake", "tcp"
    default_device_backend_map: ClassVar = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}
    backend_list: ClassVar = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE, TCP]
    _registered: ClassVar[dict[str, tuple[Callable[..., Any], tuple[str, ...]]]] = {}

    def __new__(cls, name: str) -> Backend:
        """Lower the case."""
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: got {name!r}")
        return super().__new__(cls, name.lower())

    @classmethod
    def register_backend(
        cls, name: str, func: Callable[..., Any], extended_api: bool = False, devices: Any = None
    ) -> None:
        """Register a backend of the program's own.

        Parameters
        ----------
        name : str
        func : callable
            ``func(store, rank, size, timeout)``, which returns a `weft.distributed.communicators.Communicator`.
        extended_api : bool
            Accepted and not used.
        devices : str or list of str, optional
            The types of devices that it serves; by default all.

        Raises
        ------
        RuntimeError
            If the name is taken.
        """
        name = name.lower()
        if name in cls._registered or name in weft.plugins.communicators():
            raise RuntimeError(f"register_backend: {name!r} is registered already")
        types = () if devices is None else (devices,) if isinstance(devices, str) else tuple(devices)
        cls._registered[name] = func, types
        setattr(cls, name.upper(), name)
        cls.backend_list = [*cls.backend_list, name]


def default_backend() -> str:
    """The engine of the CPU, where none is named: MPI under ``mpiexec``, otherwise TCP."""
    launched = any(name in os.environ for name in LAUNCHED_BY_MPI)
    return "mpi" if launched and "mpi" in weft.plugins.communicators() and "MASTER_ADDR" not in os.environ else "tcp"


def maker_of(name: str) -> Callable[..., Any]:
    """What makes communicators of a backend.

    Raises
    ------
    ValueError
        If there is no such backend.
    """
    if name in Backend._registered:
        return Backend._registered[name][0]
    return weft.plugins.communicator(name)  # type: ignore[no-any-return]


def makers_of(backend: str | None) -> dict[str, Any]:
    """What makes communicators of each type of device (``""`` is for all others), of what a program asks for.

    Parameters
    ----------
    backend : str, optional
        A name, or ``"cpu:tcp,cuda:nccl"``. PyTorch's names stand for what is there.

    Raises
    ------
    ValueError
        If a backend is not there, or the string is no such list.
    """
    on_cpu = default_backend()
    if backend is None or backend in ("", "undefined", "nccl"):  # a tensor of the CPU may pass among CUDA's
        return {"": Later(on_cpu), "cuda": Later("nccl")}
    if ":" not in backend:
        return {"": Later(ALIASES.get(backend, backend) or on_cpu)}
    makers: dict[str, Any] = {}
    for part in backend.split(","):
        device, colon, name = part.strip().partition(":")
        if not (device and colon and name):
            raise ValueError(f"Invalid backend {backend!r}: write it as 'cpu:tcp,cuda:nccl', or as one name")
        makers[device] = Later(ALIASES.get(name, name) or on_cpu)
    return makers


class BackendConfig:
    """Which backend serves each type of device, of a name as programs write it.

    Raises
    ------
    ValueError
        If a backend is not there, or the string is no such list.
    """

    def __init__(self, backend: str) -> None:
        named = {device or "cpu": maker.name for device, maker in makers_of(backend.lower()).items()}
        self.device_backend_map = {device: Backend(name) for device, name in named.items()}

    def get_device_backend_map(self) -> dict[str, Backend]:
        """Return the backends by the type of device."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{device}:{name}" for device, name in self.device_backend_map.items())


class Later:
    """Makes communicators of a backend, which is looked up when the first is needed."""

    def __init__(self, name: str) -> None:
        self.name = name
        if name not in Backend._registered and name not in weft.plugins.communicators():
            known = sorted({*Backend._registered, *weft.plugins.communicators(), *ALIASES})
            raise ValueError(f"Invalid backend: {name!r}. There are {', '.join(known)}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Later) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __call__(self, *args: Any) -> Any:
        return maker_of(self.name)(*args)


def is_backend_available(backend: str) -> bool:
    """Whether a backend of that name can be asked for."""
    try:
        makers_of(backend.lower())
    except ValueError:
        return False
    return True
