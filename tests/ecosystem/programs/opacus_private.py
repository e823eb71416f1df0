"""Opacus: private training with per-sample gradients, of linear, convolutional and recurrent layers."""

# /// script
# dependencies = ["opacus==1.6.0"]
# ///

import warnings

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.accountants import RDPAccountant
from opacus.layers import DPLSTM, DPMultiheadAttention
from opacus.utils.batch_memory_manager import BatchMemoryManager
from opacus.validators import ModuleValidator
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
torch.manual_seed(0)
x = torch.randn(64, 1, 8, 8)
y = (x.mean((1, 2, 3)) > 0).long()
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3), torch.nn.GroupNorm(2, 4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2)
)
print("errors", len(ModuleValidator.validate(torch.nn.Sequential(torch.nn.BatchNorm2d(3)))))
print("fixed", type(ModuleValidator.fix(torch.nn.Sequential(torch.nn.BatchNorm2d(4)))[0]).__name__)
samples = GradSampleModule(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)))
samples(torch.arange(15.0).reshape(5, 3) / 10).sum().backward()
print("per_sample", [list(p.grad_sample.shape) for p in samples.parameters()])
print("norms", [round(p.grad_sample.flatten(1).norm(dim=1).sum().item(), 4) for p in samples.parameters()])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
engine = PrivacyEngine(accountant="rdp")
model, optimizer, loader = engine.make_private(
    module=model,
    optimizer=optimizer,
    data_loader=DataLoader(TensorDataset(x, y), batch_size=16),
    noise_multiplier=1.0,
    max_grad_norm=1.0,
    noise_generator=torch.Generator().manual_seed(3),
    poisson_sampling=False,
)
for epoch in range(2):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
    print("epoch", epoch, round(loss.item(), 4), "epsilon", round(engine.get_epsilon(1e-5), 5))
with BatchMemoryManager(data_loader=loader, max_physical_batch_size=8, optimizer=optimizer) as small:
    for inputs, targets in small:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
print("weights", round(sum(p.abs().sum().item() for p in model.parameters()), 5))
torch.manual_seed(1)
lstm = GradSampleModule(DPLSTM(4, 5, batch_first=True))
out, _ = lstm(torch.randn(3, 6, 4))
out.sum().backward()
print("lstm", [round(p.grad_sample.norm().item(), 4) for p in lstm.parameters()])
attention = GradSampleModule(DPMultiheadAttention(8, 2))
sequence = torch.randn(4, 3, 8)
attention(sequence, sequence, sequence)[0].sum().backward()
print(
    "attention", round(sum(p.grad_sample.norm().item() for p in attention.parameters() if p.grad_sample is not None), 4)
)
accountant = RDPAccountant()
accountant.step(noise_multiplier=1.1, sample_rate=0.01)
print("accountant", round(accountant.get_epsilon(delta=1e-5), 4))
functorch = GradSampleModule(torch.nn.Linear(3, 2), force_functorch=True)
functorch(torch.ones(4, 3)).sum().backward()
print("functorch", [list(p.grad_sample.shape) for p in functorch.parameters()])
