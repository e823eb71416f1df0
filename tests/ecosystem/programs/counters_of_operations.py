"""thop and torchsummary: counts of operations and parameters."""

# /// script
# dependencies = ["thop==0.1.1-2209072238", "torchsummary==1.5.1"]
# ///

import torch
from thop import profile
from torch import nn
from torchsummary import summary

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
image = torch.ones(1, 3, 16, 16)
print("thop", *profile(model, (image,), verbose=False))
summary(model, (3, 16, 16), device="cpu")
