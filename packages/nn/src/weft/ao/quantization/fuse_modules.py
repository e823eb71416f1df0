"""Neighbouring layers as one, before they are observed."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from weft import nn
from weft.ao.nn import intrinsic
from weft.nn.module import Module
from weft.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["fuse_conv_bn", "fuse_conv_bn_relu", "fuse_linear_bn", "fuse_modules"]

WITH_RELU = {
    nn.Linear: intrinsic.LinearReLU,
    nn.Conv1d: intrinsic.ConvReLU1d,
    nn.Conv2d: intrinsic.ConvReLU2d,
    nn.Conv3d: intrinsic.ConvReLU3d,
}
NORMS = {
    nn.Linear: (nn.BatchNorm1d,),
    nn.Conv1d: (nn.BatchNorm1d,),
    nn.Conv2d: (nn.BatchNorm2d,),
    nn.Conv3d: (nn.BatchNorm3d,),
}


def fuse_modules(
    model: Module,
    modules_to_fuse: Sequence[str] | Sequence[Sequence[str]],
    inplace: bool = False,
    fuser_func: Any = None,
    fuse_custom_config_dict: Any = None,
) -> Module:
    """Make one layer of each group of neighbours: a linear layer or convolution, a batch norm, a ReLU.

    Parameters
    ----------
    model : Module
        In eval mode: batch norms are folded into weights with their running statistics.
    modules_to_fuse : list of str, or list of such lists
        Names of submodules, in the order in which they run: ``["conv", "bn", "relu"]``, ``["conv", "bn"]``,
        ``["conv", "relu"]``, and the same with a linear layer.
    inplace : bool, default False
        Change the model, and not a copy.
    fuser_func, fuse_custom_config_dict
        PyTorch's; not here.

    Returns
    -------
    Module
        The first of each group is the fused layer, and the others are `Identity`.

    Raises
    ------
    NotImplementedError
        If there is no fused layer for a group.
    ValueError
        If the model is in training mode.

    Examples
    --------
    >>> from weft import nn
    >>> from weft.ao.quantization import fuse_modules
    >>> model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval()
    >>> [type(each).__name__ for each in fuse_modules(model, ["0", "1", "2"])]
    ['ConvReLU2d', 'Identity', 'Identity']
    """
    if fuser_func is not None or fuse_custom_config_dict is not None:
        raise NotImplementedError("fuse_modules: fuser_func and fuse_custom_config_dict are not supported")
    if not inplace:
        model = copy.deepcopy(model)
    groups: Any = [modules_to_fuse] if isinstance(modules_to_fuse[0], str) else modules_to_fuse
    for names in groups:
        _fuse(model, list(names))
    return model


def _fuse(model: Module, names: list[str]) -> None:
    modules = [model.get_submodule(name) for name in names]
    fused = fused_layer(modules)
    for hook_of in ("_forward_pre_hooks", "_forward_hooks"):
        if any(getattr(module, hook_of) for module in modules):
            raise NotImplementedError(f"fuse_modules: {names} have hooks, which the fused layer would not have")
    for name, module in zip(names, [fused, *(nn.Identity() for _ in names[1:])]):
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, module.train(fused.training))


def fused_layer(modules: Sequence[Module]) -> Module:
    """Return the layer that does what several do, one after the other."""
    first, *rest = modules
    kinds = [type(module).__name__ for module in modules]
    if type(first) not in WITH_RELU:
        raise NotImplementedError(f"fuse_modules: Cannot fuse modules: {kinds}")
    if rest and isinstance(rest[0], NORMS[type(first)]):
        first, rest = _fold(first, rest[0]), rest[1:]
    if rest and isinstance(rest[0], nn.ReLU):
        first, rest = WITH_RELU[type(first)](first, rest[0]), rest[1:]
    if rest:
        raise NotImplementedError(f"fuse_modules: Cannot fuse modules: {kinds}")
    return first


def _fold(layer: Any, norm: Any) -> Any:
    if layer.training or norm.training:
        raise ValueError("fuse_modules: batch norms are folded with their running statistics; call model.eval() first")
    return fuse_linear_bn_eval(layer, norm) if isinstance(layer, nn.Linear) else fuse_conv_bn_eval(layer, norm)


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Module:
    """Return a convolution that does what it and a batch norm do.

    Parameters
    ----------
    is_qat : bool
        False: there is no fused layer to be trained.
    conv, bn : Module
    """
    _refuse_training(is_qat)
    return fused_layer([conv, bn])


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Module:
    """Return a convolution that does what it, a batch norm and a ReLU do.

    Parameters
    ----------
    is_qat : bool
        False: there is no fused layer to be trained.
    conv, bn, relu : Module
    """
    _refuse_training(is_qat)
    return fused_layer([conv, bn, relu])


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Module:
    """Return a linear layer that does what it and a batch norm do.

    Parameters
    ----------
    is_qat : bool
        False: there is no fused layer to be trained.
    linear, bn : Module
    """
    _refuse_training(is_qat)
    return fused_layer([linear, bn])


def _refuse_training(is_qat: bool) -> None:
    if is_qat:
        raise NotImplementedError("there are no fused layers to be trained: is_qat must be False")
