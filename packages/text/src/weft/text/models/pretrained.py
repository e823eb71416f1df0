"""Folders of published models: ``config.json`` and the weights in safetensors, in one file or in shards."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional
from weft.serialization import safetensors

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
PREFIXES = ("model.", "transformer.", "bert.", "roberta.")  # of the body's weights, in files that have a head's too
HEADS = ("lm_head.", "cls.")

Folder = str | os.PathLike[str]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "gelu_new": partial(functional.gelu, approximate="tanh"),
    "gelu_pytorch_tanh": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
    "silu": functional.silu,
    "swish": functional.silu,
}


@dataclass(frozen=True)
class Stored:
    """How a file has one parameter: under these names, without prefix, one below the other."""

    names: tuple[str, ...]
    rows: tuple[int, ...] = ()  # of each; needed where there are several
    is_transposed: bool = False


def read_config(path: Folder) -> dict[str, Any]:
    """Return what the folder's ``config.json`` says."""
    file = Path(path) / CONFIG
    if not file.is_file():
        raise FileNotFoundError(
            f"from_pretrained: {file} is missing; expected a folder with {CONFIG} and {WEIGHTS}, as transformers' "
            "save_pretrained writes. Names of a hub are not looked up: download the folder first"
        )
    config: dict[str, Any] = read_json(file)
    if config.get("quantization_config"):
        raise ValueError(
            f"from_pretrained: {file} has a quantization_config, and quantized weights are not implemented here; take "
            "a folder with weights in float32, float16 or bfloat16"
        )
    return config


def read_json(file: Path, kind: type = dict) -> Any:
    """Return the object, or list, in a file of JSON."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"from_pretrained: {file} is not JSON: {error}") from error
    if not isinstance(content, kind):
        raise ValueError(f"from_pretrained: {file} must hold a {kind.__name__}, got {type(content).__name__}")
    return content


def chosen(config: Mapping[str, Any], key: str, table: Mapping[str, Any], default: str) -> Any:
    """Return the entry of a table that a configuration names; the error lists them."""
    name = config.get(key) or default
    if name not in table:
        raise ValueError(
            f"from_pretrained: {key} {name!r} is not implemented here; there are {', '.join(table)}. "
            "transformers' own class runs on weft and may have it"
        )
    return table[name]


def require(config: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Refuse a configuration with a setting that would change the numbers and is not implemented."""
    for key, value in expected.items():
        if config.get(key, value) != value:
            raise ValueError(
                f"from_pretrained: {key}={config[key]!r} is not implemented here, only {value!r}. "
                "transformers' own class runs on weft and has it"
            )


def read_weights(path: Folder) -> dict[str, Tensor]:
    """Return all tensors of a folder, by their names without prefix; their numbers stay in the files until used."""
    folder = Path(path)
    files = [WEIGHTS]
    if not (folder / WEIGHTS).is_file():
        if not (folder / INDEX).is_file():
            raise FileNotFoundError(
                f"from_pretrained: {folder} has neither {WEIGHTS} nor {INDEX}. Other formats are converted by "
                "transformers: AutoModel.from_pretrained(path).save_pretrained(folder)"
            )
        files = _shards(folder)
    found: dict[str, Tensor] = {}
    for file in files:
        for name, tensor in safetensors.load_file(folder / file).items():
            found[_without_prefix(name)] = tensor
    return found


def load_weights(
    model: nn.Module, found: Mapping[str, Tensor], stored: Mapping[str, Stored], dtype: weft.dtype | None
) -> None:
    """Give a model, made on the device "meta", the numbers that `read_weights` found."""
    missing = [name for each in stored.values() for name in each.names if name not in found]
    if missing:
        raise ValueError(
            f"from_pretrained: {len(missing)} weights are missing, first {missing[0]!r}; there are "
            f"{', '.join(sorted(found)[:3])} and {max(len(found) - 3, 0)} more"
        )
    state = {}
    for name, parameter in model.state_dict().items():
        parts = [found[part] for part in stored[name].names]
        whole = weft.cat(parts) if len(parts) > 1 else parts[0].clone()  # in memory of its own: the file is mapped
        whole = whole.T.contiguous() if stored[name].is_transposed and whole.dim() == 2 else whole
        if whole.shape != parameter.shape:
            raise ValueError(
                f"from_pretrained: {' and '.join(stored[name].names)} give the shape {tuple(whole.shape)}, "
                f"but {CONFIG} asks for {tuple(parameter.shape)}"
            )
        state[name] = whole if dtype is None else whole.to(dtype)
    model.load_state_dict(state, assign=True)


def save_weights(
    model: nn.Module, path: Folder, stored: Mapping[str, Stored], config: Mapping[str, Any], prefix: str
) -> None:
    """Write ``config.json`` and ``model.safetensors`` as transformers reads them."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    state: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        layout = stored[name]
        whole = tensor.T if layout.is_transposed and tensor.dim() == 2 else tensor
        parts = whole.split(list(layout.rows)) if layout.rows else (whole,)
        for part, rows in zip(layout.names, parts, strict=True):
            state[part if part.startswith(HEADS) else prefix + part] = (
                rows.contiguous().clone()
            )  # parts of one matrix share memory, which the format refuses
    safetensors.save_file(state, folder / WEIGHTS, {"format": "pt"})
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _shards(folder: Path) -> list[str]:
    """Return the names of the files that the index lists."""
    listed = read_json(folder / INDEX).get("weight_map")
    if not isinstance(listed, dict) or not all(isinstance(file, str) for file in listed.values()):
        raise ValueError(f"from_pretrained: {folder / INDEX} has no weight_map from names to files")
    files = sorted(set(listed.values()))
    for file in files:
        if Path(file).name != file or not (folder / file).is_file():
            raise ValueError(f"from_pretrained: {folder / INDEX} lists {file!r}, which is no file of its folder")
    return files


def _without_prefix(name: str) -> str:
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")  # of 2018
