"""Train a classifier on few real pictures, with and without augmentation, and compare the two.

    python augmentation.py                   200 of scikit-learn's handwritten digits
    python augmentation.py --data photos     pieces of scikit-learn's two photos: which one is a piece of?

Augmentation draws a picture anew, a little turned, moved or coloured, each time that it is shown: the network cannot
learn it by heart.
"""

import argparse

import numpy as np
from PIL import Image

import weft
from weft import nn
from weft.utils.data import DataLoader, Dataset, Subset
from weft.vision.datasets import Digits
from weft.vision.transforms import v2

TO_FLOAT = [v2.ToImage(), v2.ToDtype(weft.float32, scale=True), v2.Normalize([0.5], [0.5])]


class Pieces(Dataset):
    """Squares of two photos: to train with from their left halves, to test with from their right ones."""

    def __init__(self, train, count, transform):
        from sklearn.datasets import load_sample_images

        half = slice(0, 320) if train else slice(320, 640)
        self.photos = [Image.fromarray(photo[:, half]) for photo in load_sample_images().images]
        corners = np.random.default_rng(int(train)).integers(0, (320 - 48, 427 - 48), (count, 2))
        self.boxes = [(int(left), int(top), int(left) + 48, int(top) + 48) for left, top in corners]
        self.transform = transform

    def __len__(self):
        return len(self.boxes)

    def __getitem__(self, index):
        return self.transform(self.photos[index % 2].crop(self.boxes[index])), index % 2


def load_digits(augmented):
    """(Training part, test part, number of channels, number of classes)."""
    changes = [v2.RandomAffine(15, translate=(0.1, 0.1), scale=(0.85, 1.15))] if augmented else []
    train = Digits(transform=v2.Compose([v2.Resize(16), *changes, *TO_FLOAT]))
    test = Digits(train=False, transform=v2.Compose([v2.Resize(16), *TO_FLOAT]))
    return Subset(train, range(200)), test, 1, 10


def load_photos(augmented):
    """(Training part, test part, number of channels, number of classes)."""
    changes = [v2.RandomHorizontalFlip(), v2.ColorJitter(0.4, 0.4, 0.4, 0.1)] if augmented else []
    crop = v2.RandomResizedCrop(32, scale=(0.3, 1)) if augmented else v2.Resize(32)
    train = Pieces(True, 100, v2.Compose([crop, *changes, *TO_FLOAT]))
    return train, Pieces(False, 200, v2.Compose([v2.Resize(32), *TO_FLOAT])), 3, 2


def build_model(channels, classes):
    return nn.Sequential(
        *(nn.Conv2d(channels, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveMaxPool2d(3)),
        *(nn.Flatten(), nn.Linear(9 * 64, classes)),
    )


def train(model, pictures, epochs):
    optimizer = weft.optim.AdamW(model.parameters(), lr=2e-3)
    steps = epochs * -(-len(pictures) // 20)
    schedule = weft.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps)
    for _ in range(epochs):
        for inputs, targets in DataLoader(pictures, batch_size=20, shuffle=True):
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return loss.item()


@weft.no_grad()
def accuracy(model, pictures):
    model.eval()
    right = sum((model(inputs).argmax(1) == targets).sum().item() for inputs, targets in DataLoader(pictures, 100))
    return 100 * right / len(pictures)


def main():
    summary, _, detail = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=detail, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", choices=("digits", "photos"), default="digits", help="(default: digits)")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training pictures (default: 30)")
    parser.add_argument("--seed", type=int, default=0, help="of weights, order and augmentation (default: 0)")
    arguments = parser.parse_args()
    load = load_digits if arguments.data == "digits" else load_photos
    for augmented in (False, True):
        weft.manual_seed(arguments.seed)
        train_set, test_set, channels, classes = load(augmented)
        model = build_model(channels, classes)
        loss = train(model, train_set, arguments.epochs)
        name = "with augmentation" if augmented else "as they are"
        print(f"{name:18} last loss {loss:.4f}   test accuracy {accuracy(model, test_set):.1f} %")


if __name__ == "__main__":
    main()
