"""A convolutional network on images of two kinds: loaders with workers, a schedule, a checkpoint."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    """Noisy images with a bar that is upright or lies."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        image = torch.rand(1, 12, 12, generator=generator)
        place = int(torch.randint(2, 10, (), generator=generator))
        label = index % 2
        (image[0].T if label else image[0])[place] += 0.6
        return image, label


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Dropout(0.2)
        )
        self.classifier = nn.Linear(200, 2)

    def forward(self, x):
        return F.log_softmax(self.classifier(torch.flatten(self.features(x), 1)), dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.DataParallel(Net()).to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=0.5)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    loader = DataLoader(Shapes(96), batch_size=16, shuffle=True, num_workers=2)
    for epoch in range(args.epochs):
        for batch, (data, target) in enumerate(loader):
            loss = F.nll_loss(model(data.to(device)), target.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"epoch {epoch} batch {batch} loss {loss.item():.5f}")
        scheduler.step()
    torch.save(model.state_dict(), "model.pt")
    print("saved", len(torch.load("model.pt")))


if __name__ == "__main__":
    main()
