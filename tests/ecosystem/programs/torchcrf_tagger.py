"""pytorch-crf: a conditional random field trained and decoded."""

# /// script
# dependencies = ["pytorch-crf==0.7.2"]
# ///

import torch
from torchcrf import CRF

torch.manual_seed(0)
model = CRF(4, batch_first=True)
emissions = torch.randn(3, 6, 4, requires_grad=True)
tags = torch.randint(4, (3, 6))
mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2, [1] * 5 + [0]], dtype=torch.bool)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for _ in range(5):
    optimizer.zero_grad()
    loss = -model(emissions, tags, mask=mask, reduction="token_mean")
    loss.backward()
    optimizer.step()
print("loss", round(loss.item(), 4), round(emissions.grad.abs().sum().item(), 4))
print("decoded", model.decode(emissions, mask=mask))
print("each", [round(v, 4) for v in model(emissions, tags, reduction="none").tolist()])
