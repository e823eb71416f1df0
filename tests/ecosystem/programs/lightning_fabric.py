"""Lightning Fabric: a hand-written loop, saving and loading, bf16 precision."""

# /// script
# dependencies = ["lightning==2.6.6"]
# ///

import tempfile
import warnings

import torch
from lightning.fabric import Fabric, seed_everything
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
seed_everything(3, verbose=False)
fabric = Fabric(accelerator="cpu", devices=1)
fabric.launch()
model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
model, optimizer = fabric.setup(model, optimizer)
x = torch.randn(64, 3)
y = (x.sum(1) > 0).long()
loader = fabric.setup_dataloaders(DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True))
for epoch in range(3):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
    print("loss", epoch, round(loss.item(), 5))
with tempfile.TemporaryDirectory() as folder:
    fabric.save(f"{folder}/state.ckpt", {"model": model, "optimizer": optimizer, "epoch": 3})
    before = model(x).sum().item()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    rest = fabric.load(f"{folder}/state.ckpt", {"model": model, "optimizer": optimizer})
    print("rest", rest, round(model(x).sum().item() - before, 5))
print("ranks", fabric.global_rank, fabric.world_size, fabric.all_gather(torch.ones(2)).tolist())
print("reduced", fabric.all_reduce(torch.tensor([2.0]), reduce_op="sum").tolist())
half = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
layer = half.setup(torch.nn.Linear(3, 2))
with half.autocast():
    print("bf16", layer(x[:1]).dtype, torch.mm(x[:2], x[:2].T).dtype)
