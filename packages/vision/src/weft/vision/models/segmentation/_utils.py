"""What models of segmentation share: a backbone with one or two heads, and the functions that build them."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from weft import Tensor, nn
from weft.nn import functional as F
from weft.vision.models._api import WeightsEnum, register_model
from weft.vision.models._utils import (
    IntermediateLayerGetter,
    _ovewrite_value_param,
    handle_legacy_interface,
    load_weights,
)


def resized(scores: Tensor, size: Any) -> Tensor:
    """Scores (N, classes, h, w) at another height and width."""
    return F.interpolate(scores, size=size, mode="bilinear", align_corners=False)


class _SimpleSegmentationModel(nn.Module):
    """Scores of each class for each pixel.

    Parameters
    ----------
    backbone : Module
        From images (N, 3, H, W) to a dict with the features ``"out"`` and, for the second head, ``"aux"``.
    classifier : Module
        From the features ``"out"`` to scores.
    aux_classifier : Module, optional
        From the features ``"aux"`` to scores, for a second loss in training.

    Returns
    -------
    dict
        ``"out"`` and, where there is a second head, ``"aux"``: scores (N, classes, H, W).
    """

    def __init__(self, backbone: nn.Module, classifier: nn.Module, aux_classifier: nn.Module | None = None) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.aux_classifier = aux_classifier

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """Score each pixel of images (N, 3, H, W)."""
        size = x.shape[-2:]
        features = self.backbone(x)
        heads = {"out": self.classifier, "aux": self.aux_classifier}
        scores = ((name, head(features[name])) for name, head in heads.items() if head is not None)
        return OrderedDict((name, resized(each, size)) for name, each in scores)


# Functions that build models -----------------------------------------------------------------------------

Model = Callable[..., nn.Module]


def segmenter(
    name: str,
    weights_enum: type[WeightsEnum],
    make: Callable[[nn.Module, int, bool], nn.Module],
    backbone: Model,
    backbone_weights: WeightsEnum,
    aux: bool = True,
    **options: Any,
) -> Model:
    """Make and register the function that builds a model of segmentation.

    Parameters
    ----------
    name : str
        Its name.
    weights_enum : type
        The weights that it takes.
    make : callable
        ``make(backbone, num_classes, aux_loss)`` returns the model.
    backbone : callable
        Builds the network.
    backbone_weights : WeightsEnum
        The network's weights where none are given.
    aux : bool
        Whether there can be a second head; published weights then have it.
    **options
        For ``backbone``.
    """
    backbone_enum = type(backbone_weights)

    def build(
        *,
        weights: Any = None,
        progress: bool = True,
        num_classes: int | None = None,
        aux_loss: bool | None = None,
        weights_backbone: Any = backbone_weights,
        **kwargs: Any,
    ) -> nn.Module:
        if aux_loss and not aux:
            raise NotImplementedError("This model does not use auxiliary loss")
        weights, weights_backbone = weights_enum.verify(weights), backbone_enum.verify(weights_backbone)
        if weights is not None:
            weights_backbone = None
            num_classes = _ovewrite_value_param("num_classes", num_classes, len(weights.meta["categories"]))
            aux_loss = _ovewrite_value_param("aux_loss", aux_loss, True) if aux else None
        network = backbone(weights=weights_backbone, **options)
        model = make(network, 21 if num_classes is None else num_classes, bool(aux_loss))
        return load_weights(model, weights, progress)

    build.__name__ = build.__qualname__ = name
    build.__module__ = make.__module__
    build.__annotations__.update(weights=weights_enum | None, weights_backbone=backbone_enum | None)
    build.__doc__ = f"""Build the model of segmentation ``{name}``.

    Parameters
    ----------
    weights : {weights_enum.__name__} or str, optional
        Published weights; by default there are none.
    progress : bool
        Whether to show a bar while they are fetched.
    num_classes : int, optional
        By default 21, the background among them.
    aux_loss : bool, optional
        Whether there is a second head, for a loss on earlier features.
    weights_backbone : {backbone_enum.__name__} or str, optional
        Published weights of the backbone; by default {backbone_weights}.
    **kwargs
        Accepted.
    """
    if not aux:
        signature = inspect.signature(build)
        shown = [each for name, each in signature.parameters.items() if name != "aux_loss"]
        build.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    legacy = handle_legacy_interface(
        weights=("pretrained", weights_enum["COCO_WITH_VOC_LABELS_V1"]),
        weights_backbone=("pretrained_backbone", backbone_weights),
    )
    return register_model()(legacy(build))


def with_features(backbone: nn.Module, out: str, aux: str | None) -> IntermediateLayerGetter:
    """The layers of a network up to ``out``, with the features of that and, if there is one, of an earlier layer."""
    return IntermediateLayerGetter(backbone, {out: "out"} if aux is None else {out: "out", aux: "aux"})
