"""snntorch: leaky integrate-and-fire neurons with a surrogate gradient."""

# /// script
# dependencies = ["snntorch==1.0.0"]
# ///

import snntorch
import torch
from snntorch import spikegen, surrogate

torch.manual_seed(0)
fc, lif = torch.nn.Linear(6, 4), snntorch.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid())
spikes = spikegen.rate(torch.rand(3, 6), num_steps=10)
print("spikes", spikes.sum().item())
membrane, total = lif.init_leaky(), 0
for t in spikes:
    spike, membrane = lif(fc(t), membrane)
    total = total + spike
loss = torch.nn.functional.cross_entropy(total + membrane, torch.tensor([0, 1, 2]))
loss.backward()
print("loss", loss.item(), "gradient", fc.weight.grad.norm().item())
print("latency", spikegen.latency(torch.rand(3, 6), num_steps=5).sum().item())
