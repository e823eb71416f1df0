"""Values of PyTorch as values of the library under test, and results back as NumPy arrays."""

import dataclasses
import importlib
import types
from typing import Any

import ml_dtypes
import numpy as np
import torch

SPARSE = (torch.sparse_coo, torch.sparse_csr, torch.sparse_bsr, torch.sparse_csc, torch.sparse_bsc)


class Untranslatable(Exception):
    """A sample holds something that the library under test has no counterpart of."""


class Library:
    """The library under test, which is any module with PyTorch's names (PyTorch itself proves the harness)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = importlib.import_module(name)

    def attribute(self, path: str) -> Any:
        """The object at a dotted path below the library; AttributeError names the part that is missing."""
        found, done = self.module, self.name
        for part in path.split("."):
            if not hasattr(found, part):
                raise AttributeError(f"{done} has no attribute {part!r}")
            found, done = getattr(found, part), f"{done}.{part}"
        return found

    def seed(self, seed: int) -> None:
        """Seed PyTorch and the library alike."""
        torch.manual_seed(seed)
        self.module.manual_seed(seed)

    def is_tensor(self, value: Any) -> bool:
        """Whether ``value`` is a tensor of the library."""
        return isinstance(value, self.module.Tensor)

    def from_array(self, array: np.ndarray) -> Any:
        """A tensor of the library that shares the array's memory and strides."""
        if self.module is torch:  # cloned, since a storage that is NumPy's cannot grow
            bfloat16 = array.dtype == ml_dtypes.bfloat16
            return (
                torch.from_numpy(array.view(np.int16)).view(torch.bfloat16) if bfloat16 else torch.from_numpy(array)
            ).clone()
        return self.module.from_numpy(array)

    def to_array(self, tensor: Any) -> np.ndarray:
        """A tensor's values; bfloat16, which ``numpy()`` refuses, as float32."""
        tensor = tensor.detach()
        if str(tensor.dtype).endswith("bfloat16"):
            tensor = tensor.to(self.module.float32)
        return array_of(tensor) if self.module is torch else tensor.numpy(force=True)


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """Values of one of PyTorch's tensors; bfloat16 as float32."""
    tensor = tensor.float() if tensor.dtype is torch.bfloat16 else tensor
    return tensor.numpy(force=True)


class Translator:
    """Translate the values of one sample; equal tensors stay one tensor, shared storage stays shared."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.tensors: dict[int, tuple[Any, Any]] = {}
        self.storages: dict[tuple[int, torch.dtype], Any] = {}
        self.functions: dict[int, Any] = {}

    def __call__(self, value: Any) -> Any:
        """The counterpart of any value that a sample may hold."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | type(...)):
            return value
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, torch.Size):
            return tuple(value)
        if isinstance(value, list | tuple):
            return type(value)(self(item) for item in value)
        if isinstance(value, dict):
            return {key: self(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(self(value.start), self(value.stop), self(value.step))
        if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
            return self.library.attribute(str(value).removeprefix("torch."))
        if isinstance(value, torch.device):
            return self.library.module.device(str(value))
        return self.object(value)

    def object(self, value: Any) -> Any:
        """The rarer kinds: arrays, generators, modules, option records, functions."""
        if isinstance(value, np.ndarray | np.generic):
            return value.copy()
        if isinstance(value, torch.Generator):
            return self.library.module.Generator().manual_seed(value.initial_seed())
        if isinstance(value, torch.nn.PairwiseDistance):
            return self.library.attribute("nn.PairwiseDistance")(value.norm, value.eps, value.keepdim)
        if dataclasses.is_dataclass(value):
            fields = {field.name: self(getattr(value, field.name)) for field in dataclasses.fields(value)}
            return self.library.attribute(f"nn.{type(value).__name__}")(**fields)
        if isinstance(value, types.FunctionType):
            return self.function(value)
        if isinstance(value, range | types.BuiltinFunctionType | type):
            return value
        raise Untranslatable(f"a value of type {type(value).__name__}")

    def tensor(self, tensor: torch.Tensor) -> Any:
        """A leaf of the library's with the same values, strides, offset, sharing and ``requires_grad``."""
        if id(tensor) in self.tensors:
            return self.tensors[id(tensor)][1]
        if tensor.layout in SPARSE and not tensor.is_quantized and tensor.device.type == "cpu":
            return self.sparse(tensor)
        if tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
            raise Untranslatable(f"a tensor on {tensor.device.type} with layout {tensor.layout}")
        if tensor.ndim > 64:
            raise Untranslatable("more dimensions than NumPy has")
        if tensor.numel() and not tensor.untyped_storage().nbytes():
            raise Untranslatable("a tensor whose storage was taken away")
        resolved = tensor.detach().resolve_conj().resolve_neg()
        translated = self.placed(resolved)
        if tensor.requires_grad:
            translated.requires_grad_()
        # Both are held, so that their id and their storage's address stay their own.
        self.tensors[id(tensor)] = ((tensor, resolved), translated)
        return translated

    def sparse(self, tensor: torch.Tensor) -> Any:
        """A sparse leaf of the library's with the same indices, in the same order, and values."""
        module, layout, size = self.library.module, tensor.layout, tuple(tensor.shape)
        if layout is torch.sparse_coo:
            parts = [self.tensor(part) for part in (tensor._indices(), tensor.detach()._values())]
            translated = module.sparse_coo_tensor(*parts, size, is_coalesced=tensor.is_coalesced())
        else:
            names = ("crow_indices", "col_indices") if layout in SPARSE[1:3] else ("ccol_indices", "row_indices")
            parts = [self.tensor(getattr(tensor.detach(), name)()) for name in (*names, "values")]
            translated = module.sparse_compressed_tensor(*parts, size, layout=self(layout))
        translated = translated.requires_grad_() if tensor.requires_grad else translated
        self.tensors[id(tensor)] = ((tensor, tensor), translated)
        return translated

    def placed(self, tensor: torch.Tensor) -> Any:
        """A tensor of the same geometry, in the library's copy of its storage.

        A tensor that is the whole of its storage is made as such, not as a view; most are.
        """
        key = (tensor.untyped_storage().data_ptr(), tensor.dtype)
        whole = tensor.is_contiguous() and tensor.numel() * tensor.itemsize == tensor.untyped_storage().nbytes()
        if whole and (not tensor.numel() or key not in self.storages):
            self.storages[key] = self.library.from_array(_flat(tensor).reshape(tuple(tensor.shape)))
            return self.storages[key]
        if key not in self.storages:
            self.storages[key] = self.library.from_array(_flat(tensor))
        geometry = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
        return self.storages[key].as_strided(*geometry).detach()

    def function(self, function: types.FunctionType) -> types.FunctionType:
        """The same code with the library in PyTorch's place, in its globals, closure and defaults."""
        if id(function) in self.functions:
            return self.functions[id(function)]
        scope = {name: self.global_value(function.__globals__[name]) for name in _global_names(function)}
        cells = tuple(types.CellType(self.global_value(cell.cell_contents)) for cell in function.__closure__ or ())
        twin = types.FunctionType(function.__code__, scope, function.__name__, None, cells or None)
        twin.__defaults__ = self.global_value(function.__defaults__)
        twin.__kwdefaults__ = self.global_value(function.__kwdefaults__)
        self.functions[id(function)] = twin
        return twin

    def global_value(self, value: Any) -> Any:
        """What a name in the scope of one of PyTorch's test functions stands for here."""
        if isinstance(value, types.ModuleType) and value.__name__.split(".")[0] == "torch":
            path = value.__name__.partition(".")[2]
            return self.library.attribute(path) if path else self.library.module
        if isinstance(value, types.FunctionType) and value.__name__ == "wrapper_set_seed":
            return self.seeded
        if isinstance(value, types.FunctionType):
            return self.function(value) if value.__module__.startswith("torch.testing") else value
        try:
            return self(value)
        except Untranslatable:
            return value

    def seeded(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Counterpart of ``wrapper_set_seed`` of PyTorch's tests: the call, under a fixed seed."""
        self.library.module.manual_seed(42)
        return op(*args, **kwargs)


def _flat(tensor: torch.Tensor) -> np.ndarray:
    """A copy of the whole storage of ``tensor``, as a flat array of its dtype."""
    length = tensor.untyped_storage().nbytes() // tensor.itemsize
    flat = tensor.as_strided((length,), (1,), 0).clone()
    if tensor.dtype is torch.bfloat16:
        return flat.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return flat.numpy()


def _global_names(function: types.FunctionType) -> set[str]:
    """Globals that a function's code, or code nested in it, may load."""
    found: set[str] = set()
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        found.update(code.co_names)
        pending.extend(const for const in code.co_consts if isinstance(const, types.CodeType))
    return found & function.__globals__.keys()
