"""A generative adversarial network: two optimizers, transposed convolutions, labels that are filled in place."""

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Rings(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(3)
        radius = 2 + 4 * torch.rand(count, 1, 1, generator=generator)
        y, x = torch.meshgrid(torch.arange(16.0) - 7.5, torch.arange(16.0) - 7.5, indexing="ij")
        self.images = torch.tanh(2 - (torch.hypot(x, y) - radius).abs()).unsqueeze(1)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index], index % 2


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        torch.nn.init.normal_(m.weight, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        torch.nn.init.normal_(m.weight, 1.0, 0.02)
        torch.nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self, nz=10, ngf=8):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self, ndf=8):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


def main():
    torch.manual_seed(999)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(Rings(128), batch_size=32, shuffle=True)
    netG, netD = Generator().to(device), Discriminator().to(device)
    netG.apply(weights_init)
    netD.apply(weights_init)
    criterion = nn.BCELoss()
    fixed_noise = torch.randn(4, 10, 1, 1, device=device)
    optimizerD = optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
    for epoch in range(4):
        for data, _ in loader:
            netD.zero_grad()
            real = data.to(device)
            label = torch.full((real.size(0),), 1.0, dtype=real.dtype, device=device)
            output = netD(real)
            errD_real = criterion(output, label)
            errD_real.backward()
            fake = netG(torch.randn(real.size(0), 10, 1, 1, device=device))
            label.fill_(0.0)
            errD_fake = criterion(netD(fake.detach()), label)
            errD_fake.backward()
            optimizerD.step()
            netG.zero_grad()
            label.fill_(1.0)
            errG = criterion(netD(fake), label)
            errG.backward()
            optimizerG.step()
        print(f"[{epoch}] loss {errD_real.item() + errD_fake.item():.5f} loss {errG.item():.5f}")
    netG.eval()
    with torch.no_grad():
        print("fake", tuple(netG(fixed_noise).shape), f"{netG(fixed_noise).abs().mean().item():.3f}")


if __name__ == "__main__":
    main()
