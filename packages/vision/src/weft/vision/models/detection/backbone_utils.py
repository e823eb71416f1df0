"""Backbones of detectors: networks for classification, with a feature pyramid on top."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from weft import Tensor, nn
from weft.vision.models._api import WeightsEnum, get_model, get_model_weights
from weft.vision.models._utils import IntermediateLayerGetter, handle_legacy_interface, strided_stages
from weft.vision.ops import FeaturePyramidNetwork, FrozenBatchNorm2d
from weft.vision.ops.feature_pyramid_network import ExtraFPNBlock, LastLevelMaxPool

__all__ = ["BackboneWithFPN", "mobilenet_backbone", "resnet_fpn_backbone"]

Maker = Callable[..., nn.Module]


class BackboneWithFPN(nn.Module):
    """A feature pyramid on maps of a network (arXiv:1612.03144).

    Parameters
    ----------
    backbone : Module
    return_layers : dict of str to str
        The names of its children whose outputs are taken, and their names in the result.
    in_channels_list : list of int
        The channels of these.
    out_channels : int
        Of each map of the result.
    extra_blocks : ExtraFPNBlock, optional
        Adds further maps; by default one, pooled from the last.
    norm_layer : callable, optional
    """

    def __init__(
        self,
        backbone: nn.Module,
        return_layers: dict[str, str],
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Maker | None = None,
    ) -> None:
        super().__init__()
        self.body = IntermediateLayerGetter(backbone, return_layers)
        extra = LastLevelMaxPool() if extra_blocks is None else extra_blocks
        self.fpn = FeaturePyramidNetwork(in_channels_list, out_channels, extra_blocks=extra, norm_layer=norm_layer)
        self.out_channels = out_channels

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """Return the maps of images (N, 3, H, W), by name."""
        return self.fpn(self.body(x))


def imagenet_weights(kwargs: dict[str, Any]) -> WeightsEnum:
    """What ``pretrained=True`` meant for a backbone."""
    return get_model_weights(kwargs["backbone_name"])["IMAGENET1K_V1"]


@handle_legacy_interface(weights=("pretrained", imagenet_weights))
def resnet_fpn_backbone(
    *,
    backbone_name: str,
    weights: WeightsEnum | None,
    norm_layer: Maker = FrozenBatchNorm2d,
    trainable_layers: int = 3,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> BackboneWithFPN:
    """A residual network with a feature pyramid of 256 channels.

    Parameters
    ----------
    backbone_name : str
        Such as ``"resnet50"``.
    weights : WeightsEnum or None
    norm_layer : callable
    trainable_layers : int
        How many layers, from the last on, take part in training: from 0 to 5.
    returned_layers : list of int, optional
        From 1 to 4; by default all.
    extra_blocks : ExtraFPNBlock, optional

    Raises
    ------
    ValueError
        For other layers.
    """
    backbone = get_model(backbone_name, weights=weights, norm_layer=norm_layer)
    return _resnet_fpn_extractor(backbone, trainable_layers, returned_layers, extra_blocks)


def _resnet_fpn_extractor(
    backbone: nn.Module,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: Maker | None = None,
) -> BackboneWithFPN:
    if not 0 <= trainable_layers <= 5:
        raise ValueError(f"Trainable layers should be in the range [0,5], got {trainable_layers}")
    trained = ["layer4", "layer3", "layer2", "layer1", "conv1"][:trainable_layers]
    trained += ["bn1"] if trainable_layers == 5 else []
    for name, parameter in backbone.named_parameters():
        if not name.startswith(tuple(trained)):
            parameter.requires_grad_(False)
    layers = [1, 2, 3, 4] if returned_layers is None else returned_layers
    if min(layers) <= 0 or max(layers) >= 5:
        raise ValueError(f"Each returned layer should be in the range [1,4]. Got {layers}")
    names = {f"layer{layer}": str(number) for number, layer in enumerate(layers)}
    channels = [backbone.inplanes >> (4 - layer) for layer in layers]
    return BackboneWithFPN(backbone, names, channels, 256, extra_blocks, norm_layer)


def _validate_trainable_layers(
    is_trained: bool, trainable_backbone_layers: int | None, max_value: int, default_value: int
) -> int:
    """How many layers take part in training: all of them where nothing was trained before.

    Raises
    ------
    ValueError
        If it is less than 0 or more than there are.
    """
    if not is_trained:
        if trainable_backbone_layers is not None:
            warnings.warn(
                "Changing trainable_backbone_layers has no effect if neither pretrained nor pretrained_backbone have "
                f"been set to True, falling back to trainable_backbone_layers={max_value} so that all layers are "
                "trainable",
                stacklevel=2,
            )
        return max_value
    layers = default_value if trainable_backbone_layers is None else trainable_backbone_layers
    if not 0 <= layers <= max_value:
        raise ValueError(f"Trainable backbone layers should be in the range [0,{max_value}], got {layers} ")
    return layers


@handle_legacy_interface(weights=("pretrained", imagenet_weights))
def mobilenet_backbone(
    *,
    backbone_name: str,
    weights: WeightsEnum | None,
    fpn: bool,
    norm_layer: Maker = FrozenBatchNorm2d,
    trainable_layers: int = 2,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> nn.Module:
    """A MobileNet with a feature pyramid, or with one map, of 256 channels.

    Parameters
    ----------
    backbone_name : str
        Such as ``"mobilenet_v3_large"``.
    weights : WeightsEnum or None
    fpn : bool
        Whether there is a pyramid.
    norm_layer : callable
    trainable_layers : int
        How many stages, from the last on, take part in training.
    returned_layers : list of int, optional
        The stages that the pyramid is built on; by default the last two.
    extra_blocks : ExtraFPNBlock, optional

    Raises
    ------
    ValueError
        For other stages.
    """
    backbone = get_model(backbone_name, weights=weights, norm_layer=norm_layer)
    return _mobilenet_extractor(backbone, fpn, trainable_layers, returned_layers, extra_blocks)


def freeze_stages(features: nn.Sequential, starts: list[int], trainable_layers: int) -> None:
    """Leave all but the last stages out of training.

    Raises
    ------
    ValueError
        If there are not as many stages.
    """
    if not 0 <= trainable_layers <= len(starts):
        raise ValueError(f"Trainable layers should be in the range [0,{len(starts)}], got {trainable_layers}")
    end = starts[len(starts) - trainable_layers] if trainable_layers else len(features)
    for layer in features[:end]:
        for parameter in layer.parameters():
            parameter.requires_grad_(False)


def _mobilenet_extractor(
    backbone: nn.Module,
    fpn: bool,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: Maker | None = None,
) -> nn.Module:
    features = backbone.features
    stages = strided_stages(features)
    freeze_stages(features, stages, trainable_layers)
    if not fpn:
        model = nn.Sequential(features, nn.Conv2d(features[-1].out_channels, 256, 1))
        model.out_channels = 256
        return model
    last = len(stages) - 1
    layers = [last - 1, last] if returned_layers is None else returned_layers
    if min(layers) < 0 or max(layers) > last:
        raise ValueError(f"Each returned layer should be in the range [0,{last}], got {layers} ")
    names = {str(stages[layer]): str(number) for number, layer in enumerate(layers)}
    channels = [features[stages[layer]].out_channels for layer in layers]
    return BackboneWithFPN(features, names, channels, 256, extra_blocks, norm_layer)
