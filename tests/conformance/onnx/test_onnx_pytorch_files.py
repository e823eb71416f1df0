"""Files that PyTorch's exporters write, loaded by weft, give PyTorch's numbers and gradients, at other sizes too.

The older exporter (``dynamo=False``) needs nothing beside PyTorch and ONNX. The newer one takes seconds a model and
needs onnxscript: a small model always, the rest by ``WEFT_CONFORMANCE=all``.
"""

import contextlib
import importlib.util
import io
import math
import os
import warnings

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
pytest.importorskip("onnx", reason="ONNX is installed in the conformance environment only")

import torch
from torch import nn

import weft
import weft.onnx

pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTorch's exporters

ALL = os.environ.get("WEFT_CONFORMANCE") == "all"
BATCH, LENGTH = {0: "n"}, {0: "n", 1: "t"}
MODELS = {}


def model(axes, always=True):
    """Keep a function that makes a module and its inputs; ``axes`` are those of each input that may change."""

    def keep(make):
        MODELS[make.__name__] = (make, axes, always)
        return make

    return keep


@model([BATCH])
def mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2)), [torch.randn(2, 4)]


class Block(nn.Module):
    """A residual block of half the size."""

    def __init__(self, channels, more):
        super().__init__()
        self.first, self.norm = nn.Conv2d(channels, more, 3, 2, 1, bias=False), nn.BatchNorm2d(more)
        self.second, self.last = nn.Conv2d(more, more, 3, 1, 1, bias=False), nn.BatchNorm2d(more)
        self.shortcut = nn.Sequential(nn.Conv2d(channels, more, 1, 2, bias=False), nn.BatchNorm2d(more))

    def forward(self, x):
        y = self.last(self.second(torch.relu(self.norm(self.first(x)))))
        return torch.relu(y + self.shortcut(x))


@model([BATCH])
def resnet():
    stem = nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
    head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5)
    return nn.Sequential(*stem, Block(8, 8), Block(8, 16), *head), [torch.randn(2, 3, 32, 32)]


@model([BATCH], always=False)
def resnet18():
    from tests.conformance.vision.oracle import torchvision

    return torchvision.models.resnet18(num_classes=5), [torch.randn(2, 3, 64, 64)]


class Bert(nn.Module):
    """Embeddings of words, places and segments, and two layers of attention with a mask: BERT's arithmetic."""

    def __init__(self):
        super().__init__()
        self.word, self.place, self.segment = nn.Embedding(50, 16), nn.Embedding(32, 16), nn.Embedding(2, 16)
        self.norm = nn.LayerNorm(16)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    **{name: nn.Linear(16, 16) for name in ("query", "key", "value", "output")},
                    "up": nn.Linear(16, 32),
                    "down": nn.Linear(32, 16),
                    "first": nn.LayerNorm(16),
                    "second": nn.LayerNorm(16),
                }
            )
            for _ in range(2)
        )

    def forward(self, words, mask, segments):
        places = torch.arange(words.shape[1])
        x = self.norm(self.word(words) + self.place(places) + self.segment(segments))
        hidden = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            q, k, v = (layer[name](x).unflatten(-1, (4, 4)).transpose(1, 2) for name in ("query", "key", "value"))
            weights = (q @ k.transpose(-1, -2) / math.sqrt(4) + hidden).softmax(-1)
            x = layer["first"](x + layer["output"]((weights @ v).transpose(1, 2).flatten(2)))
            x = layer["second"](x + layer["down"](nn.functional.gelu(layer["up"](x))))
        return x


@model([LENGTH, LENGTH, LENGTH])
def bert():
    return Bert(), [torch.randint(50, (2, 6)), torch.tensor([[1] * 6, [1] * 4 + [0] * 2]), torch.zeros(2, 6).long()]


@model([LENGTH, LENGTH], always=False)
def transformers_bert():
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    import transformers
    from tests.conformance.vision.oracle import torchvision  # noqa: F401 (transformers imports it where it is installed)

    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    whole = transformers.BertModel(transformers.BertConfig(vocab_size=50, **sizes))

    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = whole

        def forward(self, words, mask):
            return self.model(input_ids=words, attention_mask=mask).last_hidden_state

    # Not 0, the word of padding, whose embedding has no gradient in PyTorch and one in a file.
    return Last(), [torch.randint(1, 50, (2, 8)), torch.tensor([[1] * 8, [1] * 5 + [0] * 3])]


class Tagger(nn.Module):
    def __init__(self, recurrent):
        super().__init__()
        self.embedding, self.recurrent = nn.Embedding(20, 6), recurrent
        self.output = nn.Linear(5 * (1 + recurrent.bidirectional), 3)

    def forward(self, words):
        return self.output(self.recurrent(self.embedding(words))[0])


def tagger(kind, **options):
    return Tagger(kind(6, 5, 2, batch_first=True, **options)), [torch.randint(20, (3, 7))]


@model([LENGTH])
def lstm():
    return tagger(nn.LSTM)


@model([LENGTH])
def lstm_of_both_directions():
    return tagger(nn.LSTM, bidirectional=True)


@model([LENGTH])
def gru():
    return tagger(nn.GRU, bidirectional=True)


@model([BATCH], always=False)  # PyTorch's newer exporter writes the steps of the length that it saw
def rnn():
    return tagger(nn.RNN)


class Functions(nn.Module):
    """Functions of many kinds, each an output."""

    def forward(self, x):
        return (
            nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
            nn.functional.interpolate(x, size=(7, 9), mode="bicubic"),
            nn.functional.interpolate(x, size=(4, 3), mode="nearest"),
            nn.functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
            nn.functional.max_pool2d(x, 3, 2, 1, ceil_mode=True),
            nn.functional.pad(x, (1, 2, 3, 0), mode="reflect"),
            x[:, :, ::2, 1:-1].clamp(-1, 1).flip(-1),
            torch.einsum("bchw,bcwk->bchk", x, x),
            torch.where(x > 0, x, x * 0.1).masked_fill(x > 1, 5.0),
            torch.roll(x, 1, 2),
            torch.tril(x),
            x.std((2, 3)),
            x.cumsum(1),
            x.topk(3, -1)[0],
            x.sort(-1)[0],
            x.argmax(1),
            x.unfold(2, 3, 1),
        )


@model([{}])
def functions():
    return Functions(), [torch.randn(2, 3, 6, 6)]


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(3, 4, 3, padding=1, groups=1), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True)),
            *(nn.PReLU(4), nn.ConvTranspose2d(4, 4, 2, 2, output_padding=1), nn.PixelShuffle(2), nn.Hardswish()),
        )

    def forward(self, x):
        return self.layers(x)


@model([BATCH])
def images():
    return Images(), [torch.randn(2, 3, 8, 8)]


def exported(module, inputs, axes, dynamo):
    """The bytes of a file."""
    names = [f"input{place}" for place in range(len(inputs))]
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        if dynamo:
            free = tuple(dict.fromkeys(each, torch.export.Dim.AUTO) for each in axes)
            program = torch.onnx.export(
                module, tuple(inputs), dynamo=True, verbose=False, dynamic_shapes=free, input_names=names
            )
            return program.model_proto.SerializeToString()
        file = io.BytesIO()
        torch.onnx.export(
            module, tuple(inputs), file, dynamo=False, input_names=names, dynamic_axes=dict(zip(names, axes))
        )
        return file.getvalue()


def longer(inputs, axes):
    """Other inputs, one more along each axis that may change."""
    result = []
    for each, free in zip(inputs, axes):
        for axis in free:
            each = torch.cat([each, each.narrow(axis, 0, 1)], axis)
        result.append(each)
    return result


def outputs_of(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def relative_error(expected, got):
    expected, got = expected.detach().double().numpy(), got.detach().double().numpy()
    assert expected.shape == got.shape
    return np.abs(expected - got).max() / max(np.abs(expected).max(), 1e-3)


def agree(module, loaded, inputs):
    """Outputs agree, and the gradients of the weights that the file has by PyTorch's names."""
    module.zero_grad()
    expected = outputs_of(module(*inputs))
    got = outputs_of(loaded(*(weft.from_numpy(each.numpy()) for each in inputs)))
    for one, other in zip(expected, got, strict=True):
        assert relative_error(one, other) < 1e-5
    weights, own = dict(module.named_parameters()), dict(loaded.named_parameters())
    if not own:
        return
    for parameter in own.values():
        parameter.grad = None
    slopes = [np.random.default_rng(0).normal(size=tuple(each.shape)).astype(np.float32) for each in expected]
    sum((each * torch.from_numpy(slope)).sum() for each, slope in zip(expected, slopes)).backward()
    sum((each * weft.from_numpy(slope)).sum() for each, slope in zip(got, slopes)).backward()
    assert all(parameter.grad is not None for parameter in own.values())
    shared = [name for name in weights if name in own and is_alone(weights, name)]
    largest = max((weights[name].grad.abs().max().item() for name in shared), default=0)
    for name in shared:  # of some, as of a bias before a normalization, the gradient is 0 but for rounding
        assert np.abs(weights[name].grad.numpy() - own[name].grad.numpy()).max() <= 1e-5 * largest


def is_alone(weights, name):
    """Whether no other weight has the same values: a file has such ones once."""
    value = weights[name]
    return sum(each.shape == value.shape and bool((each == value).all()) for each in weights.values()) == 1


def check(name, dynamo):
    make, axes, _ = MODELS[name]
    torch.manual_seed(0)
    module, inputs = make()
    module.eval()
    loaded = weft.onnx.load(exported(module, inputs, axes, dynamo))
    agree(module, loaded, inputs)
    agree(module, loaded, longer(inputs, axes))


@pytest.mark.parametrize("name", [name for name, (_, _, always) in MODELS.items() if always or ALL])
def test_files_of_the_older_exporter(name):
    check(name, dynamo=False)


@pytest.mark.parametrize("name", MODELS if ALL else ["mlp"])
def test_files_of_the_newer_exporter(name):
    pytest.importorskip("onnxscript", reason="PyTorch's newer exporter needs onnxscript")
    check(name, dynamo=True)
