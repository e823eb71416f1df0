"""accelerate: training and metrics in two processes, which its launcher starts."""

# /// script
# dependencies = ["accelerate==1.15.0"]
# ///

import torch
from accelerate import Accelerator, debug_launcher
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    x = torch.randn(60, 4)
    loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=8, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(3):
        total = 0.0
        for inputs, labels in loader:
            loss = nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            total += accelerator.gather(loss.detach()).mean().item()
        right = count = 0
        for inputs, labels in loader:
            found, wanted = accelerator.gather_for_metrics((model(inputs).argmax(1), labels))
            right, count = right + (found == wanted).sum().item(), count + len(wanted)
        if torch.distributed.get_rank() == 0:
            print(epoch, f"{total:.4f}", right, count, type(model).__name__, accelerator.num_processes)
    accelerator.end_training()


if __name__ == "__main__":
    debug_launcher(main, num_processes=2)
