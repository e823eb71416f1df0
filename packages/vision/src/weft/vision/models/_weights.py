"""Trained weights by their published names: nothing is fetched; what PyTorch has fetched before is found."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import weft
from weft import nn
from weft.hub import get_dir

Builder = Callable[..., nn.Module]


class WeightsEnum(Enum):
    """The published trainings of a model; each member's value is the name of its file."""

    def get_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Load the weights.

        Raises
        ------
        FileNotFoundError
            If the file is not there: nothing is fetched.
        """
        paths = [folder / "checkpoints" / self.value for folder in (Path(get_dir()), hub_of_pytorch())]
        for path in paths:
            if path.exists():
                return weft.load(path, map_location="cpu")
        raise FileNotFoundError(
            f"{type(self).__name__}.{self.name}: there is no {paths[0]} nor {paths[1]}, and weft fetches nothing. Put "
            "the file there, or build the model with weights=None and load a state_dict of your own"
        )


def hub_of_pytorch() -> Path:
    """The folder where PyTorch keeps what it fetched: ``$TORCH_HOME/hub``."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return Path(os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))).expanduser() / "hub"


def weights(name: str, *files: str) -> Any:
    """The enumeration of a model's trainings: ``IMAGENET1K_V1``, ``_V2`` and so on, and ``DEFAULT``, the last."""
    members = {f"IMAGENET1K_V{number}": file for number, file in enumerate(files, start=1)}
    return WeightsEnum(name, {**members, "DEFAULT": files[-1]})  # type: ignore[call-arg]


def architecture(name: str, known: Any, build: Builder) -> Builder:
    """The function that makes a model, empty or with trained weights.

    Parameters
    ----------
    name : str
        Its own name.
    known : WeightsEnum
        The trainings that it knows.
    build : callable
        Makes the module from the keyword arguments that the function does not know.
    """

    def function(weights: Any = None, progress: bool = True, *, pretrained: bool = False, **kwargs: Any) -> nn.Module:
        if isinstance(weights, bool):  # the first argument was called pretrained once
            weights, pretrained = None, weights
        if pretrained and weights is None:
            weights = known.IMAGENET1K_V1
        if isinstance(weights, str):
            weights = known[weights.rpartition(".")[2]]
        model = build(**kwargs)
        if weights is not None:
            model.load_state_dict(weights.get_state_dict())
        return model

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Make {name}.

    Parameters
    ----------
    weights : {known.__name__}, str, optional
        A training whose file is in PyTorch's cache folder, or its name; by default the weights are random.
    progress : bool
        Accepted.
    **kwargs
        For the model's class.
    """
    return function
