"""higher: gradients through inner optimization loops."""

# /// script
# dependencies = ["higher==0.2.1"]
# ///

import higher
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
x, y = torch.randn(16, 3), torch.randn(16, 1)
for inner in (
    torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
    torch.optim.Adam(model.parameters(), lr=0.01),
    torch.optim.RMSprop(model.parameters(), lr=0.01),
    torch.optim.Adagrad(model.parameters(), lr=0.01),
):
    model.zero_grad()
    with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (functional, optimizer):
        for _ in range(3):
            optimizer.step(torch.nn.functional.mse_loss(functional(x), y))
        loss = torch.nn.functional.mse_loss(functional(x[:4]), y[:4])
        loss.backward()
    print(
        type(inner).__name__,
        round(loss.item(), 4),
        round(sum(p.grad.abs().sum().item() for p in model.parameters()), 4),
    )
rate = torch.tensor(0.1, requires_grad=True)
with higher.innerloop_ctx(model, torch.optim.SGD(model.parameters(), lr=0.1), override={"lr": [rate]}) as (
    functional,
    optimizer,
):
    optimizer.step(torch.nn.functional.mse_loss(functional(x), y))
    print("rate", round(torch.autograd.grad(torch.nn.functional.mse_loss(functional(x), y), rate)[0].item(), 4))
patched = higher.patch.monkeypatch(model)
print("patched", round(patched(x, params=[p * 0 for p in model.parameters()]).abs().sum().item(), 4))
