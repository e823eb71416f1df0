"""torchinfo: a model's table of layers, shapes, parameters and multiply-adds."""

# /// script
# dependencies = ["torchinfo==1.8.0"]
# ///

import torch
from torch import nn
from torchinfo import summary

model = nn.Sequential(
    nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 15 * 15, 10)
)
columns = ("input_size", "output_size", "num_params", "kernel_size", "mult_adds")
print(summary(model, (2, 3, 32, 32), col_names=columns, verbose=0))
print(summary(nn.LSTM(5, 7, 2), (4, 3, 5), verbose=0))
print(summary(nn.TransformerEncoderLayer(16, 2), (4, 3, 16), verbose=0, depth=3))
print(summary(nn.Embedding(10, 4), input_data=torch.tensor([[1, 2]]), verbose=0).total_params)
