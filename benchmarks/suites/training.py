"""Whole training steps: forward, loss, backward, optimizer."""

import math
from collections.abc import Callable
from typing import Any


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


def cnn(lib: Any) -> Callable[[], Any]:
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


def gpt(lib: Any) -> Callable[[], Any]:
    """Two causal transformer blocks of width 64, batch 8, 64 tokens of 128."""
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

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.place = nn.Embedding(tokens, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(Block(), Block())
            self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, tokens))

        def forward(self, x: Any) -> Any:
            return self.head(self.blocks(self.embed(x) + self.place(lib.arange(length))))

    model = Model()
    x, y = (lib.randint(0, tokens, (8, length)) for _ in range(2))
    update = lib.optim.AdamW(model.parameters(), lr=1e-3)
    return _step(model, update, lambda: functional.cross_entropy(model(x).view(-1, tokens), y.view(-1)))


CASES = {
    "MLP 784-256-256-10, batch 64, SGD": mlp,
    "MLP 784-256-256-10, batch 64, Adam": lambda lib: mlp(lib, "Adam"),
    "MLP 784-256-256-10, batch 1, SGD": lambda lib: mlp(lib, batch=1),
    "CNN with batch norm, 32 images, SGD": cnn,
    "GPT, 2 blocks of width 64, 8 x 64 tokens, AdamW": gpt,
}
