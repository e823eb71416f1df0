"""The kernels of the libraries, by package and module: from which size on, bitwise or not, dtypes, ops.

Made by scripts/make_kernel_table.py (./dev lint --fix), not by hand.
"""

from __future__ import annotations

from weft.backend_cpu.registry import MIN_SIZE, MIN_SIZE_FUSED, Row

TABLE: dict[str, dict[str, list[Row]]] = {
    "onednn": {
        "convolution": [
            Row(0, False, "bfloat16 float32", """
                nn::conv1d_input_gradient nn::conv1d_weight_gradient nn::conv2d_input_gradient
                nn::conv2d_weight_gradient nn::conv3d_input_gradient nn::conv3d_weight_gradient
            """),
            Row(0, False, "bfloat16 float32 int16 int32 int64 int8 uint8", "nn::conv1d nn::conv2d nn::conv3d"),
            Row(0, False, "int8 uint8", "nn::int_conv1d nn::int_conv2d nn::int_conv3d"),
        ],
        "matmul": [
            Row(0, False, "bfloat16 float32", "core::addmm core::matmul nn::linear"),
            Row(0, False, "int8 uint8", "core::int_mm"),
        ],
        "pooling": [
            Row(0, False, "float32", "nn::avg_pool_gradient"),
            Row(MIN_SIZE_FUSED, False, "float32", "nn::avg_pool"),
        ],
    },
    "compiled": {
        "kernels.activations": [
            Row(MIN_SIZE_FUSED, False, "bfloat16 float16 float32 float64", "nn::glu nn::glu_backward"),
        ],
        "kernels.attention": [
            Row(MIN_SIZE, False, "float32 float64", "nn::attention_gradient"),
            Row(MIN_SIZE_FUSED, False, "float32 float64", "nn::attention"),
        ],
        "kernels.batch_norm": [
            Row(MIN_SIZE_FUSED, False, "float32 float64", """
                nn::batch_norm_gradient nn::batch_norm_training nn::channel_affine nn::normalized
            """),
        ],
        "kernels.convert": [
            Row(MIN_SIZE, True, "float32 float64 int8 uint8", "core::convert"),
            Row(MIN_SIZE_FUSED, True, "bfloat16 float16", "core::convert"),
        ],
        "kernels.convolution": [
            Row(MIN_SIZE_FUSED, False, "float32 float64", """
                nn::conv1d nn::conv1d_input_gradient nn::conv1d_weight_gradient nn::conv2d nn::conv2d_input_gradient
                nn::conv2d_weight_gradient nn::conv3d nn::conv3d_input_gradient nn::conv3d_weight_gradient
            """),
        ],
        "kernels.copy_cat": [
            Row(MIN_SIZE, False, """
                bfloat16 bool complex64 float16 float32 float64 float8_e4m3fn float8_e5m2 int16 int32 int64 int8 uint16
                uint32 uint64 uint8
            """, "core::assign core::spread"),
            Row(MIN_SIZE, True, """
                bfloat16 bool complex64 float16 float32 float64 float8_e4m3fn float8_e5m2 int16 int32 int64 int8 uint16
                uint32 uint64 uint8
            """, """
                core::cat core::clone core::contiguous_copy core::flip core::roll core::stack
            """),
        ],
        "kernels.cumulative": [
            Row(MIN_SIZE_FUSED, False, "float32 float64", "core::logcumsumexp"),
            Row(MIN_SIZE_FUSED, False, "float32 float64 int64", "core::cumprod core::cumsum"),
            Row(MIN_SIZE_FUSED, True, "float32 float64 int16 int32 int64 int8", "core::cummax core::cummin"),
        ],
        "kernels.detection": [
            Row(MIN_SIZE_FUSED, False, "float32 float64", "vision::nms vision::roi_align vision::roi_align_gradient"),
        ],
        "kernels.functions": [
            Row(MIN_SIZE_FUSED, False, "bfloat16 float16 float32 float64", """
                core::digamma core::erfc core::erfcx core::erfinv core::exp2 core::hypot core::i0 core::i0e core::i1
                core::i1e core::lgamma core::log_ndtr core::logaddexp core::logaddexp2 core::modified_bessel_i0
                core::modified_bessel_i1 core::ndtr
            """),
            Row(MIN_SIZE_FUSED, False, "bfloat16 float16 float32 float64 int32 int64", "core::div_floor core::div_trunc core::floor_divide"),
            Row(MIN_SIZE_FUSED, False, "float32 float64", """
                core::complex core::cos core::nextafter core::polygamma core::sin
            """),
            Row(MIN_SIZE_FUSED, False, "int32 int64", "core::bitwise_left_shift core::bitwise_right_shift"),
            Row(MIN_SIZE_FUSED, True, "bfloat16 float16 float32 float64", "core::angle core::copysign core::frac core::nan_to_num"),
            Row(MIN_SIZE_FUSED, True, "bfloat16 float16 float32 float64 int32 int64", "core::sgn core::sign"),
            Row(MIN_SIZE_FUSED, True, "float32 float64 int32 int64", "core::fmod core::remainder"),
        ],
        "kernels.image_colors": [
            Row(MIN_SIZE_FUSED, True, "uint8", "vision::blend_integers vision::luma_of_integers"),
        ],
        "kernels.indexing": [
            Row(MIN_SIZE, False, """
                bfloat16 bool float16 float32 float64 int16 int32 int64 int8 uint8
            """, "core::assign_at core::scatter"),
            Row(MIN_SIZE, False, "float32 float64", "nn::embedding_gradient"),
            Row(MIN_SIZE, False, "float32 float64 int32 int64", """
                core::gather_backward core::index_add core::index_put core::scatter_reduce
            """),
            Row(MIN_SIZE, True, """
                bfloat16 bool float16 float32 float64 int16 int32 int64 int8 uint8
            """, "core::gather core::index core::index_select nn::embedding"),
            Row(MIN_SIZE, True, "bool float32 float64 int64", "core::nonzero"),
            Row(MIN_SIZE_FUSED, False, "float32 float64", "nn::embedding_bag"),
        ],
        "kernels.losses": [
            Row(MIN_SIZE_FUSED, False, "float32 float64", """
                nn::binary_cross_entropy_with_logits nn::cross_entropy nn::cross_entropy_gradient nn::difference_loss
                nn::difference_loss_gradient nn::logits_loss_gradient nn::nll_loss nn::nll_loss_gradient
            """),
        ],
        "kernels.mt19937": [
            Row(MIN_SIZE_FUSED, True, "bfloat16 float16 float32 float64", "nn::dropout"),
        ],
        "kernels.normalization": [
            Row(MIN_SIZE_FUSED, False, "bfloat16 float16 float32 float64", "nn::layer_norm nn::layer_norm_gradient"),
            Row(MIN_SIZE_FUSED, False, "float32 float64", """
                nn::group_norm nn::group_norm_gradient nn::rms_norm nn::rms_norm_gradient
            """),
        ],
        "kernels.optimizers": [
            Row(0, False, "bfloat16 float16 float32 float64", """
                foreach::mul_ foreach::norm optim::adagrad_step optim::adam_step optim::rmsprop_step optim::sgd_step
            """),
        ],
        "kernels.outer_products": [
            Row(MIN_SIZE_FUSED, False, "float32 float64 int32 int64", "core::kron core::linalg_cross"),
        ],
        "kernels.padding": [
            Row(MIN_SIZE, True, """
                bfloat16 bool complex64 float16 float32 float64 float8_e4m3fn float8_e5m2 int16 int32 int64 int8 uint16
                uint32 uint64 uint8
            """, "nn::pad_constant nn::pad_inside"),
        ],
        "kernels.pointwise": [
            Row(8 * MIN_SIZE, False, "float32 float64", "core::clamp core::maximum core::minimum"),
            Row(8 * MIN_SIZE, True, "float32 float64", "core::abs core::div core::reciprocal"),
            Row(8 * MIN_SIZE, True, "float32 float64 int32 int64", """
                core::add core::eq core::ge core::gt core::le core::lt core::mul core::ne core::neg core::square
                core::sub
            """),
            Row(MIN_SIZE, False, "float32 float64", """
                core::add_scaled core::addcdiv core::addcmul core::erf core::exp core::expm1 core::lerp core::log
                core::log1p core::pow core::rsqrt core::sigmoid core::tanh
            """),
            Row(MIN_SIZE, True, "bool float32 float64 int32 int64", "core::masked_fill core::where"),
            Row(MIN_SIZE, True, "float32 float64", "core::sqrt"),
            Row(MIN_SIZE_FUSED, False, "bfloat16 float16", """
                core::add_scaled core::addcdiv core::addcmul core::clamp core::erf core::exp core::expm1 core::lerp
                core::log core::log1p core::maximum core::minimum core::pow core::rsqrt core::sigmoid core::tanh
            """),
            Row(MIN_SIZE_FUSED, True, "bfloat16 float16", """
                core::abs core::add core::div core::eq core::ge core::gt core::le core::lt core::masked_fill core::mul
                core::ne core::neg core::reciprocal core::sqrt core::square core::sub core::where
            """),
        ],
        "kernels.pooling": [
            Row(MIN_SIZE_FUSED, False, "float32 float64", "nn::avg_pool nn::avg_pool_gradient nn::max_pool_gradient"),
            Row(MIN_SIZE_FUSED, True, "float32 float64", "nn::max_pool_with_indices"),
        ],
        "kernels.recurrent": [
            Row(0, False, "bfloat16 float32 float64", """
                nn::gru_layer nn::gru_layer_gradient nn::lstm_layer nn::lstm_layer_gradient nn::rnn_layer
                nn::rnn_layer_gradient
            """),
        ],
        "kernels.reductions": [
            Row(2 * MIN_SIZE, False, "float32 float64", "core::mean"),
            Row(2 * MIN_SIZE, False, "float32 float64 int64", "core::sum"),
            Row(MIN_SIZE, False, "bool int16 int32 int8 uint8", "core::integer_prod core::integer_sum"),
            Row(MIN_SIZE, False, "float32 float64", "core::logsumexp core::nansum core::var core::vector_norm"),
            Row(MIN_SIZE, False, "float32 float64 int64", "core::prod"),
            Row(MIN_SIZE, True, "bool float32 float64 int16 int32 int64 int8 uint8", """
                core::all core::amax core::amin core::any core::argmax core::argmin core::count_nonzero core::max
                core::min
            """),
            Row(MIN_SIZE_FUSED, False, "bfloat16 float16", """
                core::integer_prod core::integer_sum core::logsumexp core::mean core::nansum core::prod core::sum
                core::var core::vector_norm
            """),
            Row(MIN_SIZE_FUSED, True, "bfloat16 float16", """
                core::all core::amax core::amin core::any core::count_nonzero
            """),
        ],
        "kernels.resampling": [
            Row(MIN_SIZE_FUSED, False, "float32 float64", """
                nn::resample nn::sample nn::sample_grid_gradient nn::sample_input_gradient
            """),
            Row(MIN_SIZE_FUSED, True, "uint8", "nn::resample"),
        ],
        "kernels.softmax": [
            Row(2 * MIN_SIZE_FUSED, False, "float32 float64", """
                core::log_softmax core::log_softmax_backward core::softmax core::softmax_backward
            """),
            Row(MIN_SIZE_FUSED, False, "bfloat16 float16", """
                core::log_softmax core::log_softmax_backward core::softmax core::softmax_backward
            """),
        ],
        "kernels.sorting": [
            Row(MIN_SIZE_FUSED, False, "float32 float64", "core::histc"),
            Row(MIN_SIZE_FUSED, False, "int64", "core::bincount"),
            Row(MIN_SIZE_FUSED, True, "float32 float64 int32 int64", "core::topk"),
        ],
        "kernels.triangular": [
            Row(MIN_SIZE, True, """
                bfloat16 bool float16 float32 float64 int16 int32 int64 int8 uint8
            """, "core::tril core::triu"),
        ],
    },
}
