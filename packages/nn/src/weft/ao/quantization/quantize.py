"""Static quantization: observe a model with data, then round weights and activations to 8 bits."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import weft
from weft import Tensor, nn
from weft.ao.nn import intrinsic
from weft.ao.nn.qat import QAT_LAYERS
from weft.ao.nn.quantized import LAYERS
from weft.ao.nn.quantized.dynamic import DYNAMIC_LAYERS
from weft.ao.quantization.qconfig import default_dynamic_qconfig
from weft.ao.quantization.stubs import DeQuantStub, QuantStub
from weft.nn.module import Module

__all__ = [
    "QuantWrapper",
    "convert",
    "prepare",
    "prepare_qat",
    "propagate_qconfig_",
    "quantize",
    "quantize_dynamic",
    "quantize_qat",
]

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


def _observe_input(layer: Any, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (layer.activation_pre_process(inputs[0]), *inputs[1:])


def _observe_output(layer: Any, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
    found: Tensor = layer.activation_post_process(output)
    return found


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
        _replace(module, layer, made)
    if remove_qconfig:
        for each in module.modules():
            vars(each).pop("qconfig", None)
    return module


def _replace(module: Module, layer: Module, made: Module) -> None:
    """Put a layer in the place of another, which may stand in several."""
    for each in list(module.modules()):
        for child, found in each._modules.items():
            if found is layer:
                setattr(each, child, made)


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


def prepare_qat(model: Module, mapping: dict[type, Any] | None = None, inplace: bool = False) -> Module:
    """Let each layer that can be quantized round its weight, input and output, so that training goes on with it.

    Train the model for some epochs more, then ``convert(model.eval())``. Batch norms are fused before, with
    `fuse_modules` in eval mode: there are no layers that fuse them while they are trained.

    Parameters
    ----------
    model : Module
        In training mode, with a ``qconfig`` as `get_default_qat_qconfig` gives it.
    mapping : dict, optional
        From a layer's type to a class with ``from_float``; default: those of `weft.ao.nn.qat`.
    inplace : bool, default False

    Returns
    -------
    Module

    Raises
    ------
    ValueError
        If the model is not in training mode, or nothing in it has a ``qconfig``.

    Examples
    --------
    >>> from weft import nn
    >>> from weft.ao.quantization import convert, get_default_qat_qconfig, prepare_qat
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> model.qconfig = get_default_qat_qconfig()
    >>> prepared = prepare_qat(model)
    >>> prepared(weft.randn(100, 4)).sum().backward()  # training
    >>> convert(prepared.eval())[0].weight.dtype
    weft.int8
    """
    if not model.training:
        raise ValueError("prepare_qat: the model is in eval mode; call model.train() first")
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    layers = [layer for _, layer in _layers(model)]
    if not layers:
        raise ValueError(
            "prepare_qat: no layer is to be quantized; set model.qconfig = get_default_qat_qconfig() for linear layers "
            "and convolutions"
        )
    for layer in layers:
        if isinstance(layer, nn.Sequential):
            layer[0] = _trained(layer[0], mapping)
            made: Any = layer
        else:
            made = _trained(layer, mapping)
        _observe(made)
        if layer is model:
            model = made
        _replace(model, layer, made)
    return model


def _trained(layer: Any, mapping: dict[type, Any] | None) -> Any:
    return (mapping or QAT_LAYERS)[type(layer)].from_float(layer)


def quantize_qat(model: Module, run_fn: Callable[..., Any], run_args: Sequence[Any], inplace: bool = False) -> Module:
    """`prepare_qat` a model, train it, and `convert` it.

    Parameters
    ----------
    model : Module
    run_fn : callable
        Is called with the prepared model and ``run_args``, to train it.
    run_args : sequence
    inplace : bool, default False

    Returns
    -------
    Module
    """
    if not inplace:
        model = copy.deepcopy(model)
    prepared = prepare_qat(model.train(), inplace=True)
    run_fn(prepared, *run_args)
    return convert(prepared.eval(), inplace=True)


DYNAMIC = (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell, nn.RNNCell)


def quantize_dynamic(
    model: Module,
    qconfig_spec: Any = None,
    dtype: Any = weft.qint8,
    mapping: dict[type, Any] | None = None,
    inplace: bool = False,
) -> Module:
    """Round the weights of layers to 8 bits, and their inputs when they come, each by its own range.

    Files are a quarter as large, and nothing is calibrated: for models of linear and recurrent layers.

    Parameters
    ----------
    model : Module
    qconfig_spec : set or dict, optional
        Types or names of layers, or from these to a `QConfig`; default: linear and recurrent layers.
    dtype : dtype
        qint8.
    mapping : dict, optional
        From a layer's type to a class with ``from_float``; default: those of `weft.ao.nn.quantized.dynamic`.
    inplace : bool, default False

    Returns
    -------
    Module
        In eval mode.

    Raises
    ------
    ValueError
        For other dtypes.

    Examples
    --------
    >>> from weft import nn
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> weft.ao.quantization.quantize_dynamic(model, {nn.Linear})[0]
    Linear(in_features=4, out_features=8, bias=True, dtype=weft.qint8)
    """
    if dtype is not weft.qint8:
        raise ValueError(f"quantize_dynamic: weights are rounded to qint8, not {dtype}; for float16 call model.half()")
    spec = DYNAMIC if qconfig_spec is None else qconfig_spec
    wanted = dict(spec) if isinstance(spec, dict) else dict.fromkeys(spec, default_dynamic_qconfig)
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, wanted)
    layers = {**DYNAMIC_LAYERS, **(mapping or {})}
    for layer in list(model.modules()):
        if type(layer) in layers and getattr(layer, "qconfig", None) is not None:
            made = layers[type(layer)].from_float(layer)
            if layer is model:
                return made
            _replace(model, layer, made)
    for each in model.modules():
        vars(each).pop("qconfig", None)
    return model


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
