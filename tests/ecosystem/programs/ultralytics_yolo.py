"""ultralytics: a YOLO from its description, predictions, loss and boxes after suppression."""

# /// script
# dependencies = ["ultralytics==8.4.190"]
# ///

import os

import torch

os.environ["YOLO_VERBOSE"] = "false"  # it tells of the settings that it writes, the first time under a user's name
from ultralytics.nn.tasks import DetectionModel
from ultralytics.utils import nms, ops

torch.manual_seed(0)
model = DetectionModel("yolov8n.yaml", nc=3, verbose=False)
image = torch.rand(1, 3, 64, 64)
model.eval()
with torch.no_grad():
    prediction = model(image)[0]
print("prediction", tuple(prediction.shape), prediction.mean().item())
corners = torch.rand(1, 2, 60) * 40
prediction = torch.cat([corners, torch.rand(1, 2, 60) * 20 + 4, torch.rand(1, 3, 60)], 1)
boxes = nms.non_max_suppression(prediction, conf_thres=0.0001, iou_thres=0.5, max_det=5)
print("boxes", [tuple(b.shape) for b in boxes], boxes[0][:, :4].mean().item())
print("xywh", ops.xyxy2xywh(torch.tensor([[1.0, 2.0, 5.0, 8.0]])).tolist())
