"""Kernels that are loops in Python, compiled by Numba when they are first needed and kept on disk.

`codegen` makes machine code of Python: parallel loops, vectors, half precision, elementwise operations, the cache on
disk. `kernels` computes: each of its modules registers the kernels of a family of ops. To write one, read
`codegen.parallel` first.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import version as installed
from pathlib import Path

MISSING = "not installed: pip install 'weft[fast]'"

FAMILIES = {  # module: the ops that it serves
    "activations": (
        "core::relu core::threshold_backward core::tanh_backward core::sigmoid_backward nn::threshold "
        "nn::hardtanh nn::hardtanh_backward nn::leaky_relu nn::leaky_relu_backward nn::shrink "
        "nn::shrink_backward nn::hardsigmoid nn::hardsigmoid_backward nn::hardswish "
        "nn::hardswish_backward nn::gelu nn::gelu_backward nn::silu nn::silu_backward nn::elu "
        "nn::elu_backward nn::softplus nn::softplus_backward nn::logsigmoid nn::logsigmoid_backward "
        "nn::mish nn::mish_backward nn::glu nn::glu_backward nn::softsign nn::softsign_backward "
        "nn::prelu nn::prelu_backward"
    ),
    "convolution": """
        nn::conv1d nn::conv2d nn::conv3d nn::conv1d_input_gradient nn::conv2d_input_gradient nn::conv3d_input_gradient
        nn::conv1d_weight_gradient nn::conv2d_weight_gradient nn::conv3d_weight_gradient
    """,
    "convert": "core::convert core::tril core::triu",
    "copy_cat": """
        core::assign core::spread core::contiguous_copy core::clone core::flip core::roll core::cat core::stack
    """,
    "cumulative": "core::cumsum core::cumprod core::cummax core::cummin core::logcumsumexp",
    "functions": """
        core::sign core::sgn core::angle core::copysign core::frac core::nextafter core::nan_to_num core::exp2
        core::erfc core::erfcx core::erfinv core::ndtr core::log_ndtr core::entr core::xlogy core::xlog1py core::lgamma
        core::digamma core::polygamma core::hypot core::logaddexp core::logaddexp2 core::sin core::cos core::fmod
        core::remainder core::floor_divide core::div_floor core::div_trunc core::bitwise_left_shift
        core::bitwise_right_shift core::i0 core::i0e core::i1 core::i1e
        core::modified_bessel_i0 core::modified_bessel_i1 core::deg2rad core::rad2deg core::complex
    """,
    "indexing": """
        core::index_select core::index core::gather core::scatter core::index_add core::index_put
        core::gather_backward core::scatter_reduce core::assign_at nn::embedding nn::embedding_gradient
        nn::embedding_bag core::nonzero
    """,
    "attention": "nn::attention nn::attention_gradient",
    "losses": """
        nn::nll_loss nn::nll_loss_gradient nn::cross_entropy nn::cross_entropy_gradient
        nn::difference_loss nn::difference_loss_gradient
        nn::binary_cross_entropy_with_logits nn::logits_loss_gradient
    """,
    "batch_norm": "nn::batch_norm_training nn::batch_norm_gradient nn::channel_affine nn::normalized",
    "mt19937": "nn::dropout",
    "normalization": """
        nn::layer_norm nn::layer_norm_gradient nn::rms_norm nn::rms_norm_gradient nn::group_norm nn::group_norm_gradient
    """,
    "optimizers": """
        optim::sgd_step optim::adam_step optim::rmsprop_step optim::adagrad_step foreach::norm foreach::mul_
    """,
    "pointwise": """
        core::add core::sub core::mul core::div core::neg core::abs core::square core::sqrt core::rsqrt core::reciprocal
        core::maximum core::minimum core::lerp core::exp core::expm1 core::log core::log1p core::tanh
        core::sigmoid core::erf core::eq core::ne core::lt core::le core::gt core::ge core::where core::masked_fill
        core::clamp core::pow core::add_scaled core::addcmul core::addcdiv
    """,
    "padding": "nn::pad_constant nn::pad_inside",
    "outer_products": "core::linalg_cross core::kron",
    "pooling": "nn::max_pool_with_indices nn::max_pool_gradient nn::avg_pool nn::avg_pool_gradient",
    "recurrent": """
        nn::lstm_layer nn::lstm_layer_gradient nn::gru_layer nn::gru_layer_gradient nn::rnn_layer
        nn::rnn_layer_gradient
    """,
    "reductions": """
        core::sum core::integer_sum core::mean core::prod core::integer_prod core::nansum core::var core::logsumexp
        core::vector_norm core::count_nonzero core::amax core::amin core::all core::any
        core::max core::argmax core::min core::argmin
    """,
    "resampling": "nn::resample nn::sample nn::sample_input_gradient nn::sample_grid_gradient",
    "sorting": "core::topk core::bincount core::histc",
    "softmax": "core::softmax core::log_softmax core::softmax_backward core::log_softmax_backward",
}
FUSED = (
    "activations",
    "batch_norm",
    "convolution",
    "cumulative",
    "functions",
    "losses",
    "mt19937",
    "normalization",
    "pooling",
    "outer_products",
    "resampling",
    "softmax",
    "sorting",
)  # what NumPy does in several steps
AT_ONCE = ("optimizers", "recurrent")  # which choose by other sizes than that of the first array
EXACT = frozenset(
    """
    core::abs core::add core::all core::amax core::amin core::angle core::any core::argmax core::argmin
    core::cat core::clone core::contiguous_copy core::convert core::copysign core::count_nonzero core::cummax
    core::cummin core::div core::eq core::flip core::fmod core::frac core::gather core::ge core::gt core::index
    core::index_select core::le core::lt core::masked_fill core::max core::min core::mul core::nan_to_num
    core::ne core::neg core::nonzero core::reciprocal core::relu core::remainder core::roll core::sgn core::sign
    core::sqrt core::square core::stack core::sub core::threshold_backward core::topk core::tril core::triu
    core::where nn::dropout nn::embedding nn::hardtanh nn::hardtanh_backward nn::leaky_relu
    nn::leaky_relu_backward nn::max_pool_with_indices nn::pad_constant nn::pad_inside nn::prelu nn::threshold
    """.split()
)  # ops whose compiled kernels compute the same bits as NumPy's
MODULES = {op: f".kernels.{module}" for module, ops in FAMILIES.items() for op in ops.split()}


def is_available() -> bool:
    """Whether Numba is installed, and OpenMP there to run on."""
    from weft.backend_cpu.threads import openmp

    return importlib.util.find_spec("numba") is not None and openmp() is not None


def version() -> str:
    """Of Numba."""
    return f"Numba {installed('numba')}"


def cache_folders() -> list[Path]:
    """Where compiled kernels are kept: those of `codegen`, and those of `kernels`."""
    from weft.backend_cpu.compiled.codegen.disk_cache import cached_njit, folder_of
    from weft.backend_cpu.compiled.kernels.sorting import topk_kernel

    return [each for each in map(folder_of, (cached_njit, topk_kernel)) if each is not None]


def cached_kernels() -> int:
    """How many kernels are kept there, each with its combination of types."""
    return sum(1 for folder in cache_folders() for _ in folder.glob("*.nbc"))
