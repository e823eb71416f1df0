"""A variational auto-encoder on pictures in MNIST's files, with a scheduler, a hook and a picture that is saved."""

import os
import struct

import numpy as np
import torch
from PIL import Image
from torch import nn, optim
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F
from torchvision import datasets, transforms
from torchvision.utils import save_image


def write_digits(root):
    """Pictures of bars, in the format of MNIST."""
    folder = os.path.join(root, "MNIST", "raw")
    os.makedirs(folder, exist_ok=True)
    for name, count in (("train", 200), ("t10k", 40)):
        labels = np.arange(count) % 10
        images = np.zeros((count, 28, 28), np.uint8)
        for index, label in enumerate(labels):
            images[index, 2 + 2 * label : 5 + 2 * label, 3 + index % 7 : 20] = 200
        with open(os.path.join(folder, f"{name}-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">4i", 0x803, count, 28, 28) + images.tobytes())
        with open(os.path.join(folder, f"{name}-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">2i", 0x801, count) + labels.astype(np.uint8).tobytes())


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU())
        self.mean, self.logvar = nn.Linear(64, 8), nn.Linear(64, 8)
        self.decoder = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 784), nn.Unflatten(1, (1, 28, 28)))

    def forward(self, x):
        hidden = self.encoder(x)
        posterior = Normal(self.mean(hidden), torch.exp(0.5 * self.logvar(hidden)))
        return self.decoder(posterior.rsample()), posterior


def loss_function(logits, x, posterior):
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    return reconstruction + kl_divergence(posterior, Normal(0.0, 1.0)).sum()


def main():
    torch.manual_seed(1)
    write_digits("data")
    train_set = datasets.MNIST("data", train=True, download=True, transform=transforms.ToTensor())
    test_set = datasets.MNIST("data", train=False, transform=transforms.ToTensor())
    train_loader = torch.utils.data.DataLoader(train_set, batch_size=40, shuffle=True)
    test_loader = torch.utils.data.DataLoader(test_set, batch_size=40)
    model = VAE()
    shapes = set()
    handle = model.mean.register_forward_hook(lambda module, args, output: shapes.add(tuple(output.shape)))
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, epochs=6, steps_per_epoch=len(train_loader))
    for epoch in range(6):
        model.train()
        total = 0.0
        for data, _ in train_loader:
            optimizer.zero_grad()
            logits, posterior = model(data)
            loss = loss_function(logits, data, posterior)
            loss.backward()
            total += loss.item()
            optimizer.step()
            scheduler.step()
        print(f"epoch {epoch} train loss {total / len(train_set):.4f} lr {scheduler.get_last_lr()[0]:.6f}")
        model.eval()
        with torch.no_grad():
            tested = sum(loss_function(*(model(data)[:1]), data, model(data)[1]).item() for data, _ in test_loader)
        print(f"epoch {epoch} test loss {tested / len(test_set):.4f}")
    handle.remove()
    save_image(torch.sigmoid(logits[:8]), "sample.png", nrow=4)
    print("saved", Image.open("sample.png").size, sorted(shapes))


if __name__ == "__main__":
    main()
