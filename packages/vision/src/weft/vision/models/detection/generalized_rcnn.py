"""Detectors: what they do with images and targets before and after, and those that look at proposals again."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from weft import Tensor, nn
from weft.vision.models.detection.image_list import ImageList

__all__ = ["GeneralizedRCNN"]

Target = dict[str, Tensor]


class Detector(nn.Module):
    """A module with a ``backbone`` and a ``transform`` that finds objects in a list of images.

    A subclass says in ``_detect`` what it makes of the features.
    """

    backbone: nn.Module
    transform: nn.Module

    def forward(self, images: list[Tensor], targets: list[Target] | None = None) -> Any:
        """Return the losses in training, else what is found.

        Parameters
        ----------
        images : list of Tensor, shape (C, H, W)
            From 0 to 1; they may have different sizes.
        targets : list of dict
            In training: for each image its ``"boxes"`` (M, 4), corners x1, y1, x2, y2 in pixels, and ``"labels"``
            (M,) of int64.

        Returns
        -------
        dict of Tensor, or list of dict
            The losses by name; or ``"boxes"``, ``"labels"`` and ``"scores"`` for each image, the best first.

        Raises
        ------
        AssertionError
            If there are no targets in training, or boxes that are no tensor (M, 4), or without height or width.
        """
        if self.training:
            check_targets(targets)
        sizes = [image_size(image) for image in images]
        batch, targets = self.transform(images, targets)
        check_boxes(targets or [])
        features = self.backbone(batch.tensors)
        if isinstance(features, Tensor):
            features = OrderedDict([("0", features)])
        losses, detections = self._detect(batch, features, targets)
        return losses if self.training else self.transform.postprocess(detections, batch.image_sizes, sizes)

    def _detect(
        self, images: ImageList, features: dict[str, Tensor], targets: list[Target] | None
    ) -> tuple[dict[str, Tensor], list[Target]]:
        """The losses, and what is found in the transformed images; only one of them need be there."""
        raise NotImplementedError


def image_size(image: Tensor) -> tuple[int, int]:
    """Height and width."""
    if image.dim() < 2:
        raise AssertionError(
            f"expecting the last two dimensions of the Tensor to be H and W instead got {tuple(image.shape[-2:])}"
        )
    return image.shape[-2], image.shape[-1]


def check_targets(targets: list[Target] | None) -> None:
    """Raise an error unless there are targets with boxes of the right shape."""
    if targets is None:
        raise AssertionError("targets should not be none when in training mode")
    for target in targets:
        boxes = target["boxes"]
        if not isinstance(boxes, Tensor):
            raise AssertionError(f"Expected target boxes to be of type Tensor, got {type(boxes)}.")
        if boxes.dim() != 2 or boxes.shape[-1] != 4:
            raise AssertionError(f"Expected target boxes to be a tensor of shape [N, 4], got {tuple(boxes.shape)}.")


def check_boxes(targets: list[Target]) -> None:
    """Raise an error if a box has no height or no width."""
    for number, target in enumerate(targets):
        boxes = target["boxes"]
        degenerate = (boxes[:, 2:] <= boxes[:, :2]).any(dim=1)
        if degenerate.any():
            raise AssertionError(
                f"All bounding boxes should have positive height and width. Found invalid box "
                f"{boxes[degenerate][0].tolist()} for target at index {number}."
            )


class GeneralizedRCNN(Detector):
    """A detector in two stages: proposals of regions, and a closer look at each (arXiv:1506.01497).

    Parameters
    ----------
    backbone : Module
        From images to features: a tensor, or a dict of tensors.
    rpn : Module
        From images, features and targets to proposals and losses, as `RegionProposalNetwork`.
    roi_heads : Module
        From features, proposals, sizes and targets to detections and losses, as `RoIHeads`.
    transform : Module
        Such as `GeneralizedRCNNTransform`.
    """

    def __init__(self, backbone: nn.Module, rpn: nn.Module, roi_heads: nn.Module, transform: nn.Module) -> None:
        super().__init__()
        self.transform = transform
        self.backbone = backbone
        self.rpn = rpn
        self.roi_heads = roi_heads

    def _detect(
        self, images: ImageList, features: dict[str, Tensor], targets: list[Target] | None
    ) -> tuple[dict[str, Tensor], list[Target]]:
        proposals, proposal_losses = self.rpn(images, features, targets)
        detections, losses = self.roi_heads(features, proposals, images.image_sizes, targets)
        return {**losses, **proposal_losses}, detections
