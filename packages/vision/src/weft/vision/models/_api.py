"""The registry of models, and the descriptions of their published weights."""

from __future__ import annotations

import fnmatch
import importlib
import inspect
import math
import os
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, get_args

from weft import nn
from weft.hub import load_state_dict_from_url
from weft.vision.models import _meta
from weft.vision.transforms import _presets
from weft.vision.transforms.functional import InterpolationMode

__all__ = [
    "Weights",
    "WeightsEnum",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "list_models",
]

URL = "https://download.pytorch.org/models/"
BUILTIN_MODELS: dict[str, Callable[..., nn.Module]] = {}

Builder = TypeVar("Builder", bound=Callable[..., nn.Module])


# Published weights ---------------------------------------------------------------------------------------


@dataclass(eq=False)
class Weights:
    """What is known of one file of published weights.

    Parameters
    ----------
    url : str
        Where the file is.
    transforms : callable
        Makes the transform that the model's input needs.
    meta : dict
        The model's parameters and classes, the recipe and the figures of the training.
    """

    url: str
    transforms: Callable[..., Any]
    meta: dict[str, Any]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Weights):
            return NotImplemented
        same = self.url == other.url and self.meta == other.meta
        return same and _parts(self.transforms) == _parts(other.transforms)

    __hash__ = None  # type: ignore[assignment]  # the dictionary can be changed


def _parts(function: Callable[..., Any]) -> Any:
    """What tells functions apart: two equal partials are not equal objects."""
    return (function.func, function.args, function.keywords) if isinstance(function, partial) else function


class WeightsEnum(Enum):
    """The published weights of a model: each member's value is a `Weights`; ``DEFAULT`` are the best."""

    @classmethod
    def verify(cls, obj: Any) -> Any:
        """The member itself, by its name if ``obj`` is a str; None passes.

        Raises
        ------
        TypeError
            If it is of another class.
        KeyError
            If there is no such name.
        """
        if isinstance(obj, str):
            return cls[obj.replace(f"{cls.__name__}.", "")]
        if obj is not None and not isinstance(obj, cls):
            raise TypeError(
                f"Invalid Weight class provided; expected {cls.__name__} but received {type(obj).__name__}."
            )
        return obj

    def get_state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Load the file, from PyTorch's cache or weft's own; where it is in neither, it is fetched.

        Parameters
        ----------
        *args, **kwargs
            As for `weft.hub.load_state_dict_from_url`, after the address.
        """
        kept = hub_of_pytorch() / "checkpoints"
        if not args and (kept / self.url.rpartition("/")[2]).exists():
            kwargs.setdefault("model_dir", kept)
        return load_state_dict_from_url(self.url, *args, **kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    @property
    def url(self) -> str:
        """Where the file is."""
        return self.value.url  # type: ignore[no-any-return]

    @property
    def transforms(self) -> Callable[..., Any]:
        """Makes the transform that the model's input needs."""
        return self.value.transforms  # type: ignore[no-any-return]

    @property
    def meta(self) -> dict[str, Any]:
        """The model's parameters and classes, the recipe and the figures of the training."""
        return self.value.meta  # type: ignore[no-any-return]


def hub_of_pytorch() -> Path:
    """The folder where PyTorch keeps what it fetched: ``$TORCH_HOME/hub``."""
    cache_home = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return Path(os.environ.get("TORCH_HOME", os.path.join(cache_home, "torch"))).expanduser() / "hub"


def pretrained(file: str) -> Weights:
    """The description of a file of published weights, from the table ``pretrained_weights.json``."""
    entry = _published()[file]
    preset, options, meta = getattr(_presets, entry["transforms"]), _tuples(entry["options"]), _tuples(entry["meta"])
    for key in {"categories", "keypoint_names"} & meta.keys():
        meta[key] = _meta.categories().get(meta[key])
    if "interpolation" in options:
        options["interpolation"] = InterpolationMode(options["interpolation"])
    meta["_docs"] = _describe(meta)
    return Weights(URL + file, partial(preset, **options) if options else preset, meta)


def _tuples(table: dict[str, Any]) -> dict[str, Any]:
    """A copy with tuples, which JSON does not have, in the place of lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


@cache
def _published() -> dict[str, Any]:
    found: dict[str, Any] = _meta.read("pretrained_weights.json")
    return found


def _describe(meta: dict[str, Any]) -> str:
    figures = [
        f"{name} {value} on {data}"
        for data, metrics in meta["_metrics"].items()
        for name, value in metrics.items()
        if not math.isnan(value)
    ]
    return f"{', '.join(figures) or 'Trained for use in another model'}. How it was trained: {meta['recipe']}"


# Registry ------------------------------------------------------------------------------------------------


def register_model(name: str | None = None) -> Callable[[Builder], Builder]:
    """Decorate a function that builds a model, so that `get_model` and `list_models` know it.

    Parameters
    ----------
    name : str, optional
        By default the function's own.

    Raises
    ------
    ValueError
        If the name is taken.
    """

    def register(function: Builder) -> Builder:
        key = function.__name__ if name is None else name
        if key in BUILTIN_MODELS:
            raise ValueError(f"An entry is already registered under the name '{key}'.")
        BUILTIN_MODELS[key] = function
        return function

    return register


def _packages() -> Iterator[ModuleType]:
    """``weft.vision.models`` and the packages of other tasks within it."""
    models = importlib.import_module("weft.vision.models")
    yield models
    for each in pkgutil.iter_modules(models.__path__):
        if each.ispkg:
            yield importlib.import_module(f"{models.__name__}.{each.name}")


def _find(name: str) -> Any:
    """What one of the packages has under a name, importing its module if need be; None if there is nothing."""
    return next((getattr(package, name) for package in _packages() if name in package.__all__), None)


def list_models(
    module: ModuleType | None = None,
    include: Iterable[str] | str | None = None,
    exclude: Iterable[str] | str | None = None,
) -> list[str]:
    """The names of the registered models, sorted.

    Parameters
    ----------
    module : module, optional
        Only those of one package: ``weft.vision.models``, ``weft.vision.models.segmentation``, ...
    include, exclude : str or iterable of str, optional
        Patterns with wildcards as in `fnmatch`; a name is listed if it fits one of ``include`` (by default any does)
        and none of ``exclude``.

    Examples
    --------
    >>> list_models(include="resnet*", exclude=["*1*"])
    ['resnet34', 'resnet50']
    """
    for package in _packages():
        for name in package.__all__:
            getattr(package, name)  # registers the models of its module
    names = [
        name
        for name, function in BUILTIN_MODELS.items()
        if module is None or function.__module__.rpartition(".")[0] == module.__name__
    ]
    wanted, unwanted = ([each] if isinstance(each, str) else list(each or ()) for each in (include, exclude))
    if wanted:
        names = [name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in wanted)]
    return sorted(name for name in names if not any(fnmatch.fnmatch(name, pattern) for pattern in unwanted))


def get_model_builder(name: str) -> Callable[..., nn.Module]:
    """The function that builds a model.

    Raises
    ------
    ValueError
        If no model of this name is registered.
    """
    name = name.lower()
    if name not in BUILTIN_MODELS:
        _find(name)
    if name not in BUILTIN_MODELS:
        raise ValueError(f"Unknown model {name}; list_models() has the names")
    return BUILTIN_MODELS[name]


def get_model(name: str, **config: Any) -> nn.Module:
    """Build a model.

    Parameters
    ----------
    name : str
        As `list_models` has it.
    **config
        For its function.

    Raises
    ------
    ValueError
        If no model of this name is registered.
    """
    return get_model_builder(name)(**config)


def get_model_weights(name: Callable[..., nn.Module] | str) -> type[WeightsEnum]:
    """The enumeration of a model's published weights.

    Parameters
    ----------
    name : str or callable
        The model's name, or the function that builds it: its parameter ``weights`` is annotated with the enumeration.

    Raises
    ------
    ValueError
        If there is no such model, parameter or annotation.
    """
    function = get_model_builder(name) if isinstance(name, str) else name
    parameter = inspect.signature(function).parameters.get("weights")
    if parameter is None:
        raise ValueError("The method is missing the 'weights' argument.")
    annotation = parameter.annotation
    if isinstance(annotation, str):
        annotation = eval(annotation, inspect.unwrap(function).__globals__)
    for each in (annotation, *get_args(annotation)):
        if isinstance(each, type) and issubclass(each, WeightsEnum):
            return each
    raise ValueError(
        "The WeightsEnum class for the specific method couldn't be retrieved: annotate the parameter 'weights' with it"
    )


def get_weight(name: str) -> WeightsEnum:
    """A member of an enumeration of weights by its full name.

    Parameters
    ----------
    name : str
        Such as ``"ResNet50_Weights.IMAGENET1K_V2"``.

    Raises
    ------
    ValueError
        If it has another form, or there is no such enumeration.
    KeyError
        If the enumeration has no such member.
    """
    enumeration, dot, member = name.partition(".")
    if not dot or "." in member:
        raise ValueError(f"Invalid weight name provided: '{name}'.")
    found = _find(enumeration)
    if not (isinstance(found, type) and issubclass(found, WeightsEnum)):
        raise ValueError(f"The weight enum '{enumeration}' for the specific method couldn't be retrieved.")
    return found[member]
