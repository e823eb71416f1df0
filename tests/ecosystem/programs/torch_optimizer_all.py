"""torch-optimizer: each optimizer on the same small problem."""

# /// script
# dependencies = ["torch-optimizer==0.3.0"]
# ///

import torch
import torch_optimizer

torch.set_default_dtype(torch.float64)  # Shampoo inverts matrices that are almost singular
x = torch.linspace(-1, 1, 12).reshape(6, 2)
for name in sorted(torch_optimizer.__all__):
    kind = getattr(torch_optimizer, name)
    if not (isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)):
        continue
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 2)
    parameters = list(model.parameters())
    if name == "Lookahead":
        optimizer = kind(torch.optim.SGD(parameters, lr=0.1), k=2)
    elif name in ("SGDP", "SGDW", "SWATS", "ASGD", "SGDQHM"):
        optimizer = kind(parameters, lr=0.1)
    elif name == "Adafactor":
        optimizer = kind(parameters, lr=0.01, relative_step=False, scale_parameter=False)
    elif name == "Adahessian":
        optimizer = kind(parameters, lr=0.1, seed=0)
    else:
        optimizer = kind(parameters)
    for _ in range(4):
        optimizer.zero_grad()
        loss = (model(x) - 1).pow(2).mean()
        loss.backward(create_graph=name == "Adahessian")
        optimizer.step()
    print(name, round(loss.item(), 4), round(sum(p.abs().sum().item() for p in parameters), 4))
