"""Functions of neural networks. Made by scripts/make_stubs.py (./dev lint --fix), not by hand."""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Literal
from typing import overload as _overload
from weft._dtypes.dtypes import dtype
from weft.nn.functional.loss import LinearCrossEntropyOptions
from weft.types import Tensor

def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means of windows that cover an input (N, C, L) evenly."""

def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means of windows that cover an input (N, C, H, W) evenly."""

def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means of windows that cover an input (N, C, D, H, W) evenly."""

@_overload
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: Literal[False] = False) -> Tensor: ...
@_overload
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int | None] | None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """The greatest elements of windows that cover an input (N, C, L) evenly."""

def adaptive_max_pool1d_with_indices(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = True) -> tuple[Tensor, Tensor]:
    """The greatest elements of windows that cover an input (N, C, L) evenly."""

@_overload
def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: Literal[False] = False) -> Tensor: ...
@_overload
def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """The greatest elements of windows that cover an input (N, C, H, W) evenly."""

def adaptive_max_pool2d_with_indices(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = True) -> tuple[Tensor, Tensor]:
    """The greatest elements of windows that cover an input (N, C, H, W) evenly."""

@_overload
def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: Literal[False] = False) -> Tensor: ...
@_overload
def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """The greatest elements of windows that cover an input (N, C, D, H, W) evenly."""

def adaptive_max_pool3d_with_indices(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = True) -> tuple[Tensor, Tensor]:
    """The greatest elements of windows that cover an input (N, C, D, H, W) evenly."""

def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places, in [-1, 1], that affine maps give each pixel of an output."""

def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance behind `selu`: dropped elements take its limit at minus infinity."""

def avg_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The mean of each window of an input (N, C, L) or (C, L)."""

def avg_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The mean of each window of an input (N, C, H, W) or (C, H, W)."""

def avg_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The mean of each window of an input (N, C, D, H, W) or (C, D, H, W)."""

def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Normalize each channel to mean 0 and variance 1, then scale and shift."""

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each output feature k."""

def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The cross entropy of probabilities of yes."""

def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """`binary_cross_entropy` of the sigmoid of the input, computed without loss of precision."""

def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where it is positive, else ``alpha * (exp(x / alpha) - 1)``: smooth at 0 for every ``alpha``."""

def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place variant of `celu`."""

def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels in groups, dealt out so that neighbours come from different groups."""

def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1) -> Tensor:
    """Convolve an input (N, C, L) with kernels, as a cross-correlation."""

def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1) -> Tensor:
    """Convolve an input (N, C, H, W) with kernels, as a cross-correlation."""

def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1) -> Tensor:
    """Convolve an input (N, C, D, H, W) with kernels, as a cross-correlation."""

def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of sequences with the time first."""

def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, dilation: int | Sequence[int] = 1) -> Tensor:
    """The gradient of `conv1d` with respect to its input, as a layer ("deconvolution")."""

def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, dilation: int | Sequence[int] = 1) -> Tensor:
    """The gradient of `conv2d` with respect to its input, as a layer ("deconvolution")."""

def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, dilation: int | Sequence[int] = 1) -> Tensor:
    """The gradient of `conv3d` with respect to its input, as a layer ("deconvolution")."""

def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """``1 - cos`` of the angle between vectors where the target is 1, and ``cos - margin`` (or 0) where it is -1."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along a dimension: ``sum(x1 * x2) / (norm(x1) * norm(x2))``."""

def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean', label_smoothing: float = 0.0) -> Tensor:
    """The cross entropy of target classes (or probabilities) and the softmax of the input."""

def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int], target_lengths: Tensor | Sequence[int], blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) -> Tensor:
    """The negated log-probability of label sequences, summed over all alignments."""

def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zero each element with probability ``p`` and divide the others by ``1 - p``; else do nothing."""

def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels."""

def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels."""

def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels."""

def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``."""

def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place variant of `elu`."""

def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows of ``weight`` at these indices."""

def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None) -> Tensor:
    """The sum, mean or greatest elements of the rows that each bag of indices names."""

def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels."""

def fold(input: Tensor, output_size: int | Sequence[int], kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> Tensor:
    """The sum of columns at the places where `unfold` takes them from."""

@_overload
def fractional_max_pool2d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor: ...
@_overload
def fractional_max_pool2d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, *, return_indices: Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]: ...
@_overload
def fractional_max_pool2d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
    """The greatest elements of windows at random places of an input (N, C, H, W)."""

def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = True, _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The greatest elements of windows at random places of an input (N, C, H, W)."""

@_overload
def fractional_max_pool3d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor: ...
@_overload
def fractional_max_pool3d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, *, return_indices: Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]: ...
@_overload
def fractional_max_pool3d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
    """The greatest elements of windows at random places of an input (N, C, D, H, W)."""

def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = True, _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The greatest elements of windows at random places of an input (N, C, D, H, W)."""

def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float | Tensor = 1e-06, reduction: str = 'mean') -> Tensor:
    """The negated log-likelihood of normally distributed targets."""

def gelu(input: Tensor, approximate: str = 'none', *, out: Tensor | None = None) -> Tensor:
    """Each element times the probability that a standard normal number is below it."""

def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of dimension ``dim`` times the sigmoid of the second."""

def grid_sample(input: Tensor, grid: Tensor, mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: bool | None = None) -> Tensor:
    """The input at the places of a grid."""

def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """Normalize each group of channels of each sample, then scale and shift each channel."""

def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: dtype | None = None) -> Tensor:
    """Several matrix products at once, of groups that need not be of one size: the experts of a mixture."""

def gumbel_softmax(logits: Tensor, tau: float | Tensor = 1, hard: bool = False, eps: float | Tensor = 1e-10, dim: int = -1) -> Tensor:
    """Samples of the relaxed categorical distribution with these logits."""

def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """0 for elements in [-lambd, lambd]; the others as they are."""

def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(x + 3) / 6``, a sigmoid of straight lines."""

def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * relu6(x + 3) / 6``."""

def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Each element moved into [min_val, max_val]; the gradient is 0 outside and at the limits."""

def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place variant of `hardtanh`."""

def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The distance x where the target is 1, and what it is short of ``margin`` where it is -1."""

def huber_loss(input: Tensor, target: Tensor, reduction: str = 'mean', delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """``0.5 d**2`` for differences d up to ``delta`` in size, else ``delta (|d| - 0.5 delta)``."""

def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Normalize each channel of each sample, then scale and shift each channel."""

def interpolate(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:
    """Resample an input (N, C, ...) with 1, 2 or 3 spatial dimensions."""

def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', log_target: bool = False) -> Tensor:
    """The Kullback-Leibler divergence of the target from the input: ``target * (log(target) - input)``."""

def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The absolute difference of each pair of elements."""

def layer_norm(input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """Normalize the last axes of ``input`` to mean 0 and variance 1, then scale and shift."""

def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` where it is positive, else ``negative_slope * x``."""

def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place variant of `leaky_relu`."""

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``."""

def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None, reduction: str = 'mean', ignore_index: int | None = None, label_smoothing: float = 0.0, options: LinearCrossEntropyOptions | None = None) -> Tensor:
    """`cross_entropy` of a linear map of the input."""

def local_response_norm(input: Tensor, size: int, alpha: float | Tensor = 0.0001, beta: float | Tensor = 0.75, k: float | Tensor = 1.0) -> Tensor:
    """Divide each element by ``(k + alpha * mean of squares over size neighbouring channels) ** beta``."""

def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """The logarithm of `softmax`, computed without loss of precision."""

def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the sigmoid, computed without loss of precision."""

def lp_pool1d(input: Tensor, norm_type: float | Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of an input (N, C, L): ``sum(x ** p) ** (1 / p)``."""

def lp_pool2d(input: Tensor, norm_type: float | Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of an input (N, C, H, W): ``sum(x ** p) ** (1 / p)``."""

def lp_pool3d(input: Tensor, norm_type: float | Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of an input (N, C, D, H, W): ``sum(x ** p) ** (1 / p)``."""

def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """What ``target * (input1 - input2)`` is short of ``margin``."""

@_overload
def max_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor: ...
@_overload
def max_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def max_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """The greatest element of each window of an input (N, C, L) or (C, L)."""

def max_pool1d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: bool = True) -> tuple[Tensor, Tensor]:
    """The greatest element of each window of an input (N, C, L) or (C, L)."""

@_overload
def max_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor: ...
@_overload
def max_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def max_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """The greatest element of each window of an input (N, C, H, W) or (C, H, W)."""

def max_pool2d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: bool = True) -> tuple[Tensor, Tensor]:
    """The greatest element of each window of an input (N, C, H, W) or (C, H, W)."""

@_overload
def max_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor: ...
@_overload
def max_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def max_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """The greatest element of each window of an input (N, C, D, H, W) or (C, D, H, W)."""

def max_pool3d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: bool = True) -> tuple[Tensor, Tensor]:
    """The greatest element of each window of an input (N, C, D, H, W) or (C, D, H, W)."""

def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, output_size: Sequence[int] | None = None) -> Tensor:
    """Put the values of `max_pool1d` back to where they came from; the rest is 0."""

def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, output_size: Sequence[int] | None = None) -> Tensor:
    """Put the values of `max_pool2d` back to where they came from; the rest is 0."""

def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, output_size: Sequence[int] | None = None) -> Tensor:
    """Put the values of `max_pool3d` back to where they came from; the rest is 0."""

def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``."""

def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The squared difference of each pair of elements."""

def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads between projections in and out."""

def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The mean over other classes of how far they come within ``margin`` of the target's, to the power p."""

def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """How far other classes come within 1 of each target class, summed and divided by the number of classes."""

def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The mean over classes of `binary_cross_entropy_with_logits`."""

def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels in groups, dealt out so that neighbours come from different groups."""

def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The negated log-probability of each sample's class."""

def normalize(input: Tensor, p: float = 2.0, dim: int | Sequence[int] = 1, eps: float | Tensor = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divide by the p-norm along a dimension, or by ``eps`` where that is less."""

def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the place of each class along a new last dimension, and 0 elsewhere."""

def pad(input: Tensor, pad: Sequence[int], mode: str = 'constant', value: float | None = None) -> Tensor:
    """Add values before and after the last dimensions."""

def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` along the last dimension."""

def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances of each pair of rows, in the order of the upper triangle."""

def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels rearranged as pixels, by the factor r."""

def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Pixels rearranged as channels: the inverse of `pixel_shuffle`."""

def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-08, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The negated log-likelihood of counts, by their expectation (or its logarithm)."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``x`` where it is positive, else ``weight * x``, with one weight for all or one for each channel."""

def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``, element by element."""

def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``."""

def relu_(input: Tensor) -> Tensor:
    """In-place variant of `relu`."""

def rms_norm(input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divide the last axes of ``input`` by the root of their mean square."""

def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, inplace: bool = False) -> Tensor:
    """`leaky_relu` with a slope drawn from [lower, upper] for each element; in evaluation with the middle one."""

def rrelu_(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False) -> Tensor:
    """In-place variant of `rrelu`."""

def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    """``softmax(query @ key.mT / sqrt(E)) @ value``."""

def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the two constants that keep mean 0 and variance 1 from layer to layer."""

def selu_(input: Tensor) -> Tensor:
    """In-place variant of `selu`."""

def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``."""

def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``, also called swish."""

def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', beta: float = 1.0) -> Tensor:
    """``0.5 d**2 / beta`` for differences d below ``beta`` in size, else ``|d| - 0.5 beta``."""

def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """``log(1 + exp(-target * input))``."""

def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """``exp(input)`` divided by its sum along a dimension; see `weft.softmax`."""

def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """The softmax of the negated input."""

def softplus(input: Tensor, beta: float = 1, threshold: float = 20, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, a smooth `relu`."""

def softshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """0 for elements in [-lambd, lambd]; the others moved towards 0 by ``lambd``."""

def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""

def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""

def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""

def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Each element above ``threshold`` as it is, the others replaced by ``value``."""

def threshold_(input: Tensor, threshold_value: float, value: float) -> Tensor:
    """In-place variant of `threshold`."""

def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-06, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """How far the anchor's distance to the negative is short of that to the positive plus ``margin``."""

def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float | Tensor = 1.0, swap: bool = False, reduction: str = 'mean') -> Tensor:
    """`triplet_margin_loss` with any distance."""

def unfold(input: Tensor, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> Tensor:
    """The windows of images as columns."""

def upsample(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = 'nearest', align_corners: bool | None = None) -> Tensor:
    """The former name of `interpolate`."""

def upsample_bilinear(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None) -> Tensor:
    """`interpolate` in mode "bilinear" with aligned corners."""

def upsample_nearest(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None) -> Tensor:
    """`interpolate` in mode "nearest"."""

GRID_SAMPLE_INTERPOLATION_MODES: dict[str, int]

GRID_SAMPLE_PADDING_MODES: dict[str, int]
