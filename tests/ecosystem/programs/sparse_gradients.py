"""Sparse tensors inside of libraries: an adapter of few weights, an optimizer of embeddings, scores of clusterings."""

# /// script
# dependencies = ["peft==0.21.2", "torch-optimizer==0.3.0", "torchmetrics==1.9.0"]
# ///

import torch
import torch_optimizer
from peft import ShiraConfig, get_peft_model
from torch import nn
from torchmetrics.functional.clustering import mutual_info_score

torch.manual_seed(0)
embedding = nn.Embedding(6, 3, sparse=True)
optimizer = torch_optimizer.MADGRAD([embedding.weight], lr=0.1, momentum=0, weight_decay=0)
for step in range(4):
    optimizer.zero_grad()
    loss = (embedding(torch.tensor([1, 4, 1, step])) ** 2).sum()
    loss.backward()
    optimizer.step()
    print("loss", loss.item())

print("mutual information", mutual_info_score(torch.tensor([0, 1, 1, 2]), torch.tensor([0, 1, 2, 2])).item())

layers = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2))
adapted = get_peft_model(layers, ShiraConfig(r=2, target_modules=["0"], random_seed=3))
result = adapted(torch.randn(3, 8)).sum()
result.backward()
print("adapter", result.item(), [p.grad.abs().sum().item() for p in adapted.parameters() if p.grad is not None])
