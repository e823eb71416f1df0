"""Models of weft.vision and weft.text, and of the examples' kind, with inputs for them.

As in `modules`, a case has inputs for a batch size and a length. Images are of one size: what a model does with others
follows from what its modules do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from modules import Case, Inputs

import weft
from weft import nn
from weft.text.models import Decoder, DecoderConfig, Encoder, EncoderConfig
from weft.vision import models

CASES: dict[str, Case] = {}
TOKENS = 50

SMALL = 64
SIZES = {"inception_v3": 96, "maxvit_t": 224, "swin_t": 56, "swin_v2_t": 64, "vit_b_32": 224}
IMAGES = """
convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 maxvit_t mnasnet0_5
mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_400mf regnet_y_400mf resnet18 resnet34 resnet50
resnext50_32x4d shufflenet_v2_x0_5 squeezenet1_0 squeezenet1_1 swin_t swin_v2_t vit_b_32
""".split()
SEGMENTATION = "deeplabv3_mobilenet_v3_large deeplabv3_resnet50 fcn_resnet50 lraspp_mobilenet_v3_large".split()
VIDEO = "mc3_18 r2plus1d_18 r3d_18 swin3d_t".split()


def images(*shape: int) -> Inputs:
    return lambda n, length: (weft.rand(n, *shape),)


def tokens(n: int, length: int) -> tuple[Any, ...]:
    return (weft.randint(0, TOKENS, (n, length)),)


def case(name: str, make: Callable[[], Any], inputs: Inputs, fixed: str = "") -> None:
    CASES[name] = Case(make, inputs, fixed)


def of_name(name: str, **options: Any) -> Callable[[], Any]:
    return lambda: models.get_model(name, weights=None, **options)


for _name in IMAGES:
    _size = SIZES.get(_name, SMALL)
    case(_name, of_name(_name), images(3, _size, _size), "length")
for _name in SEGMENTATION:
    case(_name, of_name(_name, weights_backbone=None), images(3, SMALL, SMALL), "length")
for _name in VIDEO:
    case(_name, of_name(_name), images(3, 4, 32, 32), "length")
case("raft_small", of_name("raft_small"), lambda n, length: (weft.rand(1, 3, 128, 128),) * 2, "batch length")


def decoder(is_gpt2: bool) -> Any:
    """A decoder as GPT-2, or as Llama."""
    return Decoder(
        DecoderConfig(
            vocab_size=TOKENS,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4 if is_gpt2 else 2,
            head_dim=8,
            max_position_embeddings=64,
            hidden_act="gelu" if is_gpt2 else "silu",
            norm_eps=1e-5,
            is_gpt2=is_gpt2,
            rope=None if is_gpt2 else {"rope_type": "default", "rope_theta": 10000.0},
            windows=(None, None),
            attention_bias=False,
            output_bias=False,
            mlp_bias=False,
            query_key_norm=False,
            tie_word_embeddings=True,
            scales=(1.0, 1.0),
            source={},
        )
    )


def encoder() -> Any:
    """An encoder as BERT."""
    return Encoder(
        EncoderConfig(
            vocab_size=TOKENS,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=64,
            type_vocab_size=2,
            hidden_act="gelu",
            layer_norm_eps=1e-12,
            pad_token_id=0,
            is_roberta=False,
        )
    )


class Recurrent(nn.Module):
    """A language model of a recurrent layer."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.embedding, self.layer = nn.Embedding(TOKENS, 16), layer(16, 24, 2, batch_first=True)
        self.output = nn.Linear(24, TOKENS)

    def forward(self, input: Any) -> Any:
        hidden, state = self.layer(self.embedding(input))
        return self.output(hidden), state


def digits() -> Any:
    """The convolutional network of many tutorials."""
    layers = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))


case("Decoder as GPT-2", lambda: decoder(True), tokens)
case("Decoder as Llama", lambda: decoder(False), tokens)
case("Encoder as BERT", encoder, tokens)
case("LSTM", lambda: Recurrent(nn.LSTM), tokens)
case("GRU", lambda: Recurrent(nn.GRU), tokens)
case("MLP", lambda: nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10)), images(784), "length")
case("digits", digits, images(1, 28, 28), "length")
