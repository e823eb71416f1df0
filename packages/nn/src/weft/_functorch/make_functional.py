"""Modules as functions of their parameters: functorch's way, before `weft.func.functional_call`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import weft
from weft.nn.module import Module

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
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
