"""Detectors that predict from every place of every map at once."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor, nn
from weft.vision.models.detection._utils import best_of_level
from weft.vision.models.detection.generalized_rcnn import Detector
from weft.vision.models.detection.image_list import ImageList
from weft.vision.models.detection.transform import GeneralizedRCNNTransform
from weft.vision.ops import batched_nms, clip_boxes_to_image

Target = dict[str, Tensor]


def apart(boxes: Tensor, scores: Tensor, labels: Tensor, nms_thresh: float, most: int) -> Target:
    """The best boxes of each class that do not overlap, and at most so many of an image."""
    keep = batched_nms(boxes, scores, labels, nms_thresh)[:most]
    return {"boxes": boxes[keep], "scores": scores[keep], "labels": labels[keep]}


class DenseDetector(Detector):
    """A ``head`` on the boxes of an ``anchor_generator``, at each place of each map.

    Its outputs are (N, all anchors, columns), by name.
    """

    anchor_generator: nn.Module
    head: nn.Module
    box_coder: Any
    score_thresh: float
    nms_thresh: float
    topk_candidates: int
    detections_per_img: int

    def _detect(
        self, images: ImageList, features: dict[str, Tensor], targets: list[Target] | None
    ) -> tuple[dict[str, Tensor], list[Target]]:
        maps = list(features.values())
        outputs, anchors = self.head(maps), self.anchor_generator(images, maps)
        places = [each.shape[2] * each.shape[3] for each in maps]
        per_place = len(anchors[0]) // sum(places)
        counts = [each * per_place for each in places]
        if self.training:
            assert targets is not None  # checked
            return self._losses(targets, outputs, anchors, counts), []
        levels = {name: list(each.split(counts, 1)) for name, each in outputs.items()}
        anchors_of_levels = [list(each.split(counts)) for each in anchors]
        return {}, self.postprocess_detections(levels, anchors_of_levels, images.image_sizes)

    def _losses(
        self, targets: list[Target], outputs: dict[str, Tensor], anchors: list[Tensor], counts: list[int]
    ) -> dict[str, Tensor]:
        raise NotImplementedError

    def _scores(self, outputs: dict[str, Tensor]) -> Tensor:
        """The scores (anchors, classes) of a level's outputs."""
        raise NotImplementedError

    def _decode(self, codes: Tensor, anchors: Tensor) -> Tensor:
        raise NotImplementedError

    def postprocess_detections(
        self, head_outputs: dict[str, list[Tensor]], anchors: list[list[Tensor]], image_shapes: list[tuple[int, int]]
    ) -> list[Target]:
        """What is found in each image, the best first.

        Parameters
        ----------
        head_outputs : dict of lists of Tensor, shape (N, anchors, columns)
            The outputs of each level.
        anchors : list of lists of Tensor, shape (anchors, 4)
            For each image, those of each level.
        image_shapes : list of (int, int)
        """
        found = []
        for number, (boxes, size) in enumerate(zip(anchors, image_shapes)):
            levels = [{name: each[level][number] for name, each in head_outputs.items()} for level in range(len(boxes))]
            parts = [self._best(outputs, level, size) for outputs, level in zip(levels, boxes)]
            best, scores, labels = (weft.cat(list(each)) for each in zip(*parts))
            found.append(apart(best, scores, labels, self.nms_thresh, self.detections_per_img))
        return found

    def _best(
        self, outputs: dict[str, Tensor], anchors: Tensor, size: tuple[int, int]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The best boxes of one level of one image, their scores and classes."""
        scores, places, labels = best_of_level(self._scores(outputs), self.score_thresh, self.topk_candidates)
        boxes = self._decode(outputs["bbox_regression"][places], anchors[places])
        return clip_boxes_to_image(boxes, size), scores, labels


def check_backbone(backbone: nn.Module) -> None:
    """Raise a ValueError unless a backbone says how many channels its maps have."""
    if not hasattr(backbone, "out_channels"):
        raise ValueError(
            "backbone should contain an attribute out_channels specifying the number of output channels (assumed to "
            "be the same for all the levels)"
        )


def check_type(name: str, value: Any, kind: type) -> None:
    """Raise a TypeError unless an argument is None or of a class."""
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"{name} should be of type {kind.__name__} or None instead of {type(value)}")


def imagenet_transform(
    min_size: Any, max_size: int, image_mean: list[float] | None, image_std: list[float] | None, **kwargs: Any
) -> GeneralizedRCNNTransform:
    """A transform with the means and deviations of ImageNet where none are given."""
    mean = [0.485, 0.456, 0.406] if image_mean is None else image_mean
    std = [0.229, 0.224, 0.225] if image_std is None else image_std
    return GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs)
