"""Training of a classifier of images as PyTorch's ImageNet example does it: meters, a scheduler, validation."""

# launch: torchrun 2

import os
import random

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.parallel
import torch.optim
import torch.utils.data
import torch.utils.data.distributed
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import Subset


class AverageMeter:
    def __init__(self, name):
        self.name = name
        self.sum = self.count = 0.0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    def all_reduce(self):
        total = torch.tensor([self.sum, self.count], dtype=torch.float32)
        dist.all_reduce(total, dist.ReduceOp.SUM, async_op=False)
        self.sum, self.count = total.tolist()
        self.avg = self.sum / self.count


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        return self.fc(torch.flatten(self.avgpool(self.features(x)), 1))


def images(count, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 4, (count,), generator=generator)
    pictures = torch.randn(count, 3, 8, 8, generator=generator)
    pictures += labels.view(-1, 1, 1, 1) * torch.tensor([0.5, -0.3, 0.2]).view(1, 3, 1, 1)
    return torch.utils.data.TensorDataset(pictures, labels)


def train(loader, model, criterion, optimizer):
    losses, top1 = AverageMeter("Loss"), AverageMeter("Acc@1")
    model.train()
    for pictures, target in loader:
        output = model(pictures)
        loss = criterion(output, target)
        losses.update(loss.item(), pictures.size(0))
        top1.update(accuracy(output, target)[0].item(), pictures.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    losses.all_reduce()
    top1.all_reduce()
    return losses.avg, top1.avg


def validate(loader, model, criterion):
    losses, top1 = AverageMeter("Loss"), AverageMeter("Acc@1")

    def run_validate(loader):
        with torch.no_grad():
            for pictures, target in loader:
                output = model(pictures)
                losses.update(criterion(output, target).item(), pictures.size(0))
                top1.update(accuracy(output, target)[0].item(), pictures.size(0))

    model.eval()
    run_validate(loader)
    losses.all_reduce()
    top1.all_reduce()
    if len(loader.sampler) * dist.get_world_size() < len(loader.dataset):
        rest = Subset(loader.dataset, range(len(loader.sampler) * dist.get_world_size(), len(loader.dataset)))
        run_validate(torch.utils.data.DataLoader(rest, batch_size=8, shuffle=False))
    return losses.avg, top1.avg


def main():
    random.seed(1)
    torch.manual_seed(1)
    dist.init_process_group(backend="gloo", init_method="env://", world_size=int(os.environ["WORLD_SIZE"]))
    model = torch.nn.parallel.DistributedDataParallel(Net())
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = StepLR(optimizer, step_size=2, gamma=0.1)
    train_set, val_set = images(96, 2), images(33, 3)
    train_sampler = torch.utils.data.distributed.DistributedSampler(train_set)
    val_sampler = torch.utils.data.distributed.DistributedSampler(val_set, shuffle=False, drop_last=True)
    train_loader = torch.utils.data.DataLoader(
        train_set, batch_size=8, shuffle=(train_sampler is None), num_workers=0, sampler=train_sampler
    )
    val_loader = torch.utils.data.DataLoader(val_set, batch_size=8, shuffle=False, sampler=val_sampler)
    for epoch in range(3):
        train_sampler.set_epoch(epoch)
        found = train(train_loader, model, criterion, optimizer) + validate(val_loader, model, criterion)
        scheduler.step()
        if dist.get_rank() == 0:
            print(f"epoch {epoch}", *[f"{each:.4f}" for each in found], flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
