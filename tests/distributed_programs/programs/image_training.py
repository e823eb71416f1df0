"""Training of images as PyTorch's ImageNet example has it: joined meters, a schedule, validation."""

# launch: torchrun 2

import os
from enum import Enum

import torch
import torch.distributed as dist
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Subset, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Summary(Enum):
    AVERAGE = 1
    SUM = 2


class AverageMeter:
    def __init__(self, name):
        self.name, self.sum, self.count = name, 0.0, 0

    def update(self, val, n=1):
        self.sum += float(val) * n
        self.count += n

    def all_reduce(self):
        total = torch.tensor([self.sum, self.count], dtype=torch.float64)
        dist.all_reduce(total, dist.ReduceOp.SUM, async_op=False)
        self.sum, self.count = total.tolist()
        self.avg = self.sum / self.count


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(n, n, 3, padding=1, bias=False), nn.BatchNorm2d(n), nn.ReLU(inplace=True),
            nn.Conv2d(n, n, 3, padding=1, bias=False), nn.BatchNorm2d(n),
        )  # fmt: skip

    def forward(self, x):
        return torch.relu(x + self.body(x))


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum() * (100.0 / target.size(0)) for k in topk]


def validate(loader, model, criterion, rest):
    losses, top3 = AverageMeter("Loss"), AverageMeter("Acc@3")
    model.eval()

    def run(batches):
        with torch.no_grad():
            for images, target in batches:
                output = model(images)
                losses.update(criterion(output, target), len(target))
                top3.update(accuracy(output, target, (1, 3))[1], len(target))

    run(loader)
    losses.all_reduce()
    top3.all_reduce()
    if len(rest):
        run(DataLoader(rest, batch_size=16))
    return losses, top3


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(3)
    images, labels = torch.randn(90, 3, 12, 12), torch.randint(0, 5, (90,))
    train, val = TensorDataset(images[:64], labels[:64]), TensorDataset(images[64:], labels[64:])
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), Block(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(8, 5),
    )  # fmt: skip
    model = nn.parallel.DistributedDataParallel(model)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.5)
    sampler = DistributedSampler(train)
    val_sampler = DistributedSampler(val, shuffle=False, drop_last=True)
    loader = DataLoader(train, batch_size=8, shuffle=(sampler is None), sampler=sampler, num_workers=0)
    val_loader = DataLoader(val, batch_size=8, shuffle=False, sampler=val_sampler)
    rest = Subset(val, range(len(val_sampler) * size, len(val)))
    for epoch in range(3):
        sampler.set_epoch(epoch)
        model.train()
        meter = AverageMeter("Loss")
        for x, y in loader:
            loss = criterion(model(x), y)
            meter.update(loss.item(), len(y))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        meter.all_reduce()
        losses, top3 = validate(val_loader, model, criterion, rest)
        scheduler.step()
        if rank == 0:
            lr = scheduler.get_last_lr()[0]
            print(epoch, f"train {meter.avg:.4f} val {losses.avg:.4f} top3 {top3.avg:.3f} lr {lr:.4f}")
    if rank == 0:
        print(
            type(model.module[1]).__name__, f"{model.module[1].running_var.sum().item():.4f}", os.environ["LOCAL_RANK"]
        )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
