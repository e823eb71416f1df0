"""entmax: sparse softmaxes and their losses."""

# /// script
# dependencies = ["entmax==1.3"]
# ///

import torch
from entmax import (
    Entmax15Loss,
    EntmaxBisectLoss,
    SparsemaxLoss,
    budget_bisect,
    entmax15,
    entmax_bisect,
    normmax_bisect,
    sparsemax,
    sparsemax_bisect,
)

torch.manual_seed(0)
x = torch.randn(3, 5, requires_grad=True)
target = torch.tensor([0, 3, 1])
for function in (
    sparsemax,
    entmax15,
    sparsemax_bisect,
    lambda v: entmax_bisect(v, alpha=1.3),
    lambda v: normmax_bisect(v, alpha=3),
    lambda v: budget_bisect(v, budget=2),
):
    p = function(x)
    (gradient,) = torch.autograd.grad((p * torch.arange(5)).sum(), x)
    print(
        getattr(function, "__name__", "?").strip("<>"),
        [round(v, 4) for v in p[0].tolist()],
        round(gradient.abs().sum().item(), 4),
    )
alpha = torch.tensor(1.4, requires_grad=True)
entmax_bisect(x.detach(), alpha).pow(2).sum().backward()
print("alpha", round(alpha.grad.item(), 4))
for loss in (SparsemaxLoss(), Entmax15Loss(), EntmaxBisectLoss(1.6)):
    value = loss(x, target)
    print(type(loss).__name__, round(value.item(), 4), round(torch.autograd.grad(value, x)[0].abs().sum().item(), 4))
