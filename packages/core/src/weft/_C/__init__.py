"""Names of PyTorch's compiled module that libraries use: each is weft's own object of that meaning.

It is no interface of weft's: programs find each of these under a public name. What is not here raises AttributeError,
which is what libraries that probe for a name expect.
"""

from __future__ import annotations

import importlib
from pkgutil import extend_path
from typing import Any

import weft
from weft._dtypes.dtypes import dtype as dtype
from weft._engine.tensor import TensorBase as TensorBase
from weft._engine.tensor import local
from weft._interception.torch_dispatch import below_autograd as _below_autograd
from weft._interception.torch_dispatch import without_subclasses as _without_subclasses
from weft._interception.torch_function import pop as _pop_mode
from weft._tensor.base import disabled_torch_dispatch, disabled_torch_function
from weft.ops._lapack import LinAlgError as _LinAlgError
from weft.overrides import DisableTorchFunction as DisableTorchFunction
from weft.overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from weft.overrides import _get_torch_function_state as _get_torch_function_state
from weft.overrides import _set_torch_function_state as _set_torch_function_state
from weft.overrides import _TorchFunctionState as _TorchFunctionState
from weft.random import Generator as Generator

__path__ = extend_path(__path__, __name__)  # weft-nn ships weft/_C/_nn.py
__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "Generator", "TensorBase", "_LinAlgError", "dtype"]

_disabled_torch_function_impl = disabled_torch_function
_disabled_torch_dispatch_impl = disabled_torch_dispatch
StorageBase = weft.storage.StorageBase
_TensorMeta = type(weft.Tensor)  # the metaclass, from which Lightning derives one
has_lapack = has_spectral = True  # NumPy has them
_SUBMODULES = ("_autograd", "_functions", "_functorch", "_nn", "_profiler")


_SCHEMAS = ("Argument", "FunctionSchema", "parse_schema")
_DISPATCH_KEYS = {
    "DispatchKey": "DispatchKey",
    "DispatchKeySet": "DispatchKeySet",
    "_ExcludeDispatchKeyGuard": "ExcludeDispatchKeyGuard",
}
_OF_THE_GRAPH = {
    "_WeakTensorRef": "WeakTensorRef",
    "_current_autograd_node": "current_autograd_node",
    "_current_graph_task_execution_order": "current_graph_task_execution_order",
    "_current_graph_task_id": "current_graph_task_id",
    "_will_engine_execute_node": "will_engine_execute_node",
}


def __getattr__(name: str) -> Any:
    """Import what is a module of its own when it is asked for."""
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _SCHEMAS:
        return getattr(importlib.import_module("weft.ops._schema"), name)
    if name in _DISPATCH_KEYS:
        return getattr(importlib.import_module("weft._C._dispatch_keys"), _DISPATCH_KEYS[name])
    if name in _OF_THE_GRAPH:
        return getattr(importlib.import_module("weft._C._autograd"), _OF_THE_GRAPH[name])
    if name == "ScriptFunction":
        return importlib.import_module("weft.jit").ScriptFunction
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _AutoDispatchBelowAutograd:
    """In this block, which functions for the dispatch key Autograd enter, an operator's other functions are called."""

    def __enter__(self) -> None:
        self._block = _below_autograd()
        self._block.__enter__()

    def __exit__(self, *raised: Any) -> None:
        self._block.__exit__(*raised)


class _DisableTorchDispatch:
    """In this block subclasses with ``__torch_dispatch__`` are tensors like others; functorch's and torchao's users."""

    def __enter__(self) -> None:
        self._block = _without_subclasses()
        self._block.__enter__()

    def __exit__(self, *raised: Any) -> None:
        self._block.__exit__(*raised)


def _get_accelerator(check: bool | None = None) -> weft.device:
    """The accelerator's device, or the CPU: transformers puts parallel models there."""
    return weft.accelerator.current_accelerator() or weft.device("cpu")


def _mps_is_available() -> bool:
    """Whether tensors can be put on an Apple graphics processor: pytorch-forecasting's tests replace it."""
    return weft.backends.mps.is_available()


def _get_privateuse1_backend_name() -> str:
    """PyTorch's name for a device that a stranger registers; weft's plugins name theirs, and none has this one."""
    return "privateuseone"


def _get_cpu_capability() -> str:
    """`weft.backends.cpu.get_cpu_capability`."""
    return weft.backends.cpu.get_cpu_capability()


def is_grad_enabled() -> bool:
    """Whether operations are recorded."""
    return weft.is_grad_enabled()


def _log_api_usage_once(event: str) -> None:
    """Do nothing: no log of what is used is kept. TorchMetrics calls it for each metric."""


def _get_mkldnn_enabled() -> bool:
    """Whether oneDNN may compute: `weft.backends.mkldnn.enabled`."""
    return weft.backends.mkldnn.enabled


def _set_mkldnn_enabled(enabled: bool) -> None:
    """Set `weft.backends.mkldnn.enabled`, as PyTorch's tests of layers do."""
    weft.backends.mkldnn.enabled = enabled


def _get_tracing_state() -> None:
    """None: see `weft.jit.is_tracing`. Pyro asks before it looks at values."""


def _are_functorch_transforms_active() -> bool:
    """Whether a transform of `weft.func` runs. tensordict and Kornia ask before they look at values."""
    return bool(local.levels)


def _is_torch_function_mode_enabled() -> bool:
    """Whether a `TorchFunctionMode` is active. tensordict asks for it."""
    return bool(local.modes)


def _len_torch_function_stack() -> int:
    """How many `TorchFunctionMode` are active."""
    return len(local.modes)


def _pop_torch_function_stack() -> Any:
    """Take off the newest `TorchFunctionMode`, which a test left behind."""
    return _pop_mode()


def _is_alias_of(input: Any, other: Any) -> bool:
    """Whether two tensors share memory. tensordict asks before it copies."""
    return bool(input.untyped_storage().data_ptr() == other.untyped_storage().data_ptr())


def _get_default_device() -> str:
    """The type of the device that new tensors are on, which PyTorch Geometric compares with."""
    return weft.get_default_device().type


def _deterministic() -> Any:
    return importlib.import_module("weft.utils.deterministic")


def _get_deterministic_fill_uninitialized_memory() -> bool:
    """`utils.deterministic.fill_uninitialized_memory`, which PyTorch's own tests compare with this."""
    return bool(_deterministic().fill_uninitialized_memory)


def _set_deterministic_fill_uninitialized_memory(mode: bool) -> None:
    """Set `utils.deterministic.fill_uninitialized_memory`."""
    _deterministic().fill_uninitialized_memory = mode


def _cuda_isInBadFork() -> bool:
    """Whether CUDA was used before this process was forked; accelerate asks before it starts others."""
    bad: bool = weft.cuda._devices.is_in_bad_fork()
    return bad


class Graph:
    """A graph of TorchScript, by name: weft makes none. Transformers' SEW-D has it in annotations."""

    def __init__(self) -> None:
        raise NotImplementedError(
            f"{type(self).__name__}: weft makes no graphs of TorchScript; see weft.fx for its own"
        )


class Value(Graph):
    """A value in such a graph."""


class TensorType(Graph):
    """The type of a tensor in such a graph. open_clip has it in annotations."""


class ScriptDict(Graph):
    """A dict of TorchScript, by name; PyTorch's test classes ask for the class of what they compare."""


class ScriptList(Graph):
    """A list of TorchScript, by name."""


class ScriptMethod(Graph):
    """A compiled method of a module, by name."""
