"""The names of ops as PyTorch's profiler shows them, and how much they compute."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["floating_point_operations", "public_name"]

# Ours in front; the others have the same name in PyTorch.
OTHERWISE = dict(
    pair.split("=")
    for pair in """
contiguous_copy=contiguous convert=_to_copy transfer=_to_copy div_floor=div div_trunc=div max_all=max min_all=min
median_all=median median_of=median view_dtype=view embed=slice_backward view_scatter=slice_scatter unique=_unique2
vector_norm=linalg_vector_norm logsigmoid=log_sigmoid_forward pad_constant=constant_pad_nd shrink=hardshrink
conv1d_input_gradient=convolution_backward conv1d_weight_gradient=convolution_backward
conv2d_input_gradient=convolution_backward conv2d_weight_gradient=convolution_backward
conv3d_input_gradient=convolution_backward conv3d_weight_gradient=convolution_backward
ctc_loss_gradient=_ctc_loss_backward batch_norm_training=batch_norm fold=col2im
batch_norm_gradient=native_batch_norm_backward layer_norm_gradient=native_layer_norm_backward
embedding_gradient=embedding_dense_backward normal_fill=normal_ bernoulli_fill=bernoulli_ fft_c2c=_fft_c2c
fft_r2c=_fft_r2c fft_c2r=_fft_c2r linalg_cholesky_solve=cholesky_solve
softmax_backward=_softmax_backward_data log_softmax_backward=_log_softmax_backward_data
shrink_backward=hardshrink_backward logsigmoid_backward=log_sigmoid_backward cross_entropy=cross_entropy_loss
attention=scaled_dot_product_attention attention_gradient=scaled_dot_product_attention_backward
group_norm_gradient=native_group_norm_backward lstm_layer=lstm gru_layer=gru rnn_layer=rnn_tanh
lstm_layer_gradient=lstm_backward gru_layer_gradient=gru_backward rnn_layer_gradient=rnn_tanh_backward
""".split()
)
OTHERWISE |= {
    name: f"special_{name}"
    for name in """
airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 entr erfcx i0e i1 i1e log_ndtr modified_bessel_i0 modified_bessel_i1
modified_bessel_k0 modified_bessel_k1 ndtr ndtri scaled_modified_bessel_k0 scaled_modified_bessel_k1
spherical_bessel_j0 xlog1py zeta
""".split()
}
POOLING = {
    "max_pool_with_indices": "max_pool{}d_with_indices",
    "max_pool_gradient": "max_pool{}d_with_indices_backward",
    "avg_pool": "avg_pool{}d",
    "avg_pool_gradient": "avg_pool{}d_backward",
    "adaptive_max_pool_with_indices": "adaptive_max_pool{}d",
    "fractional_max_pool_with_indices": "fractional_max_pool{}d",
}


def public_name(name: str, args: tuple[Any, ...]) -> str:
    """An op's name as PyTorch's profiler shows it, ``aten::mm``; that of a third party's op is its own."""
    namespace, _, short = name.partition("::")
    if namespace == "foreach":
        return f"aten::_foreach_{short}"
    if namespace not in ("core", "nn"):
        return name
    if short == "matmul":
        return f"aten::{product(args)}"
    if short == "getitem":
        keys = args[1] if isinstance(args[1], tuple) else (args[1],)
        return "aten::slice" if any(isinstance(key, slice) for key in keys) else "aten::select"
    if short == "unfold" and namespace == "nn":
        return "aten::im2col"
    if short in POOLING:
        return f"aten::{POOLING[short].format(args[0].ndim - 2)}"
    return f"aten::{OTHERWISE.get(short) or short.replace('_gradient', '_backward')}"


def product(args: tuple[Any, ...]) -> str:
    """Which matrix product a matmul is."""
    left, right = args[0].ndim, args[1].ndim
    if left == 1 and right == 1:
        return "dot"
    if left <= 2 and right <= 2:
        return "mm" if left == right else "mv"
    return "mm" if right == 2 else "bmm"


def floating_point_operations(name: str, args: tuple[Any, ...], result: Any) -> int:
    """How many a call took: for products of matrices and convolutions (a multiply-add is two), for `add` and `mul`.

    Parameters
    ----------
    name : str
        As `public_name` gives it.
    args, result
        Of its kernel: arrays.
    """
    short = name.removeprefix("aten::")
    if short in ("mm", "bmm", "mv", "dot", "linear"):
        return 2 * int(result.size) * int(args[0].shape[-1])
    if short in ("addmm", "baddbmm"):
        return 2 * int(result.size) * int(args[1].shape[-1])
    if short in ("conv1d", "conv2d", "conv3d"):
        return 2 * int(result.size) * math.prod(args[1].shape[1:])
    if short in ("add", "mul"):
        return int(getattr(result, "size", 1))
    return 0
