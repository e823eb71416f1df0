"""Train a network to mark the pixels of handwritten digits that lie on a photo.

    python segmentation.py              about a minute on two cores
    python segmentation.py --steps 20   a look

Digits and photos are scikit-learn's. A picture and its mask are flipped and turned together by transforms of the second
version, and the picture alone is recoloured. --out shows a row each of new pictures, what is marked, and the truth.
"""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image

import weft
from weft import nn
from weft.utils.data import DataLoader, Dataset
from weft.vision import tv_tensors
from weft.vision.datasets import Digits
from weft.vision.transforms import v2
from weft.vision.utils import make_grid, save_image

SIZE, DIGIT = 64, 28


class DigitsOnPhotos(Dataset):
    """Samples are (image, mask): a piece of a photo with a digit on it, and where the digit's strokes are."""

    def __init__(self, train, count, transforms):
        from sklearn.datasets import load_sample_images

        self.digits, self.count, self.transforms = Digits(train), count, transforms
        self.photos = load_sample_images().images
        self.seed = int(train)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        random = np.random.default_rng((self.seed, index))
        photo = self.photos[random.integers(2)]
        top, left = (int(random.integers(0, side - SIZE)) for side in photo.shape[:2])
        picture = photo[top : top + SIZE, left : left + SIZE].copy()
        digit, _ = self.digits[int(random.integers(len(self.digits)))]
        strokes = np.asarray(digit.resize((DIGIT, DIGIT), Image.Resampling.BICUBIC)) > 110
        y, x = random.integers(0, SIZE - DIGIT, 2)
        picture[y : y + DIGIT, x : x + DIGIT][strokes] = random.integers(0, 256, 3)
        mask = np.zeros((SIZE, SIZE), bool)
        mask[y : y + DIGIT, x : x + DIGIT] = strokes
        sample = tv_tensors.Image(Image.fromarray(picture)), tv_tensors.Mask(weft.from_numpy(mask))
        return self.transforms(*sample)


class Block(nn.Sequential):
    def __init__(self, channels, wider, stride=1):
        convolution = nn.Conv2d(channels, wider, 3, stride, 1, bias=False)
        super().__init__(convolution, nn.BatchNorm2d(wider), nn.ReLU())


class UNet(nn.Module):
    """Down to a quarter of the size and up again; on the way up each level sees the one from the way down."""

    def __init__(self):
        super().__init__()
        self.first = Block(3, 16)
        self.down = nn.ModuleList([Block(16, 32, stride=2), Block(32, 64, stride=2)])
        self.up = nn.ModuleList([Block(64 + 32, 32), Block(32 + 16, 16)])
        self.head = nn.Conv2d(16, 1, 1)

    def forward(self, image):
        levels = [self.first(image)]
        for down in self.down:
            levels.append(down(levels[-1]))
        features = levels.pop()
        for up in self.up:
            finer = levels.pop()
            features = nn.functional.interpolate(features, size=finer.shape[-2:], mode="bilinear")
            features = up(weft.cat([features, finer], 1))
        return self.head(features)[:, 0]  # (N, H, W): the logit of each pixel


def train(model, pictures, steps):
    optimizer = weft.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = weft.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=steps)
    loader = DataLoader(pictures, batch_size=16)
    for step, (images, masks) in enumerate(loader, start=1):
        weight = weft.tensor(5.0)  # strokes are few
        loss = nn.functional.binary_cross_entropy_with_logits(model(images), masks.float(), pos_weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 20 == 0 or step == steps:
            print(f"step {step:4}  loss {loss.item():.3f}")


@weft.no_grad()
def mark(model, pictures):
    """Return images, the pixels that the network marks, and those that it should."""
    model.eval()
    images, masks = next(iter(DataLoader(pictures, batch_size=len(pictures))))
    return images, model(images) > 0, masks


def main():
    summary, _, detail = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=detail, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=120, help="of the optimizer (default: 120)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and transforms (default: 0)")
    parser.add_argument("--out", type=Path, default=Path("runs/segmentation.png"), help="(default: %(default)s)")
    arguments = parser.parse_args()
    weft.manual_seed(arguments.seed)
    to_float = v2.ToDtype({tv_tensors.Image: weft.float32, "others": None}, scale=True)
    changes = [v2.RandomHorizontalFlip(), v2.RandomRotation(20), v2.ColorJitter(0.3, 0.3, 0.3)]
    model = UNet()
    train(model, DigitsOnPhotos(True, 16 * arguments.steps, v2.Compose([*changes, to_float])), arguments.steps)
    images, found, masks = mark(model, DigitsOnPhotos(False, 100, to_float))
    overlap = (found & masks).sum().item() / (found | masks).sum().item()
    print(f"intersection over union on {len(images)} new pictures: {overlap:.2f}")
    magenta = weft.tensor([1.0, 0.0, 1.0])[:, None, None]
    rows = [images[:8], *(weft.where(marked[:8, None], magenta, images[:8]) for marked in (found, masks))]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    save_image(make_grid(weft.cat(rows), nrow=8), arguments.out)
    print(f"eight of them are in {arguments.out}")


if __name__ == "__main__":
    main()
