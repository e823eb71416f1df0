"""Functions that PyTorch's dispatcher has of neural networks, and its public namespaces have not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
from weft import Tensor
from weft.library.interceptors import get_op

REDUCTIONS = ("none", "mean", "sum")


def _op(name: str, *args: Any) -> Any:
    return get_op(f"nn::{name}").op(*args)  # type: ignore[attr-defined]


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """`weft.nn.functional.embedding`, with the weights first."""
    return _op("embedding", weight, indices, None if padding_idx < 0 else padding_idx, scale_grad_by_freq)


def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """The gradient of the weights of `embedding`."""
    skipped = None if padding_idx < 0 else padding_idx
    return _op("embedding_gradient", grad_output, indices, num_weights, skipped, scale_grad_by_freq)


def _convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    benchmark: bool,
    deterministic: bool,
    cudnn_enabled: bool,
    allow_tf32: bool,
) -> Any:
    """`weft.convolution`; the last four say how CUDA's libraries are to choose, and change no number."""
    options = (stride, padding, dilation, transposed, output_padding, groups)
    return weft.convolution(input, weight, bias, *options)  # type: ignore[attr-defined]


def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Any,
) -> tuple[Any, Any, Any]:
    """The gradients of `weft.convolution` for those of input, weight and bias that the mask names.

    Raises
    ------
    NotImplementedError
        Of a transposed convolution.
    """
    if transposed:
        raise NotImplementedError(
            "convolution_backward: weft has the gradients of a transposed convolution in its nodes alone; "
            "use weft.autograd.grad"
        )
    name = f"conv{weight.ndim - 2}d"
    options = (tuple(stride), tuple(padding), tuple(dilation), groups)
    by_input = by_weight = by_bias = None
    if output_mask[0]:
        by_input = _op(f"{name}_input_gradient", grad_output, weight, tuple(input.shape), *options)
    if output_mask[1]:
        by_weight = _op(f"{name}_weight_gradient", grad_output, input, tuple(weight.shape), *options)
    if output_mask[2]:
        by_bias = grad_output.sum((0, *range(2, grad_output.ndim)))
    return by_input, by_weight, by_bias


def native_layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Any,
    mean: Tensor,
    rstd: Tensor,
    weight: Any,
    bias: Any,
    output_mask: Any,
) -> tuple[Any, ...]:
    """The gradients of `weft.layer_norm` for those of input, weight and bias that the mask names."""
    found = _op("layer_norm_gradient", grad_out, input, weight, mean, rstd, len(normalized_shape))
    return tuple(each if wanted else None for each, wanted in zip(found, output_mask))


def native_group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Any,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Any,
) -> tuple[Any, ...]:
    """The gradients of `weft.group_norm` for those of input, weight and bias that the mask names."""
    found = _op("group_norm_gradient", grad_out, input, weight, mean, rstd, group)
    return tuple(each if wanted else None for each, wanted in zip(found, output_mask))


def _scaled_dot_product_flash_attention_for_cpu(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    """Attention, and the logarithms of the sums of the exponentials of its scores.

    Raises
    ------
    NotImplementedError
        With dropout.
    """
    if dropout_p:
        raise NotImplementedError(
            "_scaled_dot_product_flash_attention_for_cpu: takes no dropout; use "
            "weft.nn.functional.scaled_dot_product_attention"
        )
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    return _op("attention", query, key, value, attn_mask, None, factor, is_causal)


def nll_loss_forward(self: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int) -> Any:
    """`weft.nn.functional.nll_loss`, and the sum of the weights that it was divided by."""
    return _op("nll_loss", self, target, weight, REDUCTIONS[reduction], ignore_index)


def nll_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Any:
    """The gradient of `weft.nn.functional.nll_loss`."""
    args = (weight, total_weight, tuple(self.shape), REDUCTIONS[reduction], ignore_index)
    return _op("nll_loss_gradient", grad_output, target, *args)


nll_loss2d_forward = nll_loss_forward
nll_loss2d_backward = nll_loss_backward


def _prelu_kernel(self: Tensor, weight: Tensor) -> Any:
    """`weft.nn.functional.prelu`, with weights that are broadcast."""
    return _op("prelu", self, weight)


def elu(self: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    """`weft.nn.functional.elu`, times ``scale``."""
    return _op("elu", self, alpha, scale, input_scale)


def elu_backward(
    grad_output: Tensor, alpha: float, scale: float, input_scale: float, is_result: bool, self_or_result: Tensor
) -> Any:
    """The gradient of `weft.nn.functional.elu`, from its input."""
    _refuse_result("elu_backward", is_result)
    return _op("elu_backward", grad_output, self_or_result, alpha, scale, input_scale)


def leaky_relu_backward(grad_output: Tensor, self: Tensor, negative_slope: float, self_is_result: bool) -> Any:
    """The gradient of `weft.nn.functional.leaky_relu`, from its input."""
    _refuse_result("leaky_relu_backward", self_is_result)
    return _op("leaky_relu_backward", grad_output, self, negative_slope)


def hardtanh_backward(grad_output: Tensor, self: Tensor, min_val: float, max_val: float) -> Any:
    """The gradient of `weft.nn.functional.hardtanh`."""
    return _op("hardtanh_backward", grad_output, self, min_val, max_val)


def _refuse_result(name: str, is_result: bool) -> None:
    if is_result:
        raise NotImplementedError(f"{name}: weft computes it from the input, not from the result; pass the input")


def loss(name: str, *options: str) -> Callable[..., Any]:
    """A loss of input and target whose options stand in another order than in `weft.nn.functional`.

    The reduction is a number, as PyTorch's dispatcher has it.
    """

    def function(self: Tensor, target: Tensor, *args: Any, **kwargs: Any) -> Any:
        given = {"reduction": 1} | dict(zip(options, args)) | kwargs
        given["reduction"] = REDUCTIONS[given["reduction"]]
        return getattr(weft.nn.functional, name)(self, target, **given)

    function.__name__ = name
    return function


binary_cross_entropy = loss("binary_cross_entropy", "weight", "reduction")
huber_loss = loss("huber_loss", "reduction", "delta")
l1_loss = loss("l1_loss", "reduction")
mse_loss = loss("mse_loss", "reduction")
multi_margin_loss = loss("multi_margin_loss", "p", "margin", "weight", "reduction")
multilabel_margin_loss = loss("multilabel_margin_loss", "reduction")
nll_loss = loss("nll_loss", "weight", "reduction", "ignore_index")
smooth_l1_loss = loss("smooth_l1_loss", "reduction", "beta")
soft_margin_loss = loss("soft_margin_loss", "reduction")


def _masked_softmax(self: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None) -> Any:
    """`weft.softmax` of the elements that a mask does not hide, and 0 in the place of the others.

    A mask (L, L) of type 0 is that of each sequence and head of scores (B, H, L, L), one (B, L) of type 1 that of each
    row and head; any other has the shape of the scores.

    Raises
    ------
    RuntimeError
        For another mask.
    """
    if mask.dtype is not weft.bool:
        raise RuntimeError(f"_masked_softmax: Mask should be a boolean tensor, got {mask.dtype}")
    if mask.ndim == 2 and self.ndim == 4 and mask_type in (0, 1):
        mask = mask[None, None] if mask_type == 0 else mask[:, None, None]
    elif mask.shape != self.shape:
        raise RuntimeError(
            f"_masked_softmax: Mask shape should match input. mask: {list(mask.shape)} input: {list(self.shape)}"
        )
    weights = weft.softmax(self.masked_fill(mask, float("-inf")), self.ndim - 1 if dim is None else dim)
    return weights.masked_fill(mask, 0)


def _scaled_dot_product_attention_math(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    dropout_mask: Tensor | None = None,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Any, Any]:
    """`weft.nn.functional.scaled_dot_product_attention` as its formula says, and the weights.

    Half-precision arguments are computed with in float32.

    Raises
    ------
    RuntimeError
        For a mask of a causal attention.
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention_math: Explicit attn_mask should not be set when is_causal=True"
        )
    dtype = query.dtype
    q, k, v = (each.float() if each.dtype.is_half else each for each in (query, key, value))
    if enable_gqa:
        k, v = (each.repeat_interleave(q.shape[-3] // each.shape[-3], -3) for each in (k, v))
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)  # (..., L, S)
    if is_causal:
        attn_mask = weft.ones(scores.shape[-2:], dtype=weft.bool, device=scores.device).tril()
    if attn_mask is not None:
        is_bool = attn_mask.dtype is weft.bool
        scores = scores.masked_fill(~attn_mask, float("-inf")) if is_bool else scores + attn_mask
    weights = weft.ops.aten._safe_softmax(scores, -1)
    if dropout_mask is not None:
        weights = weights.masked_fill(~dropout_mask, 0)
        v = v / (1 - dropout_p)
    elif dropout_p > 0:
        weights = weft.dropout(weights, dropout_p, True)
    return (weights @ v).to(dtype), weights.to(dtype)


def thnn_conv2d(
    self: Tensor, weight: Tensor, kernel_size: Any, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0
) -> Any:
    """`weft.nn.functional.conv2d`, with the size of the weights.

    Raises
    ------
    RuntimeError
        For options without a number for both dimensions.
    """
    return _slow_conv(2, self, weight, bias, kernel_size=kernel_size, stride=stride, padding=padding)


def slow_conv3d(
    self: Tensor, weight: Tensor, kernel_size: Any, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0
) -> Any:
    """`weft.nn.functional.conv3d`, with the size of the weights.

    Raises
    ------
    RuntimeError
        For options without a number for all dimensions.
    """
    return _slow_conv(3, self, weight, bias, kernel_size=kernel_size, stride=stride, padding=padding)


def _slow_conv(count: int, input: Tensor, weight: Tensor, bias: Tensor | None, **options: Any) -> Any:
    sizes = {}
    for option, value in options.items():
        sizes[option] = (value,) * count if isinstance(value, int) else tuple(value)
        if len(sizes[option]) != count:
            raise RuntimeError(f"conv{count}d: {count}D {option} expected, got {value}")
    weight = weight.reshape(weight.shape[0], -1, *sizes.pop("kernel_size"))
    return getattr(weft.nn.functional, f"conv{count}d")(input, weight, bias, **sizes)


def _padding(kind: str, mode: str, count: int) -> Callable[..., Any]:
    """A function that pads the last dimensions of inputs (N, C, ...) or (C, ...), of which it knows the number."""
    name = f"{kind}_pad{count}d"

    def function(self: Tensor, padding: Any) -> Any:
        if len(padding) != 2 * count:
            raise RuntimeError(f"{name}: padding size is expected to be {2 * count}, but got: {len(padding)}")
        if self.ndim not in (count + 1, count + 2):
            raise RuntimeError(
                f"{name}: Expected {count + 1}D or {count + 2}D (batch mode) tensor for input, but got: "
                f"{list(self.shape)}"
            )
        return weft.nn.functional.pad(self, padding, mode)

    function.__name__ = name
    return function


reflection_pad1d, reflection_pad2d, reflection_pad3d = (_padding("reflection", "reflect", n) for n in (1, 2, 3))
replication_pad1d, replication_pad2d, replication_pad3d = (_padding("replication", "replicate", n) for n in (1, 2, 3))


def mse_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Any:
    """The gradient of `weft.nn.functional.mse_loss` for its input."""
    slope = 2 * (self - target) * grad_output
    return slope / self.numel() if reduction == 1 else slope
