"""torchviz: the graph of a loss as Graphviz source."""

# /// script
# dependencies = ["torchviz==0.0.3"]
# ///

import re

import torch
from torchviz import make_dot

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
dot = make_dot(model(torch.randn(2, 3)).mean(), params=dict(model.named_parameters()))
labels = re.findall(r'label="?([A-Za-z]+[\w.]*)', dot.source)
print(len(re.findall("->", dot.source)), sorted(labels))
