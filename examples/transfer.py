"""Learn some classes with little data by means of a network that has learned others: transfer from a checkpoint.

    python transfer.py

First a small network of weft.vision learns the digits 0 to 4, and its weights are saved. Then the digits 5 to 9 are
learned from ten pictures each, twice: by a network from scratch, and by one that begins with the saved weights, whose
body is frozen and whose head is new. A checkpoint of torchvision's in --checkpoint does as well.
"""

import argparse
from pathlib import Path

import weft
from weft import nn
from weft.utils.data import DataLoader, TensorDataset
from weft.vision.datasets import Digits
from weft.vision.models import get_model
from weft.vision.transforms import v2

SHOTS = 10  # pictures of each class


def load(classes, train=True, shots=None):
    """Pictures (N, 3, 32, 32) of some classes, which are numbered from 0."""
    digits = Digits(train)
    pixels = weft.from_numpy(digits.data)[:, None].expand(-1, 3, -1, -1)
    pixels = v2.Compose([v2.Resize(32), v2.ToDtype(weft.float32, scale=True), v2.Normalize([0.3] * 3, [0.4] * 3)])(
        pixels
    )
    targets = weft.from_numpy(digits.targets)
    chosen = weft.cat([(targets == each).nonzero()[:shots, 0] for each in classes])
    return TensorDataset(pixels[chosen], targets[chosen] - classes[0])


def train(model, pictures, epochs, lr):
    optimizer = weft.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=lr)
    loader = DataLoader(pictures, batch_size=25, shuffle=True)
    for _ in range(epochs):
        for inputs, targets in loader:
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@weft.no_grad()
def accuracy(model, pictures):
    model.eval()
    right = sum((model(inputs).argmax(1) == targets).sum().item() for inputs, targets in DataLoader(pictures, 200))
    return 100 * right / len(pictures)


def main():
    summary, _, detail = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=detail, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="squeezenet1_1", help="a model of weft.vision (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=5, help="on the first classes (default: 5)")
    parser.add_argument("--checkpoint", type=Path, default=Path("runs/transfer.pt"), help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and order (default: 0)")
    arguments = parser.parse_args()
    first, second = range(5), range(5, 10)

    weft.manual_seed(arguments.seed)
    if not arguments.checkpoint.exists():
        model = get_model(arguments.model, num_classes=len(first), dropout=0.1)
        train(model, load(first), arguments.epochs, lr=1e-3)
        print(f"digits 0 to 4: {accuracy(model, load(first, train=False)):.1f} %")
        arguments.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        weft.save(model.state_dict(), arguments.checkpoint)

    few, test = load(second, shots=SHOTS), load(second, train=False)
    scratch = get_model(arguments.model, num_classes=len(second), dropout=0.1)
    train(scratch, few, 20, lr=1e-3)
    print(f"digits 5 to 9 from {SHOTS} pictures each, from scratch:      {accuracy(scratch, test):.1f} %")

    model = get_model(arguments.model, num_classes=len(second), dropout=0.1)
    state = weft.load(arguments.checkpoint)
    body = {name: value for name, value in state.items() if not name.startswith("classifier")}
    model.load_state_dict(body, strict=False)  # the head stays as it is: its classes are others
    for parameter in model.features.parameters():
        parameter.requires_grad_(False)
    train(model, few, 20, lr=3e-3)
    print(f"digits 5 to 9 from {SHOTS} pictures each, from {arguments.checkpoint.name}: {accuracy(model, test):.1f} %")


if __name__ == "__main__":
    main()
