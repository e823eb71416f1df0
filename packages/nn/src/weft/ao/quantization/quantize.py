"""Static quantization: observe a model with data, then round weights and activations to 8 bits."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

from weft import Tensor
from weft.ao.nn import intrinsic
from weft.ao.nn.quantized import LAYERS
from weft.ao.quantization.stubs import DeQuantStub, QuantStub
from weft.nn.module import Module

__all__ = ["QuantWrapper", "convert", "prepare", "propagate_qconfig_", "quantize"]

UNSET = object()


def propagate_qconfig_(module: Module, qconfig_dict: dict[Any, Any] | None = None) -> None:
    """Give each submodule the ``qconfig`` of the nearest module around it that has one.

    Parameters
    ----------
    module : Module
    qconfig_dict : dict, optional
        From a submodule's name, or a type, to a `QConfig` or None, where they differ.

    Examples
    --------
    >>> from weft import nn
    >>> from weft.ao.quantization import default_qconfig, propagate_qconfig_
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    >>> model.qconfig, model[1].qconfig = default_qconfig, None
    >>> propagate_qconfig_(model)
    >>> model[0].qconfig is default_qconfig, model[1].qconfig
    (True, None)
    """
    _propagate(module, qconfig_dict or {}, None, "")


def _propagate(module: Any, given: dict[Any, Any], around: Any, name: str) -> None:
    found = given.get(name, given.get(type(module), getattr(module, "qconfig", UNSET)))
    module.qconfig = around if found is UNSET else found
    for child, each in module.named_children():
        _propagate(each, given, module.qconfig, f"{name}.{child}" if name else child)


def _layers(model: Module) -> list[tuple[str, Any]]:
    """The layers that have an integer form and a ``qconfig``, by name; not what is inside of a fused one."""
    found: list[tuple[str, Any]] = []
    inside: set[int] = set()
    for name, module in model.named_modules():
        if type(module) not in LAYERS or id(module) in inside or getattr(module, "qconfig", None) is None:
            continue
        found.append((name, module))
        if isinstance(module, intrinsic._WithReLU):
            inside.add(id(module[0]))
    return found


def prepare(
    model: Module,
    inplace: bool = False,
    allow_list: set[type] | None = None,
    observer_non_leaf_module_list: Sequence[type] | None = None,
    prepare_custom_config_dict: dict[str, Any] | None = None,
) -> Module:
    """Put observers before and after each layer that can be quantized: `Linear`, `Conv1d` to `Conv3d`, fused ones.

    Run the model on some hundred examples of the data that it will see, then `convert` it.

    Parameters
    ----------
    model : Module
        In eval mode, whose ``qconfig``, or that of submodules, says what observes. None leaves a submodule as it is.
    inplace : bool, default False
        Change the model, and not a copy.
    allow_list : set of type, optional
        Types of layers to quantize; by default all.
    observer_non_leaf_module_list, prepare_custom_config_dict
        PyTorch's; not here.

    Returns
    -------
    Module
        Its layers have ``activation_pre_process`` and ``activation_post_process``, which forward hooks call.

    Raises
    ------
    ValueError
        If the model is in training mode, or nothing in it has a ``qconfig``.

    Examples
    --------
    >>> from weft import nn
    >>> from weft.ao.quantization import convert, get_default_qconfig, prepare
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
    >>> model.qconfig = get_default_qconfig()
    >>> prepared = prepare(model)
    >>> _ = prepared(weft.randn(100, 4))  # calibration
    >>> convert(prepared)[0].weight.dtype
    weft.int8
    """
    if observer_non_leaf_module_list or prepare_custom_config_dict:
        raise NotImplementedError("prepare: only model, inplace and allow_list are supported")
    if model.training:
        raise ValueError("prepare: the model is in training mode; call model.eval() first")
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    layers = [(name, layer) for name, layer in _layers(model) if allow_list is None or type(layer) in allow_list]
    if not layers:
        raise ValueError(
            "prepare: no layer is to be quantized; set model.qconfig = get_default_qconfig() for linear layers and "
            "convolutions"
        )
    for _, layer in layers:
        _observe(layer)
    return model


def _observe(layer: Any) -> None:
    if hasattr(layer, "activation_post_process"):
        raise ValueError("prepare: the model is prepared already")
    device = next(layer.parameters()).device
    layer.add_module("activation_pre_process", layer.qconfig.activation().to(device))
    layer.add_module("activation_post_process", layer.qconfig.activation().to(device))
    layer.observer_hooks = (
        layer.register_forward_pre_hook(_observe_input, prepend=True),
        layer.register_forward_hook(_observe_output),
    )


def _observe_input(layer: Any, inputs: tuple[Tensor, ...]) -> None:
    layer.activation_pre_process(inputs[0])


def _observe_output(layer: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    layer.activation_post_process(output)


def convert(
    module: Module,
    mapping: dict[type, Any] | None = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    is_reference: bool = False,
    convert_custom_config_dict: dict[str, Any] | None = None,
    use_precomputed_fake_quant: bool = False,
) -> Module:
    """Put quantized layers in the place of observed ones.

    Their weights are of int8, and what they take and give is rounded to 8 bits. `weft.onnx.export` writes such a model
    with QuantizeLinear and DequantizeLinear, which onnxruntime runs by integer kernels; weft itself computes in floats,
    with the same numbers up to one step of the outputs.

    Parameters
    ----------
    module : Module
        Prepared and calibrated.
    mapping : dict, optional
        From a layer's type to a class with ``from_observed``, in the place of the ones that are here.
    inplace : bool, default False
    remove_qconfig : bool, default True
    is_reference : bool
        Without effect: the layers take and give floats either way.
    convert_custom_config_dict, use_precomputed_fake_quant
        PyTorch's; not here.

    Returns
    -------
    Module

    Raises
    ------
    ValueError
        If an observer saw nothing, or numbers that are not finite; the message names the layer.
    """
    if convert_custom_config_dict or use_precomputed_fake_quant:
        raise NotImplementedError("convert: only module, mapping, inplace and remove_qconfig are supported")
    if not inplace:
        module = copy.deepcopy(module)
    for name, layer in _layers(module):
        if not hasattr(layer, "activation_post_process"):
            continue  # not in prepare's allow_list
        _check_seen(name, layer)
        made = (mapping or LAYERS)[type(layer)].from_observed(layer)
        if not name:
            return made
        for each in list(module.modules()):  # a layer may stand in several places
            for child, found in each._modules.items():
                if found is layer:
                    setattr(each, child, made)
    if remove_qconfig:
        for each in module.modules():
            vars(each).pop("qconfig", None)
    return module


def _check_seen(name: str, layer: Any) -> None:
    for observer in (layer.activation_pre_process, layer.activation_post_process):
        low, high = observer.min_val, observer.max_val
        if not low.numel() or bool((low > high).any()):
            raise ValueError(f"convert: {name or 'the model'} has seen no data; run the prepared model on some first")
        if not math.isfinite(low.min().item()) or not math.isfinite(high.max().item()):
            raise ValueError(f"convert: {name or 'the model'} has seen numbers that are not finite")


def quantize(
    model: Module,
    run_fn: Callable[..., Any],
    run_args: Sequence[Any],
    mapping: dict[type, Any] | None = None,
    inplace: bool = False,
) -> Module:
    """`prepare` a model, calibrate it, and `convert` it.

    Parameters
    ----------
    model : Module
    run_fn : callable
        Is called with the prepared model and ``run_args``, to run it on data.
    run_args : sequence
    mapping, inplace
        Those of `convert`.

    Returns
    -------
    Module

    Examples
    --------
    >>> from weft import nn
    >>> from weft.ao.quantization import get_default_qconfig, quantize
    >>> model = nn.Sequential(nn.Linear(2, 2))
    >>> model.qconfig = get_default_qconfig()
    >>> quantized = quantize(model, lambda model, data: model(data), [weft.randn(100, 2)])
    >>> quantized[0].weight.dtype
    weft.int8
    """
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    prepared = prepare(model, inplace=True)
    run_fn(prepared, *run_args)
    return convert(prepared, mapping, inplace=True)


class QuantWrapper(Module):
    """A module between a `QuantStub` and a `DeQuantStub`.

    Parameters
    ----------
    module : Module
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.quant, self.dequant = QuantStub(qconfig), DeQuantStub(qconfig)
        self.module = module
        self.train(module.training)

    def forward(self, X: Tensor) -> Tensor:
        """Run the module."""
        return self.dequant(self.module(self.quant(X)))
