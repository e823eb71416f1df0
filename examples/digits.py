"""Train a small convolutional network on real handwritten digits, save it, load it again and let it read.

    python digits.py                      train with weft: about 99 % after half a minute on two cores
    python digits.py --framework torch    the same program with PyTorch in weft's place: the same numbers
    python digits.py --epochs 30 --resume go on from the checkpoint of the last run

The data are scikit-learn's 1,797 pictures of 8 x 8 pixels. In the folder --out the program leaves
    checkpoint.pt    model, optimizer, schedule, epoch and random state; weft and PyTorch both load it
    history.json     loss of every step, accuracy of every epoch
    curve.png        the two, drawn (needs matplotlib)
    predictions.png  test pictures, framed green where the network was right and red where it was wrong
"""

import argparse
import importlib
import json
import time
from pathlib import Path

from tqdm import tqdm

# Everything that computes comes from the framework chosen here; below, `torch` means weft or PyTorch alike.
choice = argparse.ArgumentParser(add_help=False)
choice.add_argument("--framework", choices=("weft", "torch"), default="weft", help="what computes (default: weft)")
torch = importlib.import_module(choice.parse_known_args()[0].framework)
nn, data = importlib.import_module(f"{torch.__name__}.nn"), importlib.import_module(f"{torch.__name__}.utils.data")


def parse_arguments():
    summary, _, detail = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=detail, parents=[choice], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=Path("runs/digits"), help="folder of results (default: %(default)s)"
    )
    parser.add_argument("--epochs", type=int, default=12, help="passes over the training pictures (default: 12)")
    parser.add_argument("--batch-size", type=int, default=32, help="pictures in one step (default: 32)")
    parser.add_argument("--lr", type=float, default=2e-3, help="Adam's first learning rate (default: 0.002)")
    parser.add_argument("--seed", type=int, default=1, help="of the weights and of the order of the data (default: 1)")
    parser.add_argument("--workers", type=int, default=0, help="processes that load data (default: 0, this one)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, ... (default: cpu)")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    parser.add_argument("--show-steps", type=int, default=0, metavar="N", help="print the loss of the first N steps")
    arguments = parser.parse_args()
    if arguments.epochs < 1:
        parser.error(f"--epochs must be at least 1, got {arguments.epochs}")
    return arguments


def load_digits(train):
    """The pictures as a TensorDataset: floats of shape (N, 1, 8, 8), mean 0 and deviation 1, and their classes."""
    from weft.vision.datasets import Digits

    digits = Digits(train)
    pixels = (torch.from_numpy(digits.data).unsqueeze(1).float() / 255 - 0.305) / 0.376
    return data.TensorDataset(pixels, torch.from_numpy(digits.targets))


def build_model():
    """A small convolutional network, (N, 1, 8, 8) to logits of shape (N, 10).

    Smooth all through (GELU, average pooling): where ReLU or max pooling has a kink, the last bit of a sum can turn
    a gradient, and two runs whose sums are ordered differently would soon part.
    """
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.GELU(),
        nn.Conv2d(16, 32, 3, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.GELU(),
        nn.AvgPool2d(2),  # (N, 32, 4, 4)
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64),
        nn.GELU(),
        nn.Linear(64, 10),
    )


class Training:
    """All that changes while a model is trained: what a checkpoint holds."""

    def __init__(self, arguments):
        torch.manual_seed(arguments.seed)
        self.model = build_model().to(arguments.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=arguments.lr)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=4, gamma=0.4)
        self.shuffle = torch.Generator().manual_seed(arguments.seed)
        self.epoch = 0
        self.history = {"loss": [], "accuracy": []}

    def save(self, path):
        state = {part: getattr(self, part).state_dict() for part in ("model", "optimizer", "schedule")}
        random = {"default": torch.get_rng_state(), "shuffle": self.shuffle.get_state()}
        torch.save({**state, "random": random, "epoch": self.epoch, "history": self.history}, path)

    def load(self, path):
        checkpoint = torch.load(path)
        for part in ("model", "optimizer", "schedule"):
            getattr(self, part).load_state_dict(checkpoint[part])
        torch.set_rng_state(checkpoint["random"]["default"])
        self.shuffle.set_state(checkpoint["random"]["shuffle"])
        self.epoch, self.history = checkpoint["epoch"], checkpoint["history"]


def train_epoch(training, loader, arguments):
    """One pass over the training pictures; returns the mean loss."""
    training.model.train()
    losses = training.history["loss"]
    name = f"epoch {training.epoch + 1:>3}/{arguments.epochs}"
    bar = tqdm(loader, desc=name, leave=False, disable=None, bar_format="{desc}  {bar:30} step {n_fmt}/{total_fmt}")
    for pictures, classes in bar:
        logits = training.model(pictures.to(arguments.device))
        loss = nn.functional.cross_entropy(logits, classes.to(arguments.device))
        training.optimizer.zero_grad()
        loss.backward()
        training.optimizer.step()
        losses.append(loss.item())
        bar.set_description_str(f"{name}  loss {losses[-1]:.4f}", refresh=False)
        if len(losses) <= arguments.show_steps:
            bar.write(f"step {len(losses):>3}  loss {losses[-1]:.6f}")
    training.schedule.step()
    training.epoch += 1
    return sum(losses[-len(loader) :]) / len(loader)


@torch.no_grad()
def predict(model, pictures):
    """The most probable class of each picture, and its probability."""
    model.eval()
    probabilities = model(pictures).softmax(dim=1).cpu()
    best, classes = probabilities.max(dim=1)
    return classes, best


def accuracy(model, test, device):
    """The share of the test pictures that are read correctly, in per cent."""
    pictures, classes = test.tensors
    predicted, _ = predict(model, pictures.to(device))
    return 100 * (predicted == classes).float().mean().item()


def train(arguments, train_set, test_set, checkpoint):
    training = Training(arguments)
    if arguments.resume:
        training.load(checkpoint)
        print(f"resumed from {checkpoint} after epoch {training.epoch}")
    count = sum(parameter.numel() for parameter in training.model.parameters())
    print(f"{len(train_set):,} pictures to learn from, {len(test_set)} to test; {count:,} parameters\n")
    loader = data.DataLoader(
        train_set, arguments.batch_size, shuffle=True, num_workers=arguments.workers, generator=training.shuffle
    )
    while training.epoch < arguments.epochs:
        began = time.perf_counter()
        loss = train_epoch(training, loader, arguments)
        training.history["accuracy"].append(accuracy(training.model, test_set, arguments.device))
        training.save(checkpoint)
        right = training.history["accuracy"][-1]
        seconds = time.perf_counter() - began
        print(f"epoch {training.epoch:>3}/{arguments.epochs}  loss {loss:.4f}  test {right:6.2f} %  {seconds:5.1f} s")
    (checkpoint.parent / "history.json").write_text(json.dumps(training.history), encoding="utf-8")
    return training.history


def draw_curve(history, path):
    """Loss and accuracy over the epochs, as a picture; says how to get matplotlib where it is missing."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        print("no learning curve: it is drawn by matplotlib: pip install matplotlib")
        return
    matplotlib.use("agg")
    from matplotlib import pyplot

    epochs = len(history["accuracy"])
    steps = [epochs * (step + 1) / len(history["loss"]) for step in range(len(history["loss"]))]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.semilogy(steps, history["loss"], linewidth=0.8)
    left.set(title="training loss", xlabel="epoch", ylabel="cross-entropy")
    right.plot(range(1, epochs + 1), history["accuracy"], marker=".", color="tab:green")
    right.set(title=f"test accuracy: {history['accuracy'][-1]:.2f} %", xlabel="epoch", ylabel="per cent")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    print(f"learning curve    {path}")


def show_in_terminal(pictures, classes, predicted, probabilities):
    """Print pictures of shape (N, 8, 8), side by side, above what the network took them for."""
    shades = " .:-=+*#%@"
    levels = (
        ((pictures - pictures.min()) / (pictures.max() - pictures.min()) * (len(shades) - 1)).round().int().tolist()
    )
    for row in zip(*levels):
        print("   ".join("".join(2 * shades[level] for level in line) for line in row))
    captions = [
        f"{guess} ({chance:.0%})" + ("" if guess == true else f" not {true}")
        for guess, chance, true in zip(predicted.tolist(), probabilities.tolist(), classes.tolist())
    ]
    print("   ".join(caption.center(16) for caption in captions) + "\n")


def save_pictures(pictures, right, path):
    """Write pictures of shape (N, 8, 8) as a grid, eight times enlarged, framed green if right and red if not."""
    import weft
    from weft.vision.utils import save_image

    grey = weft.from_numpy(pictures.numpy())  # a no-op with weft; from here on only pixels are moved
    grey = (grey - grey.min()) / (grey.max() - grey.min())
    large = grey.repeat_interleave(8, dim=1).repeat_interleave(8, dim=2)
    framed = weft.empty(len(large), 3, 72, 72)
    for frame, correct in zip(framed, right.tolist()):
        frame.copy_(weft.tensor([0.1, 0.7, 0.2] if correct else [0.9, 0.1, 0.1]).reshape(3, 1, 1))
    framed[:, :, 4:-4, 4:-4] = large.unsqueeze(1)
    save_image(framed, path, nrow=8, padding=4, pad_value=1.0)
    print(f"pictures          {path}")


def read_digits(checkpoint, test_set, out):
    """Load the model from its file, as another program would, and show what it reads: its mistakes first."""
    model = build_model()
    model.load_state_dict(torch.load(checkpoint, map_location="cpu")["model"])
    pictures, classes = test_set.tensors
    predicted, probabilities = predict(model, pictures)
    wrong_first = (predicted == classes).int().argsort(stable=True)[:32]
    pictures, classes = pictures[wrong_first].squeeze(1), classes[wrong_first]
    predicted, probabilities = predicted[wrong_first], probabilities[wrong_first]
    mistakes = (predicted != classes).sum().item()
    print(f"\nThe saved model, loaded again, reads the test pictures ({mistakes} mistakes, shown first):\n")
    for start in (0, 4):
        part = slice(start, start + 4)
        show_in_terminal(pictures[part], classes[part], predicted[part], probabilities[part])
    save_pictures(pictures, predicted == classes, out / "predictions.png")


def main():
    arguments = parse_arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    checkpoint = arguments.out / "checkpoint.pt"
    if arguments.resume and not checkpoint.exists():
        raise SystemExit(f"--resume: there is no {checkpoint}; run once without --resume, or give the run's --out")
    print(f"handwritten digits · {torch.__name__} {torch.__version__} · {arguments.device} · seed {arguments.seed}")
    train_set, test_set = load_digits(train=True), load_digits(train=False)
    began = time.perf_counter()
    history = train(arguments, train_set, test_set, checkpoint)
    read_digits(checkpoint, test_set, arguments.out)
    draw_curve(history, arguments.out / "curve.png")
    print(f"checkpoint        {checkpoint}")
    print(f"\ntest accuracy {history['accuracy'][-1]:.2f} % after {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
