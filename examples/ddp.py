"""Train a small convolutional network in several processes, with the losses of one.

    weft launch --nproc-per-node 2 examples/ddp.py
    python examples/ddp.py                               # alone: the same losses

Each process takes its share of every batch, and `DistributedDataParallel` the mean of the gradients. `SyncBatchNorm`
takes the statistics of the whole batch, so that the number of processes changes nothing but the time.
"""

import argparse
import json
import time
from pathlib import Path

import weft
import weft.distributed as dist
from weft import nn
from weft.nn.parallel import DistributedDataParallel
from weft.utils.data import DataLoader, DistributedSampler, TensorDataset


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64, help="of all processes together (default: 64)")
    parser.add_argument("--size", type=int, default=1024, help="number of images (default: 1024)")
    parser.add_argument("--out", type=Path, default=Path("runs/ddp"), help="for checkpoint.pt and history.json")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def gratings(count, seed):
    """Images of stripes in one of eight directions, with noise, and their direction."""
    generator = weft.Generator().manual_seed(seed)
    labels = weft.randint(0, 8, (count,), generator=generator)
    angles = labels.view(-1, 1, 1) * (weft.pi / 8)
    rows, columns = weft.meshgrid(weft.arange(16.0), weft.arange(16.0), indexing="ij")
    phases = weft.rand(count, 1, 1, generator=generator) * 6
    images = weft.sin(rows * weft.cos(angles) + columns * weft.sin(angles) + phases)
    return TensorDataset((images + 0.5 * weft.randn(images.shape, generator=generator)).unsqueeze(1), labels)


def make_model():
    model = nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(128, 8),
    )  # fmt: skip
    return nn.SyncBatchNorm.convert_sync_batchnorm(model)


def mean_over_processes(values):
    total = weft.tensor(values)
    dist.all_reduce(total, dist.ReduceOp.AVG)
    return total.tolist()


def main():
    options = parse_arguments()
    dist.init_process_group()  # tcp, mpi or nccl: what is there; a world of one where nobody launched it
    rank, processes = dist.get_rank(), dist.get_world_size()
    weft.manual_seed(options.seed)
    model = DistributedDataParallel(make_model())
    optimizer = weft.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    sampler = DistributedSampler(gratings(options.size, 1), seed=options.seed, drop_last=True)
    loader = DataLoader(sampler.dataset, batch_size=options.batch_size // processes, sampler=sampler, drop_last=True)

    losses = []
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        begun = time.perf_counter()
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()  # gradients are exchanged while it goes on
            optimizer.step()
            losses.append(loss.item())
        if rank == 0:
            print(f"epoch {epoch}: loss {losses[-1]:.4f}, {time.perf_counter() - begun:.1f} s", flush=True)

    history = mean_over_processes(losses)
    if rank == 0:  # one process writes what all have
        options.out.mkdir(parents=True, exist_ok=True)
        weft.save(model.module.state_dict(), options.out / "checkpoint.pt")
        (options.out / "history.json").write_text(json.dumps({"loss": history}), encoding="utf-8")
        print(f"{processes} processes, loss {history[0]:.4f} -> {history[-1]:.4f}; saved in {options.out}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
