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


def mse_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Any:
    """The gradient of `weft.nn.functional.mse_loss` for its input."""
    slope = 2 * (self - target) * grad_output
    return slope / self.numel() if reduction == 1 else slope
