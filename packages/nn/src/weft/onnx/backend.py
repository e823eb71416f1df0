"""weft as a backend of ONNX, by the interface of ``onnx.backend.base``: what ``onnx.backend.test`` asks.

Needs the package ``onnx``; programs load a file by `weft.onnx.load`.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import weft
from onnx.backend.base import Backend, BackendRep
from weft.onnx._importer.model import ONNXModule
from weft.onnx._importer.reading import FLOAT8, tensor_from_numpy

NUMPY_FLOAT8 = {dtype: np.dtype(getattr(ml_dtypes, name)) for name, dtype in FLOAT8.items()}

__all__ = ["WeftBackend", "WeftBackendRep", "is_compatible", "prepare", "run_model", "supports_device"]


class WeftBackendRep(BackendRep):
    """A model that is ready to run on arrays.

    Attributes
    ----------
    module : ONNXModule
    """

    def __init__(self, module: ONNXModule, device: weft.device) -> None:
        self.module, self.device = module.to(device), device

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, as arrays, for inputs that are arrays (lists of them for sequences)."""
        arguments = [tensor_of(each, self.device) for each in inputs]
        with weft.no_grad():
            results = self.module(*arguments)
        return tuple(array_of(each) for each in (results if isinstance(results, tuple) else (results,)))


def tensor_of(value: Any, device: weft.device) -> Any:
    """An input as the module takes it."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [tensor_of(each, device) for each in value]
    tensor = tensor_from_numpy(np.asarray(value))
    return tensor.to(device) if isinstance(tensor, weft.Tensor) else tensor


def array_of(value: Any) -> Any:
    """An output as others take it."""
    if isinstance(value, (list, tuple)):
        return [array_of(each) for each in value]
    if not isinstance(value, weft.Tensor):
        return value
    value = value.detach().cpu()
    narrow = NUMPY_FLOAT8.get(value.dtype)
    return value.numpy() if narrow is None else value.view(weft.uint8).numpy().view(narrow)


class WeftBackend(Backend):
    """The backend; its methods are also functions of this module."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> WeftBackendRep:
        """Make a model ready to run.

        Raises
        ------
        ValueError, NotImplementedError
            See `weft.onnx.load`.
        """
        return WeftBackendRep(ONNXModule(model), weft.device(device.lower()))

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether weft has all operators and dtypes of a model."""
        try:
            ONNXModule(model)
        except (NotImplementedError, ValueError):
            return False
        return True

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether there is such a device, here and now."""
        return device == "CPU" or (device.startswith("CUDA") and weft.cuda.is_available())


is_compatible = WeftBackend.is_compatible
prepare = WeftBackend.prepare
run_model = WeftBackend.run_model
supports_device = WeftBackend.supports_device
