"""norse: spiking neurons in a network that is trained through them."""

# /// script
# dependencies = ["norse==0.0.4"]
# ///

import norse.torch as norse
import torch

torch.manual_seed(0)
net = norse.SequentialState(torch.nn.Linear(6, 8), norse.LIFCell(), torch.nn.Linear(8, 3), norse.LICell())
optimizer = torch.optim.Adam(net.parameters(), 1e-2)
x, y = torch.rand(20, 4, 6), torch.tensor([0, 1, 2, 0])
for step in range(3):
    state, outs = None, []
    for t in x:
        out, state = net(t * 5, state)
        outs.append(out)
    loss = torch.nn.functional.cross_entropy(torch.stack(outs).max(0).values, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item())
