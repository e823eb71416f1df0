"""Functions of neural networks, with PyTorch's signatures."""

import importlib
import sys

from weft import overrides
from weft.nn.functional import _common
from weft.nn.functional.activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    threshold_,
)
from weft.nn.functional.attention import multi_head_attention_forward, scaled_dot_product_attention
from weft.nn.functional.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from weft.nn.functional.distance import cosine_similarity, pairwise_distance, pdist
from weft.nn.functional.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from weft.nn.functional.linear import bilinear, grouped_mm, linear
from weft.nn.functional.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    ctc_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    linear_cross_entropy,
    margin_ranking_loss,
    mse_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from weft.nn.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from weft.nn.functional.padding import pad
from weft.nn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from weft.nn.functional.sparse import embedding, embedding_bag, one_hot
from weft.nn.functional.upsampling import interpolate, upsample, upsample_bilinear, upsample_nearest
from weft.nn.functional.vision import (
    GRID_SAMPLE_INTERPOLATION_MODES as GRID_SAMPLE_INTERPOLATION_MODES,
)
from weft.nn.functional.vision import (
    GRID_SAMPLE_PADDING_MODES as GRID_SAMPLE_PADDING_MODES,
)
from weft.nn.functional.vision import (
    affine_grid,
    channel_shuffle,
    fold,
    grid_sample,
    native_channel_shuffle,
    pixel_shuffle,
    pixel_unshuffle,
    unfold,
)

__all__ = [name for name, value in globals().items() if callable(value)]  # the functions above

_common.explaining(sys.modules[__name__], __all__)
overrides.offer(sys.modules[__name__], __all__)  # by __torch_function__


def __getattr__(name: str) -> object:
    """The module `weft.nn.grad`, which stands on the functions above."""
    if name == "grad":
        return importlib.import_module("weft.nn.grad")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
