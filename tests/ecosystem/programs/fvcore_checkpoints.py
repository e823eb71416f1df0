"""fvcore: checkpoints of models that differ, also with observers of quantization; losses, precise batch norms."""

# /// script
# dependencies = ["fvcore==0.1.5.post20221221"]
# ///

import logging
import tempfile

import torch
from fvcore.common.checkpoint import Checkpointer, PeriodicCheckpointer
from fvcore.common.param_scheduler import CosineParamScheduler, LinearParamScheduler
from fvcore.nn import (
    get_bn_modules,
    giou_loss,
    parameter_count,
    sigmoid_focal_loss,
    smooth_l1_loss,
    update_bn_stats,
    weight_init,
)
from torch import nn
from torch.ao.quantization import ObserverBase

logging.disable(logging.WARNING)


class Range(ObserverBase):
    """Watches the range of each channel; loads a range of any size."""

    def __init__(self, channels):
        super().__init__(dtype=torch.int8)
        self.register_buffer("largest", torch.zeros(channels))

    def forward(self, x):
        self.largest = torch.maximum(self.largest, x.abs().amax(0).detach())
        return x

    def calculate_qparams(self):
        return self.largest / 127, torch.zeros_like(self.largest)

    def _load_from_state_dict(self, state_dict, prefix, *args):
        self.largest = state_dict[prefix + "largest"].clone()
        super()._load_from_state_dict(state_dict, prefix, *args)


def model(channels, classes):
    made = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), Range(channels), nn.Linear(8, classes))
    weight_init.c2_xavier_fill(made[0])
    return made


torch.manual_seed(0)
trained = model(8, 3)
x = torch.randn(16, 4)
print("output", trained(x).sum().item(), "scale", trained[3].calculate_qparams()[0].sum().item())
print("parameters", parameter_count(trained)[""])

with tempfile.TemporaryDirectory() as folder:
    optimizer = torch.optim.SGD(trained.parameters(), 0.1, momentum=0.9)
    saver = PeriodicCheckpointer(Checkpointer(trained, folder, optimizer=optimizer), period=2, max_iter=5)
    for step in range(5):
        optimizer.zero_grad()
        trained(x).square().mean().backward()
        optimizer.step()
        saver.step(step)
    other = model(2, 5)  # ranges of two channels, five classes
    checkpointer = Checkpointer(other, folder)
    print("newest", checkpointer.has_checkpoint(), checkpointer.get_checkpoint_file()[-15:])
    extra = checkpointer.resume_or_load("", resume=True)
    print("iteration", extra["iteration"])
    print("same", torch.equal(other[0].weight, trained[0].weight), torch.equal(other[3].largest, trained[3].largest))
    state = torch.load(checkpointer.get_checkpoint_file())
    found = checkpointer._load_model({"model": state["model"]})
    print("shapes", sorted(found.incorrect_shapes))
    print("missing", sorted(found.missing_keys))

update_bn_stats(trained, [torch.randn(16, 4) for _ in range(3)], 3)
print("precise", [each.running_mean.sum().item() for each in get_bn_modules(trained.train())])

boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 3.0, 4.0]], requires_grad=True)
targets = torch.tensor([[0.5, 0.0, 2.0, 1.0], [2.0, 2.0, 5.0, 5.0]])
value = giou_loss(boxes, targets, reduction="sum")
print("giou", value.item(), torch.autograd.grad(value, boxes)[0].abs().sum().item())
logits = torch.linspace(-2, 2, 6, requires_grad=True)
value = sigmoid_focal_loss(logits, (logits > 0).float(), alpha=0.25, reduction="mean")
print("focal", value.item(), torch.autograd.grad(value, logits)[0].sum().item())
print("smooth", smooth_l1_loss(boxes, targets, beta=0.5, reduction="mean").item())
print("schedules", CosineParamScheduler(1.0, 0.1)(0.3), LinearParamScheduler(1.0, 0.0)(0.25))
