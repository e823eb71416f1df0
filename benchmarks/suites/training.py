"""Whole training steps: forward, loss, backward, optimizer; inference; and optimizers alone."""

import math
from collections.abc import Callable
from typing import Any

from rounds import Effort

EFFORT = Effort(rounds=9, turns=2, seconds=0.1)
SHARES = True  # how much of the time matrix products take is measured as well


Wrap = Callable[[Any], Any]


def unwrapped(model: Any) -> Any:
    """The model itself: the suite `distributed` wraps it."""
    return model


def _step(model: Any, optimizer: Any, loss: Callable[[], Any]) -> Callable[[], Any]:
    """One optimization step."""

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    model.train()
    return step


def mlp(lib: Any, optimizer: str = "SGD", batch: int = 64) -> Callable[[], Any]:
    """784-256-256-10 on a batch of images as vectors."""
    lib.manual_seed(0)
    nn = lib.nn
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    x, y = lib.randn(batch, 784), lib.randint(0, 10, (batch,))
    update = getattr(lib.optim, optimizer)(model.parameters(), lr=1e-3)
    return _step(model, update, lambda: nn.functional.cross_entropy(model(x), y))


def mnist_cnn(lib: Any, batch: int = 64, wrap: Wrap = unwrapped) -> Callable[[], Any]:
    """Two convolutions, pooling, dropout and two layers, as in PyTorch's example for MNIST."""
    lib.manual_seed(0)
    nn = lib.nn
    model = wrap(nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10),
    ))  # fmt: skip
    x, y = lib.randn(batch, 1, 28, 28), lib.randint(0, 10, (batch,))
    update = lib.optim.Adadelta(model.parameters(), lr=1.0)
    return _step(model, update, lambda: nn.functional.cross_entropy(model(x), y))


def batch_norm_cnn(lib: Any) -> Callable[[], Any]:
    """Two convolutions with batch normalization and pooling, 32 images of 28 x 28."""
    lib.manual_seed(0)
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 49, 10),
    )  # fmt: skip
    x, y = lib.randn(32, 1, 28, 28), lib.randint(0, 10, (32,))
    update = lib.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    return _step(model, update, lambda: nn.functional.cross_entropy(model(x), y))


def resnet18(lib: Any, batch: int = 32) -> Callable[[], Any]:
    """ResNet-18 for images of 32 x 32: a first convolution of 3 x 3 and no first pooling."""
    lib.manual_seed(0)
    nn, functional = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self, before: int, width: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
            self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
            self.short = nn.Identity()
            if stride > 1 or before != width:
                self.short = nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))

        def forward(self, x: Any) -> Any:
            y = functional.relu(self.norm1(self.conv1(x)))
            return functional.relu(self.norm2(self.conv2(y)) + self.short(x))

    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    before = 64
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(before, width, stride), Block(width, width, 1)]
        before = width
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    x, y = lib.randn(batch, 3, 32, 32), lib.randint(0, 10, (batch,))
    update = lib.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4)
    return _step(model, update, lambda: functional.cross_entropy(model(x), y))


def gpt(
    lib: Any,
    batch: int = 16,
    layers: int = 6,
    width: int = 192,
    heads: int = 6,
    length: int = 128,
    tokens: int = 65,
    wrap: Wrap = unwrapped,
) -> Callable[[], Any]:
    """A language model of characters: causal transformer blocks, as small GPTs are written."""
    lib.manual_seed(0)
    nn, functional = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def attend(self, x: Any) -> Any:
            q, k, v = (t.view(batch, length, heads, -1).transpose(1, 2) for t in self.qkv(x).split(width, 2))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.project(y.transpose(1, 2).reshape(batch, length, width))

        def forward(self, x: Any) -> Any:
            x = x + self.attend(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.place = nn.Embedding(tokens, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, tokens))

        def forward(self, x: Any) -> Any:
            return self.head(self.blocks(self.embed(x) + self.place(lib.arange(length))))

    model = wrap(Model())
    x, y = (lib.randint(0, tokens, (batch, length)) for _ in range(2))
    update = lib.optim.AdamW(model.parameters(), lr=1e-3)
    return _step(model, update, lambda: functional.cross_entropy(model(x).view(-1, tokens), y.view(-1)))


def gpt_written_out(lib: Any, wrap: Wrap = unwrapped) -> Callable[[], Any]:
    """Two causal blocks of width 64 whose attention is written out, batch 8, 64 tokens."""
    lib.manual_seed(0)
    nn, functional = lib.nn, lib.nn.functional
    width, heads, length, tokens = 64, 4, 64, 128

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            self.register_buffer("mask", lib.ones(length, length).tril() == 0)

        def attend(self, x: Any) -> Any:
            batch = x.shape[0]
            q, k, v = (t.view(batch, length, heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(width // heads)
            weights = functional.softmax(scores.masked_fill(self.mask, -math.inf), -1)
            return self.project((weights @ v).transpose(1, 2).reshape(batch, length, width))

        def forward(self, x: Any) -> Any:
            x = x + self.attend(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    model = wrap(nn.Sequential(
        nn.Embedding(tokens, width), Block(), Block(), nn.LayerNorm(width), nn.Linear(width, tokens)
    ))  # fmt: skip
    x, y = (lib.randint(0, tokens, (8, length)) for _ in range(2))
    update = lib.optim.AdamW(model.parameters(), lr=1e-3)
    return _step(model, update, lambda: functional.cross_entropy(model(x).view(-1, tokens), y.view(-1)))


def lstm(lib: Any) -> Callable[[], Any]:
    """Two layers of 256 over 64 steps of 32 sequences; the next of 65 characters is predicted."""
    lib.manual_seed(0)
    nn, functional = lib.nn, lib.nn.functional

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.lstm, self.head = nn.Embedding(65, 256), nn.LSTM(256, 256, 2), nn.Linear(256, 65)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(self.embed(x))[0])

    model = Model()
    x, y = (lib.randint(0, 65, (64, 32)) for _ in range(2))
    update = lib.optim.Adam(model.parameters(), lr=1e-3)
    return _step(model, update, lambda: functional.cross_entropy(model(x).view(-1, 65), y.view(-1)))


def vae(lib: Any) -> Callable[[], Any]:
    """A variational autoencoder, 784-400-20, batch 128."""
    lib.manual_seed(0)
    nn, functional = lib.nn, lib.nn.functional

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.mean, self.spread = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
            self.hidden, self.decoder = nn.Linear(20, 400), nn.Linear(400, 784)

        def forward(self, x: Any) -> Any:
            h = functional.relu(self.encoder(x))
            mean, log_variance = self.mean(h), self.spread(h)
            std = lib.exp(0.5 * log_variance)
            z = mean + lib.randn_like(std) * std
            return lib.sigmoid(self.decoder(functional.relu(self.hidden(z)))), mean, log_variance

    model, x = Model(), lib.rand(128, 784)
    update = lib.optim.Adam(model.parameters(), lr=1e-3)

    def loss() -> Any:
        made, mean, log_variance = model(x)
        divergence = -0.5 * lib.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
        return functional.binary_cross_entropy(made, x, reduction="sum") + divergence

    return _step(model, update, loss)


def encoder(lib: Any) -> Callable[[], Any]:
    """Inference of a transformer encoder: 6 layers of width 384, 8 sequences of 128 tokens."""
    lib.manual_seed(0)
    nn = lib.nn
    layer = nn.TransformerEncoderLayer(384, 6, 1536, batch_first=True, activation="gelu")
    model = nn.TransformerEncoder(layer, 6).eval()
    x = lib.randn(8, 128, 384)

    def infer() -> Any:
        with lib.no_grad():
            return model(x)

    return infer


def cnn_inference(lib: Any) -> Callable[[], Any]:
    """One image through a small stack of convolutions."""
    lib.manual_seed(0)
    nn = lib.nn
    layers = []
    for before, after in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 16, 10)).eval()
    x = lib.randn(1, 3, 32, 32)

    def infer() -> Any:
        with lib.no_grad():
            return model(x)

    return infer


def optimizer_alone(lib: Any, name: str, **options: Any) -> Callable[[], Any]:
    """Steps over 10 million numbers in 20 tensors, PyTorch's by its for-each implementation."""
    lib.manual_seed(0)
    parameters = [lib.nn.Parameter(lib.randn(500_000)) for _ in range(20)]
    for parameter in parameters:
        parameter.grad = lib.randn(500_000)
    update = getattr(lib.optim, name)(parameters, lr=1e-3, foreach=True, **options)
    return lambda: update.step()


CASES: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "MLP 784-256-256-10, batch 64, SGD": mlp,
    "MLP 784-256-256-10, batch 64, Adam": lambda lib: mlp(lib, "Adam"),
    "MLP 784-256-256-10, batch 1, SGD": lambda lib: mlp(lib, batch=1),
    "MNIST CNN, batch 64": mnist_cnn,
    "CNN with batch norm, 32 images, SGD": batch_norm_cnn,
    "ResNet-18, 32 images of 32 x 32": resnet18,
    "GPT, 6 layers of 192, 16 x 128 tokens": gpt,
    "GPT, 2 layers of 64, attention written out": gpt_written_out,
    "LSTM, 2 layers of 256, 64 steps of 32": lstm,
    "VAE 784-400-20, batch 128": vae,
    "inference: encoder, 6 layers of 384, 8 x 128 tokens": encoder,
    "inference: CNN, one image": cnn_inference,
    "SGD with momentum on 10 million": lambda lib: optimizer_alone(lib, "SGD", momentum=0.9),
    "Adam on 10 million": lambda lib: optimizer_alone(lib, "Adam"),
    "AdamW on 10 million": lambda lib: optimizer_alone(lib, "AdamW"),
}
