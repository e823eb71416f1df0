"""Functions that build detectors: a backbone, trained or not, and what stands on it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from weft import nn
from weft.vision.models._api import WeightsEnum, register_model
from weft.vision.models._utils import _ovewrite_value_param, handle_legacy_interface, load_weights
from weft.vision.models.detection._utils import overwrite_eps
from weft.vision.models.detection.backbone_utils import _resnet_fpn_extractor, _validate_trainable_layers
from weft.vision.models.resnet import ResNet50_Weights, resnet50
from weft.vision.ops import FrozenBatchNorm2d
from weft.vision.ops.feature_pyramid_network import LastLevelP6P7

Model = Callable[..., nn.Module]


def detector(
    name: str,
    weights_enum: type[WeightsEnum],
    make: Model,
    *,
    backbone_weights: WeightsEnum = ResNet50_Weights.IMAGENET1K_V1,
    default_backbone: WeightsEnum | None = None,
    layers: tuple[int, int] = (5, 3),
    num_classes: int = 91,
    former: Any = None,
    adapt: Callable[[Any, dict[str, Any]], None] | None = None,
    without_eps: WeightsEnum | None = None,
    option: tuple[str, str] | None = None,
) -> Model:
    """Make and register the function that builds a detector.

    Parameters
    ----------
    name : str
        Its name.
    weights_enum : type
        The weights that it takes.
    make : callable
        ``make(num_classes, weights_backbone, progress, trainable_layers, is_trained, **kwargs)`` returns the module.
    backbone_weights : WeightsEnum
        What ``pretrained_backbone=True`` meant.
    default_backbone : WeightsEnum, optional
        The backbone's weights where none are given.
    layers : (int, int)
        How many layers of the backbone can be trained, and how many are by default where it was trained before.
    num_classes : int
        Without weights, the background among them.
    former : WeightsEnum or callable, optional
        What ``pretrained=True`` meant; by default ``COCO_V1``.
    adapt : callable, optional
        Called with the weights and the keyword arguments, to set those that the weights decide.
    without_eps : WeightsEnum, optional
        The weights that were trained with normalizations without ``eps``.
    option : (str, str), optional
        A keyword argument of ``make`` that the function's signature shows, and the one that it stands before.
    """
    backbone_enum = type(backbone_weights)
    classes = num_classes

    def build(
        *,
        weights: Any = None,
        progress: bool = True,
        num_classes: int | None = None,
        weights_backbone: Any = default_backbone,
        trainable_backbone_layers: int | None = None,
        **kwargs: Any,
    ) -> nn.Module:
        weights, weights_backbone = weights_enum.verify(weights), backbone_enum.verify(weights_backbone)
        if weights is not None:
            weights_backbone = None
            num_classes = _ovewrite_value_param("num_classes", num_classes, len(weights.meta["categories"]))
            if adapt is not None:
                adapt(weights, kwargs)
        is_trained = weights is not None or weights_backbone is not None
        trainable = _validate_trainable_layers(is_trained, trainable_backbone_layers, *layers)
        count = classes if num_classes is None else num_classes
        model = load_weights(
            make(count, weights_backbone, progress, trainable, is_trained, **kwargs), weights, progress
        )
        if weights is not None and weights is without_eps:
            overwrite_eps(model, 0.0)
        return model

    build.__name__ = build.__qualname__ = name
    build.__module__ = make.__module__
    build.__annotations__.update(weights=weights_enum | None, weights_backbone=backbone_enum | None)
    build.__doc__ = f"""Build the detector ``{name}``.

    Parameters
    ----------
    weights : {weights_enum.__name__} or str, optional
        Published weights; by default there are none.
    progress : bool
        Whether to show a bar while they are fetched.
    num_classes : int, optional
        By default {classes} without weights, the background among them.
    weights_backbone : {backbone_enum.__name__} or str, optional
        Published weights of the backbone; by default {default_backbone}.
    trainable_backbone_layers : int, optional
        How many layers of a backbone that was trained before take part in training, from the last on: at most
        {layers[0]}, by default {layers[1]}.
    **kwargs
        For the detector's class.
    """
    if option is not None:
        signature = inspect.signature(build)
        parameters = list(signature.parameters.values())
        place = list(signature.parameters).index(option[1])
        parameters.insert(place, inspect.Parameter(option[0], inspect.Parameter.KEYWORD_ONLY, default=None))
        build.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    legacy = handle_legacy_interface(
        weights=("pretrained", former or weights_enum["COCO_V1"]),
        weights_backbone=("pretrained_backbone", backbone_weights),
    )
    return register_model()(legacy(build))


def resnet50_backbone(
    weights: Any,
    progress: bool,
    trainable_layers: int,
    is_trained: bool,
    *,
    frozen: bool = True,
    norm_layer: Callable[..., nn.Module] | None = None,
    p6p7: tuple[int, int] | None = None,
) -> nn.Module:
    """ResNet-50 with a feature pyramid.

    Parameters
    ----------
    weights, progress, trainable_layers, is_trained
        As `detector` has them.
    frozen : bool
        Whether normalizations of a trained network are.
    norm_layer : callable, optional
        Of the pyramid.
    p6p7 : (int, int), optional
        Leave out the finest map, and add two coarser ones, `LastLevelP6P7`.
    """
    norm = FrozenBatchNorm2d if is_trained and frozen else nn.BatchNorm2d
    backbone = resnet50(weights=weights, progress=progress, norm_layer=norm)
    if p6p7 is None:
        return _resnet_fpn_extractor(backbone, trainable_layers, norm_layer=norm_layer)
    return _resnet_fpn_extractor(backbone, trainable_layers, [2, 3, 4], LastLevelP6P7(*p6p7), norm_layer)
