"""Detectors as files: what they find has as many rows as values say.

`WEFT_ONNX` chooses: `all`, or `changed` (default), see tests/selection.py.
"""

import os
import sys
from collections import OrderedDict
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import onnxruntime
import selection
from agreement import TOLERANCE, model_of, relative

import weft
from weft import nn
from weft.export import export
from weft.vision.models.detection import FasterRCNN, RetinaNet
from weft.vision.models.detection.anchor_utils import AnchorGenerator
from weft.vision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from weft.vision.ops import MultiScaleRoIAlign

SETTING = os.environ.get("WEFT_ONNX", "changed")
CHANNELS = 8
SMALL = {"min_size": 64, "max_size": 96}
SIZE = 64, 96


class Backbone(nn.Module):
    """Two maps of features."""

    out_channels = CHANNELS

    def __init__(self):
        super().__init__()
        self.fine, self.coarse = nn.Conv2d(3, CHANNELS, 3, 8, 1), nn.Conv2d(CHANNELS, CHANNELS, 3, 2, 1)

    def forward(self, x):
        fine = self.fine(x).relu()
        return OrderedDict([("0", fine), ("1", self.coarse(fine).relu())])


class One(nn.Module):
    """A detector of one image."""

    def __init__(self, detector):
        super().__init__()
        self.detector = detector

    def forward(self, image):
        return self.detector([image])[0]


def anchors():
    return AnchorGenerator(((8,), (16,)), ((0.5, 1.0, 2.0),) * 2)


def faster_rcnn():
    return FasterRCNN(
        Backbone(),
        rpn_anchor_generator=anchors(),
        box_roi_pool=MultiScaleRoIAlign(["0", "1"], 3, 2),
        box_head=TwoMLPHead(CHANNELS * 9, 16),
        box_predictor=FastRCNNPredictor(16, 4),
        box_score_thresh=0.0,
        rpn_pre_nms_top_n_test=30,
        rpn_post_nms_top_n_test=20,
        box_detections_per_img=10,
        **SMALL,
    )


def retinanet():
    return RetinaNet(
        Backbone(), 4, anchor_generator=anchors(), score_thresh=0.3, topk_candidates=40, detections_per_img=10, **SMALL
    )


DETECTORS = {"faster_rcnn": faster_rcnn, "retinanet": retinanet}


def spread(module):
    """Weights for which scores are far apart."""
    for name, parameter in module.named_parameters():
        if "head" in name or "predictor" in name:
            nn.init.normal_(parameter, std=0.3)


def chosen():
    if SETTING == "changed":
        return [selection.drawn("a detector", sorted(DETECTORS))]
    return list(DETECTORS)


@pytest.mark.parametrize("name", chosen())
def test_a_detector_agrees_with_onnxruntime(name):
    weft.manual_seed(0)
    module = One(DETECTORS[name]()).eval()
    spread(module.detector)
    program = export(module, (weft.rand(3, *SIZE),))
    session = onnxruntime.InferenceSession(model_of(program, 18), providers=["CPUExecutionProvider"])
    for _ in range(3):
        image = weft.rand(3, *SIZE)
        with weft.no_grad():
            expected = module(image)
        assert len(expected["boxes"]) > 0
        found = session.run(None, {session.get_inputs()[0].name: image.numpy()})
        for one, other in zip(found, expected.values(), strict=True):
            assert relative(one, other.numpy()) <= TOLERANCE
        for one, other in zip(program.module()(image).values(), expected.values(), strict=True):
            assert weft.equal(one, other)
