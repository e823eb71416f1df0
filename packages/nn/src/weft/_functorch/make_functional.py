"""Modules as functions of their parameters: functorch's way, before `weft.func.functional_call`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import weft
from weft.nn.module import Module

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functional_init",
    "functional_init_with_buffers",
    "make_functional",
    "make_functional_with_buffers",
]


class FunctionalModuleWithBuffers(Module):
    """A module that is called with its parameters and buffers, see `make_functional_with_buffers`."""

    def __init__(self, model: Module) -> None:
        super().__init__()
        self.stateless_model = model
        self.param_names = tuple(name for name, _ in model.named_parameters())
        self.buffer_names = tuple(name for name, _ in model.named_buffers())

    def forward(self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """Call the module with these parameters and buffers."""
        state = dict(zip(self.param_names, params, strict=True)) | dict(zip(self.buffer_names, buffers, strict=True))
        return weft.func.functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers that is called with its parameters, see `make_functional`."""

    def forward(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """Call the module with these parameters."""
        return super().forward(params, (), *args, **kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Any, ...]]:
    """Return a function of parameters and inputs that computes as a module does, and the module's parameters.

    Parameters
    ----------
    model : Module
        Has no buffers. It is copied.
    disable_autograd_tracking : bool
        Return parameters that require no gradient.

    Raises
    ------
    RuntimeError
        If it has buffers.

    Examples
    --------
    >>> from weft._functorch.make_functional import make_functional
    >>> f, params = make_functional(weft.nn.Linear(2, 1))
    >>> f([p * 0 for p in params], weft.ones(3, 2)).shape
    weft.Size([3, 1])
    """
    if next(model.buffers(), None) is not None:
        raise RuntimeError("make_functional: the model has buffers; use make_functional_with_buffers(model)")
    function = FunctionalModule(copy.deepcopy(model))
    return function, parameters_of(model, disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """`make_functional` for a module with buffers; they are the function's second argument and returned last."""
    function = FunctionalModuleWithBuffers(copy.deepcopy(model))
    return function, parameters_of(model, disable_autograd_tracking), tuple(model.buffers())


def parameters_of(model: Module, disable_autograd_tracking: bool) -> tuple[Any, ...]:
    if disable_autograd_tracking:
        return tuple(each.detach() for each in model.parameters())
    return tuple(model.parameters())


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """`make_functional_with_buffers` for several modules of one structure, whose parameters and buffers are stacked.

    Raises
    ------
    RuntimeError
        For no modules, or if some train and some do not, or if their types differ.
    """
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({(type(each), each.training) for each in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of one class and one mode")
    function = FunctionalModuleWithBuffers(copy.deepcopy(models[0]))
    params = tuple(weft.stack(each).detach().requires_grad_() for each in zip(*(m.parameters() for m in models)))
    buffers = tuple(weft.stack(each) for each in zip(*(m.buffers() for m in models)))
    return function, params, buffers


def make_functional_deprecated_v1(model: Module) -> tuple[tuple[Any, ...], Callable[..., Any], tuple[str, ...]]:
    """A module's parameters, a function of parameters and a tuple of inputs, and the parameters' names.

    Raises
    ------
    RuntimeError
        If the module has buffers.
    """
    if next(model.buffers(), None) is not None:
        raise RuntimeError(
            "make_functional_deprecated_v1(model): `model` has buffers; use make_functional_with_buffers_deprecated_v1"
        )
    params, _, function, names, _ = make_functional_with_buffers_deprecated_v1(model)
    return params, lambda weights, data: function(weights, (), data), names


def make_functional_with_buffers_deprecated_v1(
    model: Module,
) -> tuple[tuple[Any, ...], tuple[Any, ...], Callable[..., Any], tuple[str, ...], tuple[str, ...]]:
    """`make_functional_deprecated_v1` for a module with buffers, which are the function's second argument."""
    function = FunctionalModuleWithBuffers(copy.deepcopy(model))
    names, buffer_names = function.param_names, function.buffer_names

    def call(weights: Sequence[Any], buffers: Sequence[Any], data: tuple[Any, ...]) -> Any:
        return function(weights, buffers, *data)

    return tuple(model.parameters()), tuple(model.buffers()), call, names, buffer_names


def functional_init(
    model_class: type[Module], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu"
) -> Callable[..., Any]:
    """A function of a module's arguments that returns what `make_functional_deprecated_v1` does of the module.

    Parameters
    ----------
    model_class : type
    ensemble_shape : () or (n,)
        With a number, of so many modules; their parameters are stacked.
    device : device or str
    """

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        made = models_of(model_class, ensemble_shape, device, args, kwargs)
        if not ensemble_shape:
            return make_functional_deprecated_v1(made[0])
        _, function, names = make_functional_deprecated_v1(model_class(*args, **kwargs))
        return stacked(each.parameters() for each in made), function, names

    return wrapped


def functional_init_with_buffers(
    model_class: type[Module], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu"
) -> Callable[..., Any]:
    """`functional_init` for modules with buffers."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        made = models_of(model_class, ensemble_shape, device, args, kwargs)
        if not ensemble_shape:
            return make_functional_deprecated_v1(made[0])
        of_one = make_functional_with_buffers_deprecated_v1(model_class(*args, **kwargs))
        params, buffers = stacked(each.parameters() for each in made), stacked(each.buffers() for each in made)
        return params, buffers, *of_one[2:]

    return wrapped


def models_of(model_class: Any, ensemble_shape: tuple[int, ...], device: Any, args: Any, kwargs: Any) -> list[Module]:
    if len(ensemble_shape) > 1:
        raise ValueError(f"functional_init: ensemble_shape may have one number at most, got {ensemble_shape}")
    count = ensemble_shape[0] if ensemble_shape else 1
    if count <= 0:
        raise ValueError(f"functional_init: num_models {count} should be > 0")
    return [model_class(*args, **kwargs).to(device) for _ in range(count)]


def stacked(values: Any) -> tuple[Any, ...]:
    """The values of one name of all modules, in one tensor each."""
    return tuple(weft.stack(each).detach() for each in zip(*values))
