"""norse: spiking neurons in a network that is trained through them."""

# /// script
# dependencies = ["norse==0.0.4"]
# ///

import torch
from norse.torch.module.leaky_integrator import LICell
from norse.torch.module.lif import LIFCell

torch.manual_seed(0)
first, spiking = torch.nn.Linear(6, 8), LIFCell(8, 8)
last = LICell(8, 3)
parameters = [p for module in (first, spiking, last) for p in module.parameters()]
optimizer = torch.optim.SGD(parameters, 1e-2)
x, y = torch.rand(20, 4, 6), torch.tensor([0, 1, 2, 0])
for step in range(3):
    state, end, outs = None, None, []
    for t in x:
        spikes, state = spiking(first(t * 5), state)
        out, end = last(spikes, end)
        outs.append(out)
    loss = torch.nn.functional.cross_entropy(torch.stack(outs).max(0).values, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item())
