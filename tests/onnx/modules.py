"""Modules of weft.nn, and inputs for them: what the table of exported modules is made of.

A case makes a module, and its inputs for a batch size and a length. Both are dynamic in the file, where the module
lets them be: ``fixed`` says which of the two it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import weft
from weft import nn

Inputs = Callable[[int, int], tuple[Any, ...]]

REFUSED = {
    "CTCLoss": "the lengths are read from tensors: the recurrence has as many steps as their values say",
    "FractionalMaxPool2d": "its windows are drawn at random",
    "FractionalMaxPool3d": "its windows are drawn at random",
}


class Case(NamedTuple):
    """A module, and its inputs."""

    make: Callable[[], Any]
    inputs: Inputs
    fixed: str = ""


CASES: dict[str, list[Case]] = {}
randn, rand, randint = weft.randn, weft.rand, weft.randint


def case(name: str, *args: Any, inputs: Inputs, fixed: str = "", **options: Any) -> None:
    """Declare a module by its name in weft.nn and the arguments of its constructor."""
    CASES.setdefault(name, []).append(Case(lambda: getattr(nn, name)(*args, **options), inputs, fixed))


# Inputs


def elements(n: int, length: int) -> tuple[Any, ...]:
    return (3 * randn(n, 4, length),)


def images(dims: int, channels: int = 4) -> Inputs:
    """Images of a width that is the length, of one to three dimensions."""
    return lambda n, length: (randn(n, channels, *[length, 6, 5][:dims]),)


def sequences(n: int, length: int) -> tuple[Any, ...]:
    return (randn(n, length, 4),)


def wide_sequences(n: int, length: int) -> tuple[Any, ...]:
    return (randn(n, length, 8),)


def pair(n: int, length: int) -> tuple[Any, ...]:
    return randn(n, length), randn(n, length)


def shares(n: int, length: int) -> tuple[Any, ...]:
    return rand(n, length), rand(n, length)


def signs(*shape: int) -> Any:
    """Ones and minus ones."""
    return randint(0, 2, shape).float() * 2 - 1


# Activations

for name in (
    "CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid Mish PReLU RReLU ReLU ReLU6 "
    "SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink"
).split():
    case(name, inputs=elements)
case("CELU", 0.5, inputs=elements)
case("ELU", 0.5, inputs=elements)
case("GELU", approximate="tanh", inputs=elements)
case("GLU", 1, inputs=elements)
case("GLU", 2, inputs=lambda n, length: (randn(n, length, 6),))
case("PReLU", 4, inputs=elements)
case("Softplus", 2, 3, inputs=elements)
case("Threshold", 0.1, 0.2, inputs=elements)
for name in ("LogSoftmax", "Softmax", "Softmin"):
    case(name, 1, inputs=elements)
    case(name, -1, inputs=elements)
case("Softmax2d", inputs=images(2))

# Dropout does nothing in evaluation

for name in ("AlphaDropout", "Dropout", "FeatureAlphaDropout"):
    case(name, inputs=elements)
for dims in (1, 2, 3):
    case(f"Dropout{dims}d", inputs=images(dims))

# Convolutions, pooling, normalization, padding

for dims in (1, 2, 3):
    for lazy in ("", "Lazy"):
        channels = () if lazy else (4,)
        case(f"{lazy}Conv{dims}d", *channels, 6, 3, 2, 1, inputs=images(dims))
        case(f"{lazy}ConvTranspose{dims}d", *channels, 6, 3, 2, 1, inputs=images(dims))
    case(f"Conv{dims}d", 4, 6, 3, dilation=2, groups=2, bias=False, inputs=images(dims))
    case(f"Conv{dims}d", 4, 6, 3, padding="same", padding_mode="reflect", inputs=images(dims))
    case(f"ConvTranspose{dims}d", 4, 6, 3, 2, output_padding=1, groups=2, bias=False, inputs=images(dims))
    case(f"AvgPool{dims}d", 2, inputs=images(dims))
    case(f"AvgPool{dims}d", 3, 2, 1, count_include_pad=False, inputs=images(dims))
    case(f"AvgPool{dims}d", 3, 2, 1, ceil_mode=True, inputs=images(dims))
    case(f"MaxPool{dims}d", 2, inputs=images(dims))
    case(f"MaxPool{dims}d", 3, 2, 1, inputs=images(dims))
    case(f"MaxPool{dims}d", 2, return_indices=True, inputs=images(dims))
    case(f"MaxPool{dims}d", 2, ceil_mode=True, return_indices=True, inputs=images(dims))
    case(f"MaxPool{dims}d", 3, 3, 1, ceil_mode=True, inputs=images(dims))
    case(f"LPPool{dims}d", 2, 2, inputs=images(dims))
    case(f"AdaptiveAvgPool{dims}d", 1, inputs=images(dims))
    case(f"AdaptiveAvgPool{dims}d", 4, inputs=images(dims), fixed="length")
    case(f"AdaptiveMaxPool{dims}d", 1, inputs=images(dims))
    case(f"AdaptiveMaxPool{dims}d", 4, inputs=images(dims), fixed="length")
    case(f"BatchNorm{dims}d", 4, inputs=images(dims))
    case(f"LazyBatchNorm{dims}d", inputs=images(dims))
    case(f"InstanceNorm{dims}d", 4, inputs=images(dims))
    case(f"InstanceNorm{dims}d", 4, affine=True, track_running_stats=True, inputs=images(dims))
    case(f"LazyInstanceNorm{dims}d", inputs=images(dims))
    case(f"MaxUnpool{dims}d", 2, inputs=lambda n, length, dims=dims: pooled(dims, n, length))
    for name in ("CircularPad", "ReflectionPad", "ReplicationPad", "ZeroPad"):
        case(f"{name}{dims}d", (1, 2) * dims, inputs=images(dims))
    case(f"ConstantPad{dims}d", (1, 0) * dims, 2.5, inputs=images(dims))


def pooled(dims: int, n: int, length: int) -> tuple[Any, ...]:
    """What `MaxUnpool` takes: the elements that pooling keeps, and their places."""
    image = randn(n, 3, *[2 * length, 6, 4][:dims])
    values, indices = getattr(nn.functional, f"max_pool{dims}d")(image, 2, return_indices=True)
    return values, indices


case("AvgPool1d", 2, ceil_mode=True, inputs=images(1))
case("AvgPool1d", 3, 3, 1, ceil_mode=True, count_include_pad=False, inputs=images(1))
case("AvgPool2d", 3, 2, 1, ceil_mode=True, divisor_override=5, inputs=images(2))
case("MaxPool1d", 3, 2, 1, return_indices=True, inputs=lambda n, length: (randn(n, 2, 2 * length + 1),))
case("FractionalMaxPool2d", 2, output_size=3, inputs=images(2))
case("FractionalMaxPool3d", 2, output_size=3, inputs=images(3))
case("BatchNorm1d", 4, inputs=lambda n, length: (randn(n, 4),))
case("BatchNorm2d", 4, affine=False, inputs=images(2))
case("SyncBatchNorm", 4, inputs=images(2))
case("GroupNorm", 2, 4, inputs=images(1))
case("GroupNorm", 2, 4, affine=False, inputs=images(2))
case("LayerNorm", 4, inputs=sequences)
case("LayerNorm", (3, 4), bias=False, inputs=lambda n, length: (randn(n, length, 3, 4),))
case("RMSNorm", 4, inputs=sequences)
case("RMSNorm", 4, elementwise_affine=False, inputs=sequences)
case("LocalResponseNorm", 2, inputs=images(2))
case("CrossMapLRN2d", 2, inputs=images(2))

# Linear, sparse, shapes

case("Linear", 4, 3, inputs=sequences)
case("Linear", 4, 3, bias=False, inputs=lambda n, length: (randn(n, 4),))
case("LazyLinear", 3, inputs=sequences)
case("Bilinear", 4, 5, 3, inputs=lambda n, length: (randn(n, length, 4), randn(n, length, 5)))
case("Embedding", 10, 4, inputs=lambda n, length: (randint(0, 10, (n, length)),))
case("EmbeddingBag", 10, 4, inputs=lambda n, length: (randint(0, 10, (n, length)),))
case("EmbeddingBag", 10, 4, mode="sum", inputs=lambda n, length: (randint(0, 10, (n, length)),))
case("CosineSimilarity", inputs=pair)
case("PairwiseDistance", inputs=pair)
case("Flatten", inputs=lambda n, length: (randn(n, 4, 6),))
case("Unflatten", 1, (2, 2), inputs=elements)
case("Fold", (4, 5), 2, inputs=lambda n, length: (randn(n, 12, 12),))
case("Unfold", 2, inputs=images(2))
case("Unfold", 3, padding=1, stride=2, inputs=images(2))
case("PixelShuffle", 2, inputs=images(2, 8))
case("PixelUnshuffle", 2, inputs=lambda n, length: (randn(n, 3, 2 * length, 4),))
case("ChannelShuffle", 2, inputs=images(2, 8))
for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
    case("Upsample", scale_factor=2, mode=mode, inputs=images(2))
case("Upsample", scale_factor=2, mode="linear", align_corners=True, inputs=images(1))
case("Upsample", size=(9, 7, 5), mode="trilinear", inputs=images(3), fixed="length")
case("UpsamplingBilinear2d", scale_factor=2, inputs=images(2))
case("UpsamplingNearest2d", scale_factor=2, inputs=images(2))

# Recurrent layers

for name in ("RNN", "GRU", "LSTM"):
    case(name, 4, 3, 2, inputs=lambda n, length: (randn(length, n, 4),))
    case(name, 4, 3, bidirectional=True, batch_first=True, inputs=sequences)
    case(
        name,
        4,
        3,
        bias=False,
        batch_first=True,
        inputs=lambda n, length, name=name: (randn(n, length, 4), *start(name, n)),
    )
case("LSTM", 4, 5, 2, proj_size=3, bidirectional=True, batch_first=True, inputs=sequences)
case("RNN", 4, 3, nonlinearity="relu", inputs=lambda n, length: (randn(length, n, 4),))
for name in ("RNNCell", "GRUCell"):
    case(name, 4, 3, inputs=lambda n, length: (randn(n, 4), randn(n, 3)))
case("LSTMCell", 4, 3, inputs=lambda n, length: (randn(n, 4), (randn(n, 3), randn(n, 3))))


def start(name: str, n: int) -> tuple[Any, ...]:
    """The state that a recurrent layer begins with."""
    return ((randn(1, n, 3), randn(1, n, 3)),) if name == "LSTM" else (randn(1, n, 3),)


# Attention

case("MultiheadAttention", 8, 2, batch_first=True, inputs=lambda n, length: (randn(n, length, 8),) * 3)
case("MultiheadAttention", 8, 2, inputs=lambda n, length: (randn(length, n, 8), randn(5, n, 8), randn(5, n, 8)))
LAYER = {"d_model": 8, "nhead": 2, "dim_feedforward": 16, "batch_first": True}
case("TransformerEncoderLayer", **LAYER, inputs=wide_sequences)
case("TransformerEncoderLayer", **LAYER, activation="gelu", norm_first=True, inputs=wide_sequences)
case("TransformerDecoderLayer", **LAYER, inputs=lambda n, length: (randn(n, length, 8), randn(n, 5, 8)))
for name, layer in (
    ("TransformerEncoder", nn.TransformerEncoderLayer(**LAYER)),
    ("TransformerDecoder", nn.TransformerDecoderLayer(**LAYER)),
):
    memory = name == "TransformerDecoder"
    case(name, layer, 2, inputs=lambda n, length, m=memory: (randn(n, length, 8), *[randn(n, 5, 8)] * m))
case("Transformer", 8, 2, 1, 1, 16, batch_first=True, inputs=lambda n, length: (randn(n, length, 8), randn(n, 7, 8)))

# Losses

classes: Inputs = lambda n, length: (randn(n, 5, length), randint(0, 5, (n, length)))  # noqa: E731
each_cluster: Inputs = lambda n, length: (randn(4 * n, 16), 3 * weft.arange(4 * n) % 10)  # noqa: E731
case("AdaptiveLogSoftmaxWithLoss", 16, 10, [3, 6], inputs=each_cluster)
case("BCELoss", inputs=shares)
case("BCEWithLogitsLoss", inputs=shares)
case("CTCLoss", inputs=lambda n, length: ctc(n, length))
case("CosineEmbeddingLoss", inputs=lambda n, length: (*pair(n, length), signs(n)))
case("CrossEntropyLoss", inputs=classes)
case("CrossEntropyLoss", reduction="none", inputs=classes)
case("CrossEntropyLoss", weight=weft.arange(1.0, 6.0), ignore_index=2, label_smoothing=0.1, inputs=classes)
case("GaussianNLLLoss", inputs=lambda n, length: (*pair(n, length), rand(n, length)))
case("HingeEmbeddingLoss", inputs=lambda n, length: (randn(n, length), signs(n, length)))
for name in ("HuberLoss", "L1Loss", "MSELoss", "SmoothL1Loss"):
    case(name, inputs=pair)
    case(name, reduction="none", inputs=pair)
case(
    "KLDivLoss",
    reduction="batchmean",
    inputs=lambda n, length: (randn(n, length).log_softmax(1), randn(n, length).softmax(1)),
)
case("LinearCrossEntropyLoss", 4, 5, inputs=lambda n, length: (randn(n, 4), randint(0, 5, (n,))))
case("MarginRankingLoss", inputs=lambda n, length: (*pair(n, length), signs(n, length)))
case("MultiLabelMarginLoss", inputs=lambda n, length: (randn(n, length), randint(-1, 4, (n, length))))
case("MultiLabelSoftMarginLoss", inputs=lambda n, length: (randn(n, length), randint(0, 2, (n, length)).float()))
case("MultiMarginLoss", inputs=lambda n, length: (randn(n, length), randint(0, 4, (n,))))
case("NLLLoss", inputs=classes)
case("NLLLoss", weight=weft.arange(1.0, 6.0), ignore_index=2, inputs=classes)
case("PoissonNLLLoss", inputs=shares)
case("SoftMarginLoss", inputs=lambda n, length: (randn(n, length), signs(n, length)))
case("TripletMarginLoss", inputs=lambda n, length: (*pair(n, length), randn(n, length)))
case("TripletMarginWithDistanceLoss", inputs=lambda n, length: (*pair(n, length), randn(n, length)))


def ctc(n: int, length: int) -> tuple[Any, ...]:
    """The inputs of the loss of connectionist temporal classification."""
    log_probs = randn(length, n, 5).log_softmax(2)
    return log_probs, randint(1, 5, (n, 3)), weft.full((n,), length), weft.full((n,), 3)
