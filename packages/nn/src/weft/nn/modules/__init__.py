"""The layers under PyTorch's paths, such as ``modules.batchnorm``, for programs that import by them.

Each path is a module of its own only in `sys.modules`: it has the public and private names of the files listed here.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from weft import Tensor
from weft._portions.nn import FILES
from weft.nn._module.state_dict import consume_prefix_in_state_dict_if_present
from weft.nn._types import expanded

# PyTorch's files of layers, and ours with their names; those of one name first.
_HOMES: dict[str, list[str]] = {}
for _file, _modules in FILES.items():
    for _module in _modules.values():
        if _module.startswith("torch.nn.modules."):
            _HOMES.setdefault(_module.rpartition(".")[2], []).append(_file)
for _path, _files in _HOMES.items():
    _files.sort(key=lambda file, path=_path: file != f"weft.nn.{path}")  # type: ignore[misc]


def _joined(path: str, homes: list[str]) -> ModuleType:
    """Return a module with the names of all ``homes``, and register it under ``path``, if it is not there yet."""
    name = f"weft.nn.modules.{path}"
    made = sys.modules.setdefault(name, ModuleType(name))
    made.__doc__ = f"The names of {', '.join(homes)}."
    for home in homes:
        names = vars(importlib.import_module(home))
        made.__dict__.update({name: value for name, value in names.items() if not name.startswith("__")})
    return made


def _tuple_maker(count: int, name: str = "parse") -> Any:
    def repeated(value: Any) -> tuple[Any, ...]:
        return expanded(value, count)

    repeated.__name__ = name
    return repeated


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Return each element ``n`` times, the last element first: what `pad` takes of a convolution's padding."""
    return tuple(each for each in reversed(t) for _ in range(n))


def _list_with_default(out_size: list[Any], defaults: list[int]) -> list[int]:
    """Return ``out_size``, with the last of ``defaults`` in place of each None."""
    if len(defaults) <= len(out_size):
        raise ValueError(f"_list_with_default: input dimension should be at least {len(out_size) + 1}")
    return [default if size is None else size for size, default in zip(out_size, defaults[-len(out_size) :])]


def _addindent(s_: str, numSpaces: int) -> str:
    """Indent all lines of a printed module but the first."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """Return the entries of ``tensor`` along ``dim`` in another order."""
    return tensor.index_select(dim, permutation)


def _in_paths() -> dict[str, dict[str, Any]]:
    """Functions under the names and paths from which programs import them, though these are private in PyTorch."""
    counts = {"_single": 1, "_pair": 2, "_triple": 3, "_quadruple": 4}
    tuples = {name: _tuple_maker(count, name) for name, count in counts.items()} | {"_ntuple": _tuple_maker}
    layers = importlib.import_module("weft.nn.transformer")
    return {
        "utils": {
            **tuples,
            "_reverse_repeat_tuple": _reverse_repeat_tuple,
            "_list_with_default": _list_with_default,
            "consume_prefix_in_state_dict_if_present": consume_prefix_in_state_dict_if_present,
        },
        "conv": {**tuples, "_reverse_repeat_tuple": _reverse_repeat_tuple},
        "pooling": tuples,
        "padding": tuples,
        "module": {"_addindent": _addindent},
        "container": {"_addindent": _addindent},
        "rnn": {"apply_permutation": apply_permutation},
        "transformer": {
            "_get_clones": layers._copies,
            "_get_activation_fn": layers._activation_named,
            "_generate_square_subsequent_mask": layers._causal_mask,
        },
    }


for _path, _files in _HOMES.items():
    globals()[_path] = _joined(_path, _files)
utils = _joined("utils", [])
for _path, _names in _in_paths().items():
    vars(globals()[_path]).update(_names)


def _layer_names() -> list[str]:
    """The names of the layers, and of `Module`."""
    layers = importlib.import_module("weft.nn")
    found = {name: getattr(layers, name) for name in layers.__all__}
    home = importlib.import_module("weft.nn.parallel")
    return [
        name
        for name, value in found.items()
        if isinstance(value, type) and issubclass(value, layers.Module) and not hasattr(home, name)
    ]


def __getattr__(name: str) -> Any:
    if name == "__all__":
        globals()[name] = _layer_names()
        return globals()[name]
    layers = importlib.import_module("weft.nn")
    if name.startswith("__") or name not in layers.__all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(layers, name)
