"""torchdyn: a neural ordinary differential equation, solved and trained."""

# /// script
# dependencies = ["torchdyn==1.0.6"]
# ///

import torch
from torchdyn.core import NeuralODE
from torchdyn.numerics import odeint

torch.manual_seed(0)
field = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
model = NeuralODE(field, sensitivity="adjoint", solver="dopri5")
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
x, y = torch.randn(8, 2), torch.randn(8, 2)
for step in range(3):
    times, states = model(x, torch.linspace(0, 1, 5))
    loss = (states[-1] - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item())
_, solution = odeint(lambda t, x: -x, torch.ones(3), torch.linspace(0, 1, 3), solver="rk4")
print("decay", solution.flatten().tolist())
