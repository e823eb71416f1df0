"""Layers: windows, strides, dilations and paddings of any size, and sequences of lengths that they do not have."""

import math
from typing import Any

from table import bad, hard

MIN = -(2**63)
BIG = 2**62


def conv(dims: int, **options: Any) -> Any:
    def call(w: Any) -> Any:
        return getattr(w.nn.functional, f"conv{dims}d")(w.ones(1, 1, *[5] * dims), w.ones(1, 1, *[2] * dims), **options)

    return call


def conv_transpose(dims: int, **options: Any) -> Any:
    def call(w: Any) -> Any:
        return getattr(w.nn.functional, f"conv_transpose{dims}d")(
            w.ones(1, 1, *[5] * dims), w.ones(1, 1, *[2] * dims), **options
        )

    return call


def pool(kind: str, dims: int, *args: Any, **options: Any) -> Any:
    def call(w: Any) -> Any:
        return getattr(w.nn.functional, f"{kind}_pool{dims}d")(w.ones(1, 1, *[5] * dims), *args, **options)

    return call


def functional(name: str, *shapes: tuple[int, ...], args: tuple[Any, ...] = (), **options: Any) -> Any:
    def call(w: Any) -> Any:
        return getattr(w.nn.functional, name)(*[w.ones(*shape) for shape in shapes], *args, **options)

    return call


ROWS = [
    *[
        bad(f"conv{dims}d with {option}={value}", conv(dims, **{option: value}), RuntimeError, f"conv{dims}d")
        for dims in (1, 2, 3)
        for option, values in {
            "stride": (0, -1),
            "dilation": (0, -1, BIG),
            "padding": (-1, BIG),
            "groups": (0, -1, BIG),
        }.items()
        for value in values
    ],
    *[
        bad(f"conv_transpose{dims}d with {option}={value}", conv_transpose(dims, **{option: value}), RuntimeError,
            f"conv_transpose{dims}d|conv{dims}d_input_gradient")
        for dims in (1, 2)
        for option, values in {
            "stride": (0, -1, BIG),
            "dilation": (0, BIG),
            "padding": (-1, 50),
            "output_padding": (-1, 7),
            "groups": (0,),
        }.items()
        for value in values
    ],
    bad("conv2d with a kernel of nothing", functional("conv2d", (1, 1, 5, 5), (1, 1, 0, 0)), RuntimeError, "conv2d"),
    bad("conv2d with a bias of another size", functional("conv2d", (1, 1, 5, 5), (1, 1, 2, 2), (3,)), RuntimeError,
        "conv2d", "bias"),
    bad("conv2d with three strides", conv(2, stride=(1, 1, 1)), RuntimeError, "conv2d", "stride"),
    bad("conv2d with half a stride", conv(2, stride=0.5), TypeError, "conv2d", "stride"),
    bad("conv2d with a padding that is none", conv(2, padding="most"), RuntimeError, "conv2d", "most|padding"),
    bad("conv2d with a weight of another dtype",
        lambda w: w.nn.functional.conv2d(w.ones(1, 1, 5, 5), w.ones(1, 1, 2, 2, dtype=w.float64)), RuntimeError,
        "conv2d"),
    *[
        bad(f"{kind}_pool{dims}d with a kernel of {value}", pool(kind, dims, value),
        RuntimeError, f"{kind}_pool{dims}d")
        for kind in ("max", "avg")
        for dims in (1, 2, 3)
        for value in (0, -1, BIG, MIN)
    ],
    *[
        bad(f"{kind}_pool2d with {option}={value}", pool(kind, 2, 2, **{option: value}), RuntimeError, f"{kind}_pool2d")
        for kind, option, value in (
            ("max", "stride", 0), ("max", "stride", -1), ("max", "dilation", 0), ("max", "dilation", BIG),
            ("max", "padding", -1), ("max", "padding", BIG), ("avg", "stride", 0), ("avg", "stride", -1),
            ("avg", "padding", -1), ("avg", "padding", BIG), ("avg", "divisor_override", 0),
        )
    ],
    bad("max_pool2d of text", lambda w: w.nn.functional.max_pool2d(w.ones(1, 1, 5, 5), "a"), TypeError, "max_pool2d"),
    bad("max_pool2d of half", pool("max", 2, 1.5), TypeError, "max_pool2d"),
    bad("max_pool2d of nothing", lambda w: w.nn.functional.max_pool2d(w.ones(1, 1, 0, 0), 2), RuntimeError,
        "max_pool2d"),
    bad("lp_pool2d of a kernel of 0", pool("lp", 2, 2.0, 0), RuntimeError, "pool2d"),
    bad("adaptive_avg_pool2d to -1", functional("adaptive_avg_pool2d", (1, 1, 5, 5), args=(-1,)), RuntimeError,
        "adaptive_avg_pool2d"),
    bad("adaptive_avg_pool2d to 2**62", functional("adaptive_avg_pool2d", (1, 1, 5, 5), args=(BIG,)), RuntimeError,
        "adaptive_avg_pool2d", "memory|overflow"),
    bad("adaptive_max_pool1d to 2**62", functional("adaptive_max_pool1d", (1, 1, 5), args=(BIG,)), RuntimeError,
        "adaptive_max_pool", "memory|overflow"),
    bad("adaptive_max_pool2d of nothing", functional("adaptive_max_pool2d", (1, 1, 0, 5), args=(2,)), RuntimeError,
        "adaptive_max_pool2d"),
    bad("fractional_max_pool2d to more than there is",
        functional("fractional_max_pool2d", (1, 1, 5, 5), args=(2,), output_size=9), RuntimeError,
        "fractional_max_pool2d"),
    bad("fractional_max_pool2d with a ratio above 1",
        functional("fractional_max_pool2d", (1, 1, 5, 5), args=(2,), output_ratio=1.5), RuntimeError,
        "fractional_max_pool2d|output_ratio"),
    bad("unfold with a kernel of 2**62", functional("unfold", (1, 1, 5, 5), args=(BIG,)), RuntimeError, "unfold"),
    bad("unfold with a stride of 0", functional("unfold", (1, 1, 5, 5), args=(2,), stride=0), RuntimeError, "unfold"),
    bad("unfold with a dilation of 0", functional("unfold", (1, 1, 5, 5), args=(2,), dilation=0), RuntimeError,
        "unfold"),
    bad("unfold with a negative padding", functional("unfold", (1, 1, 5, 5), args=(2,), padding=-1), RuntimeError,
        "unfold"),
    bad("unfold with a padding of 2**62", functional("unfold", (1, 1, 5, 5), args=(2,), padding=BIG), RuntimeError,
        "unfold", "memory|overflow|pad"),
    bad("fold to 2**62", functional("fold", (1, 4, 4), args=((BIG, BIG), 2)), RuntimeError, "fold"),
    bad("fold to a negative size", functional("fold", (1, 4, 4), args=((-3, 3), 2)), RuntimeError, "fold"),
    bad("fold of what does not fit", functional("fold", (1, 4, 7), args=((3, 3), 2)), RuntimeError, "fold"),
    bad("fold with a stride of 0", functional("fold", (1, 4, 4), args=((3, 3), 2), stride=0), RuntimeError, "fold"),
    bad("pad of 2**62", functional("pad", (2, 3), args=((BIG, BIG),)), RuntimeError, "pad", "memory|overflow"),
    bad("pad of 2**63 - 1 on both sides", functional("pad", (2, 3), args=((2**63 - 1, 2**63 - 1),)), RuntimeError,
        "pad", "memory|overflow"),
    bad("pad of -2**63", functional("pad", (2, 3), args=((MIN, 0),)), RuntimeError, "pad"),
    bad("pad of more than there is, away", functional("pad", (2, 3), args=((-2, -2),)), RuntimeError, "pad"),
    bad("pad of an odd number", functional("pad", (2, 3), args=((1, 1, 1),)), RuntimeError, "pad"),
    bad("pad of too many dimensions", functional("pad", (2, 3), args=((1,) * 6,)), RuntimeError, "pad"),
    bad("pad of half", functional("pad", (2, 3), args=((0.5, 1),)), TypeError, "pad"),
    bad("pad of a kind that is none", functional("pad", (1, 2, 3), args=((1, 1), "mirror")), NotImplementedError,
        "pad|mirror"),
    bad("reflect of more than there is", functional("pad", (1, 2, 3), args=((3, 0), "reflect")), RuntimeError, "pad"),
    bad("reflect of 2**62", functional("pad", (1, 2, 3), args=((BIG, 0), "reflect")), RuntimeError, "pad"),
    bad("replicate of 2**62", functional("pad", (1, 2, 3), args=((BIG, 0), "replicate")), RuntimeError, "pad",
        "memory|overflow"),
    bad("replicate of nothing", functional("pad", (1, 2, 0), args=((1, 1), "replicate")), RuntimeError, "pad"),
    bad("circular of more than there is", functional("pad", (1, 2, 3), args=((4, 0), "circular")), RuntimeError, "pad"),
    bad("interpolate to 2**40 squared", functional("interpolate", (1, 1, 5, 5), size=(2**40, 2**40)), RuntimeError,
        "interpolate|upsample", "memory|overflow"),
    bad("interpolate to -1", functional("interpolate", (1, 1, 5), size=-1), RuntimeError, "interpolate|upsample"),
    bad("interpolate to nothing", functional("interpolate", (1, 1, 5), size=0), RuntimeError, "interpolate|upsample"),
    bad("interpolate by nan", functional("interpolate", (1, 1, 5), scale_factor=math.nan), RuntimeError,
        "interpolate|scale"),
    bad("interpolate by inf", functional("interpolate", (1, 1, 5), scale_factor=math.inf), RuntimeError,
        "interpolate|scale"),
    bad("interpolate by 1e300", functional("interpolate", (1, 1, 5), scale_factor=1e300), RuntimeError,
        "interpolate|upsample"),
    bad("interpolate by -1", functional("interpolate", (1, 1, 5), scale_factor=-1.0), RuntimeError,
        "interpolate|upsample"),
    bad("interpolate to nothing said", functional("interpolate", (1, 1, 5)), ValueError, "interpolate|size|scale"),
    bad("interpolate in a way that is none", functional("interpolate", (1, 1, 5), size=2, mode="best"),
        NotImplementedError, "interpolate|best"),
    bad("pixel_shuffle by 2**62", functional("pixel_shuffle", (1, 4, 2, 2), args=(BIG,)), RuntimeError,
        "pixel_shuffle"),
    bad("pixel_shuffle by 0", functional("pixel_shuffle", (1, 4, 2, 2), args=(0,)), RuntimeError, "pixel_shuffle"),
    bad("pixel_shuffle by -2", functional("pixel_shuffle", (1, 4, 2, 2), args=(-2,)), RuntimeError, "pixel_shuffle"),
    bad("pixel_unshuffle by 0", functional("pixel_unshuffle", (1, 4, 2, 2), args=(0,)), RuntimeError,
        "pixel_unshuffle"),
    bad("channel_shuffle into 0 groups", functional("channel_shuffle", (1, 4, 2, 2), args=(0,)), RuntimeError,
        "channel_shuffle"),
    bad("channel_shuffle into 3 groups of 4", functional("channel_shuffle", (1, 4, 2, 2), args=(3,)), RuntimeError,
        "channel_shuffle"),
    bad("grid_sample of other batches", functional("grid_sample", (2, 1, 3, 3), (1, 2, 2, 2), align_corners=False),
        RuntimeError, "grid_sample"),
    bad("grid_sample of three coordinates", functional("grid_sample", (1, 1, 3, 3), (1, 2, 2, 3), align_corners=False),
        RuntimeError, "grid_sample"),
    bad("grid_sample of nothing", functional("grid_sample", (1, 1, 0, 3), (1, 2, 2, 2), align_corners=False),
        RuntimeError, "grid_sample"),
    bad("grid_sample in a way that is none",
        functional("grid_sample", (1, 1, 3, 3), (1, 2, 2, 2), mode="best", align_corners=False), ValueError,
        "grid_sample"),
    bad("affine_grid to a negative size", functional("affine_grid", (1, 2, 3), args=((1, 1, -2, 2),),
        align_corners=False), ValueError, "affine_grid|size"),
    bad("affine_grid to 2**40 squared", functional("affine_grid", (1, 2, 3), args=((1, 1, 2**40, 2**40),),
        align_corners=False), RuntimeError, "memory|overflow"),
    bad("glu of an odd size", functional("glu", (3,)), RuntimeError, "glu"),
    bad("group_norm into 0 groups", functional("group_norm", (2, 4), args=(0,)), RuntimeError, "group_norm"),
    bad("group_norm into -1 groups", functional("group_norm", (2, 4), args=(-1,)), RuntimeError, "group_norm"),
    bad("group_norm into 3 groups of 4", functional("group_norm", (2, 4), args=(3,)), RuntimeError, "group_norm"),
    bad("layer_norm over nothing", functional("layer_norm", (2, 4), args=((),)), RuntimeError, "layer_norm"),
    bad("layer_norm over 2**62", functional("layer_norm", (2, 4), args=((BIG,),)), RuntimeError, "layer_norm"),
    bad("batch_norm without statistics", functional("batch_norm", (2, 4), args=(None, None)), RuntimeError,
        "batch_norm"),
    bad("batch_norm with statistics of another size", functional("batch_norm", (2, 4), (3,), (3,)), RuntimeError,
        "batch_norm"),
    bad("instance_norm of one value", functional("instance_norm", (1, 2, 1)), ValueError, "instance_norm|spatial"),
    bad("local_response_norm of 0", functional("local_response_norm", (1, 4, 2), args=(0,)), RuntimeError,
        "local_response_norm|pool|pad"),
    bad("dropout with a probability of nan", functional("dropout", (3,), p=math.nan), ValueError, "dropout"),
    bad("dropout2d with a probability of -1", functional("dropout2d", (1, 2, 3, 3), p=-1.0), ValueError, "dropout"),
    bad("alpha_dropout with a probability of 2", functional("alpha_dropout", (3,), p=2.0), ValueError, "dropout"),
    bad("softmax over 2**63", functional("softmax", (3,), dim=2**63), IndexError, "softmax"),
    bad("gumbel_softmax of integers", lambda w: w.nn.functional.gumbel_softmax(w.arange(3)), RuntimeError,
        "gumbel|exponential|log"),
    bad("linear of a 0-d input", lambda w: w.nn.functional.linear(w.tensor(1.0), w.ones(2, 2)), RuntimeError, "linear"),
    bad("linear with a bias of another size", functional("linear", (1, 2), (2, 2), (3,)), RuntimeError, "linear|bias"),
    bad("bilinear of other sizes", functional("bilinear", (2, 3), (2, 4), (5, 3, 3)), RuntimeError, "bilinear"),
    bad("prelu of other channels", functional("prelu", (2, 3), (4,)), RuntimeError, "prelu"),
    bad("scaled_dot_product_attention of vectors",
        functional("scaled_dot_product_attention", (3,), (3,), (3,)), RuntimeError, "scaled_dot_product_attention"),
    bad("scaled_dot_product_attention of other widths",
        functional("scaled_dot_product_attention", (1, 2, 3), (1, 2, 4), (1, 2, 3)), RuntimeError,
        "scaled_dot_product_attention|matmul|bmm"),
    bad("scaled_dot_product_attention with a mask of integers",
        lambda w: w.nn.functional.scaled_dot_product_attention(*[w.ones(1, 2, 3)] * 3,
                                                               attn_mask=w.ones(2, 2, dtype=w.int64)), RuntimeError,
        "scaled_dot_product_attention", "mask"),
    bad("scaled_dot_product_attention causal with a mask",
        lambda w: w.nn.functional.scaled_dot_product_attention(*[w.ones(1, 2, 3)] * 3, attn_mask=w.ones(2, 2),
                                                               is_causal=True), RuntimeError,
        "scaled_dot_product_attention", "mask|causal"),
    bad("cosine_embedding_loss of other shapes", functional("cosine_embedding_loss", (2, 3), (2, 4), (2,)),
        RuntimeError, "cosine_embedding_loss|size"),
    bad("triplet_margin_loss of other shapes", functional("triplet_margin_loss", (2, 3), (2, 4), (2, 3)), RuntimeError,
        "triplet_margin_loss|size"),
    bad("multi_margin_loss of p = 3",
        lambda w: w.nn.functional.multi_margin_loss(w.ones(1, 3), w.tensor([0]), p=3), ValueError, "multi_margin_loss"),
    bad("kl_div of other shapes", functional("kl_div", (2,), (3,), reduction="sum"), RuntimeError, "kl_div|size"),
    bad("gaussian_nll_loss of a negative variance",
        lambda w: w.nn.functional.gaussian_nll_loss(w.ones(2), w.ones(2), -w.ones(2)), ValueError,
        "gaussian_nll_loss|var"),
    bad("huber_loss of delta 0", functional("huber_loss", (2,), (2,), delta=0.0), RuntimeError, "huber_loss"),
    bad("smooth_l1_loss of beta -1", functional("smooth_l1_loss", (2,), (2,), beta=-1.0), RuntimeError,
        "smooth_l1_loss"),
    bad("binary_cross_entropy of 2",
        lambda w: w.nn.functional.binary_cross_entropy(w.full((1,), 2.0), w.ones(1)), RuntimeError,
        "binary_cross_entropy"),
    bad("cross_entropy with label smoothing of 2",
        lambda w: w.nn.functional.cross_entropy(w.ones(1, 3), w.tensor([0]), label_smoothing=2.0), RuntimeError,
        "label_smoothing"),
    bad("a Linear layer beyond memory", lambda w: w.nn.Linear(2**40, 2**10), RuntimeError, "memory"),
    bad("a Linear layer of -1", lambda w: w.nn.Linear(-1, 2), RuntimeError, "negative|-1"),
    bad("a Conv2d layer of 0 groups", lambda w: w.nn.Conv2d(1, 1, 1, groups=0), ValueError, "groups"),
    bad("a Conv2d layer with a kernel of 2**40", lambda w: w.nn.Conv2d(1, 1, 2**40), RuntimeError, "memory|overflow"),
    bad("an Embedding beyond memory", lambda w: w.nn.Embedding(2**50, 2), RuntimeError, "memory"),
    bad("an LSTM of hidden size 0", lambda w: w.nn.LSTM(2, 0), ValueError, "hidden_size"),
    bad("an LSTM of -1 layers", lambda w: w.nn.LSTM(2, 2, num_layers=-1), ValueError, "num_layers"),
    bad("an LSTM with a state of another shape",
        lambda w: w.nn.LSTM(2, 3)(w.ones(4, 1, 2), (w.ones(1, 1, 5), w.ones(1, 1, 3))), RuntimeError, "hidden"),
    bad("a GRU of an input of another width", lambda w: w.nn.GRU(2, 3)(w.ones(4, 1, 5)), RuntimeError, "input"),
    bad("pack_padded_sequence of lengths that are too long",
        lambda w: w.nn.utils.rnn.pack_padded_sequence(w.ones(3, 2, 1), [4, 1]), RuntimeError,
        "pack_padded_sequence|length"),
    bad("pack_padded_sequence of lengths that are not sorted",
        lambda w: w.nn.utils.rnn.pack_padded_sequence(w.ones(3, 2, 1), [1, 3]), RuntimeError,
        "pack_padded_sequence|length"),
    bad("pack_padded_sequence of a length of 0",
        lambda w: w.nn.utils.rnn.pack_padded_sequence(w.ones(3, 2, 1), [3, 0]), RuntimeError,
        "pack_padded_sequence|length"),
    bad("pack_padded_sequence of too many lengths",
        lambda w: w.nn.utils.rnn.pack_padded_sequence(w.ones(3, 2, 1), [3, 2, 1]), RuntimeError,
        "pack_padded_sequence|length"),
    bad("pad_sequence of nothing", lambda w: w.nn.utils.rnn.pad_sequence([]), RuntimeError, "pad_sequence"),
    bad("pad of integers with inf", lambda w: w.nn.functional.pad(w.arange(3), (1, 1), value=math.inf), RuntimeError,
        "pad", "overflow"),
    bad("pad of integers with 2**70", lambda w: w.nn.functional.pad(w.arange(3), (1, 1), value=2**70), RuntimeError,
        "pad", "overflow"),
    bad("leaky_relu with a slice", lambda w: w.nn.functional.leaky_relu(w.ones(2), slice(2)), TypeError, "leaky_relu"),
    bad("gru_cell of numbers", lambda w: w.gru_cell(w.ones(3, 2), 1, 2, 3), TypeError, "gru_cell"),
    bad("mse_loss of a list", lambda w: w.nn.functional.mse_loss([1.0], w.ones(1)), TypeError, "mse_loss", "list"),
    hard("a pool of one window", lambda w: w.nn.functional.avg_pool1d(w.ones(1, 1, 5), 5).item() == 1.0),
    hard("grid_sample at nan, inf and far away",
         lambda w: tuple(w.nn.functional.grid_sample(
             w.ones(1, 1, 3, 3), w.tensor([[[[math.inf, math.nan], [-math.inf, 1e30]]]]),
             align_corners=False).shape) == (1, 1, 1, 2)),
    hard("a ReLU of nothing", lambda w: w.nn.functional.relu(w.empty(0, 3)).numel() == 0),
    hard("a convolution of no samples",
         lambda w: tuple(w.nn.functional.conv2d(w.empty(0, 1, 5, 5), w.ones(2, 1, 2, 2)).shape) == (0, 2, 4, 4)),
]  # fmt: skip
