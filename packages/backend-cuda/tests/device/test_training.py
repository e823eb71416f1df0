"""Networks train on the device to the CPU's losses, and a step neither waits for it nor sends it anything."""

import copy
import json
import math
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft import nn
from weft.nn import functional as F

STEPS = 10 if os.environ.get("WEFT_CUDA") == "stand-in" else 1000  # the stand-in's memory is Python's to free
EXAMPLES = Path(__file__).resolve().parents[4] / "examples"


def convolutional():
    """The network of examples/digits.py."""
    pytest.importorskip("tqdm")
    model = runpy.run_path(str(EXAMPLES / "digits.py"))["build_model"]()
    return model, weft.randn(16, 1, 8, 8), weft.randint(0, 10, (16,))


class GPT(nn.Module):
    """A transformer of one layer over letters."""

    def __init__(self, letters=30, length=12, width=32):
        super().__init__()
        self.letters, self.places = nn.Embedding(letters, width), nn.Embedding(length, width)
        self.layer = nn.TransformerEncoderLayer(width, 4, 64, 0.0, "gelu", batch_first=True, norm_first=True)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters, bias=False)

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.letters(tokens) + self.places(weft.arange(length, device=tokens.device))
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=tokens.device, dtype=x.dtype)
        return self.head(self.norm(self.layer(x, mask, is_causal=True))).transpose(1, 2)


def transformer():
    tokens = weft.randint(0, 30, (4, 13))
    return GPT(), tokens[:, :-1], tokens[:, 1:]


def residual():
    models = pytest.importorskip("weft.vision.models.resnet")
    model = models.ResNet(models.BasicBlock, [1, 1, 1, 1], num_classes=10)
    return model, weft.randn(4, 3, 16, 16), weft.randint(0, 10, (4,))


class Reader(nn.Module):
    """A recurrent classifier."""

    def __init__(self):
        super().__init__()
        self.words, self.read, self.head = nn.Embedding(20, 8), nn.LSTM(8, 16, 2, batch_first=True), nn.Linear(16, 3)

    def forward(self, tokens):
        return self.head(self.read(self.words(tokens))[0][:, -1])


def recurrent():
    return Reader(), weft.randint(0, 20, (5, 7)), weft.randint(0, 3, (5,))


NETWORKS = {each.__name__: each for each in (convolutional, transformer, residual, recurrent)}
OPTIMIZERS = {
    "SGD": lambda parameters: weft.optim.SGD(parameters, 0.01, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "Adam": lambda parameters: weft.optim.Adam(parameters, 1e-3, amsgrad=True),
    "AdamW": lambda parameters: weft.optim.AdamW(parameters, 1e-3),
    "RMSprop": lambda parameters: weft.optim.RMSprop(parameters, 1e-3, momentum=0.5, centered=True),
}


def training(network, optimizer, device, double=False, **precision):
    """A model, what is fed to it, and a function that makes a step and gives the loss."""
    weft.manual_seed(0)
    model, inputs, targets = NETWORKS[network]()
    model, inputs, targets = copy.deepcopy(model).to(device), inputs.to(device), targets.to(device)
    if double:
        model, inputs = model.double(), inputs.double() if inputs.is_floating_point() else inputs
    steps = OPTIMIZERS[optimizer](model.parameters())
    scaler = weft.amp.GradScaler(device, init_scale=256.0, enabled=precision.get("dtype") is weft.float16)

    def step():
        steps.zero_grad()
        with weft.autocast(device, **precision):
            loss = F.cross_entropy(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(steps)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(steps)
        scaler.update()
        return loss.detach()

    return step


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("network", NETWORKS)
def test_losses_are_those_of_the_cpu(network, optimizer):
    """In double precision, where another order of sums is not seen."""
    losses = []
    for device in ("cuda", "cpu"):
        step = training(network, optimizer, device, double=True, enabled=False)
        losses.append([float(step()) for _ in range(6)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-7)
    assert losses[0][-1] < losses[0][0]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("network", NETWORKS)
def test_losses_in_half_precision_are_as_near_to_the_exact_ones_as_those_of_the_cpu(network, dtype):
    """Batch norm over a few elements makes much of a rounding: which way a network goes from there, either may."""
    steps = [training(network, "AdamW", device, dtype=getattr(weft, dtype)) for device in ("cuda", "cpu")]
    steps.append(training(network, "AdamW", "cpu", double=True, enabled=False))
    there, here, exact = ([float(step()) for _ in range(6)] for step in steps)
    off = max(abs(one - other) for one, other in zip(here, exact))
    assert there == pytest.approx(exact, rel=0.01, abs=0.001 + 2 * off)
    assert there[-1] < there[0]


@pytest.mark.usefixtures("on_stand_in")
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("network", NETWORKS)
def test_a_step_neither_waits_nor_sends(network, optimizer, precision):
    import cupy_stand_in

    options = {"enabled": False} if precision == "float32" else {"dtype": weft.bfloat16}
    step = training(network, optimizer, "cuda", **options)
    step()
    step()  # what is kept on the device is there now
    with cupy_stand_in.record() as log:
        step()
    assert not [each for each in log if each.kind != "call"]


@pytest.mark.parametrize("network", NETWORKS)
def test_memory_does_not_grow(network):
    step = training(network, "AdamW", "cuda", enabled=False)
    for _ in range(3):
        step()
    weft.cuda.synchronize()
    before = weft.cuda.memory_allocated()
    for _ in range(STEPS):
        step()
    weft.cuda.synchronize()
    assert weft.cuda.memory_allocated() == before


@pytest.mark.parametrize("example", ["digits", "chargpt"])
def test_examples_run_on_the_device(example, tmp_path):
    """The program as users run it, on the CPU and on the device: one history."""
    pytest.importorskip("tqdm")
    pytest.importorskip("sklearn")
    options = {"digits": ["--epochs", "1"], "chargpt": ["--steps", "12", "--width", "32", "--layers", "1"]}[example]
    histories = []
    for device in ("cuda", "cpu"):
        out = tmp_path / device
        setup = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        if os.environ.get("WEFT_CUDA") == "stand-in":
            setup += "import cupy_stand_in; cupy_stand_in.install()\n"
        program = str(EXAMPLES / f"{example}.py")
        setup += (
            f"import runpy; sys.argv = [{program!r}, *sys.argv[1:]]; runpy.run_path({program!r}, run_name='__main__')"
        )
        command = [sys.executable, "-c", setup, "--device", device, "--out", str(out), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        histories.append(json.loads((out / "history.json").read_text())["loss"])
    assert len(histories[0]) == len(histories[1])
    assert all(math.isclose(one, other, rel_tol=1e-2) for one, other in zip(*histories))
